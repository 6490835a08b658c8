"""How states are named that take away what git no longer names. Pure; of minion and controller."""

from __future__ import annotations

from collections.abc import Mapping

from highstate.types import Value

MARK = "prune:"
"""How their IDs begin; the ID of the state that made it follows."""


def maker_of(key: str) -> str:
    """The ID of the state that made what the state with this key takes away; empty for any other state."""
    parts = key.split("_|-")
    return parts[1].removeprefix(MARK) if len(parts) == 4 and parts[1].startswith(MARK) else ""


def prune_mode(drift: Mapping[str, Value]) -> str:
    """`off`, `report` or `on`, as a document says it (`Desired.drift`)."""
    given = drift.get("prune")
    return str(given.get("mode", "report")) if isinstance(given, Mapping) else "report"


def no_longer_managed(mode: str) -> str:
    """What is said of a state that git no longer has."""
    match mode:
        case "on":
            return "no longer managed; what it made is removed, unless another state names it"
        case "report":
            return "no longer managed; left as it is on the machine, and what it made is reported"
        case _:
            return "no longer managed; left as it is on the machine"
