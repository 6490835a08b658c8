"""`salt-key`: `saltern key`, whose options and output are Salt's."""

from __future__ import annotations

from controller.cli.main import main as command_line
from saltern.salt_programs.common import plain_words


def main() -> None:
    """The program."""
    command_line(["key", *plain_words("salt-key")])
