"""From a password to a token. Called by the API on the loop."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import NoReturn

from controller.access.attempts import CountedTries
from controller.access.audit import Audit
from controller.access.decision import Decision
from controller.access.pam import PamPasswords, PamTrouble, groups_of, shadow_trouble
from controller.access.principals import Principal
from controller.access.rates import network_of
from controller.access.tokens import Tokens
from controller.config.access import AccessSettings
from controller.config.limits import AccessLimits
from controller.schema.errors import ServiceError
from controller.store.access.tokens import TokenRecord
from options.limits import CountRefusal


@dataclass(slots=True, kw_only=True)
class Logins:
    """Passwords that are shown, and tokens that are given for them."""

    settings: AccessSettings
    passwords: PamPasswords
    tokens: Tokens
    audit: Audit
    clock: Callable[[], float]
    limits: AccessLimits
    on_refusal: CountRefusal
    _tries: CountedTries = field(init=False)
    """By who asks."""

    def __post_init__(self) -> None:
        self._tries = CountedTries(self.limits.logins_per_minute, self.clock)

    async def log_in(self, asker: Principal, method: str, user: str, password: str) -> tuple[str, TokenRecord]:
        """A token for a right password.

        Args:
            asker: the user of the machine who asks.
            method: of `external_auth`.
            user: whose password it is.
            password: what is shown.

        Raises:
            ServiceError: the method is not configured, the password is not right, or too many were tried.
        """
        groups = (await self.check(asker, method, user, password)).groups
        found = self.tokens.give(user, sorted(groups), method, self.settings.token_expire, by=asker.name or user)
        self.audit.keep(
            asker,
            _action(method, user),
            {"token": found[1].id},
            Decision(allowed=True, why="the password is right"),
        )
        return found

    async def check(self, asker: Principal, method: str, user: str, password: str) -> Principal:
        """Who has shown a right password; arguments and errors as `log_in`."""
        action = _action(method, user)
        if method not in self.settings.external_auth or method != "pam":
            known = ", ".join(each for each in self.settings.external_auth if each == "pam") or "none"
            refused = Decision(allowed=False, why=f"external_auth has no method {method[:32]!r} ({known})")
            self._refuse(asker, action, refused, "who runs this controller can configure external_auth")
        who = asker.name or network_of(asker.address)
        # Not by the name that is tried: a stranger would keep its owner from logging in.
        if self._tries.is_one_too_many(who):
            self.on_refusal("logins-per-minute")
            refused = Decision(allowed=False, why=f"{self.limits.logins_per_minute} passwords were tried in a minute")
            self._refuse(asker, action, refused, "try again in a minute")
        try:
            right = await self.passwords.is_right(user, password)
        except PamTrouble as error:
            self._refuse(asker, action, Decision(allowed=False, why=str(error)), "see the log of the system")
        if not right:
            refused = Decision(allowed=False, why="the name or the password is wrong")
            self._refuse(asker, action, refused, shadow_trouble())
        groups = await asyncio.to_thread(groups_of, user)
        return Principal(
            name=user, groups=frozenset(groups), method=method, address=asker.address, request=asker.request
        )

    def _refuse(self, asker: Principal, action: str, decision: Decision, hint: str) -> NoReturn:
        self.audit.keep(asker, action, {}, decision)
        who = asker.name or asker.address or "who asks"
        raise ServiceError("forbidden", f"{who} may not {action}: {decision.why}", hint=hint)


def _action(method: str, user: str) -> str:
    return f"log in as {user[:64]} ({method[:32]})"
