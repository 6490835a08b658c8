"""`env` and `prepend_path`: the variables that a state's commands get.

Called by states that run commands and by conditions; what the machine's own variables are is not known here.
"""

from __future__ import annotations

import os
from collections.abc import Mapping

from minion.machine.failure import StateFailed
from minion.machine.plan import Value


def environment(env: Value, prepend_path: Value = None) -> dict[str, str] | None:
    """`env` as Salt takes it: a mapping, or a list of mappings; values become text. None: nothing is given."""
    parts = env if isinstance(env, list) else [env] if env else []
    if not all(isinstance(part, Mapping) for part in parts):
        raise StateFailed("env must be a mapping, or a list of mappings, of names to values")
    variables = {str(key): _text(key, value) for part in parts for key, value in part.items()}
    if prepend_path:
        variables["PATH"] = f"{prepend_path}:{os.environ.get('PATH', '')}"
    return variables or None


def _text(key: Value, value: Value) -> str:
    if value is None:
        return ""
    if isinstance(value, Mapping | list):
        raise StateFailed(f"env: {key} must be text, not {value!r}")
    return str(value)
