"""Functions that a step calls on minions: each is asked once, also when the controller is ended in the middle."""

from __future__ import annotations

import asyncio
import contextlib
import math
import random
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, TypedDict

from controller.jobs.batch_events import BatchEvents
from controller.jobs.job_outcomes import UNREACHABLE
from controller.jobs.jobs import Asked, returned
from controller.jobs.state_calls import STOPPED
from controller.orchestration.steps.step import StepContext, StepFailed
from controller.runners.fleet import target_of
from controller.schema.errors import ServiceError
from controller.schema.requests import CallQuestion
from controller.schema.runs import CallReturn
from controller.store import RunRecord
from wire.messages import RunResult

_LOOK = 0.2
"""Seconds between two looks whether minions are connected."""
_AGAIN = 2.0
"""Seconds between two looks whether a minion that was asked by an earlier controller is connected again."""


class Returning(TypedDict, total=False):
    """What a question says of returners."""

    ret: tuple[str, ...]
    ret_config: str
    ret_kwargs: dict[str, Any]


async def ask(
    step: StepContext,
    tgt: Any,
    tgt_type: str,
    fun: str,
    args: Sequence[Any],
    kwargs: Mapping[str, Any],
    *,
    timeout: float | None,
    batch: Any = None,
    subset: int | None = None,
    failhard: bool = False,
    returning: Returning | None = None,
) -> tuple[str, dict[str, CallReturn]]:
    """Call a function on the minions that a target means.

    Args:
        step: whose record keeps the job and its minions before anybody is asked; a step that goes on after a restart
            asks those that were not asked, and waits for the others.
        tgt: the target.
        tgt_type: its kind.
        fun: the function.
        args: by position.
        kwargs: by name.
        timeout: seconds to wait for returns; None: the limit `step_seconds`.
        batch: how many are asked at once, as a number or a percentage; None: all.
        subset: ask so many of them, chosen by chance.
        failhard: begin no further batch after one in which a minion failed.
        returning: the returners that get what minions return.

    Returns:
        The id of the job, and the returns by minion; of those that did not answer, too. No minion: an empty mapping.
    """
    asked = step.record.asked
    goes_on = asked is not None
    if asked is None:
        minions = await _select(step, tgt, tgt_type, subset)
        asked = {"job": step.runners.ids.next(), "minions": minions}
        step.remember(asked)
    job, minions = str(asked["job"]), list(asked["minions"])
    question = CallQuestion(
        target=target_of(tgt, tgt_type),
        fun=fun,
        args=tuple(args),
        kwargs=dict(kwargs),
        timeout=0.0,
        **(returning or Returning()),
    )
    wait = min(timeout or math.inf, step.limits.step_seconds)
    groups = _groups(minions, batch)
    if not minions:
        return job, {}
    with _opened(step, job, minions, question) as cause:
        if batch in (None, "", 0) or not groups:
            found = await _ask_group(step, minions, question, job, cause, wait)
        else:
            found = await _ask_batches(step, groups, question, job, cause, wait, failhard=failhard, goes_on=goes_on)
    return job, dict(sorted(found.items()))


@contextlib.contextmanager
def _opened(step: StepContext, job: str, minions: Sequence[str], question: CallQuestion) -> Iterator[int]:
    """While minions of a job are asked; the event that they follow from."""
    opened = step.call.ports.jobs.opened
    cause = opened.open(job, minions, question, step.call.user, step.call.cause)
    opened.drive(job)
    try:
        yield cause
    finally:
        opened.leave(job)


async def _ask_batches(
    step: StepContext,
    groups: Sequence[Sequence[str]],
    question: CallQuestion,
    job: str,
    cause: int,
    timeout: float,
    *,
    failhard: bool,
    goes_on: bool,
) -> dict[str, CallReturn]:
    """Ask one group after the other. `goes_on`: an earlier controller has begun, and said so."""
    ports, minions = step.call.ports, [minion for group in groups for minion in group]
    told = BatchEvents(
        bus=ports.bus,
        clock=ports.clock,
        jid=job,
        question=question,
        user=step.call.user,
        minions=minions,
        size=len(groups[0]),
        cause=cause,
    )
    if not goes_on:
        told.new()
    found: dict[str, CallReturn] = {}
    try:
        for group in groups:
            told.begin(group)
            found |= await _ask_group(step, group, question, job, cause, timeout)
            for minion in group:
                told.returned(minion, answered=found[minion].answered)
            if failhard and not all(one.ok for one in found.values()):
                told.halted("failhard")
                break
            step.tell(f"{len(found)} of {len(minions)} minions returned")
        told.complete()
    finally:
        told.halted("stop")
    return found


async def _select(step: StepContext, tgt: Any, tgt_type: str, subset: int | None) -> list[str]:
    try:
        targets, target = step.call.ports.targets, target_of(tgt, tgt_type)
        minions = await asyncio.to_thread(targets.select, target, await targets.hosts(target))
    except ServiceError as error:
        if error.kind != "no-target":
            raise StepFailed(error.message) from None
        return []
    if len(minions) > step.limits.minions:
        raise StepFailed(
            f"{len(minions)} minions match; the limit `minions` of orchestrations is {step.limits.minions}"
        )
    return sorted(random.sample(minions, min(subset, len(minions)))) if subset else minions


async def _ask_group(
    step: StepContext, minions: Sequence[str], question: CallQuestion, job: str, cause: int, timeout: float
) -> dict[str, CallReturn]:
    jobs, store = step.call.ports.jobs, step.call.ports.store
    asked_before = [run for run in store.runs.of_job(job) if UNREACHABLE not in (run.outcome, run.ending)]
    before = {run.minion: run for run in asked_before if run.minion in minions}
    found = {minion: _kept(run, store.runs.result(run.run_id)) for minion, run in before.items() if _ended(run)}
    for minion in [minion for minion, one in found.items() if one.error == STOPPED]:  # it was never asked
        del found[minion], before[minion]
    fresh = [minion for minion in minions if minion not in before]
    open_runs = [run for minion, run in before.items() if minion not in found]
    asked: dict[str, Asked] = {run.minion: (run.run_id, jobs.wait(run.run_id)) for run in open_runs}
    asking = asyncio.create_task(_ask_again(step, open_runs, question))
    await _reconnected(step, fresh)
    await jobs.returners.look(question.ret)
    asked |= jobs.start(fresh, question, user=step.call.user, cause=cause, job=job)
    try:
        async for minion, run_id, result in jobs.gather(asked, timeout):
            found[minion] = returned(minion, run_id, result, timeout)
        # What an earlier controller has sent, and never came to its minion, was not run: the minion is asked anew.
        lost = [run.minion for run in open_runs if found[run.minion].ending == UNREACHABLE]
        asked = jobs.start(lost, question, user=step.call.user, cause=cause, job=job)
        async for minion, run_id, result in jobs.gather(asked, timeout):
            found[minion] = returned(minion, run_id, result, timeout)
    finally:
        asking.cancel()
    return found


async def _reconnected(step: StepContext, minions: Sequence[str]) -> None:
    """Wait for those that are away, where the controller has just started: minions take a while to notice."""
    sessions, clock = step.call.ports.sessions, step.call.ports.clock
    while clock() < step.reconnect_until and not all(sessions.session(minion) for minion in minions):
        await asyncio.sleep(_LOOK)


async def _ask_again(step: StepContext, runs: Sequence[RunRecord], question: CallQuestion) -> None:
    """Send the calls of an earlier controller once more, as minions connect: one that has it does not do it twice."""
    left = list(runs)
    while left:
        left = [run for run in left if not step.call.ports.jobs.send_again(run, question)]
        await asyncio.sleep(_AGAIN)


def _ended(run: RunRecord) -> bool:
    return run.state == "finished"


def _kept(run: RunRecord, result: Any) -> CallReturn:
    kept = result or {}
    whole = RunResult(
        run_id=run.run_id,
        kind="call",
        digest="",
        generation=0,
        outcome=run.outcome or "failed",  # type: ignore[arg-type]
        states=kept.get("states") or {},
        value=kept.get("value"),
        error=kept.get("error") or "",
        ending=run.ending,  # type: ignore[arg-type]
        seconds=run.seconds or 0.0,
    )
    return returned(run.minion, run.run_id, whole, 0.0)


def _groups(minions: Sequence[str], batch: Any) -> list[Sequence[str]]:
    if batch in (None, "", 0):
        return [minions] if minions else []
    text = str(batch).strip()
    try:
        size = int(len(minions) * float(text[:-1]) / 100) if text.endswith("%") else int(text)
    except ValueError:
        raise StepFailed(f"batch: a number or a percentage is wanted, not {batch!r}") from None
    if size < 1 and not text.endswith("%"):
        raise StepFailed(f"batch: a number above 0 is wanted, not {batch!r}")
    size = max(1, size)
    return [minions[first : first + size] for first in range(0, len(minions), size)]
