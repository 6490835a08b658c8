"""docs/tutorial.md is run as it is written, in one shell, at 80 columns and on free ports."""

from __future__ import annotations

import tempfile
import time
from pathlib import Path

import pytest
from page_shell import Shell, commands, shows
from rig import free_ports

PATIENCE = 60.0


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
