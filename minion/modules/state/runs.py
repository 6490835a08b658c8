"""Runs of states that execution functions ask for: where chunks come from, and how they are run.

Called by `minion.modules.state.module` and its files beside, and by the worker.
"""

from __future__ import annotations

import time
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import replace
from typing import TYPE_CHECKING, Annotated, Any, TypedDict

from minion.arguments.types import Reads, Unfit
from minion.execution.arguments import Announced, NoRun, NoSync, OwnConfiguration
from minion.execution.context import Context, LowstateSource
from minion.execution.errors import CallFailed, CompileFailed, OthersRun

if TYPE_CHECKING:
    from highstate.types import Chunk, Compiled


class OfAnyRun(TypedDict, total=False):
    """What Salt's functions that run states take besides."""

    localconfig: OwnConfiguration


class OfHighstate(OfAnyRun, total=False):
    """The same, where no argument of this name stands among those with a position."""

    sync_mods: NoSync


class StateRunOptions(OfHighstate, total=False):
    """The same of functions with none of these among those with a position."""

    state_events: Announced


def as_pillar(value: Any) -> Mapping[str, Any] | None:
    """The `pillar=` of a call; None where it is empty text or null."""
    if value in (None, ""):
        return None
    if not isinstance(value, Mapping):
        raise Unfit("a mapping, as in pillar='{key: value}'")
    return value


Pillar = Annotated[Mapping[str, Any] | None, Reads(as_pillar, null=True)]
"""The `pillar=` of a call: what is put over the pillar of the minion."""


class SlsOptions(TypedDict, total=False):
    """From which trees a lowstate is compiled, and with what pillar."""

    pillar: Pillar
    pillarenv: str | None
    saltenv: str | None


class ShowOptions(SlsOptions, total=False):
    """What functions that show states take as keywords."""

    concurrent: NoRun
    localconfig: OwnConfiguration
    queue: NoRun
    state_events: NoRun
    sync_mods: NoRun


def compiler_of(context: Context, saltenv: str | None = None, pillarenv: str | None = None) -> LowstateSource:
    """Where lowstates come from, with these instead of the configured ones; CallFailed when there is nowhere."""
    if context.make_compiler is None:
        raise CallFailed("there is neither a controller's desired state here, nor file_roots to compile from (--local)")
    compiler = context.make_compiler()
    given = {key: str(env) for key, env in (("saltenv", saltenv), ("pillarenv", pillarenv)) if env}
    if not given:
        return compiler
    from minion.execution.lowstate_sources import RootsCompiler

    if not isinstance(compiler, RootsCompiler):
        raise CallFailed(f"the controller compiles for this minion: {' and '.join(given)} work with --local only")
    return replace(compiler, opts={**compiler.opts, **given})


def compiled_highstate(context: Context, options: SlsOptions) -> Compiled:
    """What the top file gives this minion."""
    compiler = compiler_of(context, options.get("saltenv"), options.get("pillarenv"))
    return compiler.highstate(options.get("pillar"))


def compiled_sls(context: Context, mods: Sequence[str], options: SlsOptions) -> Compiled:
    """Some SLS, compiled."""
    compiler = compiler_of(context, pillarenv=options.get("pillarenv"))
    return compiler.sls(mods, env_of(context, options.get("saltenv")), options.get("pillar"))


def env_of(context: Context, saltenv: str | None) -> str:
    """The environment of an SLS: as the call says, else as the configuration does."""
    return str(saltenv or context.opts.get("saltenv") or "base")


def pillar_with(context: Context, override: Mapping[str, Any] | None) -> Mapping[str, Any]:
    """The pillar, with the `pillar=` of a call over it."""
    if not override:
        return context.pillar
    from highstate.traverse import merge

    return merge(context.pillar, override)


def good(compiled: Compiled) -> tuple[Chunk, ...]:
    """The lowstate; CompileFailed when there is none."""
    if compiled.errors:
        raise CompileFailed(compiled.errors)
    return compiled.lowstate


def high_of(compiled: Compiled) -> dict[str, Any]:
    """The high data; CallFailed when there is none."""
    if good(compiled) and not compiled.highstate:
        raise CallFailed("the controller sends low chunks, not high data: see state.show_lowstate")
    return dict(compiled.highstate)


def without(chunks: tuple[Chunk, ...], exclude: Any) -> tuple[Chunk, ...]:
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


@contextmanager
def turn(context: Context, queue: Any, concurrent: bool) -> Iterator[None]:
    """The turn to run states. OthersRun when it is another's, and `queue` (or the option `state_queue`) is not set."""
    from minion.spool.state_queue import Conflict

    if context.state_queue is None:
        yield
        return
    queue = context.opts.get("state_queue", False) if queue is None else queue
    may_wait = queue if isinstance(queue, bool | int) else False  # as Salt reads whatever else there is
    with ExitStack() as held:
        try:
            held.enter_context(context.state_queue.taken(may_wait, concurrent))
        except Conflict as error:
            raise OthersRun(str(error)) from error
        yield


def testing(context: Context, test: Any) -> bool:
    """Whether a run only predicts: as the call says, else as the configuration does."""
    return bool(context.opts.get("test", False) if test is None else test)


def nothing_matches() -> dict[str, Any]:
    """What a highstate of nothing gives, which is a failure."""
    said = "No Top file or master_tops data matches found. Please see master log for details."
    entry = {"name": "No States", "result": False, "comment": said, "changes": {}, "__run_num__": 0}
    return {"no_|-states_|-states_|-None": entry}


def run_chunks(
    context: Context,
    chunks: Sequence[Chunk],
    pillar: Mapping[str, Any],
    test: bool,
    others: Sequence[Chunk] = (),
) -> dict[str, Any]:
    """Run chunks; `others` count as done, so that requisites on them are satisfied."""
    from highstate.desired import chunk_keys
    from highstate.run import as_running, not_run, run
    from highstate.types import StateResult
    from minion.execution.machine_clock import WAITING
    from minion.execution.state_engine import engine_of

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
    around = context.make_run_hooks() if context.make_run_hooks else WAITING
    results = run(keyed, engine, test=test, clock=time.time, known=known, failhard=context.failhard, hooks=around)
    if around.stopping():
        results |= not_run(keyed, results, known, "the run was ended by a signal")
    ran = as_running(keyed, results)
    return {key: {**entry, "__sls__": entry["__sls__"] or None} for key, entry in ran.items()}


def sync_for(context: Context, chunks: Iterable[Chunk]) -> None:
    """Bring user modules up to date where there are any, or where a chunk is of a state that is not built in.

    Each question costs a way to the controller and back, so a tree that has none is not asked for them at every run.
    Where it does not answer, what was synced last will do.
    """
    from extmods.store import KINDS
    from minion.engine.registry import MODULES

    if not context.has_user_modules() and all(chunk.state in MODULES for chunk in chunks):
        return
    try:
        context.sync_user_modules(KINDS)
    except OSError as error:
        import logging

        logging.getLogger(__name__).warning("event=user_modules_not_synced error=%s", error)


def refuse_disabled(context: Context, names: Sequence[str]) -> None:
    """CallFailed when one of these may not run (`state.disable`)."""
    import fnmatch

    for pattern in context.grains.get("state_runs_disabled") or () if context.config_dir else ():
        found = fnmatch.filter(names, str(pattern))
        if found:
            raise CallFailed(
                f"The state file '{found[0]}' is currently disabled by '{pattern}', to re-enable, run state.enable "
                f"{pattern}."
            )
