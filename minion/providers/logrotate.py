"""Configuration of logrotate(8): what is in it, and single directives changed in place.

Called by the state and the execution module `logrotate`. All other lines, comments and scripts among them, stay.
Behaviour: salt.modules.logrotate, which shows a configuration in the same form.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple

from minion.machine.failure import StateFailed
from minion.machine.plan import Reader, Value

MAIN = "/etc/logrotate.conf"
_SCRIPTS = frozenset(("prerotate", "postrotate", "firstaction", "lastaction", "preremove"))


class _Directive(NamedTuple):
    """A line that says something, or a script with its end."""

    key: str
    value: Value
    first: int
    last: int
    """Numbers of its lines; the last is one after."""
    blocks: tuple[str, ...] = ()
    """The names of the block that it stands in."""


class _Block(NamedTuple):
    names: tuple[str, ...]
    first: int
    end: int
    """The number of the line with the closing brace."""


class _Parsed(NamedTuple):
    lines: list[str]
    directives: list[_Directive]
    blocks: list[_Block]


def number_or_text(value: Value) -> Value:
    """A number where a text is one."""
    try:
        return value if isinstance(value, bool) else int(str(value))
    except ValueError:
        return value


def _parse(text: str) -> _Parsed:
    lines, directives, blocks = text.splitlines(), list[_Directive](), list[_Block]()
    names: tuple[str, ...] = ()
    open_at: int | None = None
    waiting: list[str] = []
    number = 0
    while number < len(lines):
        said, first = lines[number].strip(), number
        number += 1
        if not said or said.startswith("#"):
            continue
        if open_at is None and "{" in said:
            names, open_at, waiting = (*waiting, *said.replace("{", " ").split()), first, []
            continue
        if open_at is not None and said.startswith("}"):
            blocks.append(_Block(names, open_at, first))
            names, open_at = (), None
            continue
        key, _, rest = said.partition(" ") if "\t" not in said.split(" ")[0] else said.partition("\t")
        if open_at is None and key.startswith(("/", '"', "'")):
            waiting += said.split()
            continue
        if key in _SCRIPTS:
            while number < len(lines) and lines[number].strip() != "endscript":
                number += 1
            rest = "\n".join(lines[first + 1 : number])
            number += 1
        directives.append(_Directive(key, number_or_text(rest.strip()) if rest.strip() else True, first, number, names))
    return _Parsed(lines, directives, blocks)


def _text(machine: Reader, path: str) -> str:
    if machine.stat(path) is None:
        raise StateFailed(f"{path} is not there")
    return machine.read(path).decode("utf-8", "surrogateescape")


def configuration(machine: Reader, path: str) -> dict[str, Any]:
    """Directive → value, and name of a block → its directives, with what included files have."""
    parsed = _parse(_text(machine, path))
    found: dict[str, Any] = {}
    for block in parsed.blocks:
        inside = {one.key: one.value for one in parsed.directives if one.first in range(block.first, block.end)}
        found |= dict.fromkeys(block.names, inside)
    for one in parsed.directives:
        if not one.blocks:
            found[one.key] = one.value
            if one.key == "include":
                included = {name: configuration(machine, each) for name, each in _included(machine, str(one.value))}
                found.setdefault("include files", {}).update({name: list(inner) for name, inner in included.items()})
                for inner in included.values():
                    found |= inner
    return found


def _included(machine: Reader, place: str) -> list[tuple[str, str]]:
    """Names and paths of what an `include` names: a file, or a folder."""
    found = machine.stat(place)
    if found is None:
        return []
    if found.kind != "directory":
        return [(place.rpartition("/")[2], place)]
    return [(name, f"{place.rstrip('/')}/{name}") for name in machine.listdir(place) if not name.endswith("~")]


class Edit(NamedTuple):
    """A file with another text."""

    path: str
    text: str


def file_of(machine: Reader, path: str, key: str) -> str:
    """The file that has a directive or a block: the given one, or one that it includes."""
    parsed = _parse(_text(machine, path))
    if any(one.key == key and not one.blocks for one in parsed.directives):
        return path
    if any(key in block.names for block in parsed.blocks):
        return path
    for one in parsed.directives:
        if one.key == "include" and not one.blocks:
            for _, each in _included(machine, str(one.value)):
                if key in configuration(machine, each):
                    return file_of(machine, each, key)
    return path


def with_directive(machine: Reader, path: str, key: str, value: Value) -> Edit:
    """A directive outside of all blocks; a new one stands first. False takes it away."""
    place = file_of(machine, path, key)
    parsed = _parse(_text(machine, place))
    there = [one for one in parsed.directives if one.key == key and not one.blocks]
    return Edit(place, _joined(_put(parsed.lines, there, _line(key, value), 0)))


def with_setting(machine: Reader, path: str, block: str, key: str, value: Value) -> Edit:
    """A directive of a block, which is made where it is not there. False takes it away."""
    place = file_of(machine, path, block)
    parsed = _parse(_text(machine, place))
    found = next((one for one in parsed.blocks if block in one.names), None)
    line = _line(key, value)
    if found is None:
        return Edit(place, _joined([*parsed.lines, f"{block} {{", *([f"    {line}"] if line else []), "}"]))
    there = [one for one in parsed.directives if one.key == key and one.first in range(found.first, found.end)]
    return Edit(place, _joined(_put(parsed.lines, there, f"    {line}" if line else "", found.end)))


def _put(lines: list[str], there: list[_Directive], line: str, otherwise: int) -> list[str]:
    """The lines with this one in the place of those that are there, or before a number."""
    gone = {number for one in there for number in range(one.first, one.last)}
    place = there[0].first if there else otherwise
    made = [one for number, one in enumerate(lines[:place]) if number not in gone]
    rest = [one for number, one in enumerate(lines[place:], place) if number not in gone]
    return [*made, *([line] if line else []), *rest]


def _line(key: str, value: Value) -> str:
    text = key if value is True else f"{key} {value}" if value not in (False, None, "") else ""
    if "\n" in text or "{" in text or "}" in text:
        raise StateFailed(f"{key} takes one line without braces")
    return text


def _joined(lines: list[str]) -> str:
    return "".join(f"{line}\n" for line in lines)


def current(found: Mapping[str, Any], key: str, setting: str | None = None) -> Value:
    """What a configuration has of a directive, or of one in a block; False where it is not there."""
    value = found.get(key, False)
    if setting is None:
        return value
    if value and not isinstance(value, Mapping):
        raise StateFailed("Error: A setting for a dict was declared, but the configuration line given is not a dict")
    return value.get(setting, False) if value else False
