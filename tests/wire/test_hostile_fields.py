"""Each place of each message, both ways, holds what breaks parsers: it is refused, cheap, and nothing is kept of it."""

from __future__ import annotations

import tracemalloc
from typing import Any

import msgspec
import pytest
from message_shapes import TO_CONTROLLER, TO_MINION, filled, pack, places
from msgspec import inspect

from wire.codec import decode_to_controller, decode_to_minion
from wire.errors import MalformedMessage
from wire.messages import RunResult

DEPTH = 30_000
BOMBS = {
    "lists in lists": b"\x91" * DEPTH + b"\xc0",
    "mappings in mappings": b"\x81\xa1a" * DEPTH + b"\xc0",
    "keys that are lists in lists": b"\x81" + b"\x91" * DEPTH + b"\xc0\xc0",
    "a list that says it has 4 billion": b"\xdd\xff\xff\xff\xff",
    "a mapping that says so": b"\xdf\xff\xff\xff\xff",
    "a text that says so": b"\xdb\xff\xff\xff\xff",
    "bytes that say so": b"\xc6\xff\xff\xff\xff",
    "an extension that says so": b"\xc9\xff\xff\xff\xff\x01",
    "an extension type": b"\xd4\x05\x00",
    "a reserved byte": b"\xc1",
    "text that is no UTF-8": b"\xa2\xff\xfe",
    "a surrogate": b"\xa3\xed\xa0\x80",
}
MOST_MEMORY = 32 * 1024 * 1024


BOUNDED_LATER = {
    "KeyRequest.id",
    "Hello.id",
    "Hello.grains.key",
    "Hello.grains.value.value",
    "Grains.grains.key",
    "Grains.grains.value.value",
    "RunResult.states.key",
    "RunResult.states.value.key",
    "RunResult.states.value.value.value",
    "RunResult.args.0.value",
    "RunResult.kwargs.key",
    "RunResult.kwargs.value.value",
    "RunResult.value.value",
    "RunResult.error",
    "RunResult.metadata.key",
    "RunResult.metadata.value.value",
    "RunEvents.events.0.1.key",
    "RunEvents.events.0.1.value.value",
    "MinionEvents.events.0.1.key",
    "MinionEvents.events.0.1.value.value",
    "FactAnswers.answers.0.value.value",
    "FactAnswers.answers.0.error",
    "Mine.entries.key",
    "Mine.entries.value.value.value",
    "Mine.entries.value.allow.0",
    "Mine.entries.value.allow_type",
    "GetMine.asked",
    "GetStates.pillar.key",
    "GetStates.pillar.value.value",
    "PublishCall.args.0.value",
    "PublishCall.kwargs.key",
    "PublishCall.kwargs.value.value",
}
"""Places whose texts may have a MiB for the codec: ids, by `admit`; values, by the limits of what keeps them. Whoever
adds a text without a length to a message looks here first."""
OTHERS = (None, True, 1, -1, 2**63, 1.5, "x", b"x", [], {}, [[]], {"a": {}})


def allows(of: Any, value: Any) -> bool:
    """Whether a value is one of this type; of what it holds, the outermost is looked at."""
    match of:
        case inspect.AnyType():
            return True
        case inspect.UnionType():
            return any(allows(each, value) for each in of.types)
        case inspect.LiteralType():
            return value in of.values
        case inspect.StructType():
            return type(value) is of.cls
    return isinstance(value, PLAIN[type(of)]) and isinstance(value, bool) == isinstance(of, inspect.BoolType)


def fields(kind: type[Any]) -> list[str]:
    return list(kind.__struct_fields__)


PLAIN: dict[type[Any], type[Any]] = {
    inspect.StrType: str,
    inspect.IntType: int,
    inspect.FloatType: float,
    inspect.BoolType: bool,
    inspect.BytesType: bytes,
    inspect.NoneType: type(None),
    inspect.DictType: dict,
    inspect.VarTupleType: tuple,
    inspect.TupleType: tuple,
}
EVERY = [(kind, name) for kind in (*TO_CONTROLLER, *TO_MINION) for name in fields(kind)]


def decode(kind: type[Any], frame: bytes) -> Any:
    return (decode_to_controller if kind in TO_CONTROLLER else decode_to_minion)(frame)


def with_field(kind: type[Any], name: str, raw: bytes) -> bytes:
    """A frame of this type in which one field is these bytes."""
    return pack({**filled(kind, lambda place: "x"), name: msgspec.Raw(raw)})


@pytest.mark.parametrize("kind", [*TO_CONTROLLER, *TO_MINION], ids=lambda kind: kind.__name__)
def test_the_shape_itself_is_read(kind: type[Any]) -> None:
    """Else what follows would prove nothing."""
    assert isinstance(decode(kind, pack(filled(kind, lambda place: "x"))), kind)


@pytest.mark.parametrize(("kind", "name"), EVERY, ids=lambda each: getattr(each, "__name__", each))
def test_a_bomb_in_a_field_is_malformed_and_cheap(kind: type[Any], name: str) -> None:
    for what, raw in BOMBS.items():
        frame = with_field(kind, name, raw)
        tracemalloc.start()
        try:
            with pytest.raises(MalformedMessage):
                decode(kind, frame)
                pytest.fail(f"{kind.__name__}.{name}: {what} was read")
            assert tracemalloc.get_traced_memory()[1] < MOST_MEMORY, what
        finally:
            tracemalloc.stop()


@pytest.mark.parametrize("kind", [*TO_CONTROLLER, *TO_MINION], ids=lambda kind: kind.__name__)
def test_no_field_is_of_another_type(kind: type[Any]) -> None:
    """A value of each other type in each field: refused, or read as a value of the field's own type."""
    described: Any = inspect.type_info(kind)
    good = filled(kind, lambda place: "x")
    for field in described.fields:
        for value in OTHERS:
            try:
                read = decode(kind, pack({**good, field.encode_name: value}))
            except MalformedMessage:
                continue
            assert allows(field.type, getattr(read, field.name)), (field.name, value)


@pytest.mark.parametrize("kind", TO_CONTROLLER, ids=lambda kind: kind.__name__)
def test_what_is_unbounded_in_a_message_to_the_controller_is_bounded_by_its_frame(kind: type[Any]) -> None:
    """A megabyte where a name is expected is refused; where it is a value, it is counted as memory of its sender."""
    for place in places(kind):
        frame = pack(filled(kind, lambda each, at=place: "n" * 1_000_000 if each == at else "x"))
        try:
            read = decode(kind, frame)
        except MalformedMessage:
            continue
        assert f"{kind.__name__}.{place}" in BOUNDED_LATER
        assert isinstance(read, kind)


@pytest.mark.parametrize("kind", TO_CONTROLLER, ids=lambda kind: kind.__name__)
def test_numbers_beyond_json_are_refused_or_plain(kind: type[Any]) -> None:
    """What an API shows has to be JSON: no NaN, no infinity in a typed number."""
    good = filled(kind, lambda place: "x")
    for name in fields(kind):
        if not isinstance(good[name], float):
            continue
        for value in (float("nan"), float("inf"), float("-inf"), -1.0):
            with pytest.raises(MalformedMessage):
                decode(kind, pack({**good, name: value}))


def test_a_result_that_is_a_bomb_is_answered_by_its_id() -> None:
    """The minion learns that it will never be taken, and sends it no more."""
    read = decode_to_controller(with_field(RunResult, "value", b"\x91" * 200 + b"\xc0"))
    assert isinstance(read, RunResult)
    assert read.error.startswith("the result was refused")
