"""Limits of what trees, minions and people may ask of the language: data and templates.

Each class is a border, each field a limit. Patterns have theirs in `matching.limits`.
"""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class DataLimits:
    """What an SLS or the pillar may unfold to."""

    depth: int = 100
    """Levels of lists and mappings."""
    values: int = 1_000_000
    """Values, each counted as often as it is reached."""


@dataclass(frozen=True, slots=True, kw_only=True)
class TemplateLimits:
    """What one render may take."""

    product: int = 10_000_000
    """Items or characters that an operator, method or filter may make of strings and lists."""
    width: int = 100_000
    """Characters that a value may be padded to."""
    steps: int = 5_000_000
    """Turns of loops and calls of functions."""
    power_bits: int = 100_000
    """Bits of a number that `**` may make."""
