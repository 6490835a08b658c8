"""Tokens by which minions have their keys accepted. Only digests are kept: who reads the store can enrol nobody."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from sqlalchemy import Row, delete, insert, or_, select, update

from controller.store.database import Database
from controller.store.schema import enrolment_tokens


@dataclass(frozen=True, slots=True, kw_only=True)
class EnrolmentToken:
    """A token that was made. Times are seconds since the epoch."""

    id: str
    """What people call it; no secret."""
    digest: bytes
    minions: str
    """Glob of the ids that it is for."""
    uses_left: int
    created: float
    expires: float
    created_by: str


@dataclass(frozen=True, slots=True)
class EnrolmentTokens:
    """The table of tokens."""

    database: Database

    def add(self, record: EnrolmentToken, now: float) -> None:
        """Keep a new one, and forget those that are used up or have expired."""
        over = or_(enrolment_tokens.c.expires <= now, enrolment_tokens.c.uses_left <= 0)
        values = {name: getattr(record, name) for name in EnrolmentToken.__slots__}
        with self.database.write() as connection:
            connection.execute(delete(enrolment_tokens).where(over))
            connection.execute(insert(enrolment_tokens).values(**values))

    def all(self, now: float) -> list[EnrolmentToken]:
        """Those that are good, oldest first."""
        good = (enrolment_tokens.c.expires > now) & (enrolment_tokens.c.uses_left > 0)
        with self.database.read() as connection:
            query = select(enrolment_tokens).where(good).order_by(enrolment_tokens.c.seq)
            return [_record(row) for row in connection.execute(query)]

    def by_digest(self, digest: bytes, now: float) -> EnrolmentToken | None:
        """The token with this digest, if it has not expired."""
        query = select(enrolment_tokens).where(enrolment_tokens.c.digest == digest, enrolment_tokens.c.expires > now)
        with self.database.write() as connection:
            row = connection.execute(query).first()
        return None if row is None else _record(row)

    def use(self, token_id: str, now: float) -> bool:
        """Use a token once; False when it is used up."""
        good = (enrolment_tokens.c.id == token_id) & (enrolment_tokens.c.uses_left > 0)
        good &= enrolment_tokens.c.expires > now
        change = update(enrolment_tokens).where(good).values(uses_left=enrolment_tokens.c.uses_left - 1)
        with self.database.write() as connection:
            return connection.execute(change).rowcount == 1

    def revoke(self, ids: Sequence[str]) -> list[str]:
        """Forget tokens; the ids of those that were there."""
        found = enrolment_tokens.c.id.in_(list(ids))
        with self.database.write() as connection:
            there = list(connection.scalars(select(enrolment_tokens.c.id).where(found)))
            connection.execute(delete(enrolment_tokens).where(found))
        return there


def _record(row: Row[tuple[object, ...]]) -> EnrolmentToken:
    values = dict(row._mapping)
    values.pop("seq")
    return EnrolmentToken(**values)
