"""The way of a push as a trace: fetched, live, compiled, applied by each minion. Sent nowhere unless `spans` is set.

The ids of a trace follow from the revision and the time at which it went live, so that what minions apply after a
restart of the controller, or under another one that leads, is in the same trace. Called from the loop alone.
"""

from __future__ import annotations

import hashlib
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Protocol

from controller.store import RevisionRecord, RunRecord

MOST_RUNS = 200
"""Runs of a trace; those of the other minions are in the history."""
REMEMBERED = 16
"""Revisions whose traces go on."""
OLD_FETCH = 60.0
"""Seconds after which a fetch is no part of the trace of what goes live."""

Attributes = Mapping[str, str | int | float | bool]


@dataclass(frozen=True, slots=True, kw_only=True)
class Span:
    """One step. Times are seconds since the epoch."""

    name: str
    began: float
    ended: float
    trace: int
    """Of 128 bits."""
    parent: int
    """Of 64 bits; 0: it is the first of its trace, whose id is `number`."""
    number: int = 0
    """Of 64 bits; 0: any."""
    attributes: Attributes = field(default_factory=dict)
    error: str = ""
    """Why it failed; empty: it did not."""


class Spans(Protocol):
    """Where spans go."""

    def add(self, span: Span) -> None:
        """Have it sent; never waits."""


@dataclass(frozen=True, slots=True)
class _Trace:
    number: int
    root: int


class PushTraces:
    """What is told of pushes."""

    def __init__(self) -> None:
        self.spans: Spans | None = None
        self._fetches: list[tuple[str, float, float]] = []
        """Remote, begin and end of those that brought something which is not live yet."""
        self._live: dict[str, float] = {}
        """Digest of a revision -> when it went live."""
        self._runs = Counter[str]()
        """Digest of a revision -> runs that its trace has."""

    def fetched(self, remote: str, seconds: float, now: float) -> None:
        """A fetch has brought something."""
        if self.spans is not None:
            self._fetches = [*self._fetches, (remote, now - seconds, now)][-REMEMBERED:]

    def went_live(self, record: RevisionRecord, now: float) -> None:
        """A revision is live, with what was fetched before it."""
        if self.spans is None:
            return
        fetches = [each for each in self._fetches if now - each[2] <= OLD_FETCH]
        self._fetches.clear()
        self._runs.pop(record.digest, None)
        self._live.pop(record.digest, None)
        self._live[record.digest] = now
        for digest in list(self._live)[:-REMEMBERED]:
            del self._live[digest]
            self._runs.pop(digest, None)
        trace = _trace_of(record.digest, now)
        began = min((start for _, start, _ in fetches), default=now)
        about: Attributes = {
            "saltern.revision": record.label,
            "vcs.ref.head.revision": record.commit,
            "saltern.subject": record.subject[:200],
        }
        self.spans.add(
            Span(name="push", began=began, ended=now, trace=trace.number, parent=0, number=trace.root, attributes=about)
        )
        for remote, start, end in fetches:
            attributes = {"saltern.remote": remote}
            self.spans.add(
                Span(name="fetch", began=start, ended=end, trace=trace.number, parent=trace.root, attributes=attributes)
            )

    def compiled(self, digest: str, began: float, now: float, minions: int, failed: int) -> None:
        """The minions were compiled that a live revision concerns."""
        if self.spans is None or digest not in self._live:
            return
        trace = _trace_of(digest, self._live[digest])
        about: Attributes = {"saltern.minions": minions, "saltern.failed": failed}
        error = f"{failed} of {minions} minions do not compile" if failed else ""
        self.spans.add(
            Span(
                name="compile", began=began, ended=now, trace=trace.number, parent=trace.root, attributes=about,
                error=error,
            )
        )  # fmt: skip

    def run_ended(self, run: RunRecord, outcome: str, seconds: float, went_live: float, now: float) -> None:
        """A run that brings a revision to a minion has ended.

        Args:
            run: as it was asked for.
            outcome: of `RunResult`.
            seconds: that it took on the minion.
            went_live: when its revision was first seen, seconds since the epoch; 0: nobody knows.
            now: seconds since the epoch.
        """
        if self.spans is None or run.kind != "apply" or self._runs[run.revision] >= MOST_RUNS:
            return
        trace = self._trace(run.revision, went_live)
        if trace is None:
            return
        self._runs[run.revision] += 1
        about: Attributes = {
            "saltern.minion": run.minion,
            "saltern.run": run.run_id,
            "saltern.outcome": outcome,
            "saltern.run_seconds": seconds,
        }
        error = "" if outcome in ("ok", "changed") else outcome
        began = min(run.created, now)
        number = _digest_number(f"{trace.number}/{run.run_id}", 8)
        self.spans.add(
            Span(
                name="apply", began=began, ended=now, trace=trace.number, parent=trace.root, number=number,
                attributes=about, error=error,
            )
        )  # fmt: skip
        begins = max(began, now - seconds)
        self.spans.add(
            Span(
                name="run", began=begins, ended=now, trace=trace.number, parent=number,
                attributes={"saltern.minion": run.minion}, error=error,
            )
        )  # fmt: skip

    def trace_id(self, digest: str, went_live: float) -> str:
        """The id of a revision's trace, as exemplars have it; empty: nothing is sent. Arguments as of `run_ended`."""
        trace = self._trace(digest, went_live) if self.spans is not None else None
        return f"{trace.number:032x}" if trace is not None else ""

    def _trace(self, digest: str, went_live: float) -> _Trace | None:
        at = self._live.get(digest, went_live)
        return _trace_of(digest, at) if at else None


def _trace_of(digest: str, at: float) -> _Trace:
    return _Trace(_digest_number(f"{digest}@{at!r}", 16), _digest_number(f"push {digest}@{at!r}", 8))


def _digest_number(text: str, size: int) -> int:
    return int.from_bytes(hashlib.blake2b(text.encode(), digest_size=size).digest(), "big") or 1
