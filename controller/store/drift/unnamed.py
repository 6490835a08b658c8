"""What of each minion's inventory no state names any more, as it was told last."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import msgspec
from sqlalchemy import bindparam, delete, insert, select

from controller.store.database import Database
from controller.store.rows import chunks
from controller.store.schema import minions, prune_reports
from wire.messages import PruneReport

_DECODER = msgspec.msgpack.Decoder(PruneReport)
_OF = prune_reports.c.minion == bindparam("of")
_GET = select(prune_reports.c.report).where(_OF)
_OF_EACH = select(prune_reports.c.minion, prune_reports.c.report).where(
    prune_reports.c.minion.in_(bindparam("ids", expanding=True))
)
_DELETE = delete(prune_reports).where(_OF)
_KNOWN = select(minions.c.id).where(minions.c.id == bindparam("of"))
_PUT = insert(prune_reports)
_TOLD = select(prune_reports.c.minion, prune_reports.c.told, prune_reports.c.held).where(prune_reports.c.told > 0)


@dataclass(frozen=True, slots=True)
class PruneReports:
    """The table of them."""

    database: Database

    def of(self, minion: str) -> PruneReport | None:
        """That of a minion; None where nothing was made there."""
        with self.database.read() as connection:
            blob = connection.scalar(_GET, {"of": minion})
        return None if blob is None else _DECODER.decode(blob)

    def told(self) -> dict[str, tuple[int, str]]:
        """Of each minion that has any: how many resources no state names, and why they are held back."""
        with self.database.read() as connection:
            return {row.minion: (row.told, row.held) for row in connection.execute(_TOLD)}

    def of_each(self, of: Sequence[str]) -> dict[str, PruneReport]:
        """Those of these minions that have one."""
        with self.database.read() as connection:
            rows = [row for part in chunks(of) for row in connection.execute(_OF_EACH, {"ids": part})]
        return {row.minion: _DECODER.decode(row.report) for row in rows}

    def put(self, minion: str, report: PruneReport | None) -> None:
        """Keep one in the place of the one before; None: there is nothing to tell."""
        with self.database.write() as connection:
            connection.execute(_DELETE, {"of": minion})
            if report is not None and connection.scalar(_KNOWN, {"of": minion}) is not None:
                told, blob = len(report.resources) + report.more, msgspec.msgpack.encode(report)
                connection.execute(_PUT, {"minion": minion, "told": told, "held": report.held, "report": blob})
