"""The arguments of a chunk as its state function takes them, and what is said of those that it does not know."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from highstate.types import Chunk, Value
from minion.arguments import BadValues
from minion.engine.registry import Function
from minion.machine.failure import StateFailed
from options.near_names import did_you_mean

# fmt: off
GLOBAL = frozenset(
    (
        "require", "require_any", "require_in", "watch", "watch_any", "watch_in", "onchanges", "onchanges_any",
        "onchanges_in", "onfail", "onfail_any", "onfail_all", "onfail_in", "prereq", "prereq_in",
        "listen", "listen_in", "use", "use_in", "order", "unless", "onlyif", "creates", "check_cmd",
        "cmd_opts_exclude", "failhard", "retry", "parallel", "aggregate", "reload_modules", "reload_grains",
        "reload_pillar", "fire_event", "saltenv", "no_log", "state", "fun", "name", "names", "provider", "runas",
        "runas_password", "umask", "beacon", "sfun", "success_retcodes", "success_stdout",
    )
)
# fmt: on
"""Arguments that every state takes, and that the run or the engine has acted on (Salt's internal keywords)."""


def arguments_of(
    chunk: Chunk, function: Function, given: Mapping[str, Value], watched: bool
) -> tuple[dict[str, Any], tuple[str, ...]]:
    """The arguments that the function takes, as its types, and warnings about those that are unknown."""
    spec = function.spec
    try:
        own = spec.convert(given)
        others = len(own) < len(given)
        if others and not watched and spec.refused:
            spec.check_refused(f"{chunk.state}.{chunk.fun}", given)
    except BadValues as bad:
        raise StateFailed(f"{bad}{'' if chunk.pos is None else f' ({chunk.pos})'}") from None
    strange = [key for key in given if key not in own and key not in GLOBAL and not spec.knows(key)] if others else []
    if own.get("template") and "template_variables" in spec.supplied:
        own["template_variables"], strange = {key: given[key] for key in strange}, []
    if strange and spec.takes_anything:
        own |= {key: given[key] for key in strange}
    if "saltenv" in spec.parameters:
        own.setdefault("saltenv", chunk.saltenv)
    if watched and "sfun" in spec.supplied:
        own["sfun"] = chunk.fun
    if "state_id" in spec.supplied:
        own["state_id"] = chunk.id
    if spec.required and (missing := [name for name in spec.required if name not in own]):
        lines = (f"Missing parameter {name} for state {chunk.state}.{chunk.fun}" for name in missing)
        raise StateFailed("\n".join(lines))
    if not strange or watched or spec.takes_anything:
        return own, ()
    return own, tuple(_strange(chunk, key, function) for key in strange)


def _strange(chunk: Chunk, key: str, function: Function) -> str:
    meant = did_you_mean(key, (*function.spec.parameters, *GLOBAL), quote="'")
    hint = f"; {meant}" if meant else ""
    return f"'{key}' is an invalid keyword argument for '{chunk.state}.{chunk.fun}' and is ignored{hint}"
