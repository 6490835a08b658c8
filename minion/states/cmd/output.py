"""`stateful`: a command that says itself whether it changed something.

Called by `minion.states.cmd.state`. The last line of its output is `changed=yes comment='…'`, or the whole output is
one JSON object. Behaviour: doc/ref/states/all/salt.states.cmd, "Using the stateful argument".
"""

from __future__ import annotations

import json
import shlex
from collections.abc import Mapping
from typing import Any

from minion.machine.failure import StateFailed
from minion.machine.plan import Value

_YES, _NO = ("true", "yes", "1"), ("false", "no", "0")


def reread(shown: Mapping[str, Value]) -> dict[str, Value]:
    """`changes` of a command as its output has them, the comment under `__comment__`; StateFailed when it has none."""
    output = str(shown.get("stdout") or "").rstrip()
    if not output:
        return {"__comment__": str(shown.get("stderr") or "")}
    is_json, said = _parsed(output, shown)
    word = str(said.get("changed", "no")).lower()
    if word not in (*_YES, *_NO):
        raise StateFailed(f"Failed parsing boolean value: {said['changed']}", dict(shown))
    comment = str(said.pop("comment", ""))
    if word in _NO:
        return {"__comment__": comment}
    rest = "" if is_json else output.rpartition("\n")[0]
    return {**shown, **said, "stdout": rest, "__comment__": comment}


def _parsed(output: str, shown: Mapping[str, Value]) -> tuple[bool, dict[str, Any]]:
    try:
        data = json.loads(output)
    except ValueError:
        return False, _pairs(output.rpartition("\n")[2], shown)
    if not isinstance(data, dict):
        raise StateFailed("script JSON output must be a JSON object (e.g., {})!", dict(shown))
    return True, data


def _pairs(line: str, shown: Mapping[str, Value]) -> dict[str, Any]:
    try:
        words = [word.partition("=") for word in shlex.split(line)]
    except ValueError:
        words = [("", "", "")]
    if not all(sign and "=" not in value for _, sign, value in words):
        raise StateFailed(
            "Failed parsing script output! Stdout must be JSON or a line of name=value pairs.", dict(shown)
        )
    return {name: value for name, _, value in words}
