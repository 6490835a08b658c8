"""Tokens: who shows one is who it was given to, until it expires or is taken back."""

from __future__ import annotations

import hashlib
import secrets
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from controller.access.principals import Principal
from controller.config.limits import AccessLimits
from controller.schema.errors import ServiceError
from controller.store import Store
from controller.store.access.tokens import TokenRecord

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
        self, user: str, groups: Sequence[str], method: str, seconds: float, *, by: str, note: str = ""
    ) -> tuple[str, TokenRecord]:
        """A new token, which is told this once, and what is kept of it. ServiceError for one too many."""
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
        )
        self.store.access_tokens.add(record, now)
        return token, record

    def owner(self, token: str) -> Principal | None:
        """Whose it is; None for one that is not good."""
        if len(token) > _LONGEST:
            return None
        record = self.store.access_tokens.by_digest(_digest(token), self.clock())
        if record is None:
            return None
        return Principal(name=record.user, groups=frozenset(record.groups), method=record.method, token=record.id)

    def all(self) -> list[TokenRecord]:
        """Those that are good."""
        return self.store.access_tokens.all(self.clock())

    def revoke(self, ids: Sequence[str]) -> list[str]:
        """Take tokens back; the ids of those that were there."""
        return self.store.access_tokens.revoke(ids)


def _digest(token: str) -> bytes:
    return hashlib.sha256(token.encode(errors="surrogatepass")).digest()
