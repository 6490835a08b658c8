"""How a verb fails: a message for people on stderr and an exit code that scripts can rely on."""

from __future__ import annotations

import re
from collections.abc import Sequence

import click

OK = 0
FAILED = 1
PENDING = 2
"""test=True or a preview found changes."""
UNREACHABLE = 3
"""No controller answers."""
COMPILE = 4
"""A tree does not compile."""
NO_TARGET = 5
"""No minion matches."""
USAGE = 64
"""The command line makes no sense (sysexits' EX_USAGE, since 2 says that changes are pending)."""
INTERRUPTED = 130
_PAGE = re.compile(r"(?<![\w/.])docs/([a-z-]+)\.md(?:#[\w-]*)?")
"""Not in an address."""


class Failure(click.ClickException):
    """Ends the verb with this message and exit code."""

    def __init__(
        self, message: str, code: int = FAILED, *, hint: str = "", problems: Sequence[str] = (), forbidden: bool = False
    ) -> None:
        """`forbidden`: the controller does not let this user do it."""
        super().__init__(message)
        self.code = code
        self.forbidden = forbidden
        self.hint = hint
        self.problems = tuple(problems)

    def show(self, file: object = None) -> None:
        """Print it."""
        click.echo(f"saltern: {with_pages(self.message)}", err=True)
        for problem in self.problems:
            click.echo(with_pages(problem), err=True)
        if self.hint:
            click.echo(f"  {with_pages(self.hint)}", err=True)


def with_pages(text: str) -> str:
    """A message that names pages of the documentation (`docs/keys.md`) with the command that prints each.

    Where Saltern is installed there is no folder `docs` that whoever reads the message could look into.
    """
    return _PAGE.sub(r"`saltern docs \1`", text) if "docs/" in text else text
