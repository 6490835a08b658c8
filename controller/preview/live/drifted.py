"""What drifted on the minions of a fleet, by classes of the same drift. Pure.

Called by `pending`: what a drift check found of a state has the form of a change, so that it is compared, folded and
shown as changes are.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from controller.preview.classes import change_classes
from controller.preview.folding import Fleet
from controller.schema.plans import DriftView, FieldDiff
from controller.schema.reports import ChangeClass, FileDiff, ResourceChange
from highstate.types import state_title

_MOST_STATES = 200
"""Of a minion, that are shown."""
_MOST_TEXT = 16 * 1024
"""Characters of what a check says of one state."""


def drift_classes(
    found: Mapping[str, Sequence[DriftView]], grains: Mapping[str, Mapping[str, Any]], fleet: Fleet
) -> tuple[ChangeClass, ...]:
    """Minions on which the same states drifted in the same way, up to values that differ by host; the most first.

    Args:
        found: minion -> what its last check found, of minions with drift.
        grains: of these minions.
        fleet: all minions.
    """
    changes = {minion: tuple(map(_resource, states[:_MOST_STATES])) for minion, states in found.items()}
    return change_classes(changes, grains, fleet)


def _resource(state: DriftView) -> ResourceChange:
    parts = state.key.split("_|-")
    fields, files = _differences(state)
    said = state.comment if len(state.comment) <= _MOST_TEXT else state.comment[:_MOST_TEXT] + " …"
    return ResourceChange(
        action="changed",
        key=state.key,
        title=state_title(state.key),
        function=f"{parts[0]}.{parts[-1]}",
        fields=(*fields, FieldDiff(field="comment", new=said)) if said and not (fields or files) else fields,
        files=files,
        comment=state.drift_class,
    )


def _differences(state: DriftView) -> tuple[tuple[FieldDiff, ...], tuple[FileDiff, ...]]:
    """The `changes` of a check, in Salt's form: `{diff: text}`, `{key: {old, new}}`, or anything else."""
    if not isinstance(state.changes, Mapping):
        return ((FieldDiff(field="changes", new=state.changes),) if state.changes else ()), ()
    fields, files = [], []
    for name, value in state.changes.items():
        if name == "diff" and isinstance(value, str) and value.startswith("--- "):
            text = value if len(value) <= _MOST_TEXT else ""
            files.append(FileDiff(path=state.key.split("_|-")[2], text=text, note="" if text else "too large"))
        elif isinstance(value, Mapping) and value and set(value) <= {"old", "new"}:
            fields.append(FieldDiff(field=str(name), old=value.get("old"), new=value.get("new")))
        else:
            fields.append(FieldDiff(field=str(name), new=value))
    return tuple(fields), tuple(files)
