"""How certain a prediction is: what a machine decides, what nobody can foretell, and all that follows from such. Pure.

Called by `comparison` for the states of a plan, and by `live_tests` for those of a test run.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from typing import Any, Literal, NamedTuple, TypeAlias

from msgspec import structs

from controller.schema.reports import ResourceChange
from highstate.types import Chunk, state_title

Follows: TypeAlias = Mapping[str, Sequence[str]]

_CONDITIONS = ("onlyif", "unless", "creates", "check_cmd")
_COMMANDS = frozenset({"cmd", "module"})
"""State modules that run what somebody wrote: it may fail."""

_NOT_FORETOLD = re.compile(
    r"(?:What it would|Whether it has something to) do is not known"
    r"|\b(?:in )?a preview(?:\b does not| fetches|:|$)|in a preview"
)
"""In what a minion says of a state that its preview did not look at."""


class Doubt(NamedTuple):
    """Why a prediction is not certain."""

    certainty: Literal["conditional", "unknown"]
    why: str


def doubts_of_plan(chunks: Mapping[str, Chunk], follows: Callable[[], Follows]) -> dict[str, Doubt]:
    """Key -> doubt, of what is known without any machine.

    Args:
        chunks: those that would run.
        follows: gives key -> keys of the chunks that have a requisite on it, or read what it writes; asked when
            something is not certain.
    """
    found = {key: doubt for key, chunk in chunks.items() if (doubt := _of_chunk(chunk)) is not None}
    spread = _spread(found, follows()) if found else {}
    return {key: doubt for key, doubt in spread.items() if key in chunks}


def doubts_of_results(
    states: Mapping[str, Any], follows: Callable[[], Follows], checked: Collection[str] = ()
) -> dict[str, Doubt]:
    """Key -> doubt, of what a minion said in a test run.

    Args:
        states: Salt's running dictionary by key.
        follows: see `doubts_of_plan`.
        checked: keys of the states with a `check_cmd`, which runs when they act.
    """
    found = {key: doubt for key, entry in states.items() if (doubt := _of_result(key, entry)) is not None}
    for key in checked:
        entry = states.get(key)
        if isinstance(entry, Mapping) and entry.get("result") is None:
            found.setdefault(key, Doubt("conditional", "check_cmd decides on the machine"))
    spread = _spread(found, follows()) if found else {}
    return {key: doubt for key, doubt in spread.items() if key in states}


def doubts_of_salt(states: Mapping[str, Any], follows: Callable[[], Follows]) -> dict[str, Doubt]:
    """Key -> doubt, of what a stock minion said in a test run: Salt looks at the machine as it is now.

    So whatever follows a state that would act is foretold without what that makes.

    Args:
        states: Salt's running dictionary by key.
        follows: see `doubts_of_plan`.
    """
    acting = [key for key, entry in states.items() if isinstance(entry, Mapping) and entry.get("result") is None]
    followers = follows() if acting else {}
    found: dict[str, Doubt] = {}
    for first in acting:
        doubt = Doubt("conditional", f"Salt foretells it without what {state_title(first)} makes")
        waiting = [first]
        while waiting:
            new = [each for each in followers.get(waiting.pop(), ()) if each not in found]
            found.update(dict.fromkeys(new, doubt))
            waiting += new
    return {key: doubt for key, doubt in found.items() if key in states}


def with_doubts(
    resources: Iterable[ResourceChange], keys: Sequence[str], doubts: Mapping[str, Doubt]
) -> tuple[ResourceChange, ...]:
    """The resources with what is uncertain about them; `keys`: that of each, which is not redacted."""
    return tuple(
        resource
        if (doubt := doubts.get(key)) is None or resource.action == "removed"
        else structs.replace(resource, certainty=doubt.certainty, why_uncertain=doubt.why)
        for resource, key in zip(resources, keys, strict=True)
    )


def with_uncertain(
    states: Mapping[str, Any], follows: Callable[[], Follows], checked: Collection[str] = (), *, salt: bool = False
) -> dict[str, Any]:
    """The states of a test run, those that are not certain with `uncertain`: why. `salt`: a stock minion said them."""
    doubts = doubts_of_results(states, follows, checked)
    if salt:
        doubts = doubts_of_salt(states, follows) | doubts
    return {key: {**entry, "uncertain": doubts[key].why} if key in doubts else entry for key, entry in states.items()}


def _of_chunk(chunk: Chunk) -> Doubt | None:
    conditions = [name for name in _CONDITIONS if chunk.arguments.get(name)]
    if conditions:
        return Doubt("conditional", f"{' and '.join(conditions)} decides on the machine")
    if any(_is_slot(value) for value in chunk.arguments.values()):
        return Doubt("unknown", "a slot is filled on the machine")
    return Doubt("conditional", "a command may fail") if chunk.state in _COMMANDS else None


def _is_slot(value: Any) -> bool:
    return isinstance(value, str) and value.startswith("__slot__:")


def _of_result(key: str, entry: Any) -> Doubt | None:
    if not isinstance(entry, Mapping):
        return None
    said = [entry.get("comment"), *(entry.get("warnings") or ()), *_texts(entry.get("changes"))]
    for text in said:
        if isinstance(text, str) and _NOT_FORETOLD.search(text):
            return Doubt("unknown", text)
    acts = entry.get("result") is None
    return Doubt("conditional", "a command may fail") if acts and key.partition("_|-")[0] in _COMMANDS else None


def _texts(value: Any) -> Iterable[Any]:
    if isinstance(value, Mapping):
        for one in value.values():
            yield from _texts(one)
    else:
        yield value


def _listener(key: str) -> str:
    """The key of what a state does because of `listen`."""
    state, own_id, name, _ = [*key.split("_|-"), "", "", ""][:4]
    return f"{state}_|-listener_{own_id}_|-{name}_|-mod_watch"


def _spread(found: dict[str, Doubt], follows: Follows) -> dict[str, Doubt]:
    """With all that follows, directly or not: it says what it follows. What follows the unknown is unknown."""
    waiting = list(found)
    while waiting:
        key = waiting.pop()
        for follower in (one for each in follows.get(key, ()) for one in (each, _listener(each))):
            known = found.get(follower)
            if known is None or (known.certainty == "conditional" and found[key].certainty == "unknown"):
                found[follower] = Doubt(found[key].certainty, f"follows {state_title(key)}: {found[key].why}"[:500])
                waiting.append(follower)
    return found
