"""Write docs/reference/policy.md from the JSON schema of saltern.yaml and the texts below the fields of its types.

.venv/bin/python -m tools.docs.policy_reference
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from controller.policy.schema import json_schema

PAGE = Path(__file__).resolve().parents[2] / "docs" / "reference" / "policy.md"
_HEAD = """# Policy reference

<!-- written by python -m tools.docs.policy_reference -->

Every key of `saltern.yaml` with the values that are accepted, from the schema that `saltern policy schema` prints.
[policy.md](../policy.md) has defaults and meanings, [rollouts.md](../rollouts.md) those of `rollout`, and
[notifications.md](../notifications.md) those of `notifications`.

A *time* is a number of seconds, or a number with `s`, `m`, `h` or `d`.

"""


def main() -> None:
    """Write the page."""
    PAGE.write_text(page())


def page() -> str:
    """The whole page as the code has it."""
    schema = json_schema()
    return _HEAD + _part("saltern.yaml", schema) + "".join(_part(name, schema["$defs"][name]) for name in _used(schema))


def _used(schema: Mapping[str, Any]) -> list[str]:
    """The parts in the order in which they are named, each once."""
    found: list[str] = []
    for name in _references(schema["properties"]):
        if name not in found:
            found.append(name)
    for name in found:
        found += [each for each in _references(schema["$defs"][name]) if each not in found]
    return list(dict.fromkeys(found))


def _references(value: Any) -> Iterator[str]:
    if isinstance(value, Mapping):
        if "$ref" in value:
            yield value["$ref"].rpartition("/")[2]
        for each in value.values():
            yield from _references(each)
    elif isinstance(value, list):
        for each in value:
            yield from _references(each)


def _part(name: str, part: Mapping[str, Any]) -> str:
    if "properties" not in part:
        return f"\n## {name}\n\n{values(part)}\n"
    needed = part.get("required", ())
    rows = [
        f"| `{key}` | {values(value)} | {'yes' if key in needed else ''} |\n"
        for key, value in part["properties"].items()
    ]
    about = " ".join(part.get("description", "").split())
    head = f"\n## {name}\n\n" + (f"{about}\n\n" if about else "")
    return f"{head}| Key | Values | Needed |\n|---|---|---|\n{''.join(rows)}"


def values(value: Mapping[str, Any]) -> str:
    """What a schema accepts, in words."""
    if "$ref" in value:
        name = value["$ref"].rpartition("/")[2]
        return f"[{name}](#{name.lower()})"
    if _is_time(value):
        return "time" if len(value["anyOf"]) == 2 else "time, `false`"
    if "anyOf" in value:
        return ", or ".join(values(each) for each in value["anyOf"])
    if "enum" in value:
        return ", ".join(f"`{json.dumps(each).strip(chr(34))}`" for each in value["enum"])
    if "const" in value:
        return f"`{json.dumps(value['const'])}`"
    kind = value.get("type", "")
    if kind == "array":
        items = values(value["items"]) if isinstance(value.get("items"), Mapping) and value["items"] else "anything"
        return f"list of {items}{_bounds(value, 'Items', 'entries')}"
    if kind == "object":
        inner = value.get("additionalProperties")
        return f"mapping of names to {values(inner)}" if isinstance(inner, Mapping) and inner else "mapping"
    return {
        "string": "text",
        "integer": "whole number",
        "number": "number",
        "boolean": "`true`, `false`",
        "null": "`null`",
    }.get(kind, "anything") + (_bounds(value, "Length", "characters") if kind == "string" else _range(value))


def _is_time(value: Mapping[str, Any]) -> bool:
    return any(each.get("pattern", "").startswith(r"^\d+(\.\d+)?\s*[smhd]") for each in value.get("anyOf", ()))


def _bounds(value: Mapping[str, Any], of: str, unit: str) -> str:
    most = value.get(f"max{of}")
    return f" (at most {most} {unit})" if most is not None else ""


def _range(value: Mapping[str, Any]) -> str:
    low, high = value.get("minimum"), value.get("maximum")
    if low is None and high is None:
        return ""
    if high is None:
        return f" (from {low:g})"
    return f" (up to {high:g})" if low is None else f" ({low:g} to {high:g})"


if __name__ == "__main__":
    main()
