"""Runs of states that execution functions ask for: where chunks come from, and how they are run.

Called by `minion.modules.state.module` and its files beside, and by the worker.
"""

from __future__ import annotations

import time
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from typing import TYPE_CHECKING, Annotated, Any, TypedDict

from minion.arguments.types import Reads, Unfit, as_comma_list, as_each
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


def as_queue(value: Any) -> bool | int | None:
    """The `queue=` of a call: whether a run waits for others, or for fewer than so many.

    Null says nothing; what else there is does not wait, as in Salt.
    """
    return value if value is None or isinstance(value, bool | int) else False


Queue = Annotated[bool | int | None, Reads(as_queue, null=True)]


def as_exclude(value: Any) -> frozenset[tuple[str, str]]:
    """The `exclude=` of a call: names of SLS with commas, or a list of such names, `{sls: x}` and `{id: x}`."""
    found = []
    listed = as_comma_list(value) if isinstance(value, str) else as_each(value or None)
    for entry in listed:
        named = entry if isinstance(entry, Mapping) else {"sls": str(entry).strip()}
        found += [(key, str(named[key])) for key in ("id", "sls") if key in named]
    return frozenset(found)


Exclude = Annotated[frozenset[tuple[str, str]], Reads(as_exclude)]
"""(`id` or `sls`, its name); use it as `Exclude | None`."""


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
    given = {key: env for key, env in (("saltenv", saltenv), ("pillarenv", pillarenv)) if env}
    if not given:
        return compiler
    from minion.execution.lowstate_sources import RootsCompiler

    if not isinstance(compiler, RootsCompiler):
        raise CallFailed(f"the controller compiles for this minion: {' and '.join(given)} work with --local only")
    return compiler.with_options(**given)


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
    return saltenv or context.options.state.saltenv


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
    """The high data; of a document of the controller's, which has low chunks, the high data that gives them."""
    chunks = good(compiled)
    return dict(compiled.highstate) if compiled.highstate else _high_of_low(chunks)


def _high_of_low(chunks: Iterable[Chunk]) -> dict[str, Any]:
    """ID -> state -> arguments, function and order, as `state.show_highstate` prints it."""
    grouped: dict[tuple[str, str], list[Chunk]] = {}
    for chunk in chunks:
        grouped.setdefault((chunk.id, chunk.state), []).append(chunk)
    high: dict[str, Any] = {}
    for (of_id, state), named in grouped.items():
        first = named[0]
        body = high.setdefault(of_id, {"__sls__": first.sls, "__env__": first.saltenv})
        own: list[Any] = [{"names": [_named(one, first) for one in named]}] if len(named) > 1 else []
        if not own and first.name != of_id:
            own = [{"name": first.name}]
        arguments = [{key: value} for key, value in first.arguments.items()]
        body[state] = [*own, *arguments, first.fun, {"order": first.order}]
    return high


def _named(chunk: Chunk, first: Chunk) -> Any:
    """An entry of `names`: the name, with the arguments that differ from the first's."""
    differing = [{key: value} for key, value in chunk.arguments.items() if first.arguments.get(key) != value]
    return {chunk.name: differing} if differing else chunk.name


def without(chunks: tuple[Chunk, ...], exclude: Exclude | None) -> tuple[Chunk, ...]:
    """Without those of an excluded SLS, or with an excluded ID."""
    if not exclude:
        return chunks
    return tuple(chunk for chunk in chunks if ("id", chunk.id) not in exclude and ("sls", chunk.sls) not in exclude)


@contextmanager
def turn(context: Context, queue: Queue, concurrent: bool) -> Iterator[None]:
    """The turn to run states. OthersRun when it is another's, and `queue` (or the option `state_queue`) is not set."""
    from minion.spool.state_queue import Conflict

    if context.state_queue is None:
        yield
        return
    waits = context.options.state.queue if queue is None else queue
    with ExitStack() as held:
        try:
            held.enter_context(context.state_queue.taken(waits, concurrent))
        except Conflict as error:
            raise OthersRun(str(error)) from error
        yield


def testing(context: Context, test: bool | None) -> bool:
    """Whether a run only predicts: as the call says, else as the configuration does."""
    return context.options.state.test if test is None else test


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
    from highstate.run.report import as_running, not_run
    from highstate.run.runner import run
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
    results = run(
        keyed,
        engine,
        test=test,
        clock=time.time,
        journal=context.journal,
        known=known,
        failhard=context.failhard,
        hooks=around,
    )
    if around.stopping():
        results |= not_run(keyed, results, known, "the run was ended by a signal")
    ran = as_running(keyed, results)
    return {key: {**entry, "__sls__": entry["__sls__"] or None} for key, entry in ran.items()}


def sync_for(context: Context, chunks: Iterable[Chunk]) -> None:
    """Bring user modules up to date where there are any here or in the tree.

    A held document names those of its tree. Without one, a tree is asked when a chunk is of a state that is not built
    in. Where the controller does not answer, what was synced last will do.
    """
    from extmods.store import KINDS
    from minion.engine.registry import MODULES

    if context.tree_has_modules is None:
        there = any(chunk.state not in MODULES for chunk in chunks)
    else:
        there = context.tree_has_modules()
    if not there and not context.has_user_modules():
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
