"""A shell in which tests run the commands of a page as a reader does, and what the page shows of their output."""

from __future__ import annotations

import os
import re
import subprocess
import sys
import uuid
from pathlib import Path
from typing import Any


class Shell:
    """An interactive reader's shell: commands in, their output back."""

    def __init__(self, folder: Path) -> None:
        environment = {
            **{key: value for key, value in os.environ.items() if not key.startswith(("GIT_", "SALTERN_", "COV_"))},
            "PATH": f"{Path(sys.executable).parent}:{os.environ['PATH']}",
            "HOME": str(folder),
            "COLUMNS": "80",
            "GIT_CONFIG_SYSTEM": os.devnull,
            **{f"GIT_{who}_{what}": "a@example.org" for who in ("AUTHOR", "COMMITTER") for what in ("NAME", "EMAIL")},
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

    def run(self, text: str) -> tuple[int, str]:
        """Exit code and output of some lines."""
        end = uuid.uuid4().hex
        self._bash.stdin.write(f"{text}\necho {end} $?\n")
        self._bash.stdin.flush()
        lines: list[str] = []
        for line in self._bash.stdout:
            before, found, code = line.partition(end)
            lines.append(before)
            if found:
                return int(code), "".join(lines)
        raise AssertionError("the shell has ended: " + "".join(lines))

    def close(self) -> None:
        self._bash.stdin.write("kill $(jobs -p)\nwait\n")
        self._bash.stdin.close()
        self._bash.wait(30)
        self._bash.stdout.close()


def commands(block: Any) -> list[tuple[str, list[str]]]:
    """Commands of a block, each with the output that is shown for it; a block without prompts is one command."""
    if block.language == "sh":
        return [(block.text, [])]
    found: list[tuple[str, list[str]]] = []
    for line in block.text.splitlines():
        if line.startswith("$ "):
            found.append((line[2:], []))
        else:
            found[-1][1].append(line)
    return found


def shows(said: str, shown: list[str]) -> bool:
    """Whether each line that the page shows has all its words in one line of the output."""
    lines = [set(re.findall(r"\S+", line)) for line in said.splitlines()]
    return all(any(set(line.split()) <= words for words in lines) for line in shown)
