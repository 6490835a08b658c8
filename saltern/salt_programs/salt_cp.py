"""`salt-cp TARGET SOURCE... DEST`: `saltern cp`, whose arguments are Salt's."""

from __future__ import annotations

import sys

from controller.cli.main import main as command_line
from saltern.salt_programs.common import own_words


def main() -> None:
    """The program."""
    words = ["--chunked" if word == "-C" else word for word in own_words(sys.argv[1:])]
    command_line(["cp", *words])
