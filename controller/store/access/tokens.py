"""Tokens by which people show who they are. Only digests are kept: who reads the store gets none of them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal, TypeAlias

import msgspec
from sqlalchemy import Row, delete, func, insert, or_, select

from controller.config.access import TokenScope
from controller.store.database import Database
from controller.store.schema import access_tokens

TokenKind: TypeAlias = Literal["token", "session"]
"""What a script shows in a header, and what a browser shows as a cookie."""


@dataclass(frozen=True, slots=True, kw_only=True)
class TokenRecord:
    """A token that was given to somebody. Times are seconds since the epoch."""

    id: str
    """What people call it; no secret."""
    digest: bytes
    user: str
    groups: tuple[str, ...]
    method: str
    """How the user had shown who it is; `socket`: an administrator made it, with the rules of `publisher_acl`."""
    created: float
    expires: float
    created_by: str
    note: str = ""
    scopes: tuple[TokenScope, ...] = ()
    """What it is for alone; none: everything that its holder may."""
    kind: TokenKind = "token"
    parent: str = ""
    """Id of the token that a session was opened with, and ends with."""


@dataclass(frozen=True, slots=True)
class AccessTokens:
    """The table of tokens."""

    database: Database

    def add(self, record: TokenRecord, now: float) -> None:
        """Keep a new one, and forget those that have expired."""
        with self.database.write() as connection:
            connection.execute(delete(access_tokens).where(access_tokens.c.expires <= now))
            connection.execute(insert(access_tokens).values(**_values(record)))

    def count(self, user: str, now: float) -> int:
        """How many of a user are good, sessions not counted."""
        good = (access_tokens.c.user == user) & (access_tokens.c.kind == "token") & (access_tokens.c.expires > now)
        query = select(func.count()).where(good)
        with self.database.read() as connection:
            return connection.scalar(query) or 0

    def by_digest(self, digest: bytes, now: float) -> TokenRecord | None:
        """The token with this digest, if it is good."""
        query = select(access_tokens).where(access_tokens.c.digest == digest, access_tokens.c.expires > now)
        with self.database.read() as connection:
            row = connection.execute(query).first()
        return None if row is None else _record(row)

    def is_good(self, token_id: str, now: float) -> bool:
        """Whether a token is there and has not expired."""
        query = select(access_tokens.c.seq).where(access_tokens.c.id == token_id, access_tokens.c.expires > now)
        with self.database.read() as connection:
            return connection.scalar(query) is not None

    def all(self, now: float) -> list[TokenRecord]:
        """Those that are good, oldest first."""
        query = select(access_tokens).where(access_tokens.c.expires > now).order_by(access_tokens.c.seq)
        with self.database.read() as connection:
            return [_record(row) for row in connection.execute(query)]

    def revoke(self, ids: Sequence[str]) -> list[str]:
        """Forget tokens, and sessions that were opened with them; the ids of those tokens that were there."""
        found = access_tokens.c.id.in_(list(ids))
        opened = access_tokens.c.parent.in_(list(ids))
        with self.database.write() as connection:
            there = list(connection.scalars(select(access_tokens.c.id).where(found).order_by(access_tokens.c.seq)))
            connection.execute(delete(access_tokens).where(or_(found, opened)))
        return there

    def end_oldest_sessions(self, user: str, most: int) -> None:
        """Forget the oldest sessions of a user, so that so many are left."""
        of_user = (access_tokens.c.user == user) & (access_tokens.c.kind == "session")
        newest = select(access_tokens.c.seq).where(of_user).order_by(access_tokens.c.seq.desc()).limit(most)
        with self.database.write() as connection:
            kept = list(connection.scalars(newest))
            connection.execute(delete(access_tokens).where(of_user, access_tokens.c.seq.not_in(kept)))


def _values(record: TokenRecord) -> dict[str, object]:
    names = ("id", "digest", "user", "method", "created", "expires", "created_by", "note", "kind", "parent")
    packed = {"groups": msgspec.msgpack.encode(record.groups), "scopes": " ".join(record.scopes)}
    return {**{name: getattr(record, name) for name in names}, **packed}


def _record(row: Row[tuple[object, ...]]) -> TokenRecord:
    values = dict(row._mapping)
    values.pop("seq")
    values["groups"] = msgspec.msgpack.decode(values["groups"], type=tuple[str, ...])
    values["scopes"] = tuple(values["scopes"].split())
    return TokenRecord(**values)
