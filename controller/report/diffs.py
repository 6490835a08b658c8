"""Differences as lines: fields of a state, and contents of files with fewer lines around what changes. Pure."""

from __future__ import annotations

import difflib
import json
import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from controller.schema.plans import FieldDiff

_HUNK = re.compile(r"@@ -(\d+)(?:,\d+)? \+(\d+)(?:,\d+)? @@(.*)", re.DOTALL)
_MOST_LINES = 2000
"""Of a value: larger ones are counted, not compared."""


def field_lines(field: FieldDiff) -> list[str]:
    """`-name: old` and `+name: new`; of long values the lines that differ."""
    old, new = _lines_of(field.field, field.old), _lines_of(field.field, field.new)
    if max(len(old), len(new)) > _MOST_LINES:
        return [f"~{field.field}: {len(old)} -> {len(new)} lines, too many to be compared here"]
    found = difflib.unified_diff(old, new, lineterm="", n=1)
    return [line for line in found if not line.startswith(("--- ", "+++ ", "@@"))]


def _lines_of(path: str, value: Any) -> list[str]:
    if value is None:
        return []
    if isinstance(value, Mapping) and value:
        return [
            line for key, inner in value.items() for line in _lines_of(f"{path}:{key}", inner) or [f"{path}:{key}:"]
        ]
    if isinstance(value, list | tuple) and any(isinstance(each, Mapping | list | tuple) for each in value):
        return [
            line
            for place, inner in enumerate(value)
            for line in _lines_of(f"{path}:{place}", inner) or [f"{path}:{place}:"]
        ]
    if isinstance(value, list | tuple) and len(json.dumps(value, default=str)) > 60:
        return [f"{path}:", *(f"  - {value_text(each)}" for each in value)]
    text = value_text(value)
    return [f"{path}:", *(f"  {line}" for line in text.split("\n"))] if "\n" in text else [f"{path}: {text}"]


def value_text(value: Any) -> str:
    """A value on one line, but for line ends of its own."""
    return value if isinstance(value, str) else json.dumps(value, default=str, ensure_ascii=False)


def count_changes(diff: str) -> tuple[int, int]:
    """Lines that a difference adds and takes away."""
    lines = diff.split("\n")
    head = 2 if len(lines) > 1 and lines[0].startswith("--- ") and lines[1].startswith("+++ ") else 0
    return sum(line.startswith("+") for line in lines[head:]), sum(line.startswith("-") for line in lines[head:])


def with_context(diff: str, context: int) -> str:
    """A unified difference with at most so many lines around each change; every changed line stays.

    Lines outside hunks, and hunks without numbers, are left as they are.
    """
    shown: list[str] = []
    hunk: list[str] = []
    head: re.Match[str] | None = None
    for line in diff.split("\n"):
        found = _HUNK.fullmatch(line)
        if found is None and head is not None and (line[:1] in ("+", "-", " ", "\\") or not line):
            hunk.append(line)
            continue
        if head is not None:
            shown += _parts(head, hunk, context)
        head, hunk = found, []
        shown += [line] if found is None else []
    if head is not None:
        shown += _parts(head, hunk, context)
    return "\n".join(shown)


def _parts(head: re.Match[str], lines: Sequence[str], context: int) -> Iterator[str]:
    """The hunk as smaller ones."""
    changed = [place for place, line in enumerate(lines) if line[:1] in ("+", "-")]
    near = {near for place in changed for near in range(place - context, place + context + 1)}
    old, new = int(head[1]), int(head[2])
    part: list[str] = []
    starts = (old, new)
    for place, line in enumerate(lines):
        if place in near or (part and line.startswith("\\")):
            part.append(line)
        elif part:
            yield from _part(starts, part, head[3])
            part = []
        old += line[:1] not in ("+", "\\")
        new += line[:1] not in ("-", "\\")
        if not part:
            starts = (old, new)
    if part:
        yield from _part(starts, part, head[3])


def _part(starts: tuple[int, int], lines: Sequence[str], tail: str) -> Iterator[str]:
    old = sum(line[:1] not in ("+", "\\") for line in lines)
    new = sum(line[:1] not in ("-", "\\") for line in lines)
    yield f"@@ -{_span(starts[0], old)} +{_span(starts[1], new)} @@{tail}"
    yield from lines


def _span(start: int, count: int) -> str:
    """As diff writes it: a hunk without lines on one side stands behind the line before it."""
    return str(start) if count == 1 else f"{start if count else max(0, start - 1)},{count}"


def state_lines(states: Mapping[str, Any]) -> Iterator[str]:
    """What a minion said of each state in a test run."""
    for key, entry in states.items():
        parts = key.split("_|-")
        name = f"{parts[1]} ({parts[0]}.{parts[3]})" if len(parts) == 4 else key
        fields = entry if isinstance(entry, Mapping) else {"comment": entry}
        changes = fields.get("changes")
        if fields.get("result") is True and not changes:
            continue
        yield f"# {name}: {' '.join(str(fields.get('comment', '')).split())}"
        more = dict(changes) if isinstance(changes, Mapping) else {"changes": changes} if changes else {}
        if isinstance(difference := more.get("diff"), str):
            yield difference.rstrip("\n")
            del more["diff"]
        yield from (f"  {label}: {value_text(value)}" for label, value in more.items())
