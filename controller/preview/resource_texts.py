"""The texts of a resource's change, apart from its shape, and the change with other texts in their places. Pure.

Called by `classes`, which compares shapes first: there are few of them, however many minions there are. Names (titles,
files of origin) say what a change is about; values (arguments, lines of files) what it does.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from msgspec import structs

from controller.schema.plans import FieldDiff
from controller.schema.reports import FileDiff, ResourceChange

_HUNK = "@@"
"""How lines begin that say where in a file the next ones stand: that is no part of what changes in it."""


@dataclass(frozen=True, slots=True)
class ResourceTexts:
    """What a change of a minion is made of."""

    shape: Hashable
    """What minions of a class have in common, whatever their values are."""
    names: tuple[str, ...]
    values: tuple[str, ...]


def texts_of(resources: tuple[ResourceChange, ...]) -> ResourceTexts:
    """The texts of all changes of a minion."""
    names: list[str] = []
    values: list[str] = []
    shape = tuple(_shape(each, names, values) for each in resources)
    return ResourceTexts(shape, tuple(names), tuple(values))


def with_texts(
    resources: tuple[ResourceChange, ...], name: Callable[[str], str], value: Callable[[str], str]
) -> tuple[ResourceChange, ...]:
    """The same changes, with each name and value replaced, in the order in which `texts_of` gives them."""
    return tuple(_replaced(each, name, value) for each in resources)


def _shape(one: ResourceChange, names: list[str], values: list[str]) -> Hashable:
    names += (one.key, one.title, one.origin, one.commit, one.why_uncertain, *one.triggered_by, *one.triggers)
    fields = tuple((each.field, _value_shape(each.old, values), _value_shape(each.new, values)) for each in one.fields)
    files = tuple(_file_shape(each, names, values) for each in one.files)
    counts = len(one.triggered_by), len(one.triggers)
    return one.action, one.function, one.irreversible, one.certainty, fields, files, counts


def _value_shape(value: Any, values: list[str]) -> Hashable:
    match value:
        case None | bool():
            return value
        case str():
            lines = value.split("\n")
            values += lines
            return "s", len(lines)
        case Mapping():
            return "m", tuple((str(key), _value_shape(inner, values)) for key, inner in value.items())
        case list() | tuple():
            return "l", tuple(_value_shape(inner, values) for inner in value)
        case _:
            values.append(str(value))
            return "n"


def _file_shape(file: FileDiff, names: list[str], values: list[str]) -> Hashable:
    names += (file.path,)
    lines = file.text.split("\n")
    values.append(file.note)
    values += [line[1:] for line in lines if line[:2] != _HUNK]
    return len(lines), "".join([line[:1] for line in lines])


def _replaced(one: ResourceChange, name: Callable[[str], str], value: Callable[[str], str]) -> ResourceChange:
    named = {key: name(getattr(one, key)) for key in ("key", "title", "origin", "commit", "why_uncertain")}
    by, triggers = tuple(map(name, one.triggered_by)), tuple(map(name, one.triggers))
    fields = tuple(
        FieldDiff(field=each.field, old=_value(each.old, value), new=_value(each.new, value)) for each in one.fields
    )
    files = tuple(_file(each, name, value) for each in one.files)
    return structs.replace(one, **named, triggered_by=by, triggers=triggers, fields=fields, files=files)


def _value(given: Any, value: Callable[[str], str]) -> Any:
    match given:
        case None | bool():
            return given
        case str():
            return "\n".join([value(line) for line in given.split("\n")])
        case Mapping():
            return {key: _value(inner, value) for key, inner in given.items()}
        case list() | tuple():
            return [_value(inner, value) for inner in given]
        case _:
            text = value(str(given))
            return given if text == str(given) else text


def _file(file: FileDiff, name: Callable[[str], str], value: Callable[[str], str]) -> FileDiff:
    path, note = name(file.path), value(file.note)
    return structs.replace(file, path=path, note=note, text="\n".join(_lines(file.text.split("\n"), value)))


def _lines(lines: list[str], value: Callable[[str], str]) -> Iterator[str]:
    for line in lines:
        yield line if line[:2] == _HUNK else line[:1] + value(line[1:])
