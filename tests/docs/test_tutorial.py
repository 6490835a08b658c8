"""docs/tutorial.md is run as it is written, in one shell, at 80 columns and on free ports."""

from __future__ import annotations

import os
import re
import subprocess
import sys
import tempfile
import time
import uuid
from pathlib import Path

import pytest
from rig import free_ports

PATIENCE = 60.0


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


@pytest.fixture
def folder():
    """A folder with a short name: the path of a socket has at most 107 bytes."""
    with tempfile.TemporaryDirectory(prefix="sa-") as name:
        yield Path(name)


@pytest.fixture
def shell(folder):
    opened = Shell(folder)
    try:
        yield opened
    finally:
        opened.close()


def commands(block) -> list[tuple[str, list[str]]]:
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


@pytest.mark.timeout(500)
def test_the_tutorial_does_what_it_says(pages, shell, folder):
    page = pages["docs/tutorial.md"]
    blocks = page.blocks("sh", "console")
    publish, request, http = free_ports(3)
    ran = 0
    for block in blocks:
        for command, shown in commands(block):
            deadline = time.monotonic() + PATIENCE
            while True:
                code, said = shell.run(command)
                wanted = 2 if command.startswith("saltern preview") else 0  # something would change
                if code == wanted and shows(said, shown):
                    break
                logs = [path.read_text() for path in folder.glob("tutorial/*.log")]
                again = bool(shown) or command.startswith(("saltern run", "saltern key", "saltern why"))
                assert again, f"{block.place}: {command}: exit code {code}: {said}"
                assert time.monotonic() < deadline, f"{block.place}: {command}: {said}\n" + "\n".join(logs)
                time.sleep(0.2)
            if "cat > etc/controller" in command:
                append(folder, "controller", f"publish_port: {publish}\nret_port: {request}\nhttp_port: {http}\n")
            if "cat > etc/minion" in command:
                append(folder, "minion", f"publish_port: {publish}\nmaster_port: {request}\n")
            ran += 1
    assert ran > 25
    assert not (folder / "tutorial").exists()


def append(folder: Path, name: str, options: str) -> None:
    """The ports of this test, in place of the usual ones."""
    with (folder / "tutorial" / "etc" / name).open("a") as file:
        file.write(options)


def shows(said: str, shown: list[str]) -> bool:
    """Whether each line that the page shows has all its words in one line of the output."""
    lines = [set(re.findall(r"\S+", line)) for line in said.splitlines()]
    return all(any(set(line.split()) <= words for words in lines) for line in shown)
