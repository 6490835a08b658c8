"""What people see of orchestrations: those that go on, from their tables; those that ended, from the history.

Called by the service, in a thread. Nothing is changed here.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from controller.orchestration.journal import EVERY
from controller.schema.orchestrations import (
    OrchestrationDetail,
    OrchestrationsQuery,
    OrchestrationStep,
    OrchestrationView,
)
from controller.store import RunRecord, Store
from controller.store.orchestrations.table import OrchestrationRecord, StepRecord
from highstate.types import Chunk

FUNCTIONS = (
    "state.orchestrate",
    "state.orch",
    "state.sls",
    "state.orchestrate_high",
    "state.orchestrate_single",
)
"""Runners that are orchestrations."""
_TEST = "#test"
_WORDS = {True: "ok", False: "failed", None: "pending"}


def newest(store: Store, query: OrchestrationsQuery, now: float) -> list[OrchestrationView]:
    """Those that go on, then those that ended; of each the newest first.

    Args:
        store: of the controller.
        query: which, and at most how many.
        now: seconds since the epoch; by it a pause has ended.
    """
    records = list(reversed(store.orchestrations.all()))
    shown = [] if query.before else records[: query.limit]
    going = [_going_view(store, record, _going_steps(store, record, now)) for record in shown]
    known = {record.jid for record in records}
    ended = store.runs.newest_of(FUNCTIONS, "runner", query.limit + len(known), before=query.before)
    found = [_ended_view(run, _ended_steps(store, run)[0]) for run in ended if run.run_id not in known]
    return [*going, *found][: query.limit]


def detail(store: Store, jid: str, now: float) -> OrchestrationDetail | None:
    """One with its steps; None when there is no such orchestration."""
    record = store.orchestrations.get(jid)
    if record is not None:
        going = _going_steps(store, record, now)
        return OrchestrationDetail(orchestration=_going_view(store, record, going), steps=going)
    run = store.runs.get(jid)
    if run is None or run.kind != "runner" or run.fun not in FUNCTIONS:
        return None
    steps, errors = _ended_steps(store, run)
    return OrchestrationDetail(orchestration=_ended_view(run, steps), steps=steps, errors=errors)


def _going_view(store: Store, record: OrchestrationRecord, steps: Sequence[OrchestrationStep]) -> OrchestrationView:
    states = {step.state for step in steps}
    run = store.runs.get(record.jid)
    return OrchestrationView(
        jid=record.jid,
        fun=record.fun,
        sls=run.args if run is not None and run.args else record.sls,
        user=record.user,
        created=record.created,
        state="paused" if "paused" in states and "running" not in states else "running",
        test=bool(record.options.get("test")),
        done=sum(step.state == "finished" for step in steps),
        total=len(steps),
        summary=next((f"{step.id} ({step.fun})" for step in steps if step.state in ("running", "paused")), ""),
    )


def _ended_view(run: RunRecord, steps: Sequence[OrchestrationStep]) -> OrchestrationView:
    failed = next((f"{step.id} failed" for step in steps if step.outcome == "failed"), "")
    return OrchestrationView(
        jid=run.run_id,
        fun=run.fun,
        sls=run.args,
        user=run.user,
        created=run.created,
        state="finished" if run.state == "finished" else "running",
        outcome=run.outcome,
        test="test=true" in run.args.lower(),
        done=len(steps),
        total=len(steps),
        summary=failed if steps else run.summary,
    )


@dataclass(frozen=True, slots=True)
class _Begun:
    """What the tables know of one step."""

    own: StepRecord | None
    test: StepRecord | None

    @property
    def result(self) -> Mapping[str, Any] | None:
        return None if self.own is None else self.own.result

    @property
    def asked(self) -> Mapping[str, Any]:
        """Of the step itself, else of its test run."""
        every = [one.asked for one in (self.own, self.test) if one is not None and one.asked is not None]
        return every[0] if every and isinstance(every[0], Mapping) else {}


def _going_steps(store: Store, record: OrchestrationRecord, now: float) -> tuple[OrchestrationStep, ...]:
    begun = {step.key: step for step in store.orchestrations.steps(record.jid)}
    chunks = [Chunk.from_salt(low) for low in record.low]
    return tuple(
        _going_step(store, chunk, _Begun(begun.get(chunk.tag), begun.get(chunk.tag + _TEST)), record.controls, now)
        for chunk in chunks
    )


def _going_step(
    store: Store, chunk: Chunk, begun: _Begun, controls: Mapping[str, Any], now: float
) -> OrchestrationStep:
    result = begun.result or {}
    first = begun.own or begun.test
    held = any(_holds(controls[name], now) for name in (chunk.id, EVERY) if name in controls)
    state = "finished" if begun.result is not None else "running" if first else "paused" if held else "waiting"
    return OrchestrationStep(
        key=chunk.tag,
        id=chunk.id,
        fun=f"{chunk.state}.{chunk.fun}",
        name=chunk.name,
        state=state,
        outcome=_WORDS[result.get("result")] if begun.result is not None else "",
        started=None if first is None else first.started,
        comment=str(result.get("comment") or ""),
        changes=dict(result.get("changes") or {}),
        jid=_job(begun.asked),
        minions=_minions(store, begun.asked),
    )


def _holds(until: Any, now: float) -> bool:
    return until is None or (isinstance(until, int | float) and until > now)


def _job(asked: Mapping[str, Any]) -> str:
    jids = asked.get("jids")
    return str(asked.get("job") or (jids.get("") if isinstance(jids, Mapping) else "") or "")


def _minions(store: Store, asked: Mapping[str, Any]) -> dict[str, str]:
    names: Sequence[str] = asked.get("minions") or ()
    runs = {run.minion: run for run in store.runs.of_job(str(asked["job"]))} if names else {}
    return {name: (runs[name].outcome or "running") if name in runs else "waiting" for name in names}


def _ended_steps(store: Store, run: RunRecord) -> tuple[tuple[OrchestrationStep, ...], tuple[str, ...]]:
    kept = store.runs.result(run.run_id) or {}
    value = kept.get("value")
    data = value.get("data") if isinstance(value, Mapping) else None
    if not isinstance(data, Mapping):
        return (), tuple(filter(None, [kept.get("error") or (str(value) if value is not None else "")]))
    shown: Any = next(iter(data.values()), {})
    if not isinstance(shown, Mapping):
        return (), tuple(map(str, shown))
    ordered = sorted(shown.items(), key=lambda item: item[1].get("__run_num__", 0))
    return tuple(_ended_step(key, one) for key, one in ordered), ()


def _ended_step(key: str, one: Mapping[str, Any]) -> OrchestrationStep:
    state, own_id, _, fun = key.split("_|-")
    return OrchestrationStep(
        key=key,
        id=str(one.get("__id__", own_id)),
        fun=f"{state}.{fun}",
        name=str(one.get("name", "")),
        state="finished",
        outcome=_WORDS[one.get("result")],
        comment=str(one.get("comment") or ""),
        changes=dict(one.get("changes") or {}),
        jid=str(one.get("__jid__", "")),
    )
