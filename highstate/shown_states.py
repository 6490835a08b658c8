"""What `state.show_*` answers, of a compile: the same on a minion and on the controller. Pure.

Called by the execution functions of a minion that compiles by itself, and by the compile worker. Shapes and names are
those of salt.modules.state.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from typing import Any

from highstate.types import Compiled, Files

WITHOUT_STATES = frozenset(["show_top", "show_state_usage"])
"""Those that the top file alone answers: what is wrong with the SLS does not matter there."""


def low_chunks(compiled: Compiled) -> list[Any]:
    """`state.show_lowstate` and `state.show_low_sls`: low chunks in running order."""
    return [chunk.as_salt() for chunk in compiled.lowstate]


def top(compiled: Compiled) -> dict[str, list[str]]:
    """`state.show_top`: names of SLS by saltenv."""
    return {env: list(names) for env, names in compiled.matches.items()}


def sls_names(compiled: Compiled) -> list[str]:
    """`state.show_states`: names of the SLS that the highstate is made of."""
    return list(dict.fromkeys(chunk.sls for chunk in compiled.lowstate))


def has_ids(compiled: Compiled, ids: Collection[str]) -> bool:
    """`state.id_exists`: whether there are all of these IDs."""
    return set(ids) <= {chunk.id for chunk in compiled.lowstate}


def usage(used: Mapping[str, Collection[str]], there: Mapping[str, Iterable[str]]) -> dict[str, Any]:
    """`state.show_state_usage`: by saltenv, which SLS that are `there` the top file uses, and which not."""
    return {env: _usage_of(set(used.get(env, ())), list(names)) for env, names in there.items()}


def _usage_of(used: set[str], there: list[str]) -> dict[str, Any]:
    found = {"used": [name for name in there if name in used], "unused": [name for name in there if name not in used]}
    counts = {"count_all": len(there), "count_used": len(found["used"]), "count_unused": len(found["unused"])}
    return {**found, **counts}


def _states_of(files: Files, saltenv: str) -> list[str]:
    """Names of all SLS of a saltenv, sorted, as `cp.list_states` has them."""
    names = {_sls_name(path) for path in files.list("", saltenv) if path.endswith(".sls")}
    return sorted(names)


def _sls_name(path: str) -> str:
    return path.removesuffix(".sls").removesuffix("/init").replace("/", ".")


def shown(fun: str, compiled: Compiled, ids: Collection[str], files: Files) -> Any:
    """What the function of `state` with this name answers; `compiled` is ok, or `fun` is in `WITHOUT_STATES`.

    Args:
        fun: name without the module.
        compiled: the highstate, or the SLS that were named.
        ids: those of `id_exists`.
        files: the tree, for `show_state_usage`.
    """
    match fun:
        case "show_lowstate" | "show_low_sls":
            return low_chunks(compiled)
        case "show_highstate" | "show_sls":
            return dict(compiled.highstate)
        case "show_top":
            return top(compiled)
        case "show_states":
            return sls_names(compiled)
        case "id_exists":
            return has_ids(compiled, ids)
        case "sls_exists":
            return True
        case "show_state_usage":
            return usage(compiled.matches, {env: _states_of(files, env) for env in files.saltenvs()})
    raise ValueError(f"state.{fun} shows nothing")
