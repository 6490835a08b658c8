"""Write highstate/lint/salt_states.txt: the state functions of a Salt, and what each takes, for `saltern lint`.

    python3 ops/salt_names.py /path/to/venv/lib/python3.11/site-packages/salt > highstate/lint/salt_states.txt

Reads the source of its state modules without importing them. A line is `MODULE.FUNCTION ARGUMENT ...`; a `**` at the
end says that the function takes any other argument too.
"""

from __future__ import annotations

import ast
import sys
from pathlib import Path

_OWN = frozenset(("mod_init", "mod_watch", "mod_aggregate", "mod_run_check", "mod_beacon"))


def main() -> None:
    """Print a line for each function."""
    lines: dict[str, None] = {}
    for path in sorted(Path(sys.argv[1], "states").glob("*.py")):
        if path.stem != "__init__":
            for line in _lines(path):
                lines.setdefault(line)
    for line in sorted(lines):
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
    return " ".join([*arguments, *(["**"] if node.args.kwarg else [])])


if __name__ == "__main__":
    main()
