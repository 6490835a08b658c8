"""Write the table of limits into docs/security.md, from the classes that state them.

.venv/bin/python -m tools.docs.limits_table
"""

from __future__ import annotations

from pathlib import Path
from typing import get_type_hints

from controller.config.limits import BorderLimits, limit_rows
from options.field_texts import field_texts

PAGE = Path(__file__).resolve().parents[2] / "docs" / "security.md"
BEGIN = "<!-- limits: written by python -m tools.docs.limits_table -->\n"
END = "<!-- end of limits -->\n"


def main() -> None:
    """Write the table."""
    PAGE.write_text(with_table(PAGE.read_text()))


def with_table(text: str) -> str:
    """The page with the table as the code has it."""
    before, _, rest = text.partition(BEGIN)
    _, _, after = rest.partition(END)
    return before + BEGIN + table() + END + after


def table() -> str:
    """The rows, one a limit."""
    meanings = {
        (border, name): text for border, kind in get_type_hints(BorderLimits).items() for name, text in _fields(kind)
    }
    rows = [
        f"| `{row.border}` | `{row.limit}` | {_shown(row.value)} | {meanings[_name(row.border), _name(row.limit)]} |\n"
        for row in limit_rows(BorderLimits())
    ]
    return "| Border | Limit | Default | What |\n|---|---|---|---|\n" + "".join(rows)


def _fields(kind: type) -> list[tuple[str, str]]:
    """Field -> the text below it, on one line."""
    found = field_texts(kind)
    if without := [name for name, text in found.items() if not text]:
        raise SystemExit(f"{kind.__name__}.{without[0]} has no text that says what it limits")
    return list(found.items())


def _name(label: str) -> str:
    return label.replace("-", "_")


def _shown(value: float) -> str:
    for unit, size in (("GiB", 1024**3), ("MiB", 1024**2), ("KiB", 1024)):
        if isinstance(value, int) and value >= size and value % size == 0:
            return f"{value // size} {unit}"
    return f"{value:,}" if isinstance(value, int) else f"{value:g}"


if __name__ == "__main__":
    main()
