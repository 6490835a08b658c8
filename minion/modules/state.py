"""The execution module `state`: runs and shows highstates.

Where a lowstate comes from is the compiler's: the controller's document that this minion holds, or the trees of
`file_roots` and `pillar_roots`. Results are Salt's running dictionaries.
"""

from __future__ import annotations

import time
from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from minion.modules.context import Compiler, Context
from minion.modules.errors import CallFailed, CompileFailed

if TYPE_CHECKING:
    from highstate.types import Chunk, Compiled
    from minion.states.engine import StateEngine
    from minion.states.machine import LocalMachine


def apply(context: Context, mods: Any = None, **options: Any) -> dict[str, Any]:
    """`state.highstate` without arguments, `state.sls` with them."""
    return sls(context, mods, **options) if mods else highstate(context, **options)


def highstate(context: Context, test: bool = False, pillar: Any = None, exclude: Any = None) -> dict[str, Any]:
    """Run all that the top file gives this minion."""
    compiled = _compiler(context).highstate(_override(pillar))
    return _run(context, _excluded(_good(compiled), exclude), compiled.pillar, bool(test))


def sls(
    context: Context,
    mods: Any,
    test: bool = False,
    pillar: Any = None,
    exclude: Any = None,
    saltenv: str = "base",
) -> dict[str, Any]:
    """Run some SLS: a name, a list, or names with commas."""
    compiler = _compiler(context)
    compiled = compiler.sls(_names(mods), str(saltenv), _override(pillar))
    return _run(context, _excluded(_good(compiled), exclude), compiled.pillar, bool(test), others=compiler.around())


def single(context: Context, fun: str, name: str, test: bool = False, **arguments: Any) -> dict[str, Any]:
    """Run one state function: `state.single file.absent /tmp/x`."""
    from highstate.types import Chunk

    state, _, function = str(fun).partition(".")
    if not function:
        raise CallFailed(f"{fun!r} is no state function: write it as module.function")
    chunk = Chunk(state=state, fun=function, id=str(name), name=str(name), sls="", arguments=arguments)
    return _run(context, (chunk,), context.pillar, bool(test))


def sls_id(context: Context, id_: str, mods: Any = None, test: bool = False, saltenv: str = "base") -> dict[str, Any]:
    """Run the states of one ID, out of some SLS or of the highstate."""
    compiler = _compiler(context)
    compiled = compiler.sls(_names(mods), str(saltenv), None) if mods else compiler.highstate(None)
    chosen = tuple(chunk for chunk in _good(compiled) if chunk.id == id_)
    if not chosen:
        raise CallFailed(f"No matches for ID '{id_}' found in SLS '{mods or 'of the highstate'}'")
    return _run(context, chosen, compiled.pillar, bool(test), others=compiled.lowstate)


def show_lowstate(context: Context) -> list[Any]:
    """The highstate as low chunks, in running order."""
    return [chunk.as_salt() for chunk in _good(_compiler(context).highstate(None))]


def show_low_sls(context: Context, mods: Any, saltenv: str = "base", pillar: Any = None) -> list[Any]:
    """Some SLS as low chunks."""
    compiled = _compiler(context).sls(_names(mods), str(saltenv), _override(pillar))
    return [chunk.as_salt() for chunk in _good(compiled)]


def show_highstate(context: Context) -> dict[str, Any]:
    """The highstate as high data."""
    return _high(_compiler(context).highstate(None))


def show_sls(context: Context, mods: Any, saltenv: str = "base", pillar: Any = None) -> dict[str, Any]:
    """Some SLS as high data."""
    return _high(_compiler(context).sls(_names(mods), str(saltenv), _override(pillar)))


def show_top(context: Context) -> dict[str, list[str]]:
    """What the top file gives this minion, by saltenv."""
    compiled = _compiler(context).highstate(None)
    _good(compiled)
    return {env: list(names) for env, names in compiled.matches.items()}


def show_states(context: Context) -> list[str]:
    """Names of the SLS that the highstate is made of."""
    return list(dict.fromkeys(chunk.sls for chunk in _good(_compiler(context).highstate(None))))


def _compiler(context: Context) -> Compiler:
    if context.make_compiler is None:
        raise CallFailed("there is neither a controller's desired state here, nor file_roots to compile from (--local)")
    return context.make_compiler()


def _good(compiled: Compiled) -> tuple[Chunk, ...]:
    if compiled.errors:
        raise CompileFailed(compiled.errors)
    return compiled.lowstate


def _high(compiled: Compiled) -> dict[str, Any]:
    if _good(compiled) and not compiled.highstate:
        raise CallFailed("the controller sends low chunks, not high data: see state.show_lowstate")
    return dict(compiled.highstate)


def _names(mods: Any) -> list[str]:
    listed = mods if isinstance(mods, list) else str(mods).split(",")
    return [str(name).strip() for name in listed if str(name).strip()]


def _override(pillar: Any) -> Mapping[str, Any] | None:
    if pillar in (None, ""):
        return None
    if not isinstance(pillar, Mapping):
        raise CallFailed(f"pillar must be a mapping, as in pillar='{{key: value}}'; not {pillar!r}")
    return pillar


def _excluded(chunks: tuple[Chunk, ...], exclude: Any) -> tuple[Chunk, ...]:
    """Without those of an excluded SLS, or with an excluded ID (`{id: x}`)."""
    if not exclude:
        return chunks
    entries = exclude if isinstance(exclude, list) else str(exclude).split(",")
    ids = {str(entry["id"]) for entry in entries if isinstance(entry, Mapping) and "id" in entry}
    names = {
        str(entry.get("sls")) if isinstance(entry, Mapping) else str(entry).strip()
        for entry in entries
        if not isinstance(entry, Mapping) or "sls" in entry
    }
    return tuple(chunk for chunk in chunks if chunk.id not in ids and chunk.sls not in names)


def _run(
    context: Context,
    chunks: Sequence[Chunk],
    pillar: Mapping[str, Any],
    test: bool,
    others: Sequence[Chunk] = (),
) -> dict[str, Any]:
    """Run chunks; `others` count as done, so that requisites on them are satisfied."""
    from highstate.desired import chunk_keys
    from highstate.run import as_running, run
    from highstate.types import StateResult

    sync_for(context, chunks)
    keyed = chunk_keys(others or chunks)
    wanted = set(map(id, chunks))
    known = {
        key: StateResult(name=chunk.name, result=True, comment="Not part of this run")
        for key, chunk in keyed.items()
        if id(chunk) not in wanted
    }
    machine = context.machine_with(pillar)
    engine = engine_of(context, machine, test=test)
    with context.run_lock():
        around = context.make_surroundings() if context.make_surroundings else None
        results = run(keyed, engine, test=test, clock=time.time, known=known, failhard=context.failhard, around=around)
    return as_running(keyed, results)


def engine_of(context: Context, machine: LocalMachine, *, test: bool) -> StateEngine:
    """The executor of a run: built-in states and those of the tree."""
    from minion.modules.loader import Modules
    from minion.states.engine import StateEngine
    from minion.usermodules.runnable import CallableStates

    context.testing = test
    return StateEngine(
        machine,
        Modules(context),
        test=test,
        backup_dir=context.backup_dir,
        user_states=CallableStates(context.user_modules),
        reload=context.reload,
    )


def sync_for(context: Context, chunks: Iterable[Chunk]) -> None:
    """Bring user modules up to date where there are any, or where a chunk is of a state that is not built in.

    Each question costs a way to the controller and back, so a tree that has none is not asked for them at every run.
    Where it does not answer, what was synced last will do.
    """
    from minion.states.registry import MODULES
    from minion.usermodules.store import KINDS

    if not context.has_user_modules() and all(chunk.state in MODULES for chunk in chunks):
        return
    try:
        context.sync_user_modules(KINDS)
    except OSError as error:
        import logging

        logging.getLogger(__name__).warning("event=user_modules_not_synced error=%s", error)


FUNCTIONS: Mapping[str, Any] = {
    "apply": apply,
    "highstate": highstate,
    "show_highstate": show_highstate,
    "show_low_sls": show_low_sls,
    "show_lowstate": show_lowstate,
    "show_sls": show_sls,
    "show_states": show_states,
    "show_top": show_top,
    "single": single,
    "sls": sls,
    "sls_id": sls_id,
}
