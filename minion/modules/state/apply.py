"""state.apply and the functions that run a lowstate or a part of it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Unpack

from highstate.types import Chunk
from minion.execution.arguments import AlwaysDone, Announced, NoSync
from minion.execution.context import Context
from minion.execution.errors import CallFailed
from minion.modules.state.runs import (
    OfAnyRun,
    OfHighstate,
    RunOptions,
    compiler_of,
    env_of,
    good,
    names_of,
    nothing_matches,
    override_of,
    pillar_with,
    refuse_disabled,
    run_chunks,
    testing,
    turn,
    without,
)


def apply(
    context: Context,
    mods: Any = None,
    *,
    test: bool | None = None,
    exclude: Any = None,
    queue: Any = None,
    pillar: Any = None,
    saltenv: str | None = None,
    pillarenv: str | None = None,
    concurrent: bool = False,
    **ignored: Unpack[RunOptions],
) -> dict[str, Any]:
    """`state.highstate` without arguments, `state.sls` with them."""
    given = {"test": test, "queue": queue, "exclude": exclude, "pillar": pillar, "saltenv": saltenv}
    given |= {"pillarenv": pillarenv, "concurrent": concurrent}
    return sls(context, mods, **given) if mods else highstate(context, **given)


def highstate(
    context: Context, test: bool | None = None, queue: Any = None, state_events: Announced = None, *,
    pillar: Any = None, exclude: Any = None, saltenv: str | None = None, pillarenv: str | None = None,
    concurrent: bool = False, **ignored: Unpack[OfHighstate]) -> dict[str, Any]:  # fmt: skip
    """Run all that the top file gives this minion."""
    with turn(context, queue, concurrent):
        refuse_disabled(context, ["highstate"])
        compiled = compiler_of(context, saltenv, pillarenv).highstate(override_of(pillar))
        chosen = good(compiled)
        if not compiled.matches:
            return nothing_matches()
        return run_chunks(context, without(chosen, exclude), compiled.pillar, testing(context, test))


def sls(
    context: Context, mods: Any, test: bool | None = None, exclude: Any = None, queue: Any = None,
    sync_mods: NoSync = None, state_events: Announced = None, *, pillar: Any = None, saltenv: str | None = None,
    pillarenv: str | None = None, concurrent: bool = False, **ignored: Unpack[OfAnyRun]) -> dict[str, Any]:  # fmt: skip
    """Run some SLS: a name, a list, or names with commas."""
    with turn(context, queue, concurrent):
        refuse_disabled(context, names_of(mods))
        compiler = compiler_of(context, pillarenv=pillarenv)
        compiled = compiler.sls(names_of(mods), env_of(context, saltenv), override_of(pillar))
        chosen = without(good(compiled), exclude)
        return run_chunks(context, chosen, compiled.pillar, testing(context, test), others=compiler.around())


def single(
    context: Context,
    fun: str,
    name: str,
    test: bool | None = None,
    queue: Any = None,
    *,
    concurrent: bool = False,
    pillar: Any = None,
    **arguments: Any,
) -> dict[str, Any]:
    """Run one state function: `state.single file.absent /tmp/x`."""
    state, _, function = str(fun).partition(".")
    if not function:
        raise CallFailed(f"{fun!r} is no state function: write it as module.function")
    chunk = Chunk(state=state, fun=function, id=str(name), name=str(name), sls="", arguments=arguments)
    with turn(context, queue, concurrent):
        return run_chunks(context, (chunk,), pillar_with(context, pillar), testing(context, test))


def sls_id(
    context: Context, id_: str, mods: Any = None, test: bool | None = None, queue: Any = None,
    state_events: Announced = None, *, pillar: Any = None, saltenv: str | None = None, pillarenv: str | None = None,
    concurrent: bool = False, **ignored: Unpack[OfHighstate]) -> dict[str, Any]:  # fmt: skip
    """Run the states of one ID, out of some SLS or of the highstate."""
    with turn(context, queue, concurrent):
        compiler, over = compiler_of(context, pillarenv=pillarenv), override_of(pillar)
        env = env_of(context, saltenv)
        compiled = compiler.sls(names_of(mods), env, over) if mods else compiler.highstate(over)
        chosen = tuple(chunk for chunk in good(compiled) if chunk.id == id_)
        if not chosen:
            raise CallFailed(f"No matches for ID '{id_}' found in SLS '{mods or 'of the highstate'}'")
        return run_chunks(context, chosen, compiled.pillar, testing(context, test), others=compiled.lowstate)


def predict(
    context: Context,
    mods: Any = None,
    *,
    test: AlwaysDone = True,
    exclude: Any = None,
    queue: Any = None,
    pillar: Any = None,
    saltenv: str | None = None,
    pillarenv: str | None = None,
    concurrent: bool = False,
    **ignored: Unpack[RunOptions],
) -> dict[str, Any]:
    """What `state.apply` would do."""
    given = {"queue": queue, "exclude": exclude, "pillar": pillar, "saltenv": saltenv}
    return apply(context, mods, test=True, **given, pillarenv=pillarenv, concurrent=concurrent)


def low(
    context: Context,
    data: Mapping[str, Any],
    queue: Any = None,
    *,
    test: bool | None = None,
    concurrent: bool = False,
    **ignored: Unpack[RunOptions],
) -> dict[str, Any]:
    """Run one low chunk: `{state: file, fun: absent, name: /tmp/x}`."""
    if not isinstance(data, Mapping) or not all(data.get(key) for key in ("state", "fun", "name")):
        raise CallFailed("a low chunk is a mapping with state, fun and name")
    given = {key: value for key, value in data.items() if key not in ("state", "fun", "name") and key[:2] != "__"}
    name, own_id = str(data["name"]), str(data.get("__id__") or data["name"])
    sls_name = str(data.get("__sls__") or "")
    chunk = Chunk(state=str(data["state"]), fun=str(data["fun"]), id=own_id, name=name, sls=sls_name, arguments=given)
    with turn(context, queue, concurrent):
        return run_chunks(context, (chunk,), context.pillar, testing(context, test))


FUNCTIONS: Mapping[str, Any] = {
    "apply": apply,
    "highstate": highstate,
    "low": low,
    "single": single,
    "sls": sls,
    "sls_id": sls_id,
    "test": predict,
}
