"""The commands of a page, typed one after the other into a shell, and compared with the output that the page shows.

For the tutorial and for the READMEs of examples. A block of `sh` is typed as a whole. In a block of `console`, lines
that begin with `$ ` are typed, and the lines below each are words that have to be in its output.
"""

from __future__ import annotations

import os
import re
import subprocess
import sys
import textwrap
import time
import uuid
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import NamedTuple

PATIENCE = 60.0
"""Seconds until what a page shows has to be so."""
_FENCE = re.compile(r"^(?P<pad> *)```(?P<language>sh|console)\n(?P<text>.*?)^(?P=pad)```$", re.MULTILINE | re.DOTALL)
_TELLING = ("saltern preview", "saltern diff", "saltern rollout")
"""Their exit code is an answer: that something would change, or that a rollout goes on."""
_WAITS = ("saltern run", "saltern key", "saltern why")
"""What is tried again where nothing is shown for it, too: the process that answers may not be up yet."""


class NotAsWritten(Exception):
    """A command did something else than its page says."""


class Command(NamedTuple):
    """What is typed, and lines whose words are in the output."""

    text: str
    shown: list[str]


def commands_of(page: str) -> Iterator[Command]:
    """The commands of a page of Markdown, in their order."""
    for found in _FENCE.finditer(page):
        text = textwrap.dedent(found["text"])
        if found["language"] == "sh":
            yield Command(text, [])
            continue
        typed: list[Command] = []
        for line in text.splitlines():
            if line.startswith("$ "):
                typed.append(Command(line[2:], []))
            elif typed:
                typed[-1].shown.append(line)
        yield from typed


class PageShell:
    """A reader's shell: commands in, their output back."""

    def __init__(self, folder: Path, variables: Mapping[str, str]) -> None:
        plain = {key: value for key, value in os.environ.items() if not key.startswith(("GIT_", "SALTERN_", "COV_"))}
        environment = {
            **plain,
            "PATH": f"{Path(sys.executable).parent}:{os.environ['PATH']}",
            "COLUMNS": "80",
            "GIT_CONFIG_SYSTEM": os.devnull,
            **{f"GIT_{who}_{what}": "a@example.org" for who in ("AUTHOR", "COMMITTER") for what in ("NAME", "EMAIL")},
            **variables,
        }
        self._bash = subprocess.Popen(
            ["bash", "--norc", "-m"],
            cwd=folder,
            env=environment,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
        )
        self.run(":")  # what bash says of having no terminal

    def run(self, text: str) -> tuple[int, str]:
        """Exit code and output of some lines."""
        assert self._bash.stdin is not None
        assert self._bash.stdout is not None
        end = uuid.uuid4().hex
        self._bash.stdin.write(f"{text}\necho {end} $?\n")
        self._bash.stdin.flush()
        lines: list[str] = []
        for line in self._bash.stdout:
            before, found, code = line.partition(end)
            lines.append(before)
            if found:
                return int(code), "".join(lines)
        raise NotAsWritten("the shell has ended: " + "".join(lines))

    def follow(self, command: Command, more: Callable[[], str] = str) -> str:
        """Type a command, again and again until its output has what the page shows; the output.

        Raises:
            NotAsWritten: it ended otherwise, or has not shown it within `PATIENCE`; with what `more` says.
        """
        deadline, pause = time.monotonic() + PATIENCE, 0.1
        again = bool(command.shown) or command.text.startswith(_WAITS)
        while True:
            code, said = self.run(command.text)
            if (code == 0 or command.text.startswith(_TELLING)) and shows(said, command.shown):
                return said
            if not again or time.monotonic() > deadline:
                raise NotAsWritten(f"{command.text}: exit code {code}: {said}\n{more()}")
            time.sleep(pause)
            pause = min(2 * pause, 1.0)

    def close(self) -> None:
        """End the shell and what it has started."""
        assert self._bash.stdin is not None
        assert self._bash.stdout is not None
        self._bash.stdin.write("kill $(jobs -p) 2>/dev/null\nwait\n")
        self._bash.stdin.close()
        self._bash.wait(30)
        self._bash.stdout.close()


def shows(said: str, shown: list[str]) -> bool:
    """Whether each line that the page shows has all its words in one line of the output."""
    lines = [set(re.findall(r"\S+", line)) for line in said.splitlines()]
    return all(any(set(line.split()) <= words for words in lines) for line in shown)
