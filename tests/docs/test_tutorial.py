"""docs/tutorial.md is run as it is written, in one shell, at 80 columns and on free ports."""

from __future__ import annotations

import tempfile
from pathlib import Path

import pytest
from page_shell import PageShell, commands_of
from rig import free_ports


@pytest.fixture
def folder():
    """A folder with a short name: the path of a socket has at most 107 bytes."""
    with tempfile.TemporaryDirectory(prefix="sa-") as name:
        yield Path(name)


@pytest.fixture
def shell(folder):
    opened = PageShell(folder, {"HOME": str(folder)})
    try:
        yield opened
    finally:
        opened.close()


@pytest.mark.timeout(500)
def test_the_tutorial_does_what_it_says(pages, shell, folder):
    publish, request, http = free_ports(3)
    ran = 0
    for command in commands_of(pages["docs/tutorial.md"].text):
        shell.follow(command, lambda: "\n".join(path.read_text() for path in folder.glob("tutorial/*.log")))
        if "cat > etc/controller" in command.text:
            append(folder, "controller", f"publish_port: {publish}\nret_port: {request}\nhttp_port: {http}\n")
        if "cat > etc/minion" in command.text:
            append(folder, "minion", f"publish_port: {publish}\nmaster_port: {request}\n")
        ran += 1
    assert ran > 45
    assert not (folder / "tutorial").exists()


def append(folder: Path, name: str, options: str) -> None:
    """The ports of this test, in place of the usual ones."""
    with (folder / "tutorial" / "etc" / name).open("a") as file:
        file.write(options)
