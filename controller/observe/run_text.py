"""Runs and their progress as text: the same in the API, in events and in the history. Pure."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from typing import Any

from wire.messages import RunProgress

_SECRET = re.compile(r"passw|pwd|secret|token|credential|private|hash|user_?data", re.IGNORECASE)
_HIDDEN = "***"

LONGEST_SUMMARY = 200
"""Characters of a summary and of a state in it: status and history read the summaries of many runs at once."""


def short(key: str) -> str:
    """A state in a few words: its ID and function."""
    state, identifier, _, fun = (*key.split("_|-", 3), "", "", "")[:4]
    return f"{identifier[:LONGEST_SUMMARY]} ({state[:LONGEST_SUMMARY]}.{fun.partition('#')[0][:LONGEST_SUMMARY]})"


def count_states(states: Mapping[str, Mapping[str, Any]]) -> tuple[int, int]:
    """(states that changed or would, states that failed) of Salt's running dictionary."""
    changed = sum(1 for entry in states.values() if entry.get("changes") or entry.get("result") is None)
    failed = sum(1 for entry in states.values() if entry.get("result") is False)
    return changed, failed


def requested(what: str, user: str) -> str:
    """The reason of a run that a person asked for, as the history shows it."""
    return f"{what} by {user}" if user else what


def typed_arguments(fun: str, args: Sequence[Any], kwargs: Mapping[str, Any]) -> str:
    """Arguments of a function as one would type them, at most `LONGEST_SUMMARY` characters.

    What the names of the function or of an argument say is a password or a key stands as `***`: histories are read by
    more people than may know it.
    """
    values, named = without_secrets(fun, args, kwargs)
    words = [_typed(value) for value in values]
    words += [f"{name}={_typed(value)}" for name, value in named.items()]
    text = " ".join(words)
    return text if len(text) <= LONGEST_SUMMARY else text[: LONGEST_SUMMARY - 3] + "..."


def without_secrets(fun: str, args: Sequence[Any], kwargs: Mapping[str, Any]) -> tuple[list[Any], dict[str, Any]]:
    """Arguments of a function as an event has them; secrets as in `typed_arguments`."""
    secret = bool(_SECRET.search(fun))
    hidden = [_HIDDEN if secret and place else _shown(value) for place, value in enumerate(args)]
    return hidden, {name: _shown(value, name) for name, value in kwargs.items()}


def names_secret(name: str) -> bool:
    """Whether a name says that what it stands for is a password or a key."""
    return bool(_SECRET.search(name))


def _shown(value: Any, name: str = "") -> Any:
    """The value of an argument or key with this name. Of a `pillar`, no value is shown, since any may be secret."""
    if names_secret(name) or name == "chunk":  # `cp.recv_chunked`: content of a file
        return _HIDDEN
    if isinstance(value, Mapping):
        return {key: _shown(inner, "pillar" if name == "pillar" else str(key)) for key, inner in value.items()}
    if name == "pillar":
        return _HIDDEN
    if isinstance(value, list | tuple):
        return [_shown(inner) for inner in value]
    return value


def _typed(value: Any) -> str:
    if not isinstance(value, str):
        return json.dumps(value, default=str, ensure_ascii=False)
    return value if re.fullmatch(r"[^\s'\"]+", value) else "'" + value.replace("'", "'\\''") + "'"


def run_summary(states: Mapping[str, Mapping[str, Any]], error: str = "") -> str:
    """One line about a run: the error, the first failures, or what changed."""
    if lines := error.strip().splitlines():
        return lines[0][:LONGEST_SUMMARY]
    failures = [key for key, entry in states.items() if entry.get("result") is False]
    if failures:
        more = f" (+{len(failures) - 1} more)" if len(failures) > 1 else ""
        first = f"{short(failures[0])}: {states[failures[0]].get('comment', '')}"
        return first.replace("\n", " ")[:LONGEST_SUMMARY] + more
    changed = [key for key, entry in states.items() if entry.get("changes") or entry.get("result") is None]
    more = f" (+{len(changed) - 3} more)" if len(changed) > 3 else ""
    return ", ".join(map(short, changed[:3])) + more


def progress_text(progress: RunProgress) -> str:
    """How far a run is, in a few words."""
    return f"{progress.done}/{progress.total} {short(progress.key)}"


def progress_data(minion: str, progress: RunProgress) -> dict[str, Any]:
    """The same as an event has it; `len` is Salt's word."""
    return {
        "id": minion,
        "jid": progress.run_id,
        "done": progress.done,
        "len": progress.total,
        "current": progress.key,
        "seconds": progress.seconds,
        "text": progress_text(progress),
    }
