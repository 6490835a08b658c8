"""Small files of the system, as grains read them. Called by the other modules of `minion.grains`."""

from __future__ import annotations

from pathlib import Path


def read(path: str) -> str:
    """A small file without white space around it; empty when it cannot be read."""
    try:
        return Path(path).read_text(encoding="utf-8", errors="replace").strip()
    except OSError:
        return ""


def names(folder: str) -> list[str]:
    """Names in a folder, sorted; none when there is no such folder."""
    try:
        return sorted(entry.name for entry in Path(folder).iterdir())
    except OSError:
        return []
