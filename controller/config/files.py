"""Configuration files as YAML with the line of every option. `controller.config.settings` knows the options.

A later file wins; mappings of the same option are merged key by key, as Salt merges `master.d`.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import yaml

_Loader: Any = getattr(yaml, "CSafeLoader", yaml.SafeLoader)


@dataclass(frozen=True, slots=True)
class Fault:
    """One thing that is wrong with the configuration."""

    place: str
    """`file:line`."""
    message: str
    hint: str = ""

    def __str__(self) -> str:
        text = f"{self.place}: {self.message}" if self.place else self.message
        return f"{text}; {self.hint}" if self.hint else text


@dataclass(frozen=True, slots=True)
class Entry:
    """What an option was set to, and where."""

    value: Any
    place: str


def read_files(main: Path, folder: Path) -> tuple[dict[str, Entry], list[Fault]]:
    """The options of `main` and then of `folder`/*.conf; what cannot be read is among the faults."""
    entries: dict[str, Entry] = {}
    faults: list[Fault] = []
    files = [main] if main.exists() else []
    for path in [*files, *sorted(folder.glob("*.conf"))]:
        try:
            found = _entries(path)
        except _Unreadable as error:
            faults.append(error.fault)
            continue
        for key, entry in found.items():
            known = entries.get(key)
            entries[key] = entry if known is None else replace(entry, value=_merged(known.value, entry.value))
    return entries, faults


class _Unreadable(Exception):
    def __init__(self, place: str, message: str) -> None:
        super().__init__(message)
        self.fault = Fault(place, message)


def _entries(path: Path) -> dict[str, Entry]:
    try:
        text = path.read_text(encoding="utf-8")
    except OSError as error:
        raise _Unreadable(str(path), f"cannot be read: {error.strerror}") from error
    except UnicodeDecodeError as error:
        raise _Unreadable(str(path), f"is not UTF-8: {error}") from error
    loader = _Loader(text)
    try:
        node = loader.get_single_node()
        return {} if node is None else _options(path, loader, node)
    except yaml.MarkedYAMLError as error:
        mark = error.problem_mark or error.context_mark
        raise _Unreadable(f"{path}:{mark.line + 1}" if mark else str(path), f"is no YAML: {error.problem}") from error
    except (yaml.YAMLError, ValueError, RecursionError) as error:
        raise _Unreadable(str(path), f"is no YAML: {error}") from error
    finally:
        loader.dispose()


def _options(path: Path, loader: Any, node: yaml.Node) -> dict[str, Entry]:
    if not isinstance(node, yaml.MappingNode):
        if isinstance(node, yaml.ScalarNode) and not node.value:
            return {}
        raise _Unreadable(f"{path}:{node.start_mark.line + 1}", "must hold `option: value` lines")
    found: dict[str, Entry] = {}
    for key_node, value_node in node.value:
        place = f"{path}:{key_node.start_mark.line + 1}"
        key = loader.construct_object(key_node, deep=True)
        if not isinstance(key, str):
            raise _Unreadable(place, f"{key!r} is no name of an option")
        if key in found:
            raise _Unreadable(place, f"{key} stands here again, after {found[key].place}")
        found[key] = Entry(loader.construct_object(value_node, deep=True), place)
    return found


def _merged(old: Any, new: Any) -> Any:
    if isinstance(old, Mapping) and isinstance(new, Mapping):
        return {**old, **{key: _merged(old[key], value) if key in old else value for key, value in new.items()}}
    return new
