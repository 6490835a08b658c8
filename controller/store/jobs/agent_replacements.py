"""Agents that are replaced, or were: of each minion the newest."""

from __future__ import annotations

from typing import Literal, TypeAlias

import msgspec
from sqlalchemy import delete, insert, select

from controller.store.database import Database
from controller.store.schema import agent_replacements

AgentKind: TypeAlias = Literal["saltern", "salt"]
ReplacementStep: TypeAlias = Literal[
    "installing",  # the old agent puts the new one in place, and answers
    "starting",  # the new one runs; its key waits, and it is waited for that it asks
    "handed over",  # the new one's key is accepted and the old one's waits; its document is waited for
    "retiring",  # the new one answers; the old one is stopped
    "going back",  # the old one's key is accepted again; the new one is stopped
    "done",
    "failed",  # the old one answers, as before
]
ENDS = frozenset(("done", "failed"))


class ReplacementRecord(msgspec.Struct, frozen=True, kw_only=True):
    """One of them, as far as it has come. Times are seconds since the epoch."""

    minion: str
    to: AgentKind
    step: ReplacementStep
    old_key: str
    """Public key of the agent that answered at the beginning."""
    new_key: str = ""
    """Of the one that shall answer; empty: it is not known yet."""
    digest: str = ""
    """Of the document that the old one held."""
    purge: bool = False
    """Whether the package of the old one goes."""
    controller: str = ""
    """Address of this controller for the new one; empty: where it listens."""
    began: float = 0.0
    changed: float = 0.0
    user: str = ""
    why: str = ""
    """What failed."""
    hint: str = ""

    @property
    def ended(self) -> bool:
        """Whether nothing is left to do."""
        return self.step in ENDS


class Replacements:
    """The table of them.

    Args:
        database: it is in.
    """

    def __init__(self, database: Database) -> None:
        self._database = database

    def all(self) -> list[ReplacementRecord]:
        """All of them, by minion."""
        with self._database.read() as connection:
            found = connection.scalars(select(agent_replacements.c.record).order_by(agent_replacements.c.minion)).all()
        return [_DECODER.decode(each) for each in found]

    def get(self, minion: str) -> ReplacementRecord | None:
        """That of a minion."""
        query = select(agent_replacements.c.record).where(agent_replacements.c.minion == minion)
        with self._database.read() as connection:
            found = connection.scalar(query)
        return None if found is None else _DECODER.decode(found)

    def put(self, record: ReplacementRecord) -> None:
        """Keep one in the place of the one before."""
        with self._database.write() as connection:
            connection.execute(delete(agent_replacements).where(agent_replacements.c.minion == record.minion))
            values = {"minion": record.minion, "record": msgspec.msgpack.encode(record)}
            connection.execute(insert(agent_replacements), values)


_DECODER = msgspec.msgpack.Decoder(ReplacementRecord)
