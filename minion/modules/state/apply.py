"""state.apply and the functions that run a lowstate or a part of it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Any, Unpack

from highstate.types import Chunk
from minion.arguments.types import CommaList, Reads, Unfit
from minion.execution.arguments import AlwaysDone, Announced, NoSync
from minion.execution.context import Context
from minion.execution.errors import CallFailed
from minion.modules.state.runs import (
    Exclude,
    OfAnyRun,
    OfHighstate,
    Pillar,
    Queue,
    StateRunOptions,
    compiler_of,
    env_of,
    good,
    nothing_matches,
    pillar_with,
    refuse_disabled,
    run_chunks,
    testing,
    turn,
    without,
)


def apply(
    context: Context,
    mods: CommaList = (),
    *,
    test: bool | None = None,
    exclude: Exclude | None = None,
    queue: Queue = None,
    pillar: Pillar = None,
    saltenv: str | None = None,
    pillarenv: str | None = None,
    concurrent: bool = False,
    **ignored: Unpack[StateRunOptions],
) -> dict[str, Any]:
    """`state.highstate` without arguments, `state.sls` with them."""
    given: dict[str, Any] = {"test": test, "queue": queue, "exclude": exclude, "pillar": pillar, "saltenv": saltenv}
    given |= {"pillarenv": pillarenv, "concurrent": concurrent}
    return sls(context, mods, **given) if mods else highstate(context, **given)


def highstate(
    context: Context, test: bool | None = None, queue: Queue = None, state_events: Announced = None, *,
    pillar: Pillar = None, exclude: Exclude | None = None, saltenv: str | None = None, pillarenv: str | None = None,
    concurrent: bool = False, **ignored: Unpack[OfHighstate],
) -> dict[str, Any]:  # fmt: skip
    """Run all that the top file gives this minion."""
    with turn(context, queue, concurrent):
        refuse_disabled(context, ["highstate"])
        compiled = compiler_of(context, saltenv, pillarenv).highstate(pillar)
        chosen = good(compiled)
        if not compiled.matches:
            return nothing_matches()
        return run_chunks(context, without(chosen, exclude), compiled.pillar, testing(context, test))


def sls(
    context: Context, mods: CommaList, test: bool | None = None, exclude: Exclude | None = None, queue: Queue = None,
    sync_mods: NoSync = None, state_events: Announced = None, *, pillar: Pillar = None, saltenv: str | None = None,
    pillarenv: str | None = None, concurrent: bool = False, **ignored: Unpack[OfAnyRun],
) -> dict[str, Any]:  # fmt: skip
    """Run some SLS: a name, a list, or names with commas."""
    with turn(context, queue, concurrent):
        refuse_disabled(context, mods)
        compiler = compiler_of(context, pillarenv=pillarenv)
        compiled = compiler.sls(mods, env_of(context, saltenv), pillar)
        chosen = without(good(compiled), exclude)
        return run_chunks(context, chosen, compiled.pillar, testing(context, test), others=compiler.around(chosen))


def single(
    context: Context,
    /,
    fun: str,
    name: str,
    test: bool | None = None,
    queue: Queue = None,
    *,
    concurrent: bool = False,
    pillar: Pillar = None,
    __env__: str = "base",
    **arguments: Any,
) -> dict[str, Any]:
    """Run one state function: `state.single file.absent /tmp/x`. `__env__` is the saltenv of its files."""
    state, _, function = fun.partition(".")
    if not function:
        raise CallFailed(f"{fun!r} is no state function: write it as module.function")
    chunk = Chunk(state=state, fun=function, id=name, name=name, sls="", saltenv=__env__, arguments=arguments)
    with turn(context, queue, concurrent):
        return run_chunks(context, (chunk,), pillar_with(context, pillar), testing(context, test))


def sls_id(
    context: Context, id_: str, mods: CommaList = (), test: bool | None = None, queue: Queue = None,
    state_events: Announced = None, *, pillar: Pillar = None, saltenv: str | None = None, pillarenv: str | None = None,
    concurrent: bool = False, **ignored: Unpack[OfHighstate],
) -> dict[str, Any]:  # fmt: skip
    """Run the states of one ID, out of some SLS or of the highstate."""
    with turn(context, queue, concurrent):
        compiler = compiler_of(context, pillarenv=pillarenv)
        env = env_of(context, saltenv)
        compiled = compiler.sls(mods, env, pillar) if mods else compiler.highstate(pillar)
        chosen = tuple(chunk for chunk in good(compiled) if chunk.id == id_)
        if not chosen:
            raise CallFailed(f"No matches for ID '{id_}' found in SLS '{','.join(mods) or 'of the highstate'}'")
        return run_chunks(context, chosen, compiled.pillar, testing(context, test), others=compiled.lowstate)


def predict(
    context: Context,
    mods: CommaList = (),
    *,
    test: AlwaysDone = True,
    exclude: Exclude | None = None,
    queue: Queue = None,
    pillar: Pillar = None,
    saltenv: str | None = None,
    pillarenv: str | None = None,
    concurrent: bool = False,
    **ignored: Unpack[StateRunOptions],
) -> dict[str, Any]:
    """What `state.apply` would do."""
    given: dict[str, Any] = {"queue": queue, "exclude": exclude, "pillar": pillar, "saltenv": saltenv}
    return apply(context, mods, test=True, **given, pillarenv=pillarenv, concurrent=concurrent)


def as_low_chunk(value: Any) -> Chunk:
    """The chunk of a mapping as `state.show_lowstate` shows it; state, fun and name are needed."""
    if not isinstance(value, Mapping) or not all(value.get(key) for key in ("state", "fun", "name")):
        raise Unfit("a mapping with state, fun and name")
    own = ("state", "fun", "name")
    state, fun, name = (str(value[key]) for key in own)
    given = {str(key): one for key, one in value.items() if key not in own and not str(key).startswith("__")}
    own_id, sls = str(value.get("__id__") or name), str(value.get("__sls__") or "")
    env = str(value.get("__env__") or "base")
    return Chunk(state=state, fun=fun, id=own_id, name=name, sls=sls, saltenv=env, arguments=given)


LowChunk = Annotated[Chunk, Reads(as_low_chunk)]


def low(
    context: Context,
    data: LowChunk,
    queue: Queue = None,
    *,
    test: bool | None = None,
    concurrent: bool = False,
    **ignored: Unpack[StateRunOptions],
) -> dict[str, Any]:
    """Run one low chunk: `{state: file, fun: absent, name: /tmp/x}`."""
    with turn(context, queue, concurrent):
        return run_chunks(context, (data,), context.pillar, testing(context, test))


FUNCTIONS: Mapping[str, Any] = {
    "apply": apply,
    "highstate": highstate,
    "low": low,
    "single": single,
    "sls": sls,
    "sls_id": sls_id,
    "test": predict,
}
