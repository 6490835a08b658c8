"""A compile that gives a minion nothing where the one before gave it something: likely a slip in a top file. Pure.

Called by `Builder` for what is live, and by previews.
"""

from __future__ import annotations

from highstate.types import Pos, Problem, Stage


def emptied_warning(before: int) -> Problem:
    """The warning, after a compile that gave so many states."""
    return Problem(
        message=f"the top file matches this minion with nothing; before, it had {before} state{'s' * (before != 1)}",
        pos=Pos(file="top.sls", stage=Stage.TOP),
        hint="nothing is taken back on the machine; is a target or a file of the top file renamed?",
    )


def is_emptied_warning(problem: Problem) -> bool:
    """Whether it is that of an earlier compile."""
    return problem.message.startswith("the top file matches this minion with nothing")
