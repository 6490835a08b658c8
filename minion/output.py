"""Values as text for people and programs: Salt's outputters.

Called by `saltern call`; pure. Without colours unless asked for.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from minion.output_highstate import Shown, highstate
from minion.output_nested import nested


def render(value: Any, outputter: str, *, minion_id: str, shown: Shown | None = None, color: bool = False) -> str:
    """The text, without a newline at its end; empty for `quiet`."""
    match outputter:
        case "quiet":
            return ""
        case "json":
            return _json({minion_id: value})
        case "yaml":
            return _yaml({minion_id: value})
        case "txt":
            return f"{minion_id}: {value if isinstance(value, str) else _json(value, indent=None)}"
        case "highstate":
            return "\n".join(highstate(value, minion_id, shown or Shown(), color))
        case "raw":
            return repr({minion_id: value})
        case "table":
            return "\n".join([f"{minion_id}:", *_table(value)])
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
    text: str = yaml.safe_dump(plain, default_flow_style=False, sort_keys=False, allow_unicode=True)
    return text.rstrip("\n")


def _table(value: Any) -> list[str]:
    """A mapping or a list of mappings in columns."""
    rows = value if isinstance(value, list) else [{"key": k, "value": v} for k, v in value.items()]
    if not isinstance(value, Mapping | list) or not all(isinstance(row, Mapping) for row in rows):
        rows = [{"value": one} for one in (value if isinstance(value, list) else [value])]
    names = list(dict.fromkeys(str(name) for row in rows for name in row))
    cells = [[str(_short(row.get(name, ""))) for name in names] for row in rows]
    widths = [max(len(line[column]) for line in [names, *cells]) for column in range(len(names))]
    rule = "-" * (sum(widths) + 3 * len(widths) + 1)
    lines = [
        "| " + " | ".join(cell.ljust(width) for cell, width in zip(line, widths, strict=True)) + " |" for line in cells
    ]
    head = "| " + " | ".join(name.ljust(width) for name, width in zip(names, widths, strict=True)) + " |"
    return [rule, head, rule, *lines, rule]


def _short(value: Any) -> Any:
    return _json(value, indent=None) if isinstance(value, Mapping | list | tuple) else value
