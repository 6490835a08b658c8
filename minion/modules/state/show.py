"""state.show_*: high data, low chunks and the top file, with nothing run."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Unpack

from minion.arguments.types import CommaList
from minion.execution.arguments import NoRun
from minion.execution.context import Context
from minion.execution.loader import Modules
from minion.modules.state.runs import (
    Pillar,
    ShowOptions,
    compiler_of,
    env_of,
    good,
    high_of,
)


def show_lowstate(
    context: Context,
    queue: NoRun = None,
    *,
    pillar: Pillar = None,
    saltenv: str | None = None,
    pillarenv: str | None = None,
    **ignored: Unpack[ShowOptions],
) -> list[Any]:
    """The highstate as low chunks, in running order."""
    return [chunk.as_salt() for chunk in good(compiler_of(context, saltenv, pillarenv).highstate(pillar))]


def show_low_sls(
    context: Context,
    mods: CommaList,
    *,
    queue: NoRun = None,
    saltenv: str | None = None,
    pillar: Pillar = None,
    pillarenv: str | None = None,
    **ignored: Unpack[ShowOptions],
) -> list[Any]:
    """Some SLS as low chunks."""
    compiler = compiler_of(context, pillarenv=pillarenv)
    compiled = compiler.sls(mods, env_of(context, saltenv), pillar)
    return [chunk.as_salt() for chunk in good(compiled)]


def show_highstate(
    context: Context,
    queue: NoRun = None,
    *,
    pillar: Pillar = None,
    saltenv: str | None = None,
    pillarenv: str | None = None,
    **ignored: Unpack[ShowOptions],
) -> dict[str, Any]:
    """The highstate as high data."""
    return high_of(compiler_of(context, saltenv, pillarenv).highstate(pillar))


def show_sls(
    context: Context,
    mods: CommaList,
    *,
    queue: NoRun = None,
    saltenv: str | None = None,
    pillar: Pillar = None,
    pillarenv: str | None = None,
    **ignored: Unpack[ShowOptions],
) -> dict[str, Any]:
    """Some SLS as high data."""
    compiler = compiler_of(context, pillarenv=pillarenv)
    return high_of(compiler.sls(mods, env_of(context, saltenv), pillar))


def show_top(
    context: Context,
    queue: NoRun = None,
    *,
    pillar: Pillar = None,
    saltenv: str | None = None,
    pillarenv: str | None = None,
    **ignored: Unpack[ShowOptions],
) -> dict[str, list[str]]:
    """What the top file gives this minion, by saltenv."""
    compiled = compiler_of(context, saltenv, pillarenv).highstate(pillar)
    if not compiled.matches:  # what is wrong with the SLS does not matter here
        good(compiled)
    return {env: list(names) for env, names in compiled.matches.items()}


def show_states(context: Context, queue: NoRun = None, **ignored: Unpack[ShowOptions]) -> list[str]:
    """Names of the SLS that the highstate is made of."""
    return list(dict.fromkeys(chunk.sls for chunk in good(compiler_of(context).highstate(None))))


def id_exists(
    context: Context, ids: CommaList, mods: CommaList, *, queue: NoRun = None, pillar: Pillar = None,
    saltenv: str | None = None, pillarenv: str | None = None, **ignored: Unpack[ShowOptions],
) -> bool:  # fmt: skip
    """Whether some SLS have all of these IDs."""
    compiler = compiler_of(context, pillarenv=pillarenv)
    compiled = compiler.sls(mods, env_of(context, saltenv), pillar)
    return set(ids) <= {chunk.id for chunk in good(compiled)}


def show_state_usage(context: Context, queue: NoRun = None, **ignored: Unpack[ShowOptions]) -> dict[str, Any]:
    """Which SLS of the tree the highstate uses, and which it does not."""
    used = [name for names in show_top(context).values() for name in names]
    unused = sorted(set(Modules(context).call("cp.list_states")) - set(used))
    counts = {"count_all": len(used) + len(unused), "count_used": len(used), "count_unused": len(unused)}
    return {"base": {"used": used, "unused": unused, **counts}}


FUNCTIONS: Mapping[str, Any] = {
    "id_exists": id_exists,
    "show_highstate": show_highstate,
    "show_low_sls": show_low_sls,
    "show_lowstate": show_lowstate,
    "show_sls": show_sls,
    "show_state_usage": show_state_usage,
    "show_states": show_states,
    "show_top": show_top,
}
