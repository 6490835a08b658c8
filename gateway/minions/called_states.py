"""What a call of states (`state.sls`, `state.sls_id`, `state.apply` …) runs, of the states that were compiled for it.

A stock minion is given the states that are to run, and no arguments of the call. So what these say is read here, by the
signatures of the functions of our own minions, which are Salt's.
"""

from __future__ import annotations

import inspect
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from highstate.types import Chunk
from minion.modules.state.apply import FUNCTIONS as APPLY
from minion.modules.state.given import FUNCTIONS as GIVEN
from minion.modules.state.runs import as_exclude, without
from wire.messages import Call

_FUNCTIONS = {**APPLY, **GIVEN}


class BadStateCall(Exception):
    """The arguments of a call of states name nothing that can be run; the text says why."""


@dataclass(frozen=True, slots=True, kw_only=True)
class CalledStates:
    """What a call runs.

    Args:
        keys: of the states, in the order of the document.
        test: whether they only say what they would do; None: as the minion's configuration says.
        queue: whether the call waits for another one.
    """

    keys: tuple[str, ...]
    test: bool | None
    queue: Any


def called_states(call: Call, chunks: Mapping[str, Chunk]) -> CalledStates:
    """What a call runs of these states, which were compiled for it.

    Args:
        call: of a function of the module `state` that runs states.
        chunks: of the document of the call, by their keys.

    Raises:
        BadStateCall: an argument that the function does not have, or an id that is not there.
    """
    given = _given(call)
    chosen = tuple(chunks.values())
    if call.fun == "state.sls_id":
        chosen = tuple(chunk for chunk in chosen if chunk.id == given["id_"])
        if not chosen:
            where = given.get("mods") or "of the highstate"
            raise BadStateCall(f"No matches for ID '{given['id_']}' found in SLS '{where}'")
    chosen = without(chosen, as_exclude(given.get("exclude")))
    kept = set(map(id, chosen))
    return CalledStates(
        keys=tuple(key for key, chunk in chunks.items() if id(chunk) in kept),
        test=True if call.fun == "state.test" else None if given.get("test") is None else bool(given["test"]),
        queue=given.get("queue") or False,
    )


def _given(call: Call) -> dict[str, Any]:
    """The arguments of a call by their names."""
    function = _FUNCTIONS[call.fun.partition(".")[2]]
    try:
        bound = inspect.signature(function).bind(None, *call.args, **call.kwargs)
    except TypeError as error:
        raise BadStateCall(f"{call.fun}: {error}") from None
    ignored = bound.arguments.pop("ignored", {})
    return {**bound.arguments, **ignored}
