"""The execution module `state`: runs and shows highstates.

Where a lowstate comes from is the compiler's: the controller's document that this minion holds, or the trees of
`file_roots` and `pillar_roots`. Results are Salt's running dictionaries.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from minion.execution.context import Context
from minion.execution.errors import CallFailed
from minion.execution.parameters import takes_as
from minion.modules.state.given import FUNCTIONS as GIVEN
from minion.modules.state.requests import FUNCTIONS as REQUESTS
from minion.modules.state.runs import (
    compiler_of,
    env_of,
    good,
    high_of,
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
) -> dict[str, Any]:
    """`state.highstate` without arguments, `state.sls` with them."""
    given = {"test": test, "queue": queue, "exclude": exclude, "pillar": pillar, "saltenv": saltenv}
    given |= {"pillarenv": pillarenv, "concurrent": concurrent}
    return sls(context, mods, **given) if mods else highstate(context, **given)


def highstate(
    context: Context,
    test: bool | None = None,
    queue: Any = None,
    *,
    pillar: Any = None,
    exclude: Any = None,
    saltenv: str | None = None,
    pillarenv: str | None = None,
    concurrent: bool = False,
) -> dict[str, Any]:
    """Run all that the top file gives this minion."""
    with turn(context, queue, concurrent):
        refuse_disabled(context, ["highstate"])
        compiled = compiler_of(context, saltenv, pillarenv).highstate(override_of(pillar))
        chosen = good(compiled)
        if not compiled.matches:
            return nothing_matches()
        return run_chunks(context, without(chosen, exclude), compiled.pillar, testing(context, test))


def sls(
    context: Context,
    mods: Any,
    test: bool | None = None,
    exclude: Any = None,
    queue: Any = None,
    *,
    pillar: Any = None,
    saltenv: str | None = None,
    pillarenv: str | None = None,
    concurrent: bool = False,
) -> dict[str, Any]:
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
    from highstate.types import Chunk

    state, _, function = str(fun).partition(".")
    if not function:
        raise CallFailed(f"{fun!r} is no state function: write it as module.function")
    chunk = Chunk(state=state, fun=function, id=str(name), name=str(name), sls="", arguments=arguments)
    with turn(context, queue, concurrent):
        return run_chunks(context, (chunk,), pillar_with(context, pillar), testing(context, test))


def sls_id(
    context: Context,
    id_: str,
    mods: Any = None,
    test: bool | None = None,
    queue: Any = None,
    *,
    pillar: Any = None,
    saltenv: str | None = None,
    pillarenv: str | None = None,
    concurrent: bool = False,
) -> dict[str, Any]:
    """Run the states of one ID, out of some SLS or of the highstate."""
    with turn(context, queue, concurrent):
        compiler, over = compiler_of(context, pillarenv=pillarenv), override_of(pillar)
        env = env_of(context, saltenv)
        compiled = compiler.sls(names_of(mods), env, over) if mods else compiler.highstate(over)
        chosen = tuple(chunk for chunk in good(compiled) if chunk.id == id_)
        if not chosen:
            raise CallFailed(f"No matches for ID '{id_}' found in SLS '{mods or 'of the highstate'}'")
        return run_chunks(context, chosen, compiled.pillar, testing(context, test), others=compiled.lowstate)


def show_lowstate(
    context: Context, *, pillar: Any = None, saltenv: str | None = None, pillarenv: str | None = None
) -> list[Any]:
    """The highstate as low chunks, in running order."""
    return [chunk.as_salt() for chunk in good(compiler_of(context, saltenv, pillarenv).highstate(override_of(pillar)))]


def show_low_sls(
    context: Context,
    mods: Any,
    *,
    saltenv: str | None = None,
    pillar: Any = None,
    pillarenv: str | None = None,
) -> list[Any]:
    """Some SLS as low chunks."""
    compiler = compiler_of(context, pillarenv=pillarenv)
    compiled = compiler.sls(names_of(mods), env_of(context, saltenv), override_of(pillar))
    return [chunk.as_salt() for chunk in good(compiled)]


def show_highstate(
    context: Context, *, pillar: Any = None, saltenv: str | None = None, pillarenv: str | None = None
) -> dict[str, Any]:
    """The highstate as high data."""
    return high_of(compiler_of(context, saltenv, pillarenv).highstate(override_of(pillar)))


def show_sls(
    context: Context,
    mods: Any,
    *,
    saltenv: str | None = None,
    pillar: Any = None,
    pillarenv: str | None = None,
) -> dict[str, Any]:
    """Some SLS as high data."""
    compiler = compiler_of(context, pillarenv=pillarenv)
    return high_of(compiler.sls(names_of(mods), env_of(context, saltenv), override_of(pillar)))


def show_top(
    context: Context, *, pillar: Any = None, saltenv: str | None = None, pillarenv: str | None = None
) -> dict[str, list[str]]:
    """What the top file gives this minion, by saltenv."""
    compiled = compiler_of(context, saltenv, pillarenv).highstate(override_of(pillar))
    if not compiled.matches:  # what is wrong with the SLS does not matter here
        good(compiled)
    return {env: list(names) for env, names in compiled.matches.items()}


def show_states(context: Context) -> list[str]:
    """Names of the SLS that the highstate is made of."""
    return list(dict.fromkeys(chunk.sls for chunk in good(compiler_of(context).highstate(None))))


@takes_as(apply)
def test(context: Context, *mods: Any, **options: Any) -> Any:
    """What `state.apply` would do."""
    return apply(context, *mods, **{**options, "test": True})


def low(
    context: Context,
    data: Mapping[str, Any],
    queue: Any = None,
    *,
    test: bool | None = None,
    concurrent: bool = False,
) -> dict[str, Any]:
    """Run one low chunk: `{state: file, fun: absent, name: /tmp/x}`."""
    from highstate.types import Chunk

    if not isinstance(data, Mapping) or not all(data.get(key) for key in ("state", "fun", "name")):
        raise CallFailed("a low chunk is a mapping with state, fun and name")
    given = {key: value for key, value in data.items() if key not in ("state", "fun", "name") and key[:2] != "__"}
    name, own_id = str(data["name"]), str(data.get("__id__") or data["name"])
    sls_name = str(data.get("__sls__") or "")
    chunk = Chunk(state=str(data["state"]), fun=str(data["fun"]), id=own_id, name=name, sls=sls_name, arguments=given)
    with turn(context, queue, concurrent):
        return run_chunks(context, (chunk,), context.pillar, testing(context, test))


def id_exists(
    context: Context,
    ids: Any,
    mods: Any,
    *,
    pillar: Any = None,
    saltenv: str | None = None,
    pillarenv: str | None = None,
) -> bool:
    """Whether some SLS have all of these IDs."""
    compiler = compiler_of(context, pillarenv=pillarenv)
    compiled = compiler.sls(names_of(mods), env_of(context, saltenv), override_of(pillar))
    return set(names_of(ids)) <= {chunk.id for chunk in good(compiled)}


def show_state_usage(context: Context) -> dict[str, Any]:
    """Which SLS of the tree the highstate uses, and which it does not."""
    from minion.execution.loader import Modules

    used = [name for names in show_top(context).values() for name in names]
    unused = sorted(set(Modules(context).call("cp.list_states")) - set(used))
    counts = {"count_all": len(used) + len(unused), "count_used": len(used), "count_unused": len(unused)}
    return {"base": {"used": used, "unused": unused, **counts}}


def running(context: Context, concurrent: bool = False) -> list[str]:
    """The other runs of states that go on or wait, in words; none for a run that is `concurrent`."""
    from pathlib import Path

    from minion.spool.state_queue import StateQueue

    if concurrent or not context.cachedir:
        return []
    return [one.said() for one in StateQueue(Path(context.cachedir), "state.running").others()]


def pending(context: Context) -> list[str]:
    """Keys of the states that still have to act on a change of an earlier run; the next run has them do it."""
    from pathlib import Path

    from minion.worker.run_hooks import TriggerFile

    return sorted(TriggerFile(Path(context.cachedir)).pending_triggers()) if context.cachedir else []


FUNCTIONS: Mapping[str, Any] = {
    **GIVEN,
    **REQUESTS,
    "apply": apply,
    "highstate": highstate,
    "id_exists": id_exists,
    "low": low,
    "pending": pending,
    "running": running,
    "show_highstate": show_highstate,
    "show_low_sls": show_low_sls,
    "show_lowstate": show_lowstate,
    "show_sls": show_sls,
    "show_state_usage": show_state_usage,
    "show_states": show_states,
    "show_top": show_top,
    "single": single,
    "sls": sls,
    "sls_id": sls_id,
    "test": test,
}
