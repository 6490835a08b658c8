"""Plans and problems as people read them: the same text for `saltern diff`, for previews and in events. Pure."""

from __future__ import annotations

import difflib
import json
from collections.abc import Iterable, Mapping
from dataclasses import replace
from typing import Any, Literal, assert_never

from controller.api import schema
from controller.reconcile.plan import ChangeKind, ChunkChange, FieldChange, PushPlan
from highstate.redaction import NOTHING_SECRET, Redaction
from wire.messages import RunProgress

_SIGNS = {
    ChangeKind.ADDED: "+",
    ChangeKind.CHANGED: "~",
    ChangeKind.CONTENT: "~",
    ChangeKind.REMOVED: "-",
    ChangeKind.RETRIGGERED: "!",
}


def plan_text(plan: PushPlan, redaction: Redaction = NOTHING_SECRET) -> str:
    """A plan in lines: `+` added, `~` changed, `-` no longer managed, `!` re-triggered."""
    return redaction.text("\n".join(line for change in plan.changes for line in _change_lines(change, redaction)))


def headline(plan: PushPlan) -> str:
    """One line: how many chunks are touched, and how."""
    counts: dict[str, int] = {}
    for change in plan.changes:
        word = "changed" if change.kind is ChangeKind.CONTENT else change.kind.value
        counts[word] = counts.get(word, 0) + 1
    return ", ".join(f"{number} {word}" for word, number in counts.items()) or "nothing changes"


def _change_lines(change: ChunkChange, redaction: Redaction) -> Iterable[str]:
    yield f"{_SIGNS[change.kind]} {change.title}{_remark(change)}"
    for field in change.fields:
        # Before lines are made of it: what stands on several lines is not found in their difference.
        shown = replace(field, old=redaction.value(field.old), new=redaction.value(field.new))
        yield from (f"    {line}" for line in _field_lines(shown))


def _remark(change: ChunkChange) -> str:
    match change.kind:
        case ChangeKind.CONTENT:
            return "  content changes"
        case ChangeKind.REMOVED:
            return "  no longer managed; left as it is on the machine"
        case ChangeKind.RETRIGGERED:
            return "  may be triggered by " + ", ".join(short(key) for key in change.because)
        case ChangeKind.ADDED | ChangeKind.CHANGED:
            return ""
        case _:
            assert_never(change.kind)


def short(key: str) -> str:
    """A chunk in a few words: its ID and function."""
    state, identifier, _, fun = (*key.split("_|-"), "", "", "")[:4]
    return f"{identifier} ({state}.{fun})"


def _field_lines(field: FieldChange) -> list[str]:
    old, new = _text(field.old), _text(field.new)
    if "\n" not in old + new:
        return [f"{field.name}: {old or '(none)'} -> {new or '(none)'}"]
    lines = difflib.unified_diff(old.splitlines(), new.splitlines(), lineterm="", n=2)
    return [f"{field.name}:", *(f"  {line}" for line in lines if not line.startswith(("---", "+++")))]


def _text(value: Any) -> str:
    if value is None:
        return ""
    return value if isinstance(value, str) else json.dumps(value, default=str, ensure_ascii=False)


def change_views(plan: PushPlan, redaction: Redaction = NOTHING_SECRET) -> tuple[schema.ChunkDiff, ...]:
    """The plan as the API gives it."""
    return tuple(
        schema.ChunkDiff(
            key=redaction.text(change.key),
            action=_action(change.kind),
            fields=tuple(
                schema.FieldDiff(field=each.name, old=redaction.value(each.old), new=redaction.value(each.new))
                for each in change.fields
            ),
            content=("content changes",) if change.kind is ChangeKind.CONTENT else (),
            by=tuple(map(redaction.text, change.because)),
        )
        for change in plan.changes
    )


def _action(kind: ChangeKind) -> Literal["added", "changed", "removed", "retriggered"]:
    match kind:
        case ChangeKind.ADDED:
            return "added"
        case ChangeKind.CHANGED | ChangeKind.CONTENT:
            return "changed"
        case ChangeKind.REMOVED:
            return "removed"
        case ChangeKind.RETRIGGERED:
            return "retriggered"
        case _:
            assert_never(kind)


def count_states(states: Mapping[str, Mapping[str, Any]]) -> tuple[int, int]:
    """(chunks that changed or would, chunks that failed) of Salt's running dictionary."""
    changed = sum(1 for entry in states.values() if entry.get("changes") or entry.get("result") is None)
    failed = sum(1 for entry in states.values() if entry.get("result") is False)
    return changed, failed


def run_summary(states: Mapping[str, Mapping[str, Any]], error: str = "") -> str:
    """One line about a run: the error, the first failures, or what changed."""
    if error:
        return error.strip().splitlines()[0][:200]
    failures = [
        f"{short(key)}: {entry.get('comment', '')}" for key, entry in states.items() if entry["result"] is False
    ]
    if failures:
        more = f" (+{len(failures) - 1} more)" if len(failures) > 1 else ""
        return failures[0].replace("\n", " ")[:200] + more
    changed = [short(key) for key, entry in states.items() if entry.get("changes") or entry["result"] is None]
    more = f" (+{len(changed) - 3} more)" if len(changed) > 3 else ""
    return ", ".join(changed[:3]) + more


def progress_text(progress: RunProgress) -> str:
    """How far a run is, in a few words."""
    return f"{progress.done}/{progress.total} {short(progress.key)}"


def progress_data(minion: str, progress: RunProgress) -> dict[str, Any]:
    """The same as an event has it; `len` is Salt's word."""
    return {
        "id": minion,
        "jid": progress.run_id,
        "done": progress.done,
        "len": progress.total,
        "current": progress.key,
        "seconds": progress.seconds,
        "text": progress_text(progress),
    }
