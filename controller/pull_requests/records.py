"""Keeps records and reports of pull requests, and what is said of them in the event log, together or not at all."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import msgspec

from controller.observe.event_log import EventLog
from controller.pull_requests.instructions import Say
from controller.pull_requests.preview_queue import PullKey
from controller.schema.reports import PreviewReport
from controller.store import Store
from controller.store.pull_requests import PullRecord
from reactors.bus import Bus


class ReportTooLarge(Exception):
    """A report is over the limit; the text says which."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Records:
    """The records of all pull requests."""

    store: Store
    bus: Bus
    event_log: EventLog
    clock: Callable[[], float]
    report_bytes: int

    def get(self, key: PullKey) -> PullRecord:
        """The record; an empty one of a pull request that was not looked at yet."""
        found = self.store.pull_requests.get(*key)
        return found or PullRecord(forge=key.forge, project=key.project, number=key.number)

    def put(
        self,
        record: PullRecord,
        said: Sequence[Say] = (),
        report: bytes | None = None,
        also: Callable[[], None] | None = None,
    ) -> int:
        """Keep a record with what happened, and a report where there is a new one; the id of the last event, or 0.

        `also`: what else is kept with it, or not at all.
        """
        key = PullKey(record.forge, record.project, record.number)
        about = {"forge": key.forge, "project": key.project, "number": key.number}
        events = [self.bus.make(f"saltern/pull/{key.forge}/{each.what}", {**about, **each.data}) for each in said]
        with self.store.transaction():
            if also is not None:
                also()
            self.store.pull_requests.put(record, self.clock())
            if report is not None:
                self.store.pull_requests.put_report(*key, report)
            if events:
                self.event_log.keep_now(events)
        for event in events:
            self.bus.deliver(event)
        return events[-1].id if events else 0

    async def packed(self, report: PreviewReport) -> bytes:
        """A report as it is kept. Raises ReportTooLarge."""
        packed = await asyncio.to_thread(msgspec.json.encode, report)
        if len(packed) > self.report_bytes:
            raise ReportTooLarge(
                f"the report has {len(packed)} bytes, the limit is {self.report_bytes} (limits: pull_request: "
                "report_bytes)"
            )
        return packed

    async def report(self, record: PullRecord) -> PreviewReport | None:
        """The report that is kept of a pull request; None when there is none, or another version made it."""
        if record.previewed is None:
            return None
        return await asyncio.to_thread(kept_report, self.store, record)


def kept_report(store: Store, record: PullRecord) -> PreviewReport | None:
    """The report that is kept of a pull request; None when there is none, or another version made it."""
    packed = store.pull_requests.report(record.forge, record.project, record.number)
    try:
        return None if packed is None else msgspec.json.decode(packed, type=PreviewReport)
    except msgspec.ValidationError:
        return None
