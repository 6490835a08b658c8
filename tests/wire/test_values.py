"""Values in messages: depth, number and numbers are bounded before anybody works on them."""

from __future__ import annotations

import contextlib
import math
import time
from typing import Any

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from wire.codec import decode_to_controller
from wire.errors import MalformedMessage, OverLimit
from wire.limits import MinionLimits
from wire.messages import Hello, RunEvents, RunResult
from wire.values import check_value, count_values

LIMITS = MinionLimits()
PLAIN = st.recursive(
    st.none() | st.booleans() | st.integers(-(2**63), 2**63 - 1) | st.floats(allow_nan=False, allow_infinity=False)
    | st.text() | st.binary(),
    lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner),
)  # fmt: skip


def packed(tag: str, **fields: Any) -> bytes:
    return msgspec.msgpack.encode({"t": tag, **fields})


def nested(depth: int) -> Any:
    value: Any = "x"
    for _ in range(depth):
        value = {"a": value}
    return value


def result(**fields: Any) -> bytes:
    whole = {"run_id": "1", "kind": "call", "generation": 0, "digest": "", "outcome": "ok"} | fields
    return packed("run-result", **whole)


def values_of(value: Any) -> int:
    match value:
        case dict():
            return 1 + sum(values_of(key) + values_of(each) for key, each in value.items())
        case list():
            return 1 + sum(map(values_of, value))
        case _:
            return 1


@given(PLAIN)
def test_values_are_counted_as_they_are(value: Any) -> None:
    frame, count = msgspec.msgpack.encode(value), values_of(value)
    count_values(frame, MinionLimits(values=count + 1))
    if count > 1:
        with pytest.raises(OverLimit):
            count_values(frame, MinionLimits(values=count - 1))


@given(st.binary(max_size=200))
def test_a_broken_frame_is_left_to_the_decoder(frame: bytes) -> None:
    with contextlib.suppress(OverLimit):
        count_values(frame, MinionLimits(values=1000))


@given(PLAIN)
def test_a_plain_value_stays_the_same_object(value: Any) -> None:
    assert check_value(value, LIMITS) is value


def test_numbers_that_json_does_not_have_become_text() -> None:
    value = {"a": [math.nan, math.inf, -math.inf, 2**64 - 1, 2**63 - 1, 1.5], "b": (2**63,), 2**63: 1}
    assert check_value(value, LIMITS) == {
        "a": ["nan", "inf", "-inf", str(2**64 - 1), 2**63 - 1, 1.5],
        "b": (str(2**63),),
        str(2**63): 1,
    }


def test_grains_that_are_nested_deeply_are_refused() -> None:
    decode_to_controller(packed("hello", id="web1", grains=nested(LIMITS.depth - 1)))
    head = packed("grains", grains={})[:-1]
    for depth in (LIMITS.depth, 400):
        with pytest.raises(OverLimit) as caught:
            decode_to_controller(head + b"\x81\xa1a" * depth + b"\xa1x")
        assert caught.value.limit == "depth"
    with pytest.raises(MalformedMessage):
        decode_to_controller(head + b"\x81\xa1a" * 100_000 + b"\xa1x")


@pytest.mark.parametrize("item", [b"\x80", b"\x90", b"\x01", b"\xa2ab", b"\xc0"])
def test_few_bytes_do_not_become_many_objects(item: bytes) -> None:
    count = (16 * 1024 * 1024 - 200) // len(item)
    head = msgspec.msgpack.encode({"t": "grains", "grains": {"a": None}})[:-1]
    frame = head + b"\xdd" + count.to_bytes(4, "big") + item * count
    began = time.thread_time()
    with pytest.raises(OverLimit) as caught:
        decode_to_controller(frame)
    assert caught.value.limit == "values"
    assert time.thread_time() - began < 0.5


def test_a_result_over_a_limit_is_the_end_of_its_run() -> None:
    found = decode_to_controller(result(states={"a": nested(100)}, seconds=3.5))
    assert isinstance(found, RunResult)
    assert (found.run_id, found.outcome, found.states, found.seconds) == ("1", "error", {}, 3.5)
    assert found.error == "the result was refused: a value that is nested more than 64 deep"


def test_events_over_a_limit_are_none() -> None:
    refused: list[str] = []
    frame = packed("run-events", run_id="1", first=3, end=4, events=[["t", {"a": nested(100)}]])
    assert decode_to_controller(frame, LIMITS, refused.append) == RunEvents(run_id="1", first=3, end=4)
    assert refused == ["depth"]


def test_a_result_with_odd_numbers_is_read() -> None:
    found = decode_to_controller(result(value={"load": math.nan, "id": 2**64 - 1}))
    assert isinstance(found, RunResult)
    assert found.value == {"load": "nan", "id": "18446744073709551615"}


@pytest.mark.parametrize("seconds", [math.nan, math.inf, -math.inf, -1.0, 1e308])
def test_times_are_times(seconds: float) -> None:
    for name in ("seconds", "started"):
        with pytest.raises(MalformedMessage):
            decode_to_controller(result(**{name: seconds}))


@pytest.mark.parametrize(
    "frame",
    [
        packed("alive", pending_triggers=["t"] * 1001),
        packed("alive", running=["r"] * 10_001),
        packed("alive", held="d" * 257),
        packed("run-started", run_id="r" * 257),
        packed("hello", id="web1", grains={}, session="s" * 257),
        packed("run-progress", run_id="r", done=-1, total=1, key="k"),
        packed("find-file", request=2**63, path="a"),
        packed("find-file", request=1, path="a" * 8193),
        result(generation=2**60),
        packed("run-events", run_id="r", first=0, end=501, events=[["tag", {}]] * 501),
        packed("run-events", run_id="r", first=-1, end=0),
    ],
)
def test_texts_lists_and_numbers_have_bounds(frame: bytes) -> None:
    with pytest.raises(MalformedMessage):
        decode_to_controller(frame)


def test_a_common_message_is_not_copied() -> None:
    grains = {"os": "Debian", "ipv4": ["192.0.2.1"], "cpus": 4}
    found = decode_to_controller(packed("hello", id="web1", grains=grains))
    assert isinstance(found, Hello)
    assert found.grains == grains
