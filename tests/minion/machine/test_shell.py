"""No text becomes a command: names of files, users and packages are arguments of programs, never lines of a shell.

The first tests read the code of the minion and the controller, so that a shell that is added later is found; the last
ones run states over a folder in which somebody hostile chose the names.
"""

from __future__ import annotations

import ast
import os
from dataclasses import dataclass, field
from pathlib import Path

import pytest

from highstate.files import MemoryFiles
from highstate.run.runner import run
from highstate.types import Chunk
from minion.engine.engine import StateEngine
from minion.machine.machine import LocalMachine

ROOT = Path(__file__).resolve().parents[3]
ROOMS = ("controller", "minion", "extmods", "gitfs", "highstate", "matching", "options", "reactors", "wire")
QUOTING = {"quote", "join"}
"""Of `shlex`."""
OWN_TEXT = {"umask {self._mask:04o}\\n{command}", "{check.command.rstrip()} {shlex.quote(place)}"}
"""Lines of a shell that are put together: from a number and a command that is quoted or its author's own, and from
`check_cmd`, which is a command of the SLS, with the quoted name of the file."""


SHELLS = {"os": ("system", "popen"), "subprocess": ("getoutput", "getstatusoutput")}
RUNNING = ("run", "query", "Popen", "check_output")


@dataclass
class Found:
    """Places of calls: those that ask for a shell, and those that run a line that is put together."""

    shells: list[str] = field(default_factory=list)
    lines: dict[str, str] = field(default_factory=dict)

    def look(self, call: ast.Call, place: str) -> None:
        owner = call.func.value if isinstance(call.func, ast.Attribute) else None
        name = call.func.attr if isinstance(call.func, ast.Attribute) else ""
        if isinstance(owner, ast.Name) and name in SHELLS.get(owner.id, ()):
            self.shells.append(place)
        if any(
            word.arg == "shell" and isinstance(word.value, ast.Constant) and word.value.value is True
            for word in call.keywords
        ):
            self.shells.append(place)
        if name in RUNNING and call.args and isinstance(call.args[0], ast.JoinedStr | ast.BinOp):
            self.lines[ast.unparse(call.args[0]).removeprefix("f").strip("\"'")] = place


@pytest.fixture(scope="module")
def found() -> Found:
    """In all rooms."""
    made = Found()
    for room in ROOMS:
        for path in sorted((ROOT / room).rglob("*.py")):
            for node in ast.walk(ast.parse(path.read_text())):
                if isinstance(node, ast.Call):
                    made.look(node, f"{path.relative_to(ROOT)}:{node.lineno}")
    return made


def test_a_call_that_asks_for_a_shell_is_found():
    made = Found()
    for number, text in enumerate(["os.system(x)", "subprocess.getoutput(x)", "run(x, shell=True)"]):
        [call] = [node for node in ast.walk(ast.parse(text)) if isinstance(node, ast.Call)]
        made.look(call, str(number))
    assert made.shells == ["0", "1", "2"]


def test_no_call_asks_for_a_shell(found: Found):
    assert found.shells == []


def test_no_command_line_is_put_together_from_text(found: Found):
    assert set(found.lines) == OWN_TEXT, found.lines


NAMES = [
    ";touch made",
    "$(touch made)",
    "`touch made`",
    "| touch made",
    "&& touch made",
    "a\ntouch made\n",
    "-rf",
    "--help",
    "-exec touch made ;",
    "'; touch made; '",
    '"; touch made; "',
    "%s%n",
    "{{ 7 * 191 }}",
    "* ?",
    "\x1b[31mred",
]


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Files with hostile names; it is the working directory too."""
    (tmp_path / "names").mkdir()
    for name in NAMES:
        (tmp_path / "names" / name).write_text(name)
    monkeypatch.chdir(tmp_path)
    return tmp_path


STATES = [
    ("file.directory", {"mode": "0750", "recurse": ["mode"], "file_mode": "0640"}),
    ("file.directory", {"user": "root", "group": "root", "recurse": ["user", "group"]}),
    ("file.directory", {"clean": True}),
    ("file.tidied", {"rmdirs": True, "matches": [".*"]}),
    ("file.recurse", {"source": "salt://names", "clean": True}),
]


@pytest.mark.skipif(os.geteuid() != 0, reason="owners are root's matter")
@pytest.mark.parametrize(("fun", "arguments"), STATES)
def test_hostile_names_of_files_are_names(folder: Path, fun: str, arguments: dict[str, object]) -> None:
    state, _, bare = fun.partition(".")
    chunk = Chunk(state=state, fun=bare, id="x", name=str(folder / "names"), sls="s", arguments=arguments)
    files = {f"names/{name}": name.encode() for name in NAMES}
    engine = StateEngine(LocalMachine(sources_port=MemoryFiles({"base": files})), test=False)
    result = run({"k": chunk}, engine, test=False, clock=lambda: 0.0)["k"]
    assert result.result is True, result.comment
    assert not list(folder.rglob("made"))
    left = sorted(path.name for path in (folder / "names").iterdir()) if (folder / "names").exists() else []
    emptied = "matches" in arguments or arguments == {"clean": True}
    assert left == ([] if emptied else sorted(NAMES))


@pytest.mark.parametrize("fun", ["pkg.installed", "pkg.removed", "pkg.latest", "service.running", "service.dead"])
@pytest.mark.parametrize("name", NAMES)
def test_hostile_names_of_packages_and_services_are_names(folder: Path, fun: str, name: str) -> None:
    """Planned only: nothing is installed here."""
    state, _, bare = fun.partition(".")
    chunk = Chunk(state=state, fun=bare, id="x", name=name, sls="s", arguments={})
    run({"k": chunk}, StateEngine(LocalMachine(sources_port=MemoryFiles({})), test=True), test=True, clock=lambda: 0.0)
    assert not list(folder.rglob("made"))
