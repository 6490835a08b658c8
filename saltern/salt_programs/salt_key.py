"""`salt-key`: `saltern key`, whose options and output are Salt's.

What is on standard input is the answer to its question, as with Salt's, also where that is no terminal.
"""

from __future__ import annotations

import sys
from collections.abc import Sequence

from controller.cli.main import main as command_line
from saltern.salt_programs.common import fail, plain_words

_CHANGES = ("a", "A", "r", "R", "d", "D")
_FLAGS = "ARDPFLyq"
"""Letters of options without values."""
_LONG_CHANGES = ("--accept", "--reject", "--delete")


def main() -> None:
    """The program."""
    words = plain_words("salt-key")
    if not sys.stdin.isatty() and _asks(words):
        answer = sys.stdin.readline()
        if not answer:
            fail("salt-key: there is no answer to 'Proceed?' on standard input; -y asks nothing", 64)
        if not _is_yes(answer, words):
            raise SystemExit(0)
        words.append("-y")
    command_line(["key", *words])


def _asks(words: Sequence[str]) -> bool:
    """Whether keys are to be changed, and nobody has said yes before."""
    return not _has(words, "y", "--yes") and any(_has(words, one, *_LONG_CHANGES) for one in _CHANGES)


def _is_yes(answer: str, words: Sequence[str]) -> bool:
    """Of Salt's questions an empty line means yes, but to delete keys."""
    said = answer.strip().lower()
    deletes = any(_has(words, one, "--delete") for one in ("d", "D"))
    return said.startswith("y") or (not said and not deletes)


def _has(words: Sequence[str], short: str, *long: str) -> bool:
    """Whether an option is among the words, by its letter, alone or among flags (`-Ay`), or by how its name begins."""
    return any(word.startswith(long) if word.startswith("--") else short in _letters(word) for word in words)


def _letters(word: str) -> str:
    """The options of a word; what stands behind one that takes a value is that value."""
    if not word.startswith("-"):
        return ""
    return word[1:] if set(word[1:]) <= set(_FLAGS) else word[1:2]
