"""What one check found."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, TypeAlias

CheckVerdict: TypeAlias = Literal["OK", "WARN", "FAIL"]
"""WARN: it works, and something will go wrong or is worse than it could be; FAIL: it does not work."""


@dataclass(frozen=True, slots=True, kw_only=True)
class CheckFinding:
    """The outcome of one check."""

    check: str
    verdict: CheckVerdict
    text: str
    """What was seen."""
    todo: str = ""
    """What to do; empty only where it is OK."""


def well(check: str, text: str) -> CheckFinding:
    """Nothing is to be done."""
    return CheckFinding(check=check, verdict="OK", text=text)


def warn(check: str, text: str, todo: str) -> CheckFinding:
    """Something should be done."""
    return CheckFinding(check=check, verdict="WARN", text=text, todo=todo)


def fail(check: str, text: str, todo: str) -> CheckFinding:
    """Something has to be done."""
    return CheckFinding(check=check, verdict="FAIL", text=text, todo=todo)
