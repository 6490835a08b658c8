"""Write docs/reference/api.md from the OpenAPI document of the API.

.venv/bin/python -m tools.docs.api_reference
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from controller.api.app import openapi_document
from controller.api.permissions import PREFIX
from tools.docs.policy_reference import values

PAGE = Path(__file__).resolve().parents[2] / "docs" / "reference" / "api.md"
_HEAD = """# API reference

<!-- written by python -m tools.docs.api_reference -->

Every route of the API, with what it takes and answers: what a controller publishes at `GET /api/v1/openapi.json`.
[api.md](../api.md) says how the API is reached, who may what, and how refusals look.

*Needs* is the role that a route needs: `viewer`, `operator`, `approver` or `admin`; `functions` are the rules for the
function that is called, `known` is whoever shows who they are, `anyone` everybody who reaches the API
([access.md](../access.md)).

"""


def main() -> None:
    """Write the page."""
    PAGE.write_text(page())


def page() -> str:
    """The whole page as the code has it."""
    document = openapi_document()
    routes = [
        (f"{method.upper()} {path}", operation)
        for path, methods in document["paths"].items()
        for method, operation in methods.items()
    ]
    index = "".join(
        f"| [{name}](#{_anchor(name)}) | `{operation['x-saltern-needs']}` | {operation['summary']} |\n"
        for name, operation in routes
    )
    types = "".join(_type(name, schema) for name, schema in document["components"]["schemas"].items())
    return (
        f"{_HEAD}| Route below `{PREFIX}` | Needs | What |\n|---|---|---|\n{index}\n## Routes\n"
        + "".join(_route(name, operation) for name, operation in routes)
        + f"\n## Types\n{types}"
    )


def _anchor(name: str) -> str:
    """As forges make it of a heading."""
    return "".join(each for each in name.lower().replace(" ", "-") if each.isalnum() or each in "-_")


def _route(name: str, operation: Mapping[str, Any]) -> str:
    parts = [f"\n### {name}\n\n{operation['summary']}\n"]
    if given := operation["parameters"]:
        rows = (_row(each["name"], each["schema"], each["required"], each.get("description", "")) for each in given)
        parts.append(f"\n| Parameter | Values | Needed | |\n|---|---|---|---|\n{''.join(rows)}")
    if "requestBody" in operation:
        parts.append(f"\nTakes {values(operation['requestBody']['content']['application/json']['schema'])}.\n")
    parts.append(f"\nAnswers {_answer(operation)}.\n")
    return "".join(parts)


def _answer(operation: Mapping[str, Any]) -> str:
    [(_, found)] = [(status, each) for status, each in operation["responses"].items() if status.startswith("2")]
    media, content = next(iter(found["content"].items()))
    if "x-item-schema" in content:
        others = "".join(f", or `{each}`" for each in found["content"] if each != media)
        return f"lines (`{media}`{others}), each {values(content['x-item-schema'])}"
    return values(content["schema"]) + (", and `X-Total-Count`" if "X-Total-Count" in found["headers"] else "")


def _type(name: str, schema: Mapping[str, Any]) -> str:
    about = " ".join(schema.get("description", "").split())
    head = f"\n### {name}\n" + (f"\n{about}\n" if about else "")
    fields = schema.get("properties", {})
    if not fields:
        return head
    needed = schema.get("required", ())
    rows = (_row(key, value, key in needed, value.get("description", "")) for key, value in fields.items())
    return f"{head}\n| Field | Values | Needed | |\n|---|---|---|---|\n{''.join(rows)}"


def _row(name: str, schema: Mapping[str, Any], needed: bool, about: str) -> str:
    return f"| `{name}` | {_cell(values(schema))} | {'yes' if needed else ''} | {_cell(about)} |\n"


def _cell(text: str) -> str:
    return text.replace("|", "\\|")


if __name__ == "__main__":
    main()
