"""Small JSON files of the minion's cache that execution functions keep things in (`data`, `state.request`)."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from minion.execution.context import Context
from minion.execution.errors import CallFailed


def read_kept(context: Context, name: str) -> dict[str, Any]:
    """What the file holds; nothing when there is none."""
    place = place_of(context, name)
    try:
        found: dict[str, Any] = json.loads(place.read_text()) if place.exists() else {}
    except ValueError as error:
        raise CallFailed(f"{place} cannot be read: {error}") from error
    return found


def keep(context: Context, name: str, values: Mapping[str, Any]) -> None:
    """Have the file hold these values, for the minion's eyes only."""
    place = place_of(context, name)
    place.parent.mkdir(parents=True, exist_ok=True)
    context.machine.write(str(place), json.dumps(dict(values), default=str).encode(), mode="0600")


def place_of(context: Context, name: str) -> Path:
    """Where the file lies; CallFailed when this minion has no cache."""
    if not context.cachedir:
        raise CallFailed("this minion has no cache directory to keep anything in")
    return Path(context.cachedir) / name
