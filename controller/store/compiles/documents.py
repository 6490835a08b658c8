"""Desired documents by digest, packed; each is kept once, however many minions have it."""

from __future__ import annotations

import zlib
from collections.abc import Mapping
from dataclasses import dataclass

from sqlalchemy import delete, insert, select

from controller.store.database import Database
from controller.store.rows import present
from controller.store.schema import applied, confirmations, desired, documents, holds, minions, runs

_FAST = 1  # zlib's level: most of the gain for a fifth of the time

_PRUNED = 200
"""Documents that one transaction of `prune` forgets."""


@dataclass(frozen=True, slots=True)
class DocumentBlobs:
    """The table of documents."""

    database: Database

    def get(self, digest: str) -> bytes | None:
        """A packed document; None when it is not kept (any more)."""
        with self.database.read() as connection:
            blob = connection.scalar(select(documents.c.blob).where(documents.c.digest == digest))
        return None if blob is None else zlib.decompress(blob)

    def put(self, packed: Mapping[str, bytes]) -> None:
        """Keep packed documents by their digests; those that are kept already are not written again."""
        with self.database.write() as connection:
            have = present(connection, documents.c.digest, list(packed))
            rows = [
                {"digest": digest, "blob": zlib.compress(document, _FAST)}
                for digest, document in packed.items()
                if digest not in have
            ]
            if rows:
                connection.execute(insert(documents), rows)

    def prune(self) -> int:
        """Forget documents that no minion shall have or hold, has applied, goes back to or runs; returns how many.

        Nobody waits long for the write lock meanwhile: a transaction forgets a limited number.
        """
        needed = [
            select(desired.c.digest).where(desired.c.digest.is_not(None)),
            select(applied.c.digest),
            select(holds.c.digest),
            select(confirmations.c.digest),
            select(minions.c.held),
            select(runs.c.digest).where(runs.c.state.in_(["requested", "started"])),
        ]
        unused = select(documents.c.digest).limit(_PRUNED)
        for query in needed:
            unused = unused.where(documents.c.digest.not_in(query))
        gone = 0
        while True:
            with self.database.write() as connection:
                found = connection.execute(delete(documents).where(documents.c.digest.in_(unused))).rowcount
            gone += found
            if found < _PRUNED:
                return gone
