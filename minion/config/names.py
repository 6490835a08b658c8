"""Names that options take: ids of minions, levels of the log, lists of names. Imports nothing."""

from __future__ import annotations

from typing import Any, Literal, TypeAlias

LOG_LEVELS = ("all", "garbage", "trace", "debug", "profile", "info", "warning", "error", "critical", "quiet")
"""Salt's names."""
LogFormat: TypeAlias = Literal["logfmt", "json", "console"]
"""Forms of a line of the log."""


def is_minion_id(text: str) -> bool:
    """Whether a minion may have this id: it becomes part of paths and of tags of events."""
    return (
        0 < len(text) <= 255
        and text not in (".", "..")
        and not any(char in "/\\" or char.isspace() or ord(char) < 32 for char in text)
    )


def names_in(given: Any) -> tuple[str, ...]:
    """The names of a list, or of one text that separates them by commas; null is none."""
    listed = given if isinstance(given, list | tuple) else str("" if given is None else given).split(",")
    return tuple(name for one in listed if (name := str(one).strip()))
