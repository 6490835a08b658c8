"""Whether a call succeeded, as Salt decides it: by exit code, by `result` and `success`, by the states of a run.

Used by `saltern call` and by workers for `saltern run`.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any


def is_running(value: Any) -> bool:
    """Whether a value is a running dictionary."""
    return (
        isinstance(value, Mapping)
        and bool(value)
        and all(isinstance(entry, Mapping) and "__run_num__" in entry for entry in value.values())
    )


def failure_of(value: Any, retcode: int) -> str:
    """Why a call counts as failed; empty when it succeeded.

    Args:
        value: what the function returned.
        retcode: exit code of the last command that it ran.
    """
    if is_running(value):
        failed = sum(entry.get("result") is False for entry in value.values())
        return f"{failed} of {len(value)} states failed" if failed else ""
    if retcode:
        return f"exit code {retcode}"
    if isinstance(value, Mapping):
        key = next((key for key in ("result", "success") if not value.get(key, True)), "")
        return f"the function returned {key}: {value[key]}" if key else ""
    return ""


def has_changed(value: Any) -> bool:
    """Whether what a function returned is a run of states that changed something; a test run changes nothing."""
    return is_running(value) and any(entry.get("changes") and entry.get("result") for entry in value.values())
