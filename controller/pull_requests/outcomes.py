"""What happened after the merge: the runs of the revision, compared with what the preview said. Reads the store alone.

Called in a thread by `look`. A prediction is kept when the run of a minion ended well and changed no state that the
preview did not name. A state that the preview names and that had nothing to change keeps it: the machine was as wanted.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from controller.schema.reports import ChangeClass, ClassOutcome, MergeOutcome, PreviewReport
from controller.store import RevisionRecord, RunRecord, Store

_HOLE = re.compile("⟨[^⟩]*⟩")
_GOOD = ("ok", "changed")
_MOST_REVISIONS = 200
_MOST_NAMED = 3
_LONGEST_KEY = 120

Contains = Callable[[str, str], bool]
"""Whether a commit (first) has another one (second) in its history."""


@dataclass(frozen=True, slots=True)
class Verdict:
    """What the run of one minion says of the preview; both texts empty: it is as the preview said."""

    failed: str = ""
    differs: str = ""


@dataclass(slots=True)
class Outcomes:
    """Looks for what happened after merges.

    Args:
        store: with revisions and runs.
        contains: asks git about histories.
    """

    store: Store
    contains: Contains
    _verdicts: dict[tuple[str, str], Verdict] = field(default_factory=dict)
    """By run and revision, so that a result is read once."""

    def outcome(self, report: PreviewReport, commit: str, merged_at: float, now: float) -> MergeOutcome:
        """What is known of the merge that made a commit. Times in seconds since the epoch."""
        revision = self._revision(commit, merged_at)
        if revision is None:
            waiting = tuple(ClassOutcome(id=each.id, waiting=each.minions) for each in report.classes)
            return MergeOutcome(commit=commit, at=now, classes=waiting, complete=not waiting)
        runs = self._runs(revision)
        classes = tuple(self._class(each, runs, revision.label) for each in report.classes)
        complete = not any(each.waiting for each in classes)
        return MergeOutcome(commit=commit, revision=revision.label, at=now, classes=classes, complete=complete)

    def forget(self) -> None:
        """Drop what was remembered of runs."""
        self._verdicts.clear()

    def _revision(self, commit: str, merged_at: float) -> RevisionRecord | None:
        """The first revision with a commit."""
        for revision in reversed(self.store.revisions.newest_of(_MOST_REVISIONS)):
            heads = {revision.commit, *(source.commit for source in revision.sources)}
            if commit in heads:
                return revision
            if revision.first_seen >= merged_at - 1 and any(self.contains(head, commit) for head in heads):
                return revision
        return None

    def _runs(self, revision: RevisionRecord) -> Mapping[str, RunRecord]:
        """The first finished run of each minion with the revision, or with a later one where it came first."""
        since = self.store.runs.finished_since(revision.first_seen, ("apply", "remediate"))
        found: dict[str, RunRecord] = {}
        for run in since:
            if not run.test:
                found.setdefault(run.minion, run)
        return found

    def _class(self, of: ChangeClass, runs: Mapping[str, RunRecord], label: str) -> ClassOutcome:
        applied: list[str] = []
        failed: dict[str, str] = {}
        differs: dict[str, str] = {}
        for minion in of.minions:
            run = runs.get(minion)
            if run is None:
                continue
            verdict = self._verdict(of, run, label)
            if verdict.failed:
                failed[minion] = verdict.failed
            elif verdict.differs:
                differs[minion] = verdict.differs
            else:
                applied.append(minion)
        waiting = tuple(each for each in of.minions if each not in runs)
        return ClassOutcome(id=of.id, applied=tuple(applied), failed=failed, differs=differs, waiting=waiting)

    def _verdict(self, of: ChangeClass, run: RunRecord, label: str) -> Verdict:
        key = run.run_id, label
        if key not in self._verdicts:
            result = self.store.runs.result(run.run_id) or {}
            self._verdicts[key] = verdict_of(of, run, result.get("states") or {}, label)
        return self._verdicts[key]


def verdict_of(of: ChangeClass, run: RunRecord, states: Mapping[str, Mapping[str, Any]], label: str) -> Verdict:
    """What a finished run of a minion of a class says of the preview.

    Args:
        of: the class.
        run: of the minion.
        states: its results by the keys of states.
        label: of the revision that was previewed; the run may be of a later one, of which the preview said nothing.
    """
    if run.outcome not in _GOOD:
        bad = [key for key, entry in states.items() if entry.get("result") is False]
        return Verdict(failed=_named(bad) or run.outcome or "no result")
    if run.revision != label or run.keys is None:
        return Verdict()  # it also did what others pushed, or what the machine lacked
    patterns = [_HOLE.split(each.key) for each in of.resources if each.action != "removed"]
    changed = (key for key, entry in states.items() if entry.get("changes"))
    return Verdict(differs=_named([key for key in changed if not any(_fits(key, each) for each in patterns)]))


def predictions(outcome: MergeOutcome) -> tuple[int, int]:
    """How many minions did what the preview said, and how many did not."""
    kept = sum(len(each.applied) for each in outcome.classes)
    return kept, sum(len(each.failed) + len(each.differs) for each in outcome.classes)


def _fits(key: str, parts: Sequence[str]) -> bool:
    """Whether a key is the text with something in place of each hole. Linear: each part is looked for once."""
    if len(parts) == 1:
        return key == parts[0]
    if not key.startswith(parts[0]) or not key.endswith(parts[-1]):
        return False
    at, end = len(parts[0]), len(key) - len(parts[-1])
    for part in parts[1:-1]:
        found = key.find(part, at, end)
        if found < 0:
            return False
        at = found + len(part)
    return at <= end


def _named(keys: Iterable[str]) -> str:
    """Some states as people know them."""
    listed = [_title(key) for key in keys]
    more = f" and {len(listed) - _MOST_NAMED} more" if len(listed) > _MOST_NAMED else ""
    return ", ".join(listed[:_MOST_NAMED]) + more


def _title(key: str) -> str:
    """`nginx.conf (file.managed)` of `file_|-nginx.conf_|-/etc/nginx.conf_|-managed`."""
    parts = key.split("_|-")
    title = f"{parts[1]} ({parts[0]}.{parts[-1]})" if len(parts) == 4 else key
    return title[:_LONGEST_KEY]
