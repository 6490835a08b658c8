"""Configuration of Apache written from data, as Salt's `apache.config` writes it."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

from minion.machine.failure import StateFailed

_ARGUMENT = "this"
"""The key whose value stands behind the name of a section: `<Directory VALUE>`."""


def configuration(entries: Sequence[Any]) -> str:
    """The text of entries, each a mapping of a directive or a section to what it has.

    Raises StateFailed where one is no such mapping.
    """
    texts = []
    for entry in entries:
        if not isinstance(entry, Mapping) or not entry:
            raise StateFailed(f"an entry of config must be a mapping of a directive to its value, not {entry!r}")
        key = next(iter(entry))
        texts.append(_text(entry[key], str(key)))
    return "\n".join(texts)


def _text(value: Any, key: str) -> str:
    if isinstance(value, Mapping):
        if _ARGUMENT not in value:
            raise StateFailed(
                f'Apache section container "<{key}>" expects attribute. Specify it using key "{_ARGUMENT}".'
            )
        return _section(key, value[_ARGUMENT], value.items())
    if isinstance(value, list):
        arguments = [each[_ARGUMENT] for each in value if isinstance(each, Mapping) and _ARGUMENT in each]
        if arguments:
            return _section(key, arguments[-1], _pairs(key, value))
        return "".join(f"{_text(each, key)}\n" for each in value)
    return f"{key} {_one(key, value)}"


def _section(key: str, argument: Any, pairs: Iterable[tuple[Any, Any]]) -> str:
    lines = [f"<{key} {'' if argument is None else _one(key, argument)}>"]
    lines += [_text(value, str(each)) for each, value in pairs if each != _ARGUMENT]
    return "".join(f"{line}\n" for line in [*lines, f"</{key}>"])


def _pairs(key: str, value: Sequence[Any]) -> Iterator[tuple[Any, Any]]:
    for each in value:
        if not isinstance(each, Mapping):
            raise StateFailed(f"in the section {key}, {each!r} is no mapping of a directive to its value")
        yield from each.items()


def _one(key: str, value: Any) -> str:
    """A value as text. What YAML has read as a boolean or nothing is none: nobody knows the word that stood there."""
    if isinstance(value, bool) or value is None:
        raise StateFailed(f"{key} has no text as its value: put what is meant into quotes, such as 'On'")
    return str(value)
