"""`salt.ext.six`: Python 3's side of it."""

from __future__ import annotations

import io
import sys
from collections.abc import Callable, ItemsView, KeysView, Mapping, ValuesView
from typing import Any

PY2, PY3 = False, True
MAXSIZE = sys.maxsize
class_types: tuple[type, ...] = (type,)
string_types: tuple[type, ...] = (str,)
integer_types: tuple[type, ...] = (int,)
text_type, binary_type = str, bytes
StringIO, BytesIO = io.StringIO, io.BytesIO


def iteritems(data: Mapping[Any, Any]) -> ItemsView[Any, Any]:
    """Pairs."""
    return data.items()


def iterkeys(data: Mapping[Any, Any]) -> KeysView[Any]:
    """Keys."""
    return data.keys()


def itervalues(data: Mapping[Any, Any]) -> ValuesView[Any]:
    """Values."""
    return data.values()


def add_metaclass(metaclass: type) -> Callable[[type], type]:
    """A decorator: the class, made anew by this metaclass."""

    def remade(cls: type) -> type:
        names = {key: value for key, value in vars(cls).items() if key not in ("__dict__", "__weakref__")}
        made: type = metaclass(cls.__name__, cls.__bases__, names)
        return made

    return remade


def with_metaclass(metaclass: type, *bases: type) -> type:
    """A class to inherit from, of this metaclass."""
    made: type = metaclass("with_metaclass", bases, {})
    return made


def reraise(kind: type[BaseException], value: BaseException | None, trace: Any = None) -> None:
    """Raise it again, with the traceback that it had."""
    raise (kind() if value is None else value).with_traceback(trace)


def ensure_str(text: str | bytes, encoding: str = "utf-8", errors: str = "strict") -> str:
    """Text."""
    return text.decode(encoding, errors) if isinstance(text, bytes) else text


ensure_text = ensure_str


def ensure_binary(text: str | bytes, encoding: str = "utf-8", errors: str = "strict") -> bytes:
    """Bytes."""
    return text.encode(encoding, errors) if isinstance(text, str) else text
