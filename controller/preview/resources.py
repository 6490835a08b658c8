"""What a plan does with each state of a minion, as the report has it: redacted, with values by their path of keys.

Called by `comparison` in its thread. Pure but for `contents`, which may read the trees.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from msgspec import structs

from controller.preview.irreversible import irreversible
from controller.preview.origins import written_in
from controller.reconcile.plan import ChangeKind, ChunkChange, PushPlan, own_arguments
from controller.reconcile.plan_text import Contents, action_of, leaves
from controller.schema.plans import FieldDiff
from controller.schema.reports import FileDiff, ResourceChange
from highstate.redaction import Redaction
from highstate.types import state_title

NOT_SHOWN = "not shown: too much changes here"
_LARGEST = 64 * 1024
"""Characters of a value that is shown; of an added or removed state's, `_LARGEST_NEW`."""
_LARGEST_NEW = 8 * 1024
_CONTENT_CHANGES = "content changes"


def resources_of(
    plan: PushPlan, redaction: Redaction, contents: Contents, most: int = 1024 * 1024, *, prune: str = "off"
) -> tuple[ResourceChange, ...]:
    """The resources of a plan, in its order, the first ones where there are too many of them.

    Args:
        plan: of one minion.
        redaction: takes the minion's secrets out.
        contents: what is known of the contents of files, in the form of `diff -u`.
        most: characters, about; beyond them resources have no differences, beyond twice as many they are left out.
        prune: what the policy says of what no state names any more.
    """
    triggers: dict[str, list[str]] = {}
    for change in plan.changes:
        for cause in change.because:
            triggers.setdefault(cause, []).append(redaction.text(change.title))
    found: list[ResourceChange] = []
    size = 0
    for change in plan.changes:
        by = tuple(triggers.get(change.key, ()))
        resource = structs.replace(_resource(change, redaction), triggers=by)
        if resource.action == "removed":
            resource = structs.replace(resource, prune=prune)
        size += size_of(resource)
        if size > 2 * most:
            break
        resource = _with_differences(resource, change, redaction, contents) if size <= most else without_texts(resource)
        size += _size_of_differences(resource)
        found.append(resource)
    return tuple(found)


def size_of(one: ResourceChange) -> int:
    """Characters of a resource without its differences, about."""
    names = (one.key, one.title, one.origin, one.irreversible, *one.triggered_by, *one.triggers)
    return 100 + sum(map(len, names))


def _size_of_differences(one: ResourceChange) -> int:
    of_fields = sum(_size(each.old) + _size(each.new) + len(each.field) for each in one.fields)
    return of_fields + sum(len(each.text) + len(each.path) + len(each.note) for each in one.files)


def without_texts(one: ResourceChange) -> ResourceChange:
    """The resource without its differences."""
    if not one.fields and not one.files:
        return one
    return structs.replace(one, fields=(), files=(FileDiff(path="", note=NOT_SHOWN),))


def _resource(change: ChunkChange, redaction: Redaction) -> ResourceChange:
    return ResourceChange(
        action=action_of(change.kind),
        key=redaction.text(change.key),
        title=redaction.text(change.title),
        function=f"{change.chunk.state}.{change.chunk.fun}",
        origin=redaction.text(written_in(change.chunk)),
        irreversible=irreversible(change),
        triggered_by=tuple(redaction.text(state_title(key)) for key in change.because),
    )


def _with_differences(
    resource: ResourceChange, change: ChunkChange, redaction: Redaction, contents: Contents
) -> ResourceChange:
    return structs.replace(resource, fields=_fields(change, redaction), files=_files(change, redaction, contents))


def _fields(change: ChunkChange, redaction: Redaction) -> tuple[FieldDiff, ...]:
    # Before texts are compared by line: what stands on several lines is not found in their difference.
    match change.kind:
        case ChangeKind.ADDED:
            return tuple(FieldDiff(field=name, new=value) for name, value in _arguments(change, redaction))
        case ChangeKind.REMOVED:
            return tuple(FieldDiff(field=name, old=value) for name, value in _arguments(change, redaction))
        case _:
            return tuple(
                FieldDiff(
                    field=path,
                    old=_bounded(redaction.named(path, old), _LARGEST),
                    new=_bounded(redaction.named(path, new), _LARGEST),
                )
                for each in change.fields
                for path, old, new in leaves(each.name, redaction.value(each.old), redaction.value(each.new))
            )


def _arguments(change: ChunkChange, redaction: Redaction) -> Iterator[tuple[str, Any]]:
    """Those of a state that is added or removed."""
    for name, value in own_arguments(change.chunk).items():
        if value is not None:
            yield name, _bounded(redaction.named(name, redaction.value(value)), _LARGEST_NEW)


def _bounded(value: Any, most: int) -> Any:
    """The value, or how large it is."""
    size = _size(value)
    return value if size <= most else f"({size} characters, too large to be shown here)"


def _size(value: Any) -> int:
    match value:
        case str():
            return len(value)
        case Mapping():
            return sum(len(str(key)) + _size(inner) for key, inner in value.items())
        case list() | tuple():
            return sum(map(_size, value))
        case _:
            return 8


def _files(change: ChunkChange, redaction: Redaction, contents: Contents) -> tuple[FileDiff, ...]:
    if change.kind is ChangeKind.RETRIGGERED:
        return ()
    found = tuple(_file(redaction.text(text)) for text in contents(change))
    if found or change.kind is not ChangeKind.CONTENT:
        return found
    return (FileDiff(path=redaction.text(change.chunk.name), note=_CONTENT_CHANGES),)


def _file(text: str) -> FileDiff:
    """A text in the form of `diff -u`, or a remark in its place."""
    lines = text.split("\n", 2)
    if not text.startswith("--- ") or len(lines) < 3:
        return FileDiff(path=next((word for word in text.split() if word.startswith("salt://")), ""), note=text)
    old, new = (line[4:] for line in lines[:2])
    return FileDiff(path=old if new == "/dev/null" else new, text=text)
