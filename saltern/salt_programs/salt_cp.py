"""`salt-cp TARGET SOURCE... DEST`: `saltern cp`, whose arguments are Salt's."""

from __future__ import annotations

from controller.cli.main import main as command_line
from saltern.salt_programs.common import plain_words


def main() -> None:
    """The program."""
    words = ["--chunked" if word == "-C" else word for word in plain_words("salt-cp")]
    command_line(["cp", *words])
