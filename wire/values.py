"""Plain values in messages: how deep, how many, and which numbers.

Called by `wire.codec` for what minions send. A frame is counted before it is decoded when it is large, since a few
bytes of msgpack can become many of Python; depth and numbers are looked at afterwards, in values that say of themselves
nothing (`Any`).

A number that JSON or the store does not have becomes its text: NaN and the infinities, and integers beyond 64 bits
signed.
"""

from __future__ import annotations

import math
from typing import Any, Final

from wire.errors import OverLimit
from wire.limits import MinionLimits

COUNTED_FROM = 256 * 1024
"""Bytes of the smallest frame whose values are counted before it is decoded."""

_MOST_INTEGER = 2**63 - 1
_LEAST_INTEGER = -(2**63)
_TEXT = frozenset({str})

_FIXED: Final[dict[int, int]] = {
    0xC0: 0,
    0xC2: 0,
    0xC3: 0,
    0xCA: 4,
    0xCB: 8,
    **{0xCC + power: 1 << power for power in range(4)},
    **{0xD0 + power: 1 << power for power in range(4)},
    **{0xD4 + power: 1 + (1 << power) for power in range(5)},
}
"""Bytes that follow the first of a nil, boolean, number or extension of fixed size; the rest of the format is in
`_step`."""

_SIZED: Final[dict[int, int]] = {0xC4: 1, 0xC5: 2, 0xC6: 4, 0xD9: 1, 0xDA: 2, 0xDB: 4}
"""Bytes of the length of a binary or a string."""

_EXTENSIONS: Final[dict[int, int]] = {0xC7: 1, 0xC8: 2, 0xC9: 4}
"""Bytes of the length of an extension, whose type is a byte more."""

_CONTAINERS: Final[dict[int, tuple[int, int]]] = {0xDC: (2, 1), 0xDD: (4, 1), 0xDE: (2, 2), 0xDF: (4, 2)}
"""Bytes of the length of an array or a map, and values of each entry."""


_BYTES_OF_VALUE = 64
"""Memory of the smallest mapping; a message holds one for each byte at worst."""


def most_memory(size: int, limits: MinionLimits) -> int:
    """Bytes of memory that a message of so many bytes takes at most when it is decoded."""
    return size + _BYTES_OF_VALUE * min(size, limits.values)


def count_values(frame: bytes | bytearray | memoryview, limits: MinionLimits) -> None:
    """OverLimit when a msgpack frame holds more values than a message may; a broken one is left to the decoder."""
    position, values, size = 0, 1, len(frame)
    counted = 0
    while values and position < size:
        counted += 1
        if counted + values > limits.values:
            raise OverLimit("values", f"a message of more than {limits.values} values")
        skip, more = _step(frame, position)
        position += skip
        values += more - 1


def _step(frame: bytes | bytearray | memoryview, position: int) -> tuple[int, int]:
    """Bytes until the next value, and values inside this one."""
    first = frame[position]
    if first < 0x80 or first >= 0xE0:
        return 1, 0
    if first < 0xA0:
        return 1, (first & 0x0F) << (first < 0x90)
    if first < 0xC0:
        return 1 + (first & 0x1F), 0
    if first in _FIXED:
        return 1 + _FIXED[first], 0
    if first in _SIZED:
        width = _SIZED[first]
        return 1 + width + int.from_bytes(frame[position + 1 : position + 1 + width], "big"), 0
    if first in _CONTAINERS:
        width, each = _CONTAINERS[first]
        return 1 + width, each * int.from_bytes(frame[position + 1 : position + 1 + width], "big")
    if first in _EXTENSIONS:
        width = _EXTENSIONS[first]
        return 2 + width + int.from_bytes(frame[position + 1 : position + 1 + width], "big"), 0
    return 1, 0  # 0xC1, which is none


def check_value(value: Any, limits: MinionLimits) -> Any:
    """The value, with numbers as they may be. OverLimit when it is nested too deeply or has too many parts."""
    level, depth, count, odd = [value], 0, 0, False
    while level:
        depth += 1
        count += len(level)
        if depth > limits.depth:
            raise OverLimit("depth", f"a value that is nested more than {limits.depth} deep")
        if count > limits.values:
            raise OverLimit("values", f"a value of more than {limits.values} parts")
        inner: list[Any] = []
        for each in level:
            kind = type(each)
            if kind is str:  # as most are
                continue
            if kind is dict:
                inner.extend(each.values())
                if not _TEXT.issuperset(map(type, each)):
                    inner.extend(key for key in each if type(key) is not str)
            elif kind is list or kind is tuple:
                inner.extend(each)
            elif kind is float:
                odd = odd or not math.isfinite(each)
            elif kind is int:
                odd = odd or not _LEAST_INTEGER <= each <= _MOST_INTEGER
        level = inner
    return _plain(value) if odd else value


def _plain(value: Any) -> Any:
    match value:
        case dict():
            return {_plain(key): _plain(each) for key, each in value.items()}
        case list():
            return [_plain(each) for each in value]
        case tuple():
            return tuple(map(_plain, value))
        case float() if not math.isfinite(value):
            return str(value)
        case int() if not _LEAST_INTEGER <= value <= _MOST_INTEGER:
            return str(value)
        case _:
            return value
