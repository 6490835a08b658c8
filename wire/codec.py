"""Messages as frames: packed as msgpack, and read within limits.

Called by whoever has a socket or a pipe. What a minion sent is checked here (`wire.values`); who may send what is
decided by `wire.server.server`.
"""

from __future__ import annotations

from typing import Annotated, Any, Literal, TypeVar

import msgspec
from msgspec import structs

from options.limits import CountRefusal, uncounted
from wire.errors import MalformedMessage, OverLimit
from wire.limits import MinionLimits
from wire.messages import (
    MOST_RUN_EVENTS,
    FactAnswers,
    GetStates,
    Grains,
    Hello,
    MessageSeconds,
    Mine,
    MinionEvents,
    Name,
    PublishCall,
    RunEvents,
    RunKind,
    RunResult,
    ToController,
    ToMinion,
    Whole,
)
from wire.values import COUNTED_FROM, check_value, count_values

MAX_TO_CONTROLLER = 16 * 1024 * 1024
"""Bytes of the largest message that a controller reads from a minion."""

MAX_FROM_RELAY = MAX_TO_CONTROLLER + 1024
"""The same of a relay: the largest of a minion, sealed."""

MAX_TO_MINION = 256 * 1024 * 1024
"""Bytes of the largest message that a minion reads from its controller."""


def _no_extension(code: int, _data: memoryview) -> Any:
    raise ValueError(f"an extension type of msgpack ({code})")


_Checked = TypeVar("_Checked", bound=msgspec.Struct)


class _Tag(msgspec.Struct, frozen=True):
    """The tag of a message that is not decoded."""

    t: str


class _ResultHead(msgspec.Struct, tag_field="t", tag="run-result", frozen=True, kw_only=True):
    """What is read of a `RunResult` that is over a limit."""

    run_id: Name
    kind: RunKind
    generation: Whole
    digest: Name
    started: MessageSeconds = 0.0
    seconds: MessageSeconds = 0.0


class _QuestionHead(msgspec.Struct, frozen=True):
    """What is read of a question that cannot be read otherwise."""

    t: Literal["find-file", "list-files", "get-blob", "get-mine", "get-states"]
    request: Whole


class UnknownHead(msgspec.Struct, frozen=True):
    """What is read of a controller's message that cannot be read otherwise: of a newer controller, most of the time."""

    t: Annotated[str, msgspec.Meta(max_length=100)]
    run_id: Name = ""


class _EventsHead(msgspec.Struct, tag_field="t", tag="run-events", frozen=True, kw_only=True):
    """What is read of `RunEvents` that are over a limit."""

    run_id: Name
    first: Whole
    end: Whole


class _MinionEventsHead(msgspec.Struct, tag_field="t", tag="minion-events", frozen=True, kw_only=True):
    """What is read of `MinionEvents` that are over a limit."""

    stream: Name
    first: Whole
    end: Whole


_ENCODER = msgspec.msgpack.Encoder()
_TO_CONTROLLER = msgspec.msgpack.Decoder(ToController, ext_hook=_no_extension)
_TAG = msgspec.msgpack.Decoder(_Tag)
_HEAD = msgspec.msgpack.Decoder(_ResultHead | _EventsHead | _MinionEventsHead)
_QUESTION_HEAD = msgspec.msgpack.Decoder(_QuestionHead)
_UNKNOWN_HEAD = msgspec.msgpack.Decoder(UnknownHead)
_TO_MINION = msgspec.msgpack.Decoder(ToMinion, ext_hook=_no_extension)


def encode(message: ToController | ToMinion) -> bytes:
    """One frame."""
    return _ENCODER.encode(message)


def decode_to_controller(
    frame: bytes | bytearray | memoryview,
    limits: MinionLimits | None = None,
    on_refusal: CountRefusal = uncounted,
    *,
    most: int = MAX_TO_CONTROLLER,
) -> ToController:
    """What a minion sent; MalformedMessage when it is too large, no msgpack, of no known shape or over a limit.

    A result that is over a limit is read as one that says so: its run has an end, and it is acknowledged. Events that
    are over a limit are read as none. Only then `on_refusal` hears of the limit.
    """
    try:
        return _decode_within(frame, limits or MinionLimits(), on_refusal, most)
    except OverLimit as error:
        try:
            head: _ResultHead | _EventsHead | _MinionEventsHead = _HEAD.decode(frame)
        except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError, ValueError):
            raise error from None
        on_refusal(error.limit)
        if isinstance(head, _EventsHead):
            return RunEvents(**structs.asdict(head))
        if isinstance(head, _MinionEventsHead):
            return MinionEvents(**structs.asdict(head))
        return RunResult(**structs.asdict(head), outcome="error", error=f"the result was refused: {error}")


def _decode_within(
    frame: bytes | bytearray | memoryview, limits: MinionLimits, on_refusal: CountRefusal, longest: int
) -> ToController:
    """The message, or its events left out; OverLimit when it is over a limit."""
    size, most = len(frame), limits.result_message_bytes
    if most < size <= MAX_TO_CONTROLLER and _is_result(frame):
        raise OverLimit("result-message-bytes", f"a message of {size} bytes, and {most} is the most for a result")
    if size > COUNTED_FROM:
        count_values(frame, limits)
    message: ToController = _decode(_TO_CONTROLLER, frame, longest)
    try:
        return _checked(message, limits)
    except OverLimit as error:
        if not isinstance(message, RunEvents | MinionEvents):
            raise
        on_refusal(error.limit)
        return structs.replace(message, events=())


def _is_result(frame: bytes | bytearray | memoryview) -> bool:
    """Whether a frame is a result by its tag; nothing else of it is decoded."""
    try:
        return _TAG.decode(frame).t == RunResult.__struct_config__.tag
    except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError, ValueError):
        return False


def question_number(frame: bytes | bytearray | memoryview) -> int:
    """The number of a question that was refused, so that whoever asked need not wait for an answer; 0 for all else."""
    try:
        return _QUESTION_HEAD.decode(frame).request
    except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError, ValueError):
        return 0


def _checked(message: ToController, limits: MinionLimits) -> ToController:
    """The message with values as they may be; see `wire.values`."""
    match message:
        case Hello() | Grains():
            return _with(message, grains=check_value(message.grains, limits))
        case RunResult():
            return _with(
                message,
                states=check_value(message.states, limits),
                value=check_value(message.value, limits),
                metadata=check_value(message.metadata, limits),
                args=tuple(check_value(list(message.args), limits)),
                kwargs=check_value(message.kwargs, limits),
            )
        case RunEvents() | MinionEvents():
            if not len(message.events) <= message.end - message.first <= MOST_RUN_EVENTS:
                raise MalformedMessage(f"{len(message.events)} events that are counted {message.first}-{message.end}")
            return _with(message, events=check_value(message.events, limits))
        case FactAnswers():
            values = check_value([answer.value for answer in message.answers], limits)
            pairs = zip(message.answers, values, strict=True)
            return _with(message, answers=tuple(_with(answer, value=value) for answer, value in pairs))
        case GetStates():
            return _with(message, pillar=check_value(message.pillar, limits))
        case PublishCall():
            return _with(
                message, args=tuple(check_value(list(message.args), limits)), kwargs=check_value(message.kwargs, limits)
            )
        case Mine():
            values = check_value({name: entry.value for name, entry in message.entries.items()}, limits)
            entries = {name: _with(entry, value=values[name]) for name, entry in message.entries.items()}
            return _with(message, entries=entries)
        case _:
            return message


def _with(message: _Checked, **values: Any) -> _Checked:
    """A copy with other values, if there are any."""
    changed = {name: value for name, value in values.items() if getattr(message, name) is not value}
    return structs.replace(message, **changed) if changed else message


def decode_to_minion(frame: bytes | bytearray | memoryview) -> ToMinion:
    """What a controller sent; MalformedMessage as above."""
    message: ToMinion = _decode(_TO_MINION, frame, MAX_TO_MINION)
    return message


def unknown_head(frame: bytes | bytearray | memoryview) -> UnknownHead | None:
    """The name of a message that `decode_to_minion` does not read, and its run; None when it is none at all."""
    try:
        return _UNKNOWN_HEAD.decode(frame)
    except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError, ValueError):
        return None


def _decode(decoder: msgspec.msgpack.Decoder[Any], frame: bytes | bytearray | memoryview, limit: int) -> Any:
    if len(frame) > limit:
        raise MalformedMessage(f"a message of {len(frame)} bytes, and {limit} is the most that is read")
    try:
        return decoder.decode(frame)
    except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError, ValueError) as error:
        raise MalformedMessage(str(error)) from error
