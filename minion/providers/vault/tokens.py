"""Tokens: how they are had, what is left of them, and when they are renewed or had anew."""

from __future__ import annotations

import threading
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from minion.providers.vault.api import NotAllowed, VaultApi, VaultFailed
from options.vault import VaultLogin


@dataclass(slots=True, kw_only=True)
class Token:
    """A token, and what is left of it."""

    text: str
    until: float
    """By the clock of whoever holds it; infinity: it does not end."""
    lease: float = 0.0
    """Seconds that it had when it was given or renewed; 0: it does not end."""
    renewable: bool = False
    uses: int = 0
    """Requests that are left; 0: it is not counted."""
    is_spent: bool = False
    policies: tuple[str, ...] = ()

    def is_good(self, now: float, minimum: float) -> bool:
        """Whether it does for one more request."""
        return not self.is_spent and now + minimum < self.until

    def used(self) -> None:
        """It was sent with a request that counts."""
        if self.uses:
            self.uses -= 1
            self.is_spent = self.uses == 0


def token_of(auth: Mapping[str, Any], now: float) -> Token:
    """The token in the answer of a login, a renewal or a creation."""
    lease = float(auth.get("lease_duration") or 0)
    return Token(
        text=str(auth["client_token"]),
        until=now + lease if lease else float("inf"),
        lease=lease,
        renewable=bool(auth.get("renewable")),
        uses=int(auth.get("num_uses") or 0),
        policies=tuple(auth.get("policies") or ()),
    )


def logged_in(api: VaultApi, login: VaultLogin, now: float) -> Token:
    """A token by the configured method. VaultFailed."""
    match login.method:
        case "token":
            data = api.ask("GET", "auth/token/lookup-self", token=login.token)["data"]
            return token_of(
                {
                    "client_token": login.token,
                    "lease_duration": data.get("ttl"),
                    "renewable": data.get("renewable"),
                    # The look itself was one.
                    "num_uses": data.get("num_uses"),
                    "policies": data.get("policies"),
                },
                now,
            )
        case "approle":
            body = {"role_id": login.role_id, **({"secret_id": login.secret_id} if login.secret_id else {})}
            answer = api.ask("POST", f"auth/{login.approle_mount}/login", body)
        case _:
            try:
                jwt = Path(login.token_path).read_text().strip()
            except OSError as error:
                raise VaultFailed(f"{login.token_path} has no token of a service account: {error.strerror}") from error
            answer = api.ask("POST", f"auth/{login.mount}/login", {"role": login.role, "jwt": jwt})
    return token_of(answer["auth"], now)


class OwnToken:
    """The token of a process for itself: renewed when half of its time is over, and had anew where it has ended.

    Args:
        api: the server.
        log_in: has a token.
        login: its limits.
        clock: seconds.
    """

    def __init__(
        self, api: VaultApi, log_in: Callable[[float], Token], login: VaultLogin, clock: Callable[[], float]
    ) -> None:
        self._api = api
        self._log_in = log_in
        self._login = login
        self._clock = clock
        self._token: Token | None = None
        self._lock = threading.Lock()

    def ask(
        self, method: str, path: str, payload: Mapping[str, Any] | None = None, *, merge: bool = False, wrap: str = ""
    ) -> Mapping[str, Any]:
        """See `VaultApi.ask`. A token that was taken back is had anew, once."""
        token = self.current()
        token.used()
        try:
            return self._api.ask(method, path, payload, token=token.text, merge=merge, wrap=wrap)
        except NotAllowed:
            if self._is_valid(token):
                raise
        self.forget()
        return self._api.ask(method, path, payload, token=self.current().text, merge=merge, wrap=wrap)

    def mount(self, path: str) -> Mapping[str, Any]:
        """Which engine is at a path; the server does not count that as a use of the token."""
        return self._api.ask("GET", f"sys/internal/ui/mounts/{path}", token=self.current().text)["data"]  # type: ignore[no-any-return]

    def current(self) -> Token:
        """The token, of which at least one use is left. VaultFailed."""
        with self._lock:
            now = self._clock()
            if self._token is None or not self._token.is_good(now, self._login.minimum_ttl):
                self._token = self._log_in(now)
            elif self._token.renewable and self._token.lease and self._token.until - now < self._token.lease / 2:
                self._token = self._renewed(self._token, now)
            return self._token

    @property
    def is_spent(self) -> bool:
        """Whether the next request needs another token."""
        return self._token is None or self._token.is_spent

    def forget(self) -> None:
        """Have the next request get a token anew."""
        with self._lock:
            self._token = None

    def _renewed(self, token: Token, now: float) -> Token:
        more = self._login.renew_increment
        try:
            answer = self._api.ask(
                "POST", "auth/token/renew-self", {} if more is None else {"increment": f"{more:g}s"}, token=token.text
            )
        except VaultFailed:
            return token  # it is good until its end, and a new one is had then
        return token_of(answer["auth"], now)

    def _is_valid(self, token: Token) -> bool:
        if token.is_spent:  # of the last use, what was asked for was not allowed
            return True
        try:
            self._api.ask("GET", "auth/token/lookup-self", token=token.text)
        except NotAllowed:
            return False
        except VaultFailed:
            return True
        return True
