from __future__ import annotations

import contextlib
import tracemalloc
from typing import Any, get_args

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from wire.codec import MAX_TO_CONTROLLER, decode_to_controller, decode_to_minion, encode
from wire.errors import MalformedMessage
from wire.messages import (
    MOST_RUN_EVENTS,
    Blob,
    Call,
    DesiredUpdate,
    FactAnswer,
    FactQuery,
    Heartbeat,
    Hello,
    MineEntry,
    MinionEvents,
    OwnRun,
    PruneReport,
    RelayedFrame,
    RunEvents,
    RunResult,
    SaltKey,
    ToController,
    ToMinion,
    UnnamedResource,
)


def _example(kind: type[msgspec.Struct]) -> msgspec.Struct:
    values: dict[str, Any] = {
        "str": "text",
        "Name": "text",
        "ChunkKey": "text",
        "PathText": "text",
        "Whole": 3,
        "MessageSeconds": 1.5,
        "ExitCode": -9,
        "Annotated[tuple[Name, ...], Meta(max_length=10000)]": ("a", "b"),
        "Annotated[tuple[Name, ...], Meta(max_length=100)]": ("a", "b"),
        "Annotated[tuple[Name, ...], Meta(max_length=MOST_START_GRAINS)]": ("a", "b"),
        "Annotated[tuple[PathText, ...], Meta(max_length=1000)]": ("a", "b"),
        "Annotated[tuple[ChunkKey, ...], Meta(max_length=1000)]": ("a", "b"),
        "Annotated[tuple[PathText, ...], Meta(max_length=100)]": ("a", "b"),
        "Annotated[tuple[PathText, ...], Meta(max_length=64)]": ("a", "b"),
        "Annotated[tuple[PathText, ...], Meta(max_length=PUSHED_NAMES)]": ("a", "b"),
        "Annotated[bytes, Meta(max_length=BLOB_CHUNK)]": b"\x00\xff",
        "Annotated[tuple[tuple[PathText, dict[str, Any]], ...], Meta(max_length=MOST_RUN_EVENTS)]": (
            ("my/tag", {"a": 1}),
        ),
        "int": 3,
        "float": 1.5,
        "bool": True,
        "bytes": b"\x00\xff",
        "Any": {"a": [1, None, "ü"]},
        "dict[str, Any]": {"os": "Debian", "n": 1},
        "dict[str, str]": {"a": "b"},
        "dict[str, str] | None": {"a": "b"},
        "dict[str, int]": {"a": 1},
        "dict[str, dict[str, Any]]": {"chunk": {"result": True}},
        "tuple[str, ...]": ("a", "b"),
        "tuple[Name, ...]": ("a", "b"),
        "tuple[Any, ...]": (1, "b"),
        "tuple[str, ...] | None": ("a",),
        "tuple[FactQuery, ...]": (FactQuery(fun="cmd.which", asked='[["sh"], {}]'),),
        "tuple[FactAnswer, ...]": (FactAnswer(value="/bin/sh"), FactAnswer(error="failed there")),
        "FactAnswer": FactAnswer(value={"web1": [1]}),
        "dict[str, MineEntry]": {"test.ping": MineEntry(value=True, allow=("a", "b"), allow_type="list")},
        "AutosignGrains": {"os": "Debian"},
        "RunKind": "apply",
        "KeyRole": "relay",
        "SaltKey | None": SaltKey(gateway="k" * 40, fingerprint="0" * 64, proof=b"\x00" * 32),
        "Annotated[tuple[RelayedFrame, ...], Meta(max_length=MOST_RELAYED)]": (RelayedFrame(1, "data", b"\x00"),),
        "tuple[RelayedFrame, ...]": (RelayedFrame(1, "end", b"busy"), RelayedFrame(2, "accepted")),
        "Ending": "timed out",
        "OwnRun | None": OwnRun(drift_run="drift-web1-1", alone=5.0),
        "PruneReport | None": PruneReport(mode="on", owned=3, resources=(UnnamedResource(resource="file:/a"),)),
        "Literal['minion', 'runner']": "runner",
        "Literal['ok', 'changed', 'pending', 'failed', 'error']": "failed",
        "Literal['pending', 'accepted', 'rejected']": "rejected",
    }
    given = {name: values[annotation] for name, annotation in _annotations(kind).items()}
    return kind(**given | ({"first": 2} if "first" in given else {}))


def _annotations(kind: type[msgspec.Struct]) -> dict[str, str]:
    return {name: text for name, text in kind.__annotations__.items() if name in kind.__struct_fields__}


@pytest.mark.parametrize("kind", get_args(ToController), ids=lambda kind: kind.__name__)
def test_every_message_to_the_controller_comes_back(kind: type[Any]) -> None:
    message = _example(kind)
    assert decode_to_controller(encode(message)) == message
    with pytest.raises(MalformedMessage):
        decode_to_minion(encode(message))


@pytest.mark.parametrize("kind", get_args(ToMinion), ids=lambda kind: kind.__name__)
def test_every_message_to_a_minion_comes_back(kind: type[Any]) -> None:
    message = _example(kind)
    assert decode_to_minion(encode(message)) == message
    with pytest.raises(MalformedMessage):
        decode_to_controller(encode(message))


def test_a_field_that_is_not_known_yet_is_passed_over() -> None:
    frame = msgspec.msgpack.encode({"t": "hello", "id": "web1", "grains": {}, "mood": "good"})
    assert decode_to_controller(frame) == Hello(id="web1", grains={})


_GOOD = encode(Hello(id="web1", grains={"os": "Debian", "nested": {"a": [1, 2, 3]}}, session="s"))


@pytest.mark.parametrize("length", range(len(_GOOD)))
def test_a_truncated_frame_is_malformed(length: int) -> None:
    with pytest.raises(MalformedMessage):
        decode_to_controller(_GOOD[:length])


@settings(max_examples=500, deadline=None)
@given(st.binary(max_size=200) | st.builds(lambda at, junk: _GOOD[:at] + junk, st.integers(0, 60), st.binary()))
def test_garbage_is_malformed_or_a_message(frame: bytes) -> None:
    for decode in (decode_to_controller, decode_to_minion):
        with contextlib.suppress(MalformedMessage):
            decode(frame)


def _grains(packed: bytes) -> bytes:
    """A Hello whose grains are these bytes."""
    return msgspec.msgpack.encode({"t": "hello", "id": "a", "grains": msgspec.Raw(packed)})


@pytest.mark.parametrize(
    "frame",
    [
        b"",
        b"\xc0",
        b"\x91" * 100_000,
        _grains(b"\x81\xa1a" * 100_000),
        _grains(b"\x81\xa1a" + b"\x91" * 1_000_000),
        _grains(b"\x81\xa1a\xdd\xff\xff\xff\xff"),
        _grains(b"\x81\xa1a\xdf\xff\xff\xff\xff"),
        _grains(b"\x81\xa1a\xc6\xff\xff\xff\xff"),
        _grains(b"\x81\xa1a\xdb\xff\xff\xff\xff"),
        _grains(b"\x81\xa1a\xdd\x3f\xff\xff\xff" + b"\xc0" * 100),
        _grains(b"\xdf\x0f\xff\xff\xff"),
        _grains(b"\x81\xa1a\x81\x81\x01\x02\x03"),
        _grains(b"\x81\xa1a\xd4\x05\x00"),
        _grains(b"\x81\xa2\xff\xfe\x01"),
        msgspec.msgpack.encode({"t": "hello", "id": 7, "grains": {}}),
        msgspec.msgpack.encode({"t": "hello", "id": "a", "grains": []}),
        msgspec.msgpack.encode({"t": "hello", "grains": {}}),
        msgspec.msgpack.encode({"t": "__class__"}),
        msgspec.msgpack.encode({"id": "a"}),
        msgspec.msgpack.encode({"t": ["hello"], "id": "a"}),
        msgspec.msgpack.encode({"t": "run-started", "run_id": {"a": 1}}),
        msgspec.msgpack.encode({"t": "get-blob", "request": 1, "oid": "a", "offset": "1"}),
    ],
)
def test_bombs_and_confused_types_are_malformed_and_cheap(frame: bytes) -> None:
    tracemalloc.start()
    try:
        with pytest.raises(MalformedMessage):
            decode_to_controller(frame)
        assert tracemalloc.get_traced_memory()[1] < 32 * 1024 * 1024
    finally:
        tracemalloc.stop()


def test_what_follows_a_message_in_its_frame_makes_it_malformed() -> None:
    with pytest.raises(MalformedMessage):
        decode_to_controller(_GOOD + b"\xc0")


def test_a_frame_over_the_bound_is_not_read() -> None:
    with pytest.raises(MalformedMessage, match="is the most"):
        decode_to_controller(bytes(MAX_TO_CONTROLLER + 1))


@pytest.mark.parametrize(
    ("fields", "limit"),
    [({"value": "x" * 5_000_000}, "result-message-bytes"), ({"value": [[]] * 400_000}, "values")],
)
def test_a_result_over_a_limit_is_one_that_says_so_and_is_counted(fields: dict[str, Any], limit: str) -> None:
    result = RunResult(run_id="r", kind="call", generation=3, digest="d", outcome="ok", seconds=2.0, **fields)
    frame, refused = encode(result), list[str]()
    tracemalloc.start()
    read = decode_to_controller(frame, on_refusal=refused.append)
    most = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert isinstance(read, RunResult)
    assert (read.run_id, read.kind, read.generation, read.seconds) == ("r", "call", 3, 2.0)
    assert (read.outcome, read.value, refused) == ("error", None, [limit])
    assert read.error.startswith("the result was refused: a message of ")
    assert most < 1_000_000, "its values are not decoded"


def test_other_messages_may_be_larger_than_a_result() -> None:
    hello = Hello(id="a", grains={"x": "y" * 5_000_000})
    assert decode_to_controller(encode(hello)) == hello


def test_the_tags_are_the_protocol() -> None:
    """A renamed tag cuts off every minion in the field."""
    tags = {kind.__struct_config__.tag for kind in (*get_args(ToController), *get_args(ToMinion))}
    assert len(tags) == len(get_args(ToController)) + len(get_args(ToMinion))
    assert (Heartbeat.__struct_config__.tag, Blob.__struct_config__.tag) == ("beat", "blob")
    assert (Call.__struct_config__.tag, DesiredUpdate.__struct_config__.tag) == ("call", "desire")
    assert RunResult.__struct_config__.tag == "run-result"


@pytest.mark.parametrize("kind", [RunEvents, MinionEvents])
@pytest.mark.parametrize(("first", "end"), [(1, 1), (2, 1), (0, 0), (0, MOST_RUN_EVENTS + 1), (0, 2**53), (2**53, 0)])
def test_events_that_are_counted_otherwise_than_they_are_there_are_malformed(kind: Any, first: int, end: int) -> None:
    """They were handled, and the handler failed, or counted as many refusals as the minion liked."""
    name = {"run_id": "r"} if kind is RunEvents else {"stream": "s"}
    with pytest.raises(MalformedMessage):
        decode_to_controller(encode(kind(**name, first=first, end=end, events=(("a/b", {}),))))
