"""May they? Asked by the API about each request, before anything is done for it.

What is allowed of what changes nothing is not kept in the audit log; all else that is decided is.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from controller.access.audit import Audit
from controller.access.decision import AskedFunction, Decision, SelectMinions, decide_calls, decide_role
from controller.access.logins import Logins
from controller.access.principals import NOBODY, Principal
from controller.access.tokens import Tokens
from controller.config.access import AccessSettings, Role
from controller.schema.errors import ServiceError

_HINT = "who runs this controller can give access: docs/access.md; `saltern audit list` there shows each decision"


@dataclass(frozen=True, slots=True, kw_only=True)
class Access:
    """Decides about requests of people.

    Args:
        settings: the rules.
        audit: keeps decisions.
        tokens: knows whose a token is.
        logins: gives tokens for passwords.
        select: finds the minions of the target of a rule.
    """

    settings: AccessSettings
    audit: Audit
    tokens: Tokens
    logins: Logins
    select: SelectMinions

    def principal(self, peer: Principal, token: str) -> Principal:
        """Who asks: whose token it is, where one is shown. ServiceError for one that is not good (any more)."""
        if not token:
            return peer
        found = self.tokens.owner(token)
        if found is None:
            refused = Decision(allowed=False, why="the token is unknown, was revoked or has expired")
            self.audit.keep(peer if peer.name else NOBODY, "show a token", {}, refused)
            raise ServiceError("forbidden", refused.why, hint="`saltern login` gets another")
        return found

    def require(
        self, principal: Principal, role: Role, action: str, detail: Mapping[str, Any], *, changes: bool = True
    ) -> Decision:
        """Why somebody may, with a role; ServiceError for who may not. `changes`: whether a permission is kept, too."""
        decision = decide_role(principal, role, self.settings)
        if changes or not decision.allowed:
            self.audit.keep(principal, action, detail, decision)
        if not decision.allowed:
            raise _refusal(principal, action, decision)
        return decision

    def require_calls(
        self,
        principal: Principal,
        calls: Sequence[AskedFunction],
        minions: Sequence[str] | None,
        action: str,
        detail: Mapping[str, Any],
    ) -> None:
        """ServiceError unless somebody may call each of these functions on all of these minions.

        None for `minions`, before it is looked whom a target means: ServiceError for who may call them nowhere. An
        answer about a target would tell such a user which minions there are, and by `-I` what their pillar has.
        """
        meant = None if minions is None else frozenset(minions)
        decision = decide_calls(principal, calls, meant, self.settings, self.select)
        if minions is not None or not decision.allowed:
            self.audit.keep(principal, action, detail, decision)
        if not decision.allowed:
            raise _refusal(principal, action, decision)


def _refusal(principal: Principal, action: str, decision: Decision) -> ServiceError:
    return ServiceError("forbidden", f"{principal.name or 'who asks'} may not {action}: {decision.why}", hint=_HINT)
