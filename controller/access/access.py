"""May they? Asked by the API about each request, before anything is done for it.

What is allowed of what changes nothing is not kept in the audit log; all else that is decided is.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from controller.access.audit import Audit
from controller.access.csrf import is_csrf_token
from controller.access.decision import AskedFunction, Decision, SelectMinions, decide_calls, decide_role
from controller.access.logins import Logins
from controller.access.oidc import OidcRefused, OidcTokens, OidcTrouble
from controller.access.principals import Principal
from controller.access.tokens import Tokens
from controller.config.access import AccessSettings, Role
from controller.schema.errors import ServiceError

_HINT = "who runs this controller can give access: docs/access.md; `saltern audit list` there shows each decision"


@dataclass(slots=True, kw_only=True)
class Access:
    """Decides about requests of people.

    Args:
        settings: the rules; a reload of the configuration replaces them.
        audit: keeps decisions.
        tokens: knows whose a token is.
        logins: gives tokens for passwords.
        select: finds the minions of the target of a rule.
        oidc: knows whose a token of an issuer is; None: there is no issuer.
    """

    settings: AccessSettings
    audit: Audit
    tokens: Tokens
    logins: Logins
    select: SelectMinions
    oidc: OidcTokens | None = None

    async def holder(self, peer: Principal, token: str) -> Principal:
        """Whose token it is that somebody shows. ServiceError for one that is not good (any more)."""
        if self.oidc is not None and token.count(".") == 2:  # a JWT has three parts (RFC 7519); tokens from here, one
            try:
                return self._of_peer(await self.oidc.principal(token), peer)
            except OidcTrouble as error:
                raise ServiceError("unavailable", str(error), hint="ask again, or look into the log") from None
            except OidcRefused as error:
                refused = Decision(allowed=False, why=f"the token of the issuer is not good: {error}")
                hint = "ask the issuer for another one"
        elif (found := self.tokens.owner(token)) is not None:
            return self._of_peer(found, peer)
        else:
            refused = Decision(allowed=False, why="the token is unknown, was revoked or has expired")
            hint = "`saltern login` gets another"
        self.audit.keep(peer, "show a token", {}, refused)
        raise ServiceError("unauthenticated", refused.why, hint=hint)

    def session(self, peer: Principal, cookie: str, csrf: str | None) -> Principal:
        """Whose session it is. ServiceError for one that is over, and for a request that is not of its own pages.

        Args:
            peer: who is at the other end.
            cookie: of the session.
            csrf: what the request shows beside it; None where it changes nothing, and need not.
        """
        found = self.tokens.owner(cookie, "session")
        if found is None:
            raise ServiceError("unauthenticated", "the session is over", hint="log in again")
        owner = self._of_peer(found, peer)
        if csrf is not None and not is_csrf_token(csrf, cookie):
            refused = Decision(allowed=False, why="X-CSRF-Token is missing or is not of the session")
            self.audit.keep(owner, "use a session", {}, refused)
            raise ServiceError("forbidden", refused.why, hint="GET /api/v1/session tells it")
        return owner

    @staticmethod
    def _of_peer(principal: Principal, peer: Principal) -> Principal:
        """The same with the request by which it asks."""
        return replace(principal, address=peer.address, request=peer.request)

    def still_may(self, principal: Principal, role: Role) -> bool:
        """Whether somebody who was let in some time ago would be now; nothing is kept of it in the audit log."""
        return self.tokens.still_shows(principal) and decide_role(principal, role, self.settings).allowed

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
