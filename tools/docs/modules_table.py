"""Write docs/modules.md: every execution function with its arguments and what it does, and those that are not built.

.venv/bin/python -m tools.docs.modules_table
"""

from __future__ import annotations

import inspect
from pathlib import Path

from minion.arguments import Parameter, spec_of
from minion.execution.loader import MODULES, find, names
from minion.execution.unsupported import NOT_BUILT

PAGE = Path(__file__).resolve().parents[2] / "docs" / "modules.md"

_HEAD = """# Execution functions

What `saltern call FUNCTION` and `saltern run TARGET FUNCTION` can call, under Salt's names. Templates of files have
them as `salt['module.function']`. `saltern call -d MODULE` shows the same on a minion. Where an answer differs from
Salt's on purpose, [salt-compatibility.md](salt-compatibility.md) says so.

This page is written by `python -m tools.docs.modules_table`; a test fails when it is old.
"""


def main() -> None:
    """Write the page."""
    PAGE.write_text(page())


def page() -> str:
    """The whole page."""
    parts = [_HEAD]
    listed = names()
    for module in MODULES:
        rows = [_row(name) for name in listed if name.partition(".")[0] == module]
        parts += [f"## {module}\n", "| function | what it does |\n|---|---|\n" + "\n".join(rows) + "\n"]
    parts += ["## Not built\n", "Functions of Salt's modules above that are not there; calling one says the same.\n"]
    reasons: dict[str, list[str]] = {}
    for name, reason in NOT_BUILT.items():
        reasons.setdefault(reason, []).append(f"`{name}`")
    rows = [f"| {' '.join(found)} | {reason} |" for reason, found in reasons.items()]
    parts.append("| function | why, or what to use |\n|---|---|\n" + "\n".join(rows) + "\n")
    return "\n".join(parts)


def _row(name: str) -> str:
    function = find(name)
    first = (inspect.getdoc(function) or "").split("\n\n")[0].replace("\n", " ").replace("|", "\\|")
    given = (one for one in spec_of(function, 1).all if one.taken)
    shown = ", ".join(_parameter(one) for one in given if one.kind is not inspect.Parameter.VAR_KEYWORD)
    return f"| `{name}({shown})` | {first} |".replace("()`", "`")


def _parameter(one: Parameter) -> str:
    if one.kind is inspect.Parameter.VAR_POSITIONAL:
        return f"*{one.name}"
    return one.name if one.default is inspect.Parameter.empty else f"{one.name}=…"


if __name__ == "__main__":
    main()
