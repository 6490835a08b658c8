"""Tokens: who shows one is who it was given to, until it expires or is taken back."""

from __future__ import annotations

import hashlib
import secrets
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from controller.access.principals import Principal
from controller.config.access import TokenScope
from controller.config.limits import AccessLimits
from controller.schema.errors import ServiceError
from controller.store import Store
from controller.store.access.tokens import TokenKind, TokenRecord

_BYTES = 32
_LONGEST = 200
"""Characters of what is looked up."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Tokens:
    """The tokens of a controller.

    Args:
        store: where their digests are.
        clock: seconds since the epoch.
        limits: how many there are.
    """

    store: Store
    clock: Callable[[], float]
    limits: AccessLimits

    def give(
        self,
        user: str,
        groups: Sequence[str],
        method: str,
        seconds: float,
        *,
        by: str,
        note: str = "",
        scopes: Sequence[TokenScope] = (),
    ) -> tuple[str, TokenRecord]:
        """A new token, which is told this once, and what is kept of it. ServiceError for one too many.

        Args:
            user: whom its holder counts as.
            groups: of that user.
            method: how that user was known.
            seconds: that it lives.
            by: who made it.
            note: what it is for.
            scopes: what it is for alone; none: everything that the user may.
        """
        now = self.clock()
        if self.store.access_tokens.count(user, now) >= self.limits.tokens:
            text = f"{user} has {self.limits.tokens} tokens already"
            raise ServiceError("conflict", text, hint="`saltern token revoke` takes one back")
        token = secrets.token_urlsafe(_BYTES)
        record = TokenRecord(
            id=secrets.token_hex(4),
            digest=_digest(token),
            user=user,
            groups=tuple(groups),
            method=method,
            created=now,
            expires=now + seconds,
            created_by=by,
            note=note,
            scopes=tuple(scopes),
        )
        self.store.access_tokens.add(record, now)
        return token, record

    def open_session(self, of: Principal, seconds: float) -> tuple[str, TokenRecord]:
        """A session of a browser for somebody, with what that one may; it ends with the token that was shown."""
        now = self.clock()
        secret = secrets.token_urlsafe(_BYTES)
        ends = now + seconds if not of.expires else min(now + seconds, of.expires)
        record = TokenRecord(
            id=secrets.token_hex(4),
            digest=_digest(secret),
            user=of.name,
            groups=tuple(sorted(of.groups)),
            method=of.method,
            created=now,
            expires=ends,
            created_by=of.name,
            note="session",
            scopes=of.scopes,
            kind="session",
            parent=of.token,
        )
        self.store.access_tokens.end_oldest_sessions(of.name, self.limits.sessions - 1)
        self.store.access_tokens.add(record, now)
        return secret, record

    def owner(self, token: str, kind: TokenKind = "token") -> Principal | None:
        """Whose it is; None for one that is not good."""
        if len(token) > _LONGEST:
            return None
        record = self.store.access_tokens.by_digest(_digest(token), self.clock())
        if record is None or record.kind != kind:
            return None
        return Principal(
            name=record.user,
            groups=frozenset(record.groups),
            method=record.method,
            token=record.id,
            scopes=record.scopes,
            expires=record.expires,
        )

    def still_shows(self, principal: Principal) -> bool:
        """Whether what somebody had shown is good yet; for who needs to show nothing it is."""
        if principal.token:
            return self.store.access_tokens.is_good(principal.token, self.clock())
        return not principal.expires or self.clock() < principal.expires

    def all(self) -> list[TokenRecord]:
        """Those that are good."""
        return self.store.access_tokens.all(self.clock())

    def revoke(self, ids: Sequence[str]) -> list[str]:
        """Take tokens back; the ids of those that were there."""
        return self.store.access_tokens.revoke(ids)


def _digest(token: str) -> bytes:
    return hashlib.sha256(token.encode(errors="surrogatepass")).digest()
