"""What a case of a state function is, and what all of them share."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

USER = "saltern-case"
SERVICE = "saltern-case"
APT = "apt-get -o DPkg::Lock::Timeout=300 -qq -y"
"""Somebody else may be at it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Case:
    """One call of a state function."""

    fun: str
    name: str = "{top}/f"
    arguments: Mapping[str, Any] = field(default_factory=dict)
    files: Mapping[str, str] = field(default_factory=dict)
    """Below `{top}`; a name that ends with / is a folder."""
    tree: Mapping[str, str] = field(default_factory=dict)
    """Files of `salt://`."""
    grains: Mapping[str, Any] = field(default_factory=dict)
    pillar: Mapping[str, Any] = field(default_factory=dict)
    before: Sequence[str] = ()
    """Commands that make the surroundings."""
    after: Sequence[str] = ()
    """Commands that take away what is left."""
    restores: Sequence[str] = ()
    """Files of the system that are put back."""
    acts_always: bool = False
    """Whether the function acts each time it runs, by its nature."""
    fails: bool = False
    """Whether it is there to fail."""
    needs: Sequence[str] = ()
    """Debian packages that have to be there; they are installed for the cases, and removed afterwards."""


def with_top(value: Any, old: str, new: str) -> Any:
    """The value with the text `new` in place of `old`, at all depths: for `{top}`, and back."""
    if isinstance(value, str):
        return value.replace(old, new)
    if isinstance(value, Mapping):
        return {with_top(key, old, new): with_top(one, old, new) for key, one in value.items()}
    return [with_top(one, old, new) for one in value] if isinstance(value, list) else value
