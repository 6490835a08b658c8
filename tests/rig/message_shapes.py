"""Messages of every type as plain values, with a text of the test's own in each place that takes one.

Made from the types themselves: a message or a field that is added later is attacked without anybody naming it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import Any, get_args

import msgspec
from msgspec import inspect

from wire.messages import ToController, ToMinion

TO_CONTROLLER: tuple[type[Any], ...] = get_args(ToController)
TO_MINION: tuple[type[Any], ...] = get_args(ToMinion)

MARK = "made-by-a-name"
"""Is in every hostile name, so that what it makes is found."""

HOSTILE_NAMES = (
    f"../{MARK}",
    "../" * 20 + f"tmp/{MARK}",
    f"/tmp/{MARK}",
    f"{MARK}\0.txt",
    f"{MARK}\nevent=forged",
    f"{MARK}/../../x",
    f"{MARK}\u2025\u2215\uff0fx",
    f"d\u0431-{MARK}",
    f"\u202e{MARK}",
    f"{MARK}*?[a]{{b}}",
    f"$(touch /tmp/{MARK})",
    f"{{{{ salt['cmd.run']('touch /tmp/{MARK}') }}}}",
    MARK * 300,
    "",
)
"""Ways out of a folder, NUL, newlines, twins in Unicode, patterns, commands, templates, 4 kB, nothing."""

NUMBERS = {"first": 0}
"""Fields that are no 1 where a message makes sense."""

Put = Callable[[str], Any]
"""What stands in a place, by its name."""


def filled(kind: type[Any], put: Put) -> dict[str, Any]:
    """A message of a type with all its fields, as plain values.

    Args:
        kind: the type.
        put: gives the text of each place: `field`, and below it `.key`, `.value` or a number.
    """
    described: Any = inspect.type_info(kind)
    body = {field.encode_name: _value(field.type, field.encode_name, put) for field in described.fields}
    return {described.cls.__struct_config__.tag_field or "t": kind.__struct_config__.tag, **body}


def places(kind: type[Any]) -> list[str]:
    """The names of the places of a type that take a text."""
    found: list[str] = []
    filled(kind, lambda place: found.append(place) or "x")
    return list(dict.fromkeys(found))


def attacks(kind: type[Any], value: Any, defaults: Mapping[str, Any], keep: tuple[str, ...] = ()) -> Iterator[bytes]:
    """Frames of a type with a value in one place, for each place, and in all at once.

    Args:
        kind: the type.
        value: what is put there.
        defaults: what the other places have, by their names; `x` where there is none.
        keep: places that have their default in any case.
    """
    every = [place for place in places(kind) if place not in keep]
    for chosen in ([*([place] for place in every), every]) if every else [[]]:
        yield pack(filled(kind, lambda place, at=chosen: value if place in at else defaults.get(place, "x")))


def pack(message: Mapping[str, Any]) -> bytes:
    """The frame of a message."""
    return msgspec.msgpack.encode(message)


def _value(of: Any, place: str, put: Put) -> Any:
    match of:
        case inspect.StrType():
            return put(place)
        case inspect.IntType():
            return NUMBERS.get(place, 1)
        case inspect.FloatType():
            return 1.0
        case inspect.BoolType():
            return True
        case inspect.BytesType():
            return b"x"
        case inspect.NoneType():
            return None
        case inspect.AnyType():
            return [put(f"{place}.value")]
        case inspect.LiteralType():
            return of.values[0]
        case inspect.DictType():
            return {_value(of.key_type, f"{place}.key", put): _value(of.value_type, f"{place}.value", put)}
        case inspect.VarTupleType():
            return [_value(of.item_type, f"{place}.0", put)]
        case inspect.TupleType():
            return [_value(item, f"{place}.{number}", put) for number, item in enumerate(of.item_types)]
        case inspect.UnionType():
            return _value(next(each for each in of.types if not isinstance(each, inspect.NoneType)), place, put)
        case inspect.StructType():
            inner = {each.encode_name: _value(each.type, f"{place}.{each.encode_name}", put) for each in of.fields}
            return [*inner.values()] if of.array_like else inner
    raise TypeError(f"{place}: no value of {type(of).__name__}: teach this module the type")
