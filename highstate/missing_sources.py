"""A source that is not in the tree, where policy has that fail its state alone: the warning of the compile. Pure.

Made by `compile.content`; status and metrics of the controller know it again in what is stored.
"""

from __future__ import annotations

from dataclasses import replace

from highstate.types import Problem

_FAILS_ALONE = ": this state fails, the others are applied"


def missing_source_warning(problem: Problem) -> Problem:
    """The warning that takes the place of the error about a missing source."""
    hint = "" if "missing_source" in problem.hint else problem.hint
    return replace(problem, message=f"{problem.message}{_FAILS_ALONE}", hint=hint)


def is_missing_source_warning(problem: Problem) -> bool:
    """Whether a warning of a compile is one of these."""
    return problem.message.endswith(_FAILS_ALONE)
