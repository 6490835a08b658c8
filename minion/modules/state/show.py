"""state.show_*: high data, low chunks and the top file, with nothing run."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Unpack

from minion.arguments.types import CommaList
from minion.execution.context import Context
from minion.execution.loader import Modules
from minion.modules.state.runs import ShowOptions, compiled_highstate, compiled_sls, good, high_of


def show_lowstate(context: Context, **options: Unpack[ShowOptions]) -> list[Any]:
    """The highstate as low chunks, in running order."""
    return [chunk.as_salt() for chunk in good(compiled_highstate(context, options))]


def show_low_sls(context: Context, mods: CommaList, **options: Unpack[ShowOptions]) -> list[Any]:
    """Some SLS as low chunks."""
    return [chunk.as_salt() for chunk in good(compiled_sls(context, mods, options))]


def show_highstate(context: Context, **options: Unpack[ShowOptions]) -> dict[str, Any]:
    """The highstate as high data."""
    return high_of(compiled_highstate(context, options))


def show_sls(context: Context, mods: CommaList, **options: Unpack[ShowOptions]) -> dict[str, Any]:
    """Some SLS as high data."""
    return high_of(compiled_sls(context, mods, options))


def show_top(context: Context, **options: Unpack[ShowOptions]) -> dict[str, list[str]]:
    """What the top file gives this minion, by saltenv."""
    compiled = compiled_highstate(context, options)
    if not compiled.matches:  # what is wrong with the SLS does not matter here
        good(compiled)
    return {env: list(names) for env, names in compiled.matches.items()}


def show_states(context: Context, **options: Unpack[ShowOptions]) -> list[str]:
    """Names of the SLS that the highstate is made of."""
    return list(dict.fromkeys(chunk.sls for chunk in good(compiled_highstate(context, options))))


def id_exists(context: Context, ids: CommaList, mods: CommaList, **options: Unpack[ShowOptions]) -> bool:
    """Whether some SLS have all of these IDs."""
    return set(ids) <= {chunk.id for chunk in good(compiled_sls(context, mods, options))}


def show_state_usage(context: Context, **options: Unpack[ShowOptions]) -> dict[str, Any]:
    """Which SLS of the tree the highstate uses, and which it does not."""
    used = [name for names in show_top(context, **options).values() for name in names]
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
