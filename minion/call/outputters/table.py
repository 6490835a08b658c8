"""Lists as tables: Salt's outputter `table`. Called by `minion.call.outputters.render`; pure."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from minion.call.outputters.as_json import as_json


def table(value: Any, indent: int) -> list[str]:
    """Lists in columns, below the names that lead to them; a value that is neither in a line of its own."""
    pad = " " * indent
    if isinstance(value, Mapping):
        below = ((key, table(inner, indent + 4)) for key, inner in value.items())
        return [line for key, lines in below for line in (f"{pad}{key}:", f"{pad}----------", *lines)]
    if not isinstance(value, list | tuple):
        return [pad + line for line in str(value).splitlines()]
    if not value:
        return []
    if all(isinstance(row, Mapping) for row in value):
        names = sorted({str(name) for row in value for name in row})
        rows = [[name.title() for name in names], *([_cell(row.get(name, "")) for name in names] for row in value)]
    elif all(isinstance(row, list | tuple) for row in value):
        rows = [[_cell(one) for one in row] for row in value]
    else:
        rows = [[_cell(one)] for one in value]
    return [pad + line for line in _columns(rows)]


def _columns(rows: list[list[str]]) -> list[str]:
    many = max(map(len, rows))
    whole = [row + [""] * (many - len(row)) for row in rows]
    widths = [max(len(row[column]) for row in whole) for column in range(many)]
    lines = [f"| {' | '.join(cell.center(width) for cell, width in zip(row, widths, strict=True))} |" for row in whole]
    rule = "-" * len(lines[0])
    return [rule, *(one for line in lines for one in (line, rule))]


def _cell(value: Any) -> str:
    return as_json(value, indent=None) if isinstance(value, Mapping | list | tuple) else str(value)
