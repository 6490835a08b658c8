"""What a line of a log is made of, and how it is written: `logfmt`, `json` or `console`. Pure.

The processes of the minion, the relay and the controller write their lines by `line_of`, so that fields have the same
names and the same form everywhere (docs/logs.md). Imports what an idle agent has anyway.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from datetime import UTC, datetime

FIRST = ("time", "level", "at", "event", "msg", "minion", "relay", "run_id", "job")
"""Fields that stand in front, in this order."""

_ESCAPED = str.maketrans({'"': '\\"', "\\": "\\\\"})
_FIELD = re.compile(r'([^\s="]+)=("(?:[^"\\]|\\.)*"|\S*)')
_CONVERSION = re.compile(r"%(?:\.\d+)?[sdrf]")
_COLOURS = {"debug": "2", "warning": "33", "error": "31", "critical": "31;1"}
"""Of levels, as SGR parameters (ECMA-48)."""


def line_of(fields: Mapping[str, object], form: str, *, colours: bool = False) -> str:
    """A record as one line, without its end.

    Args:
        fields: name -> value; texts, numbers, flags, or what JSON has. What is None is left out.
        form: one of `minion.config.names.LogFormat`.
        colours: whether `console` has some.
    """
    said = {name: value for name, value in fields.items() if value is not None}
    ordered = {name: said[name] for name in FIRST if name in said} | said
    if form == "json":
        return json.dumps(ordered, default=str)
    if form == "logfmt":
        return " ".join(f"{name}={_value(value)}" for name, value in ordered.items())
    return _console(ordered, colours=colours)


def _console(fields: dict[str, object], *, colours: bool) -> str:
    """`2026-11-27 08:01:02 warning  what happened  name=value name=value`, in UTC, for people."""
    when = str(fields.pop("time", ""))[:19].replace("T", " ")
    level = str(fields.pop("level", ""))
    said = _value(fields.pop("event", fields.pop("msg", "")))
    said = json.loads(said) if said.startswith('"') and "\\" not in said else said
    fields.pop("at", None)
    word = f"{level:8}"
    if colours and level in _COLOURS:
        word = f"\x1b[{_COLOURS[level]}m{word}\x1b[0m"
    rest = " ".join(f"{name}={_value(value)}" for name, value in fields.items())
    return f"{when} {word} {said}  {rest}".rstrip()


def _value(value: object) -> str:
    if isinstance(value, bool):
        return str(value).lower()
    return str(value) if isinstance(value, int | float) else logfmt_value(value)


def logfmt_value(value: object) -> str:
    """The text of a value as logfmt has it: as it is, or quoted with the escapes of JSON.

    Quoted is what is empty or has a space, `=`, `"`, or a character that does not print (a newline, half of a
    surrogate pair). See https://pkg.go.dev/github.com/kr/logfmt.
    """
    text = str(value)
    if text and text.isprintable() and not any(mark in text for mark in ' ="'):
        return text
    shown = (each if each.isprintable() else json.dumps(each)[1:-1] for each in text.translate(_ESCAPED))
    return f'"{"".join(shown)}"'


def fields_of(template: str, args: tuple[object, ...]) -> dict[str, object]:
    """The fields of a record of ours: of `event=run_found run_id=%s` with `("r1",)`, `event` and `run_id`.

    A number stays one. ValueError or TypeError where the template and its arguments do not belong together.
    """
    left = list(args)
    found: dict[str, object] = {}
    for name, text in _FIELD.findall(template):
        count = len(_CONVERSION.findall(text))
        taken, left = left[:count], left[count:]
        if len(taken) < count:
            raise TypeError(f"a field of {template!r} has no argument")
        if count == 0:
            found[name] = json.loads(text) if text.startswith('"') else text
        elif count == 1 and _CONVERSION.fullmatch(text) and _is_number(taken[0]):
            shown = text % taken[0]
            found[name] = int(shown) if shown.lstrip("-").isdecimal() else float(shown)
        else:
            found[name] = text % tuple(taken)
    if left:
        raise TypeError(f"not all arguments belong to a field of {template!r}")
    return found


def _is_number(value: object) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)


def time_of(seconds: float) -> str:
    """Seconds since the epoch as RFC 3339 has it, in UTC, to the millisecond."""
    return datetime.fromtimestamp(seconds, UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")
