"""What a plan does with each state of a minion, as the report has it: redacted, with values by their path of keys.

Called by `comparison` in its thread. Pure but for `contents`, which may read the trees.
"""

from __future__ import annotations

from msgspec import structs

from controller.preview.irreversible import irreversible
from controller.preview.origins import written_in
from controller.reconcile.plan import ChangeKind, ChunkChange, PushPlan
from controller.reconcile.plan_text import WITH_CONTENT, Contents, action_of, leaves
from controller.schema.plans import FieldDiff
from controller.schema.reports import FileDiff, ResourceChange
from highstate.redaction import Redaction
from highstate.types import state_title


def resources_of(plan: PushPlan, redaction: Redaction, contents: Contents) -> tuple[ResourceChange, ...]:
    """The resources of a plan, in its order.

    Args:
        plan: of one minion.
        redaction: takes the minion's secrets out.
        contents: what is known of the contents of files, in the form of `diff -u`.
    """
    triggers: dict[str, list[str]] = {}
    for change in plan.changes:
        for cause in change.because:
            triggers.setdefault(cause, []).append(redaction.text(change.title))
    return tuple(
        structs.replace(_resource(change, redaction, contents), triggers=tuple(triggers.get(change.key, ())))
        for change in plan.changes
    )


def _resource(change: ChunkChange, redaction: Redaction, contents: Contents) -> ResourceChange:
    return ResourceChange(
        action=action_of(change.kind),
        key=redaction.text(change.key),
        title=redaction.text(change.title),
        function=f"{change.chunk.state}.{change.chunk.fun}",
        origin=redaction.text(written_in(change.chunk)),
        fields=_fields(change, redaction),
        files=_files(change, redaction, contents),
        irreversible=irreversible(change),
        triggered_by=tuple(redaction.text(state_title(key)) for key in change.because),
    )


def _fields(change: ChunkChange, redaction: Redaction) -> tuple[FieldDiff, ...]:
    # Before texts are compared by line: what stands on several lines is not found in their difference.
    return tuple(
        FieldDiff(field=path, old=old, new=new)
        for each in change.fields
        for path, old, new in leaves(each.name, redaction.value(each.old), redaction.value(each.new))
    )


def _files(change: ChunkChange, redaction: Redaction, contents: Contents) -> tuple[FileDiff, ...]:
    if change.kind not in WITH_CONTENT:
        return ()
    found = tuple(_file(redaction.text(text)) for text in contents(change))
    if found or change.kind is not ChangeKind.CONTENT:
        return found
    return (FileDiff(path=redaction.text(change.chunk.name), note="content changes"),)


def _file(text: str) -> FileDiff:
    """A text in the form of `diff -u`, or a remark in its place."""
    lines = text.split("\n", 2)
    if not text.startswith("--- ") or len(lines) < 3:
        return FileDiff(path=next((word for word in text.split() if word.startswith("salt://")), ""), note=text)
    old, new = (line[4:] for line in lines[:2])
    return FileDiff(path=old if new == "/dev/null" else new, text=text)
