"""Durations as people write them: `90`, `90s`, `1.5m`, `2h`, `1d`."""

from __future__ import annotations

import re
from typing import Any

_UNITS = {"s": 1.0, "m": 60.0, "h": 3600.0, "d": 86400.0}


def parse_seconds(value: Any) -> float:
    """`90`, `90s`, `1.5m`, `2h` or `1d` in seconds; ValueError for anything else."""
    if isinstance(value, int | float) and not isinstance(value, bool) and value >= 0:
        return float(value)
    match = re.fullmatch(r"(\d+(?:\.\d+)?)\s*([smhd]?)", value.strip()) if isinstance(value, str) else None
    if match is None:
        raise ValueError(f"{value!r} is no time: write seconds, or a number with s, m, h or d")
    return float(match[1]) * _UNITS[match[2] or "s"]
