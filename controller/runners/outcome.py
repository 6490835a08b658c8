"""What came of a call of a runner or a wheel, and whether that is a success by Salt's rules. Pure."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple

from controller.observe.run_text import run_summary


class ControllerOutcome(NamedTuple):
    """How a call ended."""

    value: Any
    """What it returned; the text of the error when it raised one."""
    success: bool


def outcome_of(value: Any) -> ControllerOutcome:
    """The outcome of a function that returned this.

    False and None are values like others. `{'Error': …}` is a failure, as is an exit code that is not 0 and a result of
    states (`data`) of which one failed. Source: salt/client/mixins.py `low`, salt/cli/run.py, salt/states/saltmod.py
    `runner`.
    """
    return ControllerOutcome(value, not _failed(value))


def failure_text(value: Any) -> str:
    """What a history says first of a call that failed: of states, the first that failed, else the value."""
    inner = value.get("data") if isinstance(value, Mapping) else None
    for found in inner.values() if isinstance(inner, Mapping) else ():
        if isinstance(found, Mapping) and all(isinstance(one, Mapping) for one in found.values()):
            return run_summary(found)
        if isinstance(found, list | tuple):
            return "\n".join(map(str, found))
    return str(value)


def _failed(value: Any) -> bool:
    if not isinstance(value, Mapping):
        return False
    inner = value.get("data")
    codes = [one.get("retcode") for one in (value, inner) if isinstance(one, Mapping)]
    return "Error" in value or any(code not in (None, 0, False) for code in codes)
