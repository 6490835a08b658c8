"""What a call of an execution function can come to, besides its value.

CallFailed              the function says that it cannot (text for a person)
├── UnknownFunction     there is none of this name
├── BadArguments        it does not take these arguments
├── CompileFailed       the tree that it needs does not compile
└── OthersRun           another run of states goes on, and this one may not wait
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Sequence

    from highstate.types import Problem


class CallFailed(Exception):
    """The function cannot do what was asked."""


class UnknownFunction(CallFailed):
    """No such function."""


class BadArguments(CallFailed):
    """The function does not take these arguments."""


class CompileFailed(CallFailed):
    """The tree does not compile."""

    def __init__(self, problems: Sequence[Problem]) -> None:
        super().__init__("\n".join(str(problem) for problem in problems))
        self.problems = tuple(problems)


class OthersRun(CallFailed):
    """Other runs of states go on; a line each."""
