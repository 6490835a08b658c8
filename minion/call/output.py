"""Values as text for people and programs: Salt's outputters.

Called by `saltern call`; pure. Without colours unless asked for.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from minion.call.output_highstate import OutputOptions, highstate
from minion.call.output_nested import nested


def render(
    value: Any,
    outputter: str,
    *,
    minion_id: str,
    shown: OutputOptions | None = None,
    color: bool = False,
    indent: int | None = 4,
) -> str:
    """The text, without a newline at its end; empty for `quiet`. `indent`: of JSON; None puts it in one line."""
    match outputter:
        case "quiet":
            return ""
        case "json":
            return _json({minion_id: value}, indent)
        case "yaml":
            return _yaml({minion_id: value})
        case "txt":
            lines = value.splitlines() or [""] if isinstance(value, str) else [str(_as_dict(value))]
            return "\n".join(f"{minion_id}: {line}" for line in lines)
        case "highstate":
            return "\n".join(highstate(value, minion_id, shown or OutputOptions(), color))
        case "raw":
            return repr({minion_id: value})
        case "pprint":
            import pprint

            return pprint.pformat({minion_id: value}, sort_dicts=True)
        case "table":
            return "\n".join(_table({minion_id: value}, 0))
        case _:
            return "\n".join(nested({minion_id: value}, 0, color))


def _json(value: Any, indent: int | None = 4) -> str:
    import json

    return json.dumps(value, indent=indent, ensure_ascii=False, default=_plain)


def _plain(value: Any) -> Any:
    """What JSON has no form for: bytes as text, sets as lists, mappings that are no dict as dict."""
    if isinstance(value, bytes):
        return value.decode("utf-8", "replace")
    if isinstance(value, Mapping):
        return dict(value)
    return list(value) if isinstance(value, set | frozenset | tuple) else str(value)


def _yaml(value: Any) -> str:
    import json

    import yaml

    plain = json.loads(_json(value))
    text: str = yaml.safe_dump(plain, default_flow_style=False, allow_unicode=True)
    return text.rstrip("\n")


def _as_dict(value: Any) -> Any:
    """The value as Python shows it; a mapping of another kind as a dict."""
    return dict(value) if isinstance(value, Mapping) else value


def _table(value: Any, indent: int) -> list[str]:
    """Lists in columns, below the names that lead to them; a value that is neither in a line of its own."""
    pad = " " * indent
    if isinstance(value, Mapping):
        below = ((key, _table(inner, indent + 4)) for key, inner in value.items())
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
    return _json(value, indent=None) if isinstance(value, Mapping | list | tuple) else str(value)
