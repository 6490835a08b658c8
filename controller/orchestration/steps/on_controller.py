"""The steps `salt.runner`, `salt.wheel`, `salt.parallel_runners` and `salt.wait_for_event`."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence
from typing import Any

from controller.orchestration.steps.step import StepContext, StepFailed, StepFunction, StepOutcome
from controller.runners.outcome import ControllerOutcome, outcome_of
from controller.runners.registry import FunctionKind
from controller.runners.runner_jobs import ControllerCall
from matching.matcher import person_matcher
from minion.arguments.types import AnyValue, Map
from reactors.bus import Subscription
from reactors.events import Event

_PROGRAMS = "salt.cmd"


async def runner(
    step: StepContext, name: str, arg: AnyValue = (), kwarg: Map | None = None, **kwargs: Any
) -> StepOutcome:
    """A runner of the controller. One that returns `{'Error': …}`, or states that failed, is a failure."""
    return await _called(step, "runner", name, arg, {**(kwarg or {}), **kwargs})


async def wheel(
    step: StepContext, name: str, arg: AnyValue = (), kwarg: Map | None = None, **kwargs: Any
) -> StepOutcome:
    """A wheel of the controller."""
    return await _called(step, "wheel", name, arg, {**(kwarg or {}), **kwargs})


async def parallel_runners(step: StepContext, name: str, runners: AnyValue, **kwargs: Any) -> StepOutcome:
    """Several runners at the same time. It succeeds when all do.

    Source: salt/states/saltmod.py `parallel_runners`, which raises in Salt 3008; its documentation is followed.
    """
    wanted = _wanted(runners)
    if step.test:
        names = ", ".join(call.fun for call in wanted.values())
        return StepOutcome(result=None, comment=f"Runner functions would be executed: {names}")
    jids = _jids(step, list(wanted))
    each = await asyncio.gather(*(_outcome(step, jids[own], call) for own, call in wanted.items()))
    found = dict(zip(wanted, each, strict=True))
    failed = [own for own, one in found.items() if not one.success]
    comment = "All runner functions executed successfully."
    if failed:
        comment = f"Runner {failed[0]} failed." if len(failed) == 1 else f"Runners {', '.join(failed)} failed."
    return StepOutcome(
        result=not failed, comment=comment, changes={"ret": {own: one.value for own, one in found.items()}}
    )


async def wait_for_event(
    step: StepContext,
    name: str,
    id_list: AnyValue,
    event_id: str = "id",
    timeout: float = 300.0,
    node: str = "master",
) -> StepOutcome:
    """Wait until each of the ids has come in an event whose tag matches the name."""
    if step.test:
        return StepOutcome(result=None, comment=f"Orchestration would wait for event '{name}'")
    left = [id_list] if not isinstance(id_list, list | tuple) else list(id_list)
    seen: list[Any] = []
    clock = step.call.ports.clock
    with step.call.ports.bus.subscribe() as events:
        for event in step.call.ports.store.events.since(step.record.started, "", step.limits.event_history):
            _take(event, name, event_id, left, seen)
        until = step.record.started + min(timeout, step.limits.step_seconds)
        while left and (remaining := until - clock()) > 0:
            await _next(events, remaining)
            for event in events.drain():
                _take(event, name, event_id, left, seen)
    changes = {"minions_seen": seen} if seen else {}
    if left:
        return StepOutcome(result=False, comment=f"Timeout value reached. Not seen: {left}", changes=changes)
    took = clock() - step.record.started
    return StepOutcome(result=True, comment=f"All events seen in {took} seconds.", changes=changes)


async def _next(events: Subscription, seconds: float) -> None:
    try:
        async with asyncio.timeout(seconds):
            await events.wait()
    except TimeoutError:
        return


def _take(event: Event, tag: str, event_id: str, left: list[Any], seen: list[Any]) -> None:
    if not left or not (event.tag == tag or person_matcher().glob(tag, event.tag)):
        return
    inner = event.data.get("data")
    value = event.data.get(event_id)
    if value is None and isinstance(inner, Mapping):
        value = inner.get(event_id)
    for one in value if isinstance(value, list | tuple) else [value]:
        if one is not None and one in left:
            left.remove(one)
            seen.append(one)


def _wanted(runners: Any) -> dict[str, ControllerCall]:
    if isinstance(runners, str):
        runners = {runners: None}
    if not isinstance(runners, Mapping):
        raise StepFailed("The runners parameter must be a string or dict.")
    found = {}
    for own, config in runners.items():
        one: dict[str, Any] = {}
        for part in config if isinstance(config, list | tuple) else [config or {}]:
            if not isinstance(part, Mapping):
                raise StepFailed(f"{own}: a list of mappings is wanted, not {part!r}")
            one |= part
        kwargs = {
            **_mapping(own, one.get("kwarg")),
            **{k: v for k, v in one.items() if k not in ("name", "arg", "kwarg")},
        }
        found[str(own)] = ControllerCall(
            kind="runner", fun=str(one.get("name", own)), args=_arguments(one.get("arg")), kwargs=kwargs
        )
    return found


def _mapping(own: Any, value: Any) -> Mapping[str, Any]:
    if isinstance(value, list):
        value = {key: one for part in value if isinstance(part, Mapping) for key, one in part.items()}
    if value is not None and not isinstance(value, Mapping):
        raise StepFailed(f"{own}: kwarg has to be a mapping, not {value!r}")
    return value or {}


def _arguments(arg: Any) -> Sequence[Any]:
    if arg is None:
        return ()
    return tuple(arg) if isinstance(arg, list | tuple) else (arg,)


async def _called(step: StepContext, kind: FunctionKind, fun: str, arg: Any, kwargs: Mapping[str, Any]) -> StepOutcome:
    title = f"{kind.capitalize()} function '{fun}'"
    if step.test:
        return StepOutcome(result=None, comment=f"{title} would be executed.")
    jid = _jids(step, [""])[""]
    outcome = await _outcome(step, jid, ControllerCall(kind=kind, fun=fun, args=_arguments(arg), kwargs=kwargs))
    comment = f"{title} {'executed' if outcome.success else 'failed'}."
    return StepOutcome(result=outcome.success, comment=comment, changes={"return": outcome.value}, jid=jid)


def _jids(step: StepContext, names: Sequence[str]) -> dict[str, str]:
    """A jid for each call, kept before it is begun; those of a step that goes on after a restart are known."""
    if step.record.asked is not None:
        return dict(step.record.asked["jids"])
    jids = {name: step.runners.ids.next() for name in names}
    step.remember({"jids": jids})
    return jids


async def _outcome(step: StepContext, jid: str, call: ControllerCall) -> ControllerOutcome:
    """Begin a call, or find what came of it: a call is begun once."""
    if call.kind == "runner" and call.fun == _PROGRAMS:
        raise StepFailed(
            "salt.cmd runs programs on the controller's machine, which no tree may have it do; "
            "use salt.function on the minion of that machine"
        )
    running = step.runners.running.get(jid)
    if running is not None:
        return await asyncio.shield(running.ended)
    known = step.call.ports.store.runs.get(jid)
    if known is not None:
        kept = step.call.ports.store.runs.result(jid) or {}
        return ControllerOutcome(kept.get("value"), known.outcome == "ok" and outcome_of(kept.get("value")).success)
    begun = await step.runners.start(
        ControllerCall(
            kind=call.kind,
            fun=call.fun,
            args=call.args,
            kwargs=call.kwargs,
            user=step.call.user,
            cause=step.call.cause,
            jid=jid,
        )
    )
    return await asyncio.shield(begun.ended)


FUNCTIONS: Mapping[str, StepFunction] = {
    "runner": runner,
    "wheel": wheel,
    "parallel_runners": parallel_runners,
    "wait_for_event": wait_for_event,
}
