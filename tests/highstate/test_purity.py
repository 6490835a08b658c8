"""Nothing in highstate and matching draws chance, or reads clock, environment, host or disk: these are arguments.

import-linter forbids loops, processes and sockets; this looks for what is left of the standard library.
"""

import ast
from collections.abc import Iterator
from pathlib import Path

import pytest

TOP = Path(__file__).parents[2]
ROOM = TOP / "highstate"

IMPURE = frozenset(
    {
        *("random", "secrets", "time", "uuid", "os", "io", "platform", "getpass", "pwd", "grp", "locale", "zoneinfo"),
        *("pathlib", "shutil", "tempfile", "glob", "fileinput", "socket", "subprocess", "signal"),
        *("logging", "gc", "resource", "multiprocessing", "concurrent", "asyncio", "http", "select"),
    }
)
ALLOWED = {
    "seeded.py": {"random"},  # draws by a seed: the seam
    "render/filters/text.py": {"uuid.UUID", "uuid.uuid5"},  # a digest of its argument
    "render/renderers.py": {"io.StringIO"},
}
METHODS = frozenset({"now", "utcnow", "today", "localtime", "astimezone"})


def reads(tree: ast.AST) -> Iterator[tuple[str, int]]:
    """Names of what a module could read the world with, and their lines."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            yield from ((name.name, node.lineno) for name in node.names)
        elif isinstance(node, ast.ImportFrom):
            yield from ((f"{node.module}.{name.name}", node.lineno) for name in node.names)
        elif isinstance(node, ast.Call):
            called = node.func
            if isinstance(called, ast.Name) and called.id in ("open", "input", "print"):
                yield f"{called.id}()", node.lineno
            elif isinstance(called, ast.Attribute) and called.attr in METHODS:
                yield f".{called.attr}()", node.lineno
            elif isinstance(called, ast.Attribute) and called.attr == "fromtimestamp" and len(node.args) < 2:
                yield ".fromtimestamp() without a time zone", node.lineno


def impure(source: str, allowed: set[str]) -> list[str]:
    return [
        f"line {line}: {name}"
        for name, line in reads(ast.parse(source))
        if (name.partition(".")[0] in IMPURE or "(" in name) and not {name, name.partition(".")[0]} & allowed
    ]


@pytest.mark.parametrize("room", [ROOM, TOP / "matching"], ids=lambda room: room.name)
def test_the_room_reads_nothing_of_the_world(room: Path) -> None:
    found = {
        name: lines
        for path in sorted(room.rglob("*.py"))
        if (name := str(path.relative_to(room))) and (lines := impure(path.read_text(), ALLOWED.get(name, set())))
    }
    assert found == {}


@pytest.mark.parametrize(
    "source",
    [
        *("import time", "import os.path", "from random import choice", "from uuid import uuid4", "import uuid"),
        *("x = open('a')", "datetime.datetime.now()", "datetime.fromtimestamp(1)", "def f():\n    import secrets"),
    ],
)
def test_the_check_sees_it(source: str) -> None:
    assert len(impure(source, {"uuid.uuid5"})) == 1


def test_a_seam_that_is_gone_is_not_allowed_any_more() -> None:
    used = {name: {one for one, _ in reads(ast.parse((ROOM / name).read_text()))} for name in ALLOWED}
    assert {name: allowed - used[name] for name, allowed in ALLOWED.items()} == {name: set() for name in ALLOWED}
