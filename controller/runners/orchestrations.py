"""Functions of the runner `state` that run orchestrations. Source: salt/runners/state.py."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Annotated, Any

from controller.runners.context import RunnerContext
from controller.runners.errors import ControllerCallFailed
from minion.arguments.types import AnyValue, Ignored, Map, OnlyBool, Unsupported

_PILLAR_ENC = Annotated[str | None, Unsupported("decrypt in the pillar's SLS, or by decrypt_pillar")]
_QUEUE = Annotated[bool, Ignored("orchestrations do not wait for each other")]


async def orchestrate(
    context: RunnerContext,
    mods: AnyValue,
    saltenv: str = "base",
    test: OnlyBool | None = None,
    exclude: AnyValue = None,
    pillar: AnyValue = None,
    pillarenv: str | None = None,
    pillar_enc: _PILLAR_ENC = None,
    orchestration_jid: Annotated[str | None, Ignored("each has the id of its call")] = None,
) -> dict[str, Any]:
    """Run SLS whose states are steps: `salt.state`, `salt.function`, `salt.runner` and the like.

    Args:
        context: of the call.
        mods: names of SLS, as a list or between commas.
        saltenv: that they come from.
        test: do nothing, and say what would be done; minions are asked with test=True.
        exclude: SLS or IDs that are left out.
        pillar: put over the pillar.
        pillarenv: that the pillar comes from.
        pillar_enc: not supported.
        orchestration_jid: accepted.
    """
    names = _names(mods)
    options = {"pillar": _pillar(pillar), "saltenv": saltenv, "pillarenv": pillarenv}
    low, errors = await context.ports.orchestrations.compiled(context, "show_low_sls", names, options)
    if errors:
        return _shown(context, list(errors), False)
    return await _run(context, "orchestrate", ",".join(names), _without(low, exclude), bool(test))


async def orchestrate_single(
    context: RunnerContext,
    fun: str,
    name: str,
    test: OnlyBool | None = None,
    queue: _QUEUE = False,
    pillar: AnyValue = None,
    **kwargs: Any,
) -> dict[str, Any]:
    """Run one step, as `fun=salt.wheel name=key.list_all`."""
    given = {key: one for key, one in kwargs.items() if not key.startswith("__")}
    if pillar is not None:
        given["pillar"] = _pillar(pillar)
    return await orchestrate_high(context, {name: {fun: [{key: one} for key, one in given.items()]}}, test=test)


async def orchestrate_high(
    context: RunnerContext,
    data: Map,
    test: OnlyBool | None = None,
    queue: _QUEUE = False,
    pillar: AnyValue = None,
) -> dict[str, Any]:
    """Run high data: `{stage: {salt.state: [{tgt: 'db*'}, {sls: postgres}]}}`."""
    if pillar:
        raise ControllerCallFailed("pillar has no use here: give it to the steps")
    low, errors = context.ports.orchestrations.low_of(data)
    if errors:
        return _shown(context, list(errors), False)
    return await _run(context, "orchestrate_high", "high data", low, bool(test))


async def orchestrate_show_sls(
    context: RunnerContext,
    mods: AnyValue,
    saltenv: str = "base",
    test: OnlyBool | None = None,
    queue: _QUEUE = False,
    pillar: AnyValue = None,
    pillarenv: str | None = None,
    pillar_enc: _PILLAR_ENC = None,
) -> dict[str, Any]:
    """The data of SLS, rendered as `orchestrate` does."""
    options = {"pillar": _pillar(pillar), "saltenv": saltenv, "pillarenv": pillarenv}
    found, errors = await context.ports.orchestrations.compiled(context, "show_sls", _names(mods), options)
    return {context.ports.orchestrations.own_id: list(errors) if errors else found}


async def pause(
    context: RunnerContext, jid: AnyValue, state_id: str | None = None, duration: float | None = None
) -> None:
    """Have an orchestration wait before the step with this ID (any, without one), for so many seconds or for ever."""
    until = None if duration is None else context.ports.clock() + duration
    await context.ports.orchestrations.control(context, str(jid), state_id, until)


async def resume(context: RunnerContext, jid: AnyValue, state_id: str | None = None) -> None:
    """Take a pause back."""
    await context.ports.orchestrations.control(context, str(jid), state_id, "resume")


async def soft_kill(context: RunnerContext, jid: AnyValue, state_id: str | None = None) -> None:
    """Have an orchestration end before the step with this ID, or before the next one."""
    await context.ports.orchestrations.control(context, str(jid), state_id, "kill")


async def resume_orchestration(context: RunnerContext) -> dict[str, Any]:
    """Go on with an orchestration after a restart; the controller calls this at its start, for the call's own jid."""
    return _result(context, await context.ports.orchestrations.resume(context))


async def _run(
    context: RunnerContext, fun: str, sls: str, low: Sequence[Mapping[str, Any]], test: bool
) -> dict[str, Any]:
    return _result(context, await context.ports.orchestrations.run(context, f"state.{fun}", sls, low, test=test))


def _result(context: RunnerContext, running: Mapping[str, Any]) -> dict[str, Any]:
    good = bool(running) and all(one.get("result") is not False for one in running.values())
    return _shown(context, running, good)


def _shown(context: RunnerContext, running: Any, good: bool) -> dict[str, Any]:
    """As Salt shows it: the results of the controller's own id, and an exit code."""
    own = context.ports.orchestrations.own_id
    return {"data": {own: running}, "outputter": "highstate", "retcode": 0 if good else 1}


def _names(mods: Any) -> list[str]:
    names = mods if isinstance(mods, list | tuple) else str(mods).split(",")
    found = [str(one).strip() for one in names if str(one).strip()]
    if not found:
        raise ControllerCallFailed("mods: the name of an SLS is wanted")
    return found


def _pillar(value: Any) -> Mapping[str, Any]:
    if value is None:
        return {}
    if not isinstance(value, Mapping):
        raise ControllerCallFailed("Pillar data must be formatted as a dictionary")
    return value


def _without(low: Sequence[Mapping[str, Any]], exclude: Any) -> list[Mapping[str, Any]]:
    """Chunks but those of excluded SLS and IDs. Source: salt/modules/state.py `sls`, `exclude`."""
    if not exclude:
        return list(low)
    wanted = exclude.split(",") if isinstance(exclude, str) else list(exclude)
    sls = {one["sls"] if isinstance(one, Mapping) else str(one) for one in wanted if _is(one, "sls")}
    ids = {one["id"] for one in wanted if isinstance(one, Mapping) and "id" in one}
    return [chunk for chunk in low if chunk.get("__sls__") not in sls and chunk.get("__id__") not in ids]


def _is(one: Any, kind: str) -> bool:
    return not isinstance(one, Mapping) or kind in one


FUNCTIONS = {
    "orchestrate": orchestrate,
    "orch": orchestrate,
    "sls": orchestrate,
    "orchestrate_single": orchestrate_single,
    "orchestrate_high": orchestrate_high,
    "orchestrate_show_sls": orchestrate_show_sls,
    "orch_show_sls": orchestrate_show_sls,
    "pause": pause,
    "set_pause": pause,
    "resume": resume,
    "rm_pause": resume,
    "soft_kill": soft_kill,
    "resume_orchestration": resume_orchestration,
}
