"""Results cut to what a message can carry, and to values that msgpack can carry.

Called by the worker before a result goes to disk. Pure.
"""

from __future__ import annotations

from typing import Any

import msgspec

from wire.codec import encode
from wire.limits import MinionLimits
from wire.messages import RunResult

ROOM = 64 * 1024
"""Bytes left free in the largest message of a result."""

LARGEST = MinionLimits().result_message_bytes - ROOM
"""Bytes of the largest result that is sent."""

_CUTS = (256 * 1024, 32 * 1024, 4 * 1024, 512, 64)
"""Longest text in a result that is too large, tried in this order: the largest diffs go first."""


def fitting(result: RunResult, *, limit: int = LARGEST) -> RunResult:
    """`result`, or the same with its longest texts cut and a note in their place, so that it can be sent."""
    result = _plain(result)
    size = len(encode(result))
    if size <= limit:
        return result
    for longest in _CUTS:
        shorter = msgspec.structs.replace(
            result,
            states={key: cut(state, longest) for key, state in result.states.items()},
            value=cut(result.value, longest),
            error=cut(result.error, longest),
        )
        if len(encode(shorter)) <= limit:
            return shorter
    bare = {key: _bare(state) for key, state in result.states.items()}
    note = f"the result of {size} bytes was too large to be sent"
    last = msgspec.structs.replace(result, states=bare, value=None, error=_joined(cut(result.error, 512), note))
    return last if len(encode(last)) <= limit else msgspec.structs.replace(last, states={})


def _plain(result: RunResult) -> RunResult:
    """Sets, paths and whatever else a function may return become what msgpack knows."""
    try:
        states = msgspec.to_builtins(result.states, enc_hook=str, builtin_types=(bytes,))
        value = msgspec.to_builtins(result.value, enc_hook=str, builtin_types=(bytes,))
        plain = msgspec.structs.replace(result, states=states, value=value)
        encode(plain)
    except (TypeError, ValueError, OverflowError, RecursionError) as error:
        note = f"the returned value cannot be sent: {error}"
        return msgspec.structs.replace(
            result, states={}, value=None, outcome="error", error=_joined(result.error, note)
        )
    return plain


def cut(value: Any, longest: int) -> Any:
    """The value with texts of at most so many characters, and a note where something is missing."""
    if isinstance(value, str) and len(value) > longest:
        return value[:longest] + _cut_note(len(value) - longest)
    if isinstance(value, bytes) and len(value) > longest:
        return value[:longest] + _cut_note(len(value) - longest).encode()
    if isinstance(value, dict):
        return {key: cut(inner, longest) for key, inner in value.items()}
    if isinstance(value, list | tuple):
        return [cut(inner, longest) for inner in value]
    return value


def _cut_note(more: int) -> str:
    return f"... ({more} more cut: the result was too large)"


def _bare(state: dict[str, Any]) -> dict[str, Any]:
    """What happened, without what it was."""
    short = {key: cut(value, 64) for key, value in state.items() if key not in ("changes", "warnings")}
    return {**short, "changes": {"cut": "the result was too large"} if state.get("changes") else {}}


def _joined(*parts: str) -> str:
    return "; ".join(part for part in parts if part)
