"""Names that options take: ids of minions and levels of the log. Imports nothing."""

from __future__ import annotations

LOG_LEVELS = ("all", "garbage", "trace", "debug", "profile", "info", "warning", "error", "critical", "quiet")
"""Salt's names."""


def is_minion_id(text: str) -> bool:
    """Whether a minion may have this id: it becomes part of paths and of tags of events."""
    return (
        0 < len(text) <= 255
        and text not in (".", "..")
        and not any(char in "/\\" or char.isspace() or ord(char) < 32 for char in text)
    )
