"""What two refs mean for the minions, side by side: plans, errors, new warnings, and the messages for test runs.

Called by `preview` in a thread: how much there is to compare is up to the branch, and the event loop must not wait for
it. Everything here stops when the asker has gone.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import msgspec

from controller.compilation.answer_redaction import redact_answer
from controller.compilation.compile_messages import CompiledMinion
from controller.compilation.recorded_facts import NO_ANSWER
from controller.observe.redactor import Redactor
from controller.reconcile.emptied import emptied_warning
from controller.reconcile.plan import plan
from controller.reconcile.plan_text import change_views, plan_text
from controller.reconcile.source_differences import SourceDifferences
from controller.schema.plans import ChunkDiff
from controller.schema.previews import PreviewBroken, PreviewClass, PreviewUnknown, PreviewWarned
from highstate.desired import Desired
from wire import patch


class AskerGone(Exception):
    """Nobody waits for the preview any more."""


@dataclass(frozen=True, slots=True)
class TestRun:
    """What a connected minion needs for a test run of the head."""

    digest: str
    """Of the document of the head."""
    document: bytes
    """Empty when the preview may hold no more documents: nothing is tested on this minion."""
    keys: tuple[str, ...]
    """Chunks to run."""


@dataclass(frozen=True, slots=True, kw_only=True)
class DocumentPatch:
    """What takes a minion to the document of the head."""

    base: str
    """Digest of the document that it applies to; empty: it is the whole document."""
    patch: Any


@dataclass(slots=True, kw_only=True)
class Comparison:
    """What both refs mean for the minions."""

    minions: int
    document_bytes: int = 0
    """Of the documents in `tests`."""
    classes: dict[str, list[str]] = field(default_factory=dict)
    """Text of the changes -> minions for which the head means them."""
    changes: dict[str, tuple[ChunkDiff, ...]] = field(default_factory=dict)
    """The same text -> changes as the API gives them."""
    tests: dict[str, TestRun] = field(default_factory=dict)
    """By minion; all for which something changes."""
    broken: dict[str, tuple[str, ...]] = field(default_factory=dict)
    """Errors of the head."""
    unknown: dict[str, tuple[str, ...]] = field(default_factory=dict)
    """Functions of the machine whose answers the head needs, of minions that nobody could ask."""
    warned: dict[str, tuple[str, ...]] = field(default_factory=dict)
    """Warnings of the head that the base does not have."""

    @property
    def unchanged(self) -> int:
        """Minions that compile and for which nothing changes."""
        return self.minions - len(self.tests) - len(self.broken) - len(self.unknown)


@dataclass(frozen=True, slots=True)
class Comparer:
    """Compares, for one asker.

    Args:
        redactor: takes secrets out of what is shown.
        gone: set when the asker has gone; then `AskerGone` is raised.
        max_document_bytes: of the documents that are kept for test runs.
    """

    redactor: Redactor
    gone: threading.Event
    max_document_bytes: int

    def add(
        self,
        found: Comparison,
        bases: Sequence[CompiledMinion],
        heads: Sequence[CompiledMinion],
        sources: SourceDifferences,
    ) -> None:
        """Compare some minions, in the same order on both sides; `sources`: reads the files of both."""
        for base, head in zip(bases, heads, strict=True):
            if self.gone.is_set():
                raise AskerGone
            for each in (base, head):
                self.redactor.add_for_preview(each.minion_id, each.secrets)
            self._add(found, redact_answer(base, self.redactor), redact_answer(head, self.redactor), sources)

    def _add(self, found: Comparison, base: CompiledMinion, head: CompiledMinion, sources: SourceDifferences) -> None:
        minion = head.minion_id
        emptied = [emptied_warning(base.states)] if base.ok and head.ok and base.states and not head.states else []
        if fresh := tuple(str(one) for one in (*head.warnings, *emptied) if one not in base.warnings):
            found.warned[minion] = fresh
        if head.unanswered and head.errors and all(NO_ANSWER in problem.message for problem in head.errors):
            found.unknown[minion] = tuple(sorted({question.fun for question in head.unanswered}))
            return
        if not head.ok:
            found.broken[minion] = tuple(str(problem) for problem in head.errors)
            return
        old, new = _desired(base) if base.ok else None, _desired(head)
        changes, contents = plan(old, new), sources.between(old, new)
        if changes.empty:
            return
        text = plan_text(changes, self.redactor.of(minion), contents)
        found.classes.setdefault(text, []).append(minion)
        if text not in found.changes:
            found.changes[text] = change_views(changes, self.redactor.of(minion), contents)
        fits = found.document_bytes + len(head.document) <= self.max_document_bytes
        document = head.document if fits else b""
        found.document_bytes += len(document)
        found.tests[minion] = TestRun(digest=head.digest, document=document, keys=changes.run)

    def patches(
        self, found: Comparison, held: Mapping[str, str], document: Callable[[str], Any | None]
    ) -> dict[str, DocumentPatch]:
        """Minion -> what takes it to the document of the head; of those that can be tested.

        Args:
            found: whose changed minions are meant.
            held: minion -> digest of the document that it holds.
            document: of a digest; None when it is not known, and the minion gets the whole one.
        """
        patches = {}
        for minion, test in found.tests.items():
            if self.gone.is_set():
                raise AskerGone
            if test.document:
                new, base = msgspec.msgpack.decode(test.document), held.get(minion, "")
                old = document(base)
                patches[minion] = (
                    DocumentPatch(base="", patch=["v", new])
                    if old is None
                    else DocumentPatch(base=base, patch=patch.diff(old, new))
                )
        return patches


def changed_classes(found: Comparison) -> list[PreviewClass]:
    """Minions with the same changes, the largest class first."""
    ordered = sorted(found.classes.items(), key=lambda group: (-len(group[1]), group[1]))
    return [PreviewClass(minions=tuple(ids), text=text, changes=found.changes[text]) for text, ids in ordered]


def broken_classes(found: Comparison) -> Iterator[PreviewBroken]:
    """Minions with the same errors."""
    for errors, ids in _grouped(found.broken).items():
        yield PreviewBroken(minions=tuple(ids), errors=errors)


def unknown_classes(found: Comparison) -> Iterator[PreviewUnknown]:
    """Minions that lack the same answers."""
    for functions, ids in _grouped(found.unknown).items():
        yield PreviewUnknown(minions=tuple(ids), functions=functions)


def warned_classes(found: Comparison) -> Iterator[PreviewWarned]:
    """Minions with the same new warnings."""
    for warnings, ids in _grouped(found.warned).items():
        yield PreviewWarned(minions=tuple(ids), warnings=warnings)


def _desired(compiled: CompiledMinion) -> Desired:
    document: Any = msgspec.msgpack.decode(compiled.document)
    return Desired.from_document(document)


def _grouped(values: Mapping[str, Any]) -> dict[Any, list[str]]:
    groups: dict[Any, list[str]] = {}
    for minion, value in values.items():
        groups.setdefault(value, []).append(minion)
    return dict(sorted(groups.items(), key=lambda group: (-len(group[1]), group[1])))
