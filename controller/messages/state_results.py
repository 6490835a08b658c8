"""Starts and results of runs of states that come together, stored together: a push is answered by many minions at once.

Called by `MessageHandlers` with what stands side by side in a batch. What follows from one result is what `RunResults`
makes of it; what is not plain (calls, runs that a minion began while it was alone, runs of others) is left to it.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from controller.messages.context import MessageContext
from controller.messages.replies import Replies
from controller.messages.run_results import RunResults, digest_of, is_own_run, revision_of, summary_of
from controller.observe.run_text import count_states
from controller.sessions.sessions import Session
from controller.store import Past, RunRecord
from controller.store.run_tables.open_calls import KnownCall
from controller.store.run_tables.packed_results import packed_result
from controller.store.run_tables.state_runs import StoredStateEnd
from wire.messages import PruneReport, ResultAck, RunResult, RunStarted
from wire.server.types import Delivery, Incoming

_KINDS = ("apply", "remediate", "drift")


@dataclass(slots=True, kw_only=True)
class _Ended:
    known: KnownCall
    session: Session
    result: RunResult
    end: StoredStateEnd


@dataclass(slots=True, kw_only=True)
class _Group:
    """What is known before, and what the messages make of it."""

    known: dict[str, KnownCall]
    own: frozenset[str]
    """Runs that minions began themselves, and that are new."""
    pasts: dict[str, Past]
    reports: dict[str, PruneReport]
    started: dict[str, tuple[KnownCall, float]] = field(default_factory=dict)
    ended: dict[str, _Ended] = field(default_factory=dict)
    again: list[tuple[str, str]] = field(default_factory=list)
    """Keys of minions, and runs whose results are stored."""
    left: list[Delivery] = field(default_factory=list)


@dataclass(frozen=True, slots=True, kw_only=True)
class StateResults:
    """Takes messages about runs of states, many at a time."""

    context: MessageContext
    replies: Replies
    results: RunResults

    def takes(self, delivery: Delivery) -> bool:
        """Whether a delivery can be taken together with others of its kind."""
        if not isinstance(delivery, Incoming) or delivery.id is None:
            return False
        message = delivery.message
        return isinstance(message, RunStarted) or (isinstance(message, RunResult) and message.kind in _KINDS)

    def take_together(self, group: Sequence[Delivery]) -> list[Delivery]:
        """Store what these say, in their order; those that it leaves to be handled one by one."""
        said = [
            (each, each.message)
            for each in group
            if isinstance(each, Incoming) and isinstance(each.message, RunStarted | RunResult)
        ]
        minions = list(dict.fromkeys(each.id for each, _ in said if each.id is not None))
        self.results.redactor.prepare(minions)
        taken = self._known([(each, message) for each, message in said if self._session_of(each) is not None], minions)
        for each, message in said:
            self._look(each, message, taken)
        self.context.store.state_runs.write(list(taken.started.values()), [one.end for one in taken.ended.values()])
        for known, _ in taken.started.values():
            if known.run.kind != "drift":  # a check is quiet: only what it finds is published
                self.results.tell_start(known.run)
        ended = list(taken.ended.values())
        self.results.tell_states([(one.known.run, one.result, one.end) for one in ended])
        acks = [*((one.session.key, one.known.run.run_id) for one in ended), *taken.again]
        self.replies.send_all([(key, ResultAck(run_id=run_id)) for key, run_id in acks])
        self._prune([one.known.run for one in ended if one.known.run.run_id in taken.own])
        return taken.left

    def _session_of(self, incoming: Incoming) -> Session | None:
        session = self.context.sessions.session(incoming.id or "")
        return session if session is not None and session.key == incoming.key else None

    # --- what is known before

    def _known(self, said: Sequence[tuple[Incoming, RunStarted | RunResult]], minions: Sequence[str]) -> _Group:
        with self.context.store.reading():
            return self._read(said, minions)

    def _read(self, said: Sequence[tuple[Incoming, RunStarted | RunResult]], minions: Sequence[str]) -> _Group:
        store = self.context.store
        known = store.call_runs.find(list(dict.fromkeys(message.run_id for _, message in said)))
        results = [(each.id or "", message) for each, message in said if isinstance(message, RunResult)]
        own = self._begun_alone([(minion, each) for minion, each in results if each.run_id not in known])
        if own:
            known |= store.call_runs.find(own)
        return _Group(
            known=known,
            own=frozenset(own),
            pasts=store.drift.of_each(minions) if results else {},
            reports=store.prune_reports.of_each(minions) if results else {},
        )

    def _begun_alone(self, results: Sequence[tuple[str, RunResult]]) -> list[str]:
        """Record the drift checks that minions began themselves; their ids."""
        checks: dict[str, tuple[str, RunResult]] = {}
        for minion, each in results:
            if each.kind == "drift" and is_own_run(each.run_id, "drift"):
                checks.setdefault(each.run_id, (minion, each))
        if not checks:
            return []
        of = list({minion for minion, _ in checks.values()})
        desired, applied = self.context.store.desired.of(of), self.context.store.applied.of(of)
        self.context.store.runs.create_all(
            [
                self.results.own_record(
                    minion, each, revision_of(digest_of(each.digest), desired.get(minion), applied.get(minion))
                )
                for minion, each in checks.values()
            ]
        )
        return list(checks)

    # --- one message

    def _look(self, incoming: Incoming, message: RunStarted | RunResult, group: _Group) -> None:
        session, known = self._session_of(incoming), group.known.get(message.run_id)
        if known is not None and session is not None and known.run.minion != session.minion:
            known = None
        if session is None:
            group.left.append(incoming)
        elif isinstance(message, RunStarted):
            self._heard(session, message)
            if known is not None:
                self._started(session, known, group)
        elif known is None or known.run.kind not in _KINDS:
            group.left.append(incoming)
        else:
            self._heard(session, message)
            self._result(session, known, message, group)

    def _started(self, session: Session, known: KnownCall, group: _Group) -> None:
        run = known.run
        if run.state == "requested" and run.run_id not in group.started and run.run_id not in group.ended:
            group.started[run.run_id] = known, session.seen

    def _result(self, session: Session, known: KnownCall, result: RunResult, group: _Group) -> None:
        run_id = known.run.run_id
        if known.run.state == "finished" or run_id in group.ended:
            group.again.append((session.key, run_id))
        else:
            group.ended[run_id] = self._ended(session, known, result, group)

    def _heard(self, session: Session, message: RunStarted | RunResult) -> None:
        session.seen, session.heard = self.context.clock(), self.context.steady()
        self.context.metrics.received(type(message).__name__)

    def _ended(self, session: Session, known: KnownCall, said: RunResult, group: _Group) -> _Ended:
        run, minion = known.run, known.run.minion
        result = self.results.redactor.result(minion, said)
        session.progress.pop(run.run_id, None)
        group.pasts[minion], classes = self.results.classes(run, result, group.pasts.get(minion, {}))
        self.results.keep_report(run, result, group.reports)
        end = self._end_of(known, result, session.seen, group.started, classes)
        return _Ended(known=known, session=session, result=result, end=end)

    def _end_of(
        self,
        known: KnownCall,
        result: RunResult,
        now: float,
        started: Mapping[str, tuple[KnownCall, float]],
        classes: dict[str, int],
    ) -> StoredStateEnd:
        run, (changed, failed) = known.run, count_states(result.states)
        _, began = started.get(run.run_id, (known, run.started))
        return StoredStateEnd(
            known=known,
            outcome=result.outcome,
            started=result.started or began,
            finished=now,
            seconds=result.seconds,
            changes=changed,
            failed=failed,
            summary=summary_of(result),
            ending=result.ending,
            keys=self.results.redactor.keys(run.minion, run.keys),
            classes=classes,
            result=packed_result(
                {"states": result.states, "value": result.value, "error": result.error, "retcode": result.retcode}
            ),
        )

    def _prune(self, own: Sequence[RunRecord]) -> None:
        """A minion starts these itself, as many as it likes."""
        for minion in dict.fromkeys(run.minion for run in own):
            self.context.store.runs.prune(self.results.keep_runs, minion, self.results.keep_bytes)
