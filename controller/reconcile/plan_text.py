"""Plans as text: the same for `saltern diff`, for previews and in events. Pure."""

from __future__ import annotations

import difflib
import json
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any, Literal, TypeAlias, assert_never

from controller.observe.run_text import short
from controller.reconcile.plan import ChangeKind, ChunkChange, FieldChange, PushPlan
from controller.schema.plans import FieldDiff, StateDiff
from highstate.pruned import no_longer_managed
from highstate.redaction import NOTHING_SECRET, Redaction
from highstate.types import Value

_SHORT = 60
"""Characters of a list that is shown as a whole."""

_MOST_PILLAR = 60
"""Lines of what differs in the pillar."""

_SIGNS = {
    ChangeKind.ADDED: "+",
    ChangeKind.CHANGED: "~",
    ChangeKind.CONTENT: "~",
    ChangeKind.REMOVED: "-",
    ChangeKind.RETRIGGERED: "!",
}


Contents: TypeAlias = Callable[[ChunkChange], Sequence[str]]
"""What is known of the content of a state that changes: a text in the form of `diff -u` for each file."""


def unknown_content(_: ChunkChange) -> tuple[str, ...]:
    """Where the trees are not at hand."""
    return ()


WITH_CONTENT = (ChangeKind.CONTENT, ChangeKind.CHANGED)
"""Changes of states whose content may be another."""


def plan_text(
    plan: PushPlan, redaction: Redaction = NOTHING_SECRET, contents: Contents = unknown_content, *, prune: str = "off"
) -> str:
    """A plan in lines: `+` added, `~` changed, `-` no longer managed, `!` re-triggered.

    `prune`: what the policy says of what no state names any more.
    """
    lines = (line for change in plan.changes for line in _change_lines(change, redaction, contents, prune))
    return redaction.text("\n".join(lines))


def headline(plan: PushPlan) -> str:
    """One line: how many states are touched, and how."""
    counts: dict[str, int] = {}
    for change in plan.changes:
        word = "changed" if change.kind is ChangeKind.CONTENT else change.kind.value
        counts[word] = counts.get(word, 0) + 1
    return ", ".join(f"{number} {word}" for word, number in counts.items()) or "nothing changes"


def _change_lines(change: ChunkChange, redaction: Redaction, contents: Contents, prune: str) -> Iterable[str]:
    yield f"{_SIGNS[change.kind]} {change.title}{_remark(change, prune)}"
    for field in change.fields:
        # Before lines are made of it: what stands on several lines is not found in their difference.
        shown = replace(field, old=redaction.value(field.old), new=redaction.value(field.new))
        yield from (f"    {line}" for line in _field_lines(shown))
    for text in contents(change) if change.kind in WITH_CONTENT else ():
        yield from (f"    {line}" for line in redaction.text(text).splitlines())


def pillar_text(old: Mapping[str, Value], new: Mapping[str, Value], redaction: Redaction = NOTHING_SECRET) -> str:
    """What differs in the pillar of a minion, by the path of keys, a line each."""
    lines = _field_lines(FieldChange(name="pillar", old=redaction.value(dict(old)), new=redaction.value(dict(new))))
    more = len(lines) - _MOST_PILLAR
    return redaction.text("\n".join([*lines[:_MOST_PILLAR], *([f"({more} more lines)"] if more > 0 else [])]))


def _remark(change: ChunkChange, prune: str) -> str:
    match change.kind:
        case ChangeKind.CONTENT:
            return "  content changes"
        case ChangeKind.REMOVED:
            return f"  {no_longer_managed(prune)}"
        case ChangeKind.RETRIGGERED:
            return "  may be triggered by " + ", ".join(short(key) for key in change.because)
        case ChangeKind.ADDED | ChangeKind.CHANGED:
            return ""
        case _:
            assert_never(change.kind)


def _field_lines(field: FieldChange) -> list[str]:
    return [line for path, old, new in leaves(field.name, field.old, field.new) for line in _leaf_lines(path, old, new)]


def leaves(path: str, old: Any, new: Any) -> Iterator[tuple[str, Any, Any]]:
    """What differs, by the path of keys as `pillar.get` takes it (`context:server:port`)."""
    if isinstance(old, Mapping) and isinstance(new, Mapping):
        for key in (*old, *(key for key in new if key not in old)):
            if old.get(key) != new.get(key) or (key in old) != (key in new):
                yield from leaves(f"{path}:{key}", old.get(key), new.get(key))
    elif _long_list(old) and _long_list(new) and len(old) == len(new):
        for place, (before, after) in enumerate(zip(old, new, strict=True)):
            if before != after:
                yield from leaves(f"{path}:{place}", before, after)
    elif isinstance(new, Mapping) and old is None and len(new) > 1:
        for key, value in new.items():
            yield from leaves(f"{path}:{key}", None, value)
    else:
        yield path, old, new


def _long_list(value: Any) -> bool:
    """Whether a list is told by its items: short ones of plain values are read as a whole."""
    return isinstance(value, list | tuple) and (len(_text(value)) > _SHORT or any(map(_is_nested, value)))


def _is_nested(value: Any) -> bool:
    return isinstance(value, Mapping | list | tuple)


def _leaf_lines(path: str, old: Any, new: Any) -> list[str]:
    if _long_list(old) or _long_list(new):
        return [f"{path}:", *_difference(_items(old), _items(new))]
    before_text, after_text = _text(old), _text(new)
    if "\n" in before_text + after_text:
        return [f"{path}:", *_difference(before_text.splitlines(), after_text.splitlines())]
    return [f"{path}: {before_text or '(none)'} -> {after_text or '(none)'}"]


def _items(value: Any) -> list[str]:
    if value is None:
        return []
    return [_text(one) for one in value] if isinstance(value, list | tuple) else [_text(value)]


def _difference(old: Sequence[str], new: Sequence[str]) -> list[str]:
    lines = difflib.unified_diff(old, new, lineterm="", n=2)
    return [f"  {line}" for line in lines if not line.startswith(("---", "+++"))]


def _text(value: Any) -> str:
    if value is None:
        return ""
    return value if isinstance(value, str) else json.dumps(value, default=str, ensure_ascii=False)


def change_views(
    plan: PushPlan, redaction: Redaction = NOTHING_SECRET, contents: Contents = unknown_content
) -> tuple[StateDiff, ...]:
    """The plan as the API gives it."""
    return tuple(
        StateDiff(
            key=redaction.text(change.key),
            action=action_of(change.kind),
            fields=tuple(
                FieldDiff(field=each.name, old=redaction.value(each.old), new=redaction.value(each.new))
                for each in change.fields
            ),
            content=_content(change, redaction, contents),
            by=tuple(map(redaction.text, change.because)),
        )
        for change in plan.changes
    )


def _content(change: ChunkChange, redaction: Redaction, contents: Contents) -> tuple[str, ...]:
    if change.kind not in WITH_CONTENT:
        return ()
    known = tuple(map(redaction.text, contents(change)))
    return known or (("content changes",) if change.kind is ChangeKind.CONTENT else ())


def action_of(kind: ChangeKind) -> Literal["added", "changed", "removed", "retriggered"]:
    """The kind as the API names it."""
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
