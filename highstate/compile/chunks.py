"""High data -> low chunks, not yet in order: one for each function call that a declaration stands for.

Called by `compile_minion` on verified high data. Source: salt/state.py `compile_high_data`.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from highstate.compile.high import High
from highstate.compile.positions import SourceLocation
from highstate.types import Chunk, Value


@dataclass(slots=True, kw_only=True, eq=False)
class Draft:
    """A low chunk whose order is still to be settled."""

    state: str
    fun: str
    id: str
    name: str
    sls: str
    saltenv: str
    order: Value = None
    """As written: a number, `first`, `last` or anything else; a number in the end."""
    has_order: bool = True
    """Whether there is one; Salt tells an order of null from no order."""
    name_order: int = 0
    """Position in `names`, from 1."""
    arguments: dict[str, Value]
    location: SourceLocation

    @property
    def tag(self) -> str:
        """Salt's key of the chunk."""
        return f"{self.state}_|-{self.id}_|-{self.name}_|-{self.fun}"

    def chunk(self) -> Chunk:
        """The finished chunk; its order has been settled."""
        return Chunk(
            state=self.state,
            fun=self.fun,
            id=self.id,
            name=self.name,
            sls=self.sls,
            saltenv=self.saltenv,
            order=self.order,
            arguments=_by_words(self.arguments),
            pos=self.location.pos(),
        )


def _by_words(arguments: dict[Any, Value]) -> dict[str, Value]:
    """Arguments by names that are text: `null`, `on`, `80` without quotes are none in YAML, and have those of JSON."""
    if all(isinstance(name, str) for name in arguments):
        return arguments
    return {_word(name): value for name, value in arguments.items()}


def _word(name: Any) -> str:
    return json.dumps(name) if name is None or isinstance(name, (bool, int, float)) else str(name)


def drafts_of(high: High) -> list[Draft]:
    """All chunks in the order of the high data."""
    return [
        draft
        for id_, state, run in high.declarations()
        for draft in _drafts(high.bodies[id_], id_, state, run, high.location(id_))
    ]


def _drafts(
    body: dict[str, Value], id_: str, state: str, run: list[Value], location: SourceLocation
) -> Iterator[Draft]:
    low: dict[str, Value] = {"state": state, "name": id_}
    low |= {key: body[key] for key in ("__sls__", "__env__", "__sls_included_from__") if key in body}
    low["__id__"] = id_
    functions: list[str] = []
    names: list[Value] = []
    for argument in run:
        if isinstance(argument, dict):
            _read_argument(low, names, argument)
        elif isinstance(argument, str):
            functions.append(argument)
    if not functions:  # a state that an `_in` requisite of several states added to an ID
        return
    low["fun"] = functions[0]
    if not names:
        yield _draft(low, location)
    for position, entry in enumerate(names, 1):
        yield _draft({**low, **_named(entry), "fun": functions[0]}, location, position)


def _read_argument(low: dict[str, Value], names: list[Value], argument: dict[str, Value]) -> None:
    for key, value in argument.items():
        if key == "names" and isinstance(value, list):
            names.extend(name for index, name in enumerate(value) if name not in names and name not in value[:index])
        elif key == "state":
            continue
        elif key == "name" and not isinstance(value, str):
            low["name"] = low["__id__"]
        else:
            low[key] = value


def _named(entry: Value) -> dict[str, Value]:
    """What one entry of `names` changes; of a mapping the first key alone counts, as in Salt."""
    if not isinstance(entry, dict):
        return {"name": entry}
    name = next(iter(entry))
    changed: dict[str, Value] = {"name": name}
    for argument in entry[name]:
        changed.update(argument)
    return changed


def _draft(low: dict[str, Value], location: SourceLocation, name_order: int = 0) -> Draft:
    """The draft of a chunk as Salt has it, which becomes its arguments."""
    take = low.pop
    saltenv = take("__env__")
    if not isinstance(saltenv, str):  # meant as `env`: Salt takes the list for the saltenv, and finds no file in it
        saltenv = location.saltenv
    return Draft(
        state=take("state"),
        fun=take("fun"),
        id=take("__id__"),
        name=take("name"),
        sls=take("__sls__"),
        saltenv=saltenv,
        has_order="order" in low,
        order=take("order", None),
        name_order=name_order,
        arguments=low,
        location=location,
    )
