"""`salt-call FUNCTION [ARGUMENTS]`: `saltern call`, whose arguments are Salt's."""

from __future__ import annotations

from controller.cli.main import main as command_line
from saltern.salt_programs.common import plain_words


def main() -> None:
    """The program."""
    command_line(["call", *plain_words("salt-call")])
