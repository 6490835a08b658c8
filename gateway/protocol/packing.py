"""Values as Salt packs them: msgpack of before it knew bytes from text.

What a stranger or a minion sends is counted before it is decoded (`wire.values`), since a few bytes of msgpack become
many of Python.

Source: `salt/payload.py` and `salt/transport/frame.py` of 3006, 3007 and 3008.
"""

from __future__ import annotations

import datetime
from typing import Any

import msgpack

from wire.errors import MalformedMessage, OverLimit
from wire.limits import MinionLimits
from wire.values import check_value, count_values

_DATETIME = 78
_DATETIME_FORMAT = "%Y%m%dT%H:%M:%S.%f"
_CONSTANT = 79
"""A name and a value; the value counts."""


def pack(value: Any) -> bytes:
    """A value as a minion reads it. Text and bytes have one type there."""
    packed: bytes = msgpack.packb(value, use_bin_type=False, default=_packable)
    return packed


def unpack(data: bytes, limits: MinionLimits) -> Any:
    """What was packed: text where it is UTF-8, else bytes. MalformedMessage, and OverLimit, which is one.

    Args:
        data: as it came.
        limits: how many values, and how deep.
    """
    try:
        count_values(data, limits)
        value = msgpack.unpackb(data, raw=True, strict_map_key=False, ext_hook=_extension)
    except (OverLimit, MalformedMessage):
        raise
    except Exception as error:  # msgpack has a class of its own for each kind of fault
        raise MalformedMessage(f"no msgpack: {type(error).__name__}") from error
    return check_value(_texts(value, limits.depth), limits)


def _packable(value: Any) -> Any:
    if isinstance(value, int):  # beyond 64 bits
        return str(value)
    if isinstance(value, set | frozenset):
        return sorted(value, key=str)
    raise TypeError(f"no {type(value).__name__} can be packed")


def _extension(code: int, data: bytes) -> Any:
    if code == _DATETIME:
        return datetime.datetime.strptime(data.decode("ascii"), _DATETIME_FORMAT).isoformat()
    if code == _CONSTANT:
        return msgpack.unpackb(data, raw=False)[1]
    raise MalformedMessage(f"an extension type of msgpack ({code})")


def _texts(value: Any, depth: int) -> Any:
    if isinstance(value, bytes):
        try:
            return value.decode("utf-8")
        except UnicodeDecodeError:
            return value
    if isinstance(value, dict | list):
        if not depth:
            raise OverLimit("depth", "a value that is nested too deeply")
        if isinstance(value, list):
            return [_texts(each, depth - 1) for each in value]
        return {_texts(key, depth - 1): _texts(each, depth - 1) for key, each in value.items()}
    return value
