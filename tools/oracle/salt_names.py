"""Write highstate/lint/salt_states.txt: the state functions of a Salt, and what each takes, for `saltern lint`.

    python3 tools/oracle/salt_names.py /path/to/venv/lib/python3.11/site-packages/salt > highstate/lint/salt_states.txt

Reads the source of its state modules without importing them. A line is `MODULE.FUNCTION ARGUMENT ...`; a `**` at the
end says that the function takes any other argument too. Of those the ones are named that it looks for, or that its
documentation has, and for pkg those that some package manager's `install` takes.
"""

from __future__ import annotations

import ast
import re
import sys
from collections.abc import Iterator
from itertools import pairwise
from pathlib import Path

_INSTALLING = ("pkg.installed ", "pkg.latest ")
_OWN = frozenset(("mod_init", "mod_watch", "mod_aggregate", "mod_run_check", "mod_beacon"))


def main() -> None:
    """Print a line for each function."""
    lines: dict[str, None] = {}
    for path in sorted(Path(sys.argv[1], "states").glob("*.py")):
        if path.stem != "__init__":
            for line in _lines(path):
                lines.setdefault(line)
    of_pkg = _of_package_managers(Path(sys.argv[1], "modules"))
    for line in sorted(lines):
        if line.startswith(_INSTALLING) and line.endswith("**"):
            own = line.split()
            line = " ".join([*own[:-1], *sorted(of_pkg - set(own)), "**"])
        print(line)  # noqa: T201


def _lines(path: Path) -> list[str]:
    tree = ast.parse(path.read_text())
    named = {
        target.id: node.value
        for node in tree.body
        if isinstance(node, ast.Assign)
        for target in node.targets
        if isinstance(target, ast.Name)
    }
    functions = {node.name: node for node in tree.body if isinstance(node, ast.FunctionDef)}
    aliases = ast.literal_eval(named["__func_alias__"]) if "__func_alias__" in named else {}
    module = ast.literal_eval(named["__virtualname__"]) if "__virtualname__" in named else path.stem
    found = {aliases.get(name, name): node for name, node in functions.items()}
    found |= {
        name: functions[value.id]
        for name, value in named.items()
        if isinstance(value, ast.Name) and value.id in functions
    }
    return [
        f"{module}.{name} {_arguments(node)}".rstrip()
        for name, node in found.items()
        if not name.startswith("_") and name not in _OWN
    ]


def _arguments(node: ast.FunctionDef) -> str:
    arguments = [one.arg for one in (*node.args.posonlyargs, *node.args.args, *node.args.kwonlyargs)]
    if node.args.kwarg is None:
        return " ".join(arguments)
    more = sorted({*_looked_for(node, node.args.kwarg.arg), *_documented(node)} - set(arguments))
    return " ".join([*arguments, *(one for one in more if not one.startswith("_")), "**"])


def _looked_for(node: ast.FunctionDef, kwargs: str) -> Iterator[str]:
    """Keys that a function takes out of its `**kwargs`."""
    for part in ast.walk(node):
        match part:
            case ast.Call(
                func=ast.Attribute(value=ast.Name(id=name), attr="get" | "pop"), args=[ast.Constant(key), *_]
            ):
                found, of = key, name
            case ast.Compare(left=ast.Constant(key), comparators=[ast.Name(id=name)]):
                found, of = key, name
            case ast.Subscript(value=ast.Name(id=name), slice=ast.Constant(key)):
                found, of = key, name
            case _:
                continue
        if of == kwargs and isinstance(found, str):
            yield found


def _documented(node: ast.FunctionDef) -> Iterator[str]:
    """Arguments as Salt's docstrings list them: a name in a line of its own, what it is for below, further in."""
    rows = (ast.get_docstring(node) or "").splitlines()
    for row, below in pairwise(rows):
        found = re.fullmatch(r"([a-z][a-z0-9_]*)(?: *[:=(].*)?", row)
        if found and below.startswith("    "):
            yield found[1]


def _of_package_managers(modules: Path) -> set[str]:
    """What `pkg.install` takes, with any package manager."""
    found: set[str] = set()
    for path in modules.glob("*.py"):
        text = path.read_text()
        if '__virtualname__ = "pkg"' in text:
            installs = [
                one for one in ast.parse(text).body if isinstance(one, ast.FunctionDef) and one.name == "install"
            ]
            for node in installs:
                found.update(argument.removesuffix("**") for argument in _arguments(node).split())
    return found - {"", "kwargs"}


if __name__ == "__main__":
    main()
