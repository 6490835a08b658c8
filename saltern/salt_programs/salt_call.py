"""`salt-call FUNCTION [ARGUMENTS]`: `saltern call`, whose arguments are Salt's."""

from __future__ import annotations

import sys

from controller.cli.main import main as command_line
from saltern.salt_programs.common import own_words


def main() -> None:
    """The program."""
    command_line(["call", *own_words(sys.argv[1:])])
