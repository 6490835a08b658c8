"""Values as text for people and programs: Salt's outputters.

Called by `saltern call`; pure. Without colours unless asked for. Outputters that most calls do not use are imported
when one does.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from minion.call.outputters.as_json import as_json
from minion.call.outputters.nested import nested

if TYPE_CHECKING:
    from minion.config.groups import OutputOptions


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
            return as_json({minion_id: value}, indent)
        case "yaml":
            return _yaml({minion_id: value})
        case "txt":
            lines = value.splitlines() or [""] if isinstance(value, str) else [str(_as_dict(value))]
            return "\n".join(f"{minion_id}: {line}" for line in lines)
        case "highstate":
            from minion.call.outputters.highstate import highstate, uncompiled
            from minion.config.groups import OutputOptions

            if isinstance(value, list):
                return "\n".join(uncompiled(value, minion_id, color))
            if isinstance(value, Mapping) and all(
                isinstance(one, Mapping) and "result" in one for one in value.values()
            ):
                return "\n".join(highstate(value, minion_id, shown or OutputOptions(), color))
            return "\n".join(nested({minion_id: value}, 0, color))
        case "raw":
            return repr({minion_id: value})
        case "pprint":
            import pprint

            return pprint.pformat({minion_id: value}, sort_dicts=True)
        case "table":
            from minion.call.outputters.table import table

            return "\n".join(table({minion_id: value}, 0))
        case _:
            return "\n".join(nested({minion_id: value}, 0, color))


def _yaml(value: Any) -> str:
    import json

    import yaml

    plain = json.loads(as_json(value))
    text: str = yaml.safe_dump(plain, default_flow_style=False, allow_unicode=True)
    return text.rstrip("\n")


def _as_dict(value: Any) -> Any:
    """The value as Python shows it; a mapping of another kind as a dict."""
    return dict(value) if isinstance(value, Mapping) else value
