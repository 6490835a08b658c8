"""Data as TOML (toml.io, version 1.0). Called by file.serialize; the standard library reads TOML only.

Values come before tables, tables in the order that they are given in.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping
from typing import Any

_BARE = re.compile(r"[A-Za-z0-9_-]+")


def toml_text(data: Any) -> str:
    """The text; ValueError for what TOML cannot hold (null)."""
    if not isinstance(data, Mapping):
        raise ValueError("the top of a TOML document is a mapping")
    return "\n".join(_table(data, ())).lstrip("\n") + "\n"


def _table(data: Mapping[Any, Any], path: tuple[str, ...]) -> Iterator[str]:
    for key, value in data.items():
        if not isinstance(value, Mapping) and not _is_tables(value):
            yield f"{_key(str(key))} = {_value(value)}"
    for key, value in data.items():
        below = (*path, str(key))
        name = ".".join(_key(part) for part in below)
        if isinstance(value, Mapping):
            yield f"\n[{name}]"
            yield from _table(value, below)
        elif _is_tables(value):
            for one in value:
                yield f"\n[[{name}]]"
                yield from _table(one, below)


def _is_tables(value: Any) -> bool:
    return isinstance(value, list) and bool(value) and all(isinstance(one, Mapping) for one in value)


def _value(value: Any) -> str:
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, int | float):
        return repr(value)
    if isinstance(value, str):
        return _text(value)
    if isinstance(value, list | tuple):
        return f"[{', '.join(_value(one) for one in value)}]"
    if isinstance(value, Mapping):
        return "{" + ", ".join(f"{_key(str(key))} = {_value(one)}" for key, one in value.items()) + "}"
    raise ValueError(f"TOML has no way to write {value!r}")


def _key(key: str) -> str:
    return key if _BARE.fullmatch(key) else _text(key)


def _text(value: str) -> str:
    return json.dumps(value, ensure_ascii=False).replace("\x7f", "\\u007f")
