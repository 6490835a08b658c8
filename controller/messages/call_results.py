"""Results of functions that come together, stored together: a job of many minions is answered by all of them at once.

Called by `MessageHandlers` with what stands side by side in a batch. What follows from one result is what
`RunResults` makes of it; whatever is not the plain end of a call that the controller asked for is left to it.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from controller.messages.context import MessageContext
from controller.messages.replies import Replies
from controller.messages.run_results import RunResults
from controller.observe.run_text import run_summary
from controller.sessions.sessions import Session
from controller.store import RunRecord
from controller.store.run_tables.call_runs import StoredCallEnd
from controller.store.run_tables.open_calls import KnownCall
from controller.store.run_tables.packed_results import packed_result
from wire.messages import ResultAck, RunResult, RunStarted
from wire.server.types import Delivery, Incoming

MOST_TOGETHER = 500
"""Messages that are stored together."""


@dataclass(slots=True)
class _Seen:
    """A run of the group, and what its messages make of it."""

    known: KnownCall
    session: Session
    started: float | None = None
    """When it was said to have begun; None: that was known."""
    result: RunResult | None = None
    end: StoredCallEnd | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class CallResults:
    """Takes messages about calls, many at a time."""

    context: MessageContext
    replies: Replies
    results: RunResults

    def takes(self, delivery: Delivery) -> bool:
        """Whether a delivery can be taken together with others of its kind."""
        if not isinstance(delivery, Incoming) or delivery.id is None:
            return False
        message = delivery.message
        if isinstance(message, RunStarted):  # `StateResults` takes all others
            return self.context.store.call_runs.is_open(message.run_id)
        return isinstance(message, RunResult) and message.kind == "call" and not (message.states or message.ending)

    def take_together(self, group: Sequence[Delivery]) -> list[Delivery]:
        """Store what these say, in their order; those that it leaves to be handled one by one.

        What it publishes comes after all is written: when the store fails, nothing has happened.
        """
        incoming = [each for each in group if isinstance(each, Incoming)]
        run_ids = (each.message.run_id for each in incoming if isinstance(each.message, RunStarted | RunResult))
        known = self.context.store.call_runs.find(list(dict.fromkeys(run_ids)))
        self.results.redactor.prepare(list(dict.fromkeys(each.id for each in incoming if each.id is not None)))
        left: list[Delivery] = []
        seen: dict[str, _Seen] = {}
        again: list[tuple[str, str]] = []
        for each in incoming:
            self._look(each, known, seen, again, left)
        self._write(seen)
        for one in seen.values():
            if one.started is not None:
                self.results.tell_start(one.known.run)
        ended = [(one.session, one.known.run, one.result) for one in seen.values() if one.result is not None]
        self.results.tell_calls(ended)
        acks = [*((session.key, run.run_id) for session, run, _ in ended), *again]
        self.replies.send_all([(key, ResultAck(run_id=run_id)) for key, run_id in acks])
        return left

    def _look(
        self,
        incoming: Incoming,
        known: Mapping[str, KnownCall],
        seen: dict[str, _Seen],
        again: list[tuple[str, str]],
        left: list[Delivery],
    ) -> None:
        message = incoming.message
        assert isinstance(message, RunStarted | RunResult)  # noqa: S101 - the caller has looked
        session = self.context.sessions.session(incoming.id or "")
        found = known.get(message.run_id)
        if session is None or session.key != incoming.key or found is None or not _is_plain(found.run, session.minion):
            left.append(incoming)
            return
        session.seen, session.heard = self.context.clock(), self.context.steady()
        self.context.metrics.received(type(message).__name__)
        one = seen.setdefault(message.run_id, _Seen(found, session))
        if isinstance(message, RunStarted):
            if found.run.state == "requested" and one.started is None and one.result is None:
                one.started = session.seen
        elif found.run.state == "finished" or one.result is not None:
            again.append((session.key, message.run_id))
        else:
            one.result = self.results.redactor.result(session.minion, message)
            one.end = _end_of(found, one.result, one.started, session.seen)

    def _write(self, seen: Mapping[str, _Seen]) -> None:
        self.context.store.call_runs.write(
            [(one.known, one.started) for one in seen.values() if one.started is not None and one.end is None],
            [one.end for one in seen.values() if one.end is not None],
        )


def _is_plain(run: RunRecord, minion: str) -> bool:
    """Whether it is a call of this minion without states of its own."""
    return run.kind == "call" and run.minion == minion and run.keys is None


def _end_of(known: KnownCall, result: RunResult, started: float | None, now: float) -> StoredCallEnd:
    began = result.started or started or known.run.started
    return StoredCallEnd(
        call=known,
        outcome=result.outcome,
        started=began,
        finished=now,
        seconds=result.seconds,
        summary=run_summary(result.states, result.error),
        ending=result.ending,
        result=packed_result(
            {"states": result.states, "value": result.value, "error": result.error, "retcode": result.retcode}
        ),
    )
