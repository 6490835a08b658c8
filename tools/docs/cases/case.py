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
    opts: Mapping[str, Any] = field(default_factory=dict)
    """Options of the minion."""
    environment: Mapping[str, str] = field(default_factory=dict)
    """Variables of the minion, and of the commands before and after."""
    acts_always: bool = False
    """Whether the function acts each time it runs, by its nature."""
    fails: bool = False
    """Whether it is there to fail."""
    needs: Sequence[str] = ()
    """Debian packages that have to be there; they are installed for the cases, and removed afterwards."""


BESIDE = "{top}/.."
"""A folder that nobody looks at: what a server of the case writes there is no change by a state."""


def serving(command: str, ready: str) -> str:
    """For `before`: a server of the case's own, once the command `ready` succeeds."""
    until = f"n=0; until {ready}; do n=$((n + 1)); [ $n -lt 1200 ] || exit 1; sleep 0.1; done"
    return f"{command} >{BESIDE}/out 2>&1 & echo $! >>{BESIDE}/pids; {{ {until}; }} >/dev/null 2>&1"


SERVED = f"kill -9 $(cat {BESIDE}/pids); sleep 0.3"
"""For `after`: its end."""


def fits_a_root(case: Case) -> bool:
    """Whether the case can be run in a root of its own, which has no kernel, no Docker and no rig of the tests."""
    return not case.opts and not case.environment


def with_top(value: Any, old: str, new: str) -> Any:
    """The value with the text `new` in place of `old`, at all depths: for `{top}`, and back."""
    if isinstance(value, str):
        return value.replace(old, new)
    if isinstance(value, Mapping):
        return {with_top(key, old, new): with_top(one, old, new) for key, one in value.items()}
    return [with_top(one, old, new) for one in value] if isinstance(value, list) else value
