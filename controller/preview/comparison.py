"""What two refs mean for the minions, side by side: plans, errors, new warnings, and the messages for test runs.

Called by `preview` in a thread: how much there is to compare is up to the branch, and the event loop must not wait for
it. Everything here stops when the asker has gone.
"""

from __future__ import annotations

import hashlib
import threading
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, TypeAlias

import msgspec

from controller.compilation.answer_redaction import redact_answer
from controller.compilation.compile_messages import CompiledMinion
from controller.compilation.recorded_facts import NO_ANSWER
from controller.config.limits import PreviewLimits
from controller.observe.redactor import Redactor
from controller.preview.certainty import doubts_of_plan, doubts_of_results, with_doubts, with_uncertain
from controller.preview.contents.rendered_texts import RenderedTexts
from controller.preview.document_reader import DocumentReader
from controller.preview.resources import resources_of, without_texts
from controller.preview.service_acts import ServiceAct, service_acts
from controller.preview.sides.base_side import BaseSide, MergePlan, merge_plan
from controller.preview.timing import alters_grains
from controller.reconcile.emptied import emptied_warning
from controller.reconcile.links import LinkFinder, links_of
from controller.reconcile.plan import ChangeKind
from controller.reconcile.source_differences import SourceDifferences
from controller.schema.reports import ResourceChange
from highstate.desired import Desired
from highstate.pruned import prune_mode
from highstate.types import NOT_RUN, Pos
from wire import patch

Told: TypeAlias = tuple[str, Pos | None]
"""A problem as people read it, and where it is."""


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
    touched: tuple[str, ...] = ()
    """Those of them that the change touches."""
    base_digest: str = ""
    """Of the document of the base; empty when it does not compile."""
    base_keys: tuple[str, ...] = ()
    """What is touched and has been there before."""
    check: bool = False
    """Whether the whole is planned after such a run, and what is found then is applied."""


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
    side: BaseSide
    document_bytes: int = 0
    """Of the documents in `tests`."""
    full: bool = False
    """Whether some were to be kept and are not, as they are too large together."""
    change_bytes: int = 0
    """Of the changes, each distinct one once."""
    shortened: int = 0
    """Minions whose changes are not shown in full."""
    unrendered: int = 0
    """Minions of which not all templates are rendered that differ."""
    cut: set[str] = field(default_factory=set)
    """Minions of which states that change are left out."""
    added: list[str] = field(default_factory=list)
    """Minions whose changes were found last, until `keep`."""
    distinct: dict[bytes, tuple[ResourceChange, ...]] = field(default_factory=dict)
    """Digest -> the change: many minions have the same one, and it is held once."""
    changes: dict[str, tuple[ResourceChange, ...]] = field(default_factory=dict)
    """Minion -> what the head changes there."""
    acts: dict[str, tuple[ServiceAct, ...]] = field(default_factory=dict)
    """Minion -> what happens to its services."""
    tests: dict[str, TestRun] = field(default_factory=dict)
    """By minion; all for which something changes."""
    broken: dict[str, tuple[Told, ...]] = field(default_factory=dict)
    """Errors of the head."""
    unknown: dict[str, tuple[Told, ...]] = field(default_factory=dict)
    """What the head needs and nobody has: functions of a machine that could not be asked, Python that is not run."""
    not_run: set[str] = field(default_factory=set)
    """Minions among them for which a merge runs Python of the tree, and a preview does not."""
    warned: dict[str, tuple[Told, ...]] = field(default_factory=dict)
    """Warnings of the head that the base does not have."""
    whole: dict[str, str] = field(default_factory=dict)
    """Minion -> why a merge runs all of its states."""
    released: set[str] = field(default_factory=set)
    """Minions on which a merge has applied what waits for a person."""
    rescheduled: set[str] = field(default_factory=set)
    """Minions that get another document, as for a schedule of drift checks, and run nothing."""
    second_runs: set[str] = field(default_factory=set)
    """Minions on which the run changes what the next compile reads."""

    def keep(self, minion: str, limits: PreviewLimits) -> None:
        """Settle what is held of a minion's changes: all, the names of the states, or nothing."""
        resources = self.changes[minion]
        digest, size = _digest_and_size(resources)
        same = self.distinct.get(digest)
        if same is None and self.change_bytes + size > limits.change_bytes:
            self.shortened += 1
            resources = tuple(map(without_texts, resources))
            digest, size = _digest_and_size(resources)
            same = self.distinct.get(digest)
            if same is None and self.change_bytes + size > limits.change_bytes * 5 // 4:
                self.cut.add(minion)
                self.changes[minion] = ()
                return
        if same is None:
            same = self.distinct[digest] = resources
            self.change_bytes += size
        self.changes[minion] = same

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
        limits: of what is kept.
        live: whether test runs follow, for which documents are kept.
        keeps: of which minions.
        python_later: whether a merge runs Python of the tree that is not run here.
    """

    redactor: Redactor
    gone: threading.Event
    limits: PreviewLimits
    live: bool
    keeps: Callable[[str], bool] = field(default=lambda _: True)
    python_later: bool = False
    documents: DocumentReader = field(default_factory=DocumentReader)
    links: LinkFinder = field(default_factory=LinkFinder)
    texts: RenderedTexts = field(default_factory=RenderedTexts)

    @classmethod
    def of(
        cls,
        redactor: Redactor,
        gone: threading.Event,
        limits: PreviewLimits,
        *,
        live: bool,
        keeps: Callable[[str], bool] = lambda _: True,
        python_later: bool = False,
    ) -> Comparer:
        """One for a preview."""
        return cls(redactor, gone, limits, live, keeps, python_later, texts=RenderedTexts(limits.rendered))

    def add(
        self,
        found: Comparison,
        bases: Sequence[CompiledMinion],
        heads: Sequence[CompiledMinion],
        sources: SourceDifferences,
    ) -> None:
        """Compare some minions, in the same order on both sides; `sources`: reads the files of both."""
        for each in (*bases, *heads):
            self.redactor.add_for_preview(each.minion_id, each.secrets)
        self.redactor.prepare([head.minion_id for head in heads])
        for base, head in zip(bases, heads, strict=True):
            if self.gone.is_set():
                raise AskerGone
            self._add(found, redact_answer(base, self.redactor), redact_answer(head, self.redactor), sources)

    def add_rendered(
        self, found: Comparison, before: Sequence[CompiledMinion], after: Sequence[CompiledMinion]
    ) -> None:
        """End the comparison of the minions that were added last, with what `texts` had asked of both sides."""
        self.texts.answered(before, after)
        for minion in self.texts.noted:
            if self.gone.is_set():
                raise AskerGone
            found.changes[minion] = self.texts.shown(minion, found.changes[minion], self.redactor.of(minion))
        for minion in found.added:
            found.keep(minion, self.limits)
        found.added.clear()
        self.texts.settle()
        found.unrendered = len(self.texts.left_out)

    def _states(self, base: CompiledMinion) -> int:
        """How many the base has; one that comes from the store does not say it."""
        return base.states or (len(self.documents.read(base.document).chunks) if base.document else 0)

    def _add(self, found: Comparison, base: CompiledMinion, head: CompiledMinion, sources: SourceDifferences) -> None:
        minion = head.minion_id
        emptied = [emptied_warning(had)] if head.ok and not head.states and (had := self._states(base)) else []
        if fresh := [one for one in (*head.warnings, *emptied) if one not in base.warnings]:
            found.warned[minion] = tuple((str(one), one.pos) for one in fresh)
        if head.unanswered and head.errors and all(NO_ANSWER in problem.message for problem in head.errors):
            found.unknown[minion] = tuple((fun, None) for fun in sorted({question.fun for question in head.unanswered}))
            return
        if self.python_later and head.errors and all(NOT_RUN in problem.message for problem in head.errors):
            found.unknown[minion] = tuple((f"{one.pos}: {one.message}", one.pos) for one in head.errors)
            found.not_run.add(minion)
            return
        if not head.ok:
            found.broken[minion] = tuple((str(problem), problem.pos) for problem in head.errors)
            return
        if base.ok and base.digest == head.digest and found.side.is_applied(minion, base.digest):
            return
        old = (base.digest, self.documents.read(base.document)) if base.ok else None
        new = self.documents.read(head.document)
        merge = merge_plan(minion, found.side, old, (head.digest, new), self.links.links_of)
        if not merge.empty:
            self._changed(found, head, new, merge, sources)
        elif base.digest != head.digest:
            found.rescheduled.add(minion)

    def _changed(
        self, found: Comparison, head: CompiledMinion, new: Desired, merge: MergePlan, sources: SourceDifferences
    ) -> None:
        minion, keys, changes = head.minion_id, merge.keys, merge.shown
        resources = resources_of(
            changes,
            self.redactor.of(minion),
            sources.between(merge.old, new),
            self.limits.minion_change_bytes,
            prune=prune_mode(new.drift),
        )
        doubts = doubts_of_plan(
            {key: new.chunks[key] for key in keys}, lambda: self.links.links_of(new.chunks).followers_among(keys)
        )
        keys_shown = [each.key for each in changes.changes[: len(resources)]]
        found.added.append(minion)
        found.changes[minion] = with_doubts(resources, keys_shown, doubts)
        if len(resources) < len(changes.changes):
            found.cut.add(minion)
        self.texts.note(minion, changes.changes[: len(resources)], merge.old, new)
        if acts := service_acts(changes, new.chunks):
            found.acts[minion] = acts
        if merge.whole:
            found.whole[minion] = merge.whole
        if found.side.is_released(minion):
            found.released.add(minion)
        if any(alters_grains(key) for key in keys):
            found.second_runs.add(minion)
        fits = found.document_bytes + len(head.document) <= self.limits.document_bytes
        keeps = self.live and self.keeps(minion)
        found.full |= keeps and not fits
        document = head.document if fits and keeps else b""
        found.document_bytes += len(document)
        found.tests[minion] = TestRun(
            digest=head.digest,
            document=document,
            keys=keys,
            # Without a run there is no check after it.
            check=found.side.is_checked(minion) and bool(keys) and not merge.whole,
            **_base_of(merge),
        )

    def with_uncertain(self, test: TestRun, states: Mapping[str, Any], *, salt: bool = False) -> dict[str, Any]:
        """What a minion said in this test run, with what of it is not certain. `salt`: it is a stock minion."""
        chunks = self.documents.read(test.document).chunks if test.document else {}
        checked = [key for key, chunk in chunks.items() if "check_cmd" in chunk.arguments]
        return with_uncertain(states, lambda: links_of(chunks).followers_among(test.keys), checked, salt=salt)

    def missed(self, test: TestRun, states: Mapping[str, Any], known: Collection[str]) -> dict[str, Any]:
        """What the check after a push finds, of what a minion says; `known`: states that drift already.

        What it may find, or not, has `uncertain`: why.
        """
        chunks = self.documents.read(test.document).chunks
        doubts = doubts_of_results(states, lambda: links_of(chunks).followers_among(states.keys()))
        unknown = {key: doubt.why for key, doubt in doubts.items() if doubt.certainty == "unknown"}
        if any(map(alters_grains, test.keys)):  # a second run comes between, of what is compiled with the new grains
            unknown |= dict.fromkeys(filter(alters_grains, states), "the highstate is run again before this check")
        return {
            key: {**entry, "uncertain": unknown[key]} if key in unknown else entry
            for key, entry in states.items()
            if key not in known
        }

    def patches(
        self, tests: Mapping[str, TestRun], held: Mapping[str, str], document: Callable[[str], Any | None]
    ) -> dict[str, DocumentPatch]:
        """Minion -> what takes it to the document of the head; of those that can be tested.

        Args:
            tests: minion -> what it needs.
            held: minion -> digest of the document that it holds.
            document: of a digest; None when it is not known, and the minion gets the whole one.
        """
        patches = {}
        for minion, test in tests.items():
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


def _digest_and_size(resources: tuple[ResourceChange, ...]) -> tuple[bytes, int]:
    packed = msgspec.msgpack.encode(resources)
    return hashlib.blake2b(packed, digest_size=16).digest(), len(packed)


def _base_of(merge: MergePlan) -> dict[str, Any]:
    touched = tuple(each.key for each in merge.shown.changes if each.kind is not ChangeKind.REMOVED)
    before = () if merge.old is None else tuple(key for key in touched if key in merge.old.chunks)
    return {"touched": touched, "base_digest": merge.old_digest, "base_keys": before}
