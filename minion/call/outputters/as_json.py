"""Values as JSON. Called by the outputters beside it; pure."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any


def as_json(value: Any, indent: int | None = 4) -> str:
    """The text; `indent` None puts it in one line."""
    import json

    return json.dumps(value, indent=indent, ensure_ascii=False, default=_json_form)


def _json_form(value: Any) -> Any:
    """What JSON has no form for: bytes as text, sets as lists, mappings that are no dict as dict."""
    if isinstance(value, bytes):
        return value.decode("utf-8", "replace")
    if isinstance(value, Mapping):
        return dict(value)
    return list(value) if isinstance(value, set | frozenset | tuple) else str(value)
