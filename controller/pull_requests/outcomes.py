"""What happened after the merge: the runs of the revision, compared with what the preview said. Reads the store alone.

Called in a thread by `look`. A prediction is kept when the run of a minion ended well and changed no state that the
preview did not name. A state that the preview names and that had nothing to change keeps it: the machine was as wanted.
What another pull request foretold, whose merge came with the same revision, is told apart: it breaks nothing here.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from cachetools import LRUCache
from msgspec.structs import replace

from controller.config.limits import PullRequestLimits
from controller.pull_requests.records import kept_report
from controller.schema.reports import ApplyOutcome, ChangeClass, ClassOutcome, MergeOutcome, PreviewReport
from controller.store import RevisionRecord, RunRecord, StatusRow, Store
from controller.store.pull_requests import AppliedHead, PullRecord
from highstate.pruned import maker_of

_HOLE = re.compile("⟨[^⟩]*⟩")
_GOOD = ("ok", "changed")
_MOST_REVISIONS = 200
_MOST_VERDICTS = 10_000
_MOST_NAMED = 3
_LONGEST_KEY = 120
_TOGETHER_SECONDS = 86_400.0
"""Between the times at which two merges of one push were seen, at most."""

Contains = Callable[[str, str], bool]
"""Whether a commit (first) has another one (second) in its history."""


@dataclass(frozen=True, slots=True)
class Verdict:
    """What the run of one minion says of the preview; `failed` and `differs` empty: it is as the preview said."""

    failed: str = ""
    differs: str = ""
    others: str = ""
    """What pull requests foretold that were merged together with it."""
    others_failed: bool = False
    """Only states failed that those foretold, and this one did not."""


@dataclass(frozen=True, slots=True)
class MergedWith:
    """A pull request whose merge came with the same revision."""

    name: str
    report: PreviewReport

    def foretells(self, minion: str, key: str) -> bool:
        """Whether its preview says that a state changes something on a minion."""
        return any(minion in each.minions and _foretells(each, key) for each in self.report.classes)


@dataclass(slots=True)
class Outcomes:
    """Looks for what happened after merges.

    Args:
        store: with revisions and runs.
        contains: asks git about histories.
        limits: of what is looked at.
    """

    store: Store
    contains: Contains
    limits: PullRequestLimits = field(default_factory=PullRequestLimits)
    _verdicts: LRUCache[tuple[object, ...], Verdict] = field(default_factory=lambda: LRUCache(_MOST_VERDICTS))
    """By run, revision and what was foretold by whom, so that a result is read once."""

    def outcome(self, report: PreviewReport, record: PullRecord, now: float) -> MergeOutcome:
        """What is known of a merge.

        Args:
            report: what was foretold.
            record: of the merged pull request.
            now: seconds since the epoch.
        """
        commit, merged_at = record.merge_commit, record.merged_at
        # These had applied it before the merge, so that the merge need not run anything there.
        held = frozenset(record.applied.minions if record.applied else ())
        revision = self._revision(commit, merged_at)
        if revision is None:
            waiting = tuple(ClassOutcome(id=each.id, waiting=each.minions) for each in report.classes)
            return MergeOutcome(commit=commit, at=now, classes=waiting, complete=not waiting)
        runs = self._runs(revision)
        done = self._unchanged(commit, merged_at, held)
        together = self._merged_with(record, revision)
        classes = tuple(self._class(each, runs, revision.digest, done, together) for each in report.classes)
        complete = not any(each.waiting for each in classes)
        return MergeOutcome(commit=commit, revision=revision.label, at=now, classes=classes, complete=complete)

    def applied(self, report: PreviewReport | None, applied: AppliedHead) -> ApplyOutcome:
        """What became of a head that was applied before its merge.

        Args:
            report: the newest of the pull request; classes are told when it is about this head.
            applied: what was applied.
        """
        rows = {row.minion.id: row for row in self.store.minions.status(applied.minions)}
        held = {name: row for name, row in rows.items() if row.hold and row.hold.revision == applied.revision}
        here = frozenset(held)
        classes = report.classes if report is not None and report.head == applied.head else ()
        found = tuple(self._applied_class(each, held) for each in classes if here & {*each.minions})
        return ApplyOutcome(
            head=applied.head,
            user=applied.user,
            until=applied.until,
            canary=applied.canary,
            minions=len(applied.minions),
            classes=() if applied.released else found,
            complete=not any(each.waiting for each in found),
            released=applied.released,
        )

    def _applied_class(self, of: ChangeClass, held: Mapping[str, StatusRow]) -> ClassOutcome:
        runs: dict[str, RunRecord] = {}
        done: set[str] = set()
        for minion in of.minions:
            row = held.get(minion)
            if row is None or row.hold is None:
                continue
            if row.last_run is not None and row.last_run.digest == row.hold.digest:
                runs[minion] = row.last_run
            elif row.applied is not None and row.applied.digest == row.hold.digest:
                done.add(minion)
        here = replace(of, minions=tuple(minion for minion in of.minions if minion in held))
        revision = next((row.hold.revision for row in held.values() if row.hold), "")
        return self._class(here, runs, revision, done)

    def reached(self, commit: str, merged_at: float, minions: Sequence[str]) -> frozenset[str]:
        """The minions for which what is live has the merge in it, and compiles."""
        merged = self._revision(commit, merged_at)
        if merged is None:
            return frozenset()
        found = set[str]()
        for minion, desired in self.store.desired.of(minions).items():
            compiled = self.store.revisions.get(desired.compiled_revision)
            if compiled is not None and compiled.first_seen >= merged.first_seen and not desired.errors:
                found.add(minion)
        return frozenset(found)

    def _unchanged(self, commit: str, merged_at: float, held: Collection[str]) -> frozenset[str]:
        """Of the minions that had applied it before: those that have what is live by now."""
        if not held:
            return frozenset()
        rows = self.store.minions.status(sorted(self.reached(commit, merged_at, sorted(held))))
        return frozenset(
            row.minion.id
            for row in rows
            if row.hold is None and row.applied and row.desired and row.applied.digest == row.desired.digest
        )

    def _revision(self, commit: str, merged_at: float) -> RevisionRecord | None:
        """The first revision with a commit."""
        for revision in reversed(self.store.revisions.newest_of(_MOST_REVISIONS)):
            heads = {revision.commit, *(source.commit for source in revision.sources)}
            if commit in heads:
                return revision
            if revision.first_seen >= merged_at - 1 and any(self.contains(head, commit) for head in heads):
                return revision
        return None

    def _merged_with(self, record: PullRecord, revision: RevisionRecord) -> tuple[MergedWith, ...]:
        """The other pull requests that a revision has and the one before it had not.

        One that is open in our records was perhaps merged as well: its forge was not asked since.
        """
        newest = list(self.store.revisions.newest_of(_MOST_REVISIONS))
        older = [place for place, each in enumerate(newest) if each.digest == revision.digest]
        if not older or older[0] + 1 >= len(newest):
            return ()
        before = newest[older[0] + 1]
        found: list[MergedWith] = []
        for other in _candidates(record, self.store.pull_requests.all())[: self.limits.merged_candidates]:
            commit = other.merge_commit or other.head
            if (
                len(found) == self.limits.merged_together
                or not self._has(revision, commit)
                or self._has(before, commit)
            ):
                continue
            report = kept_report(self.store, other)
            if report is not None and report.head == other.head:
                same = (other.forge, other.project) == (record.forge, record.project)
                where = "" if same else f" of {other.project}"
                found.append(MergedWith(f"pull request {other.number}{where}", report))
        return tuple(found)

    def _has(self, revision: RevisionRecord, commit: str) -> bool:
        heads = {revision.commit, *(source.commit for source in revision.sources)}
        return commit in heads or any(self.contains(head, commit) for head in heads)

    def _runs(self, revision: RevisionRecord) -> Mapping[str, RunRecord]:
        """The first finished run of each minion with the revision, or with a later one where it came first."""
        since = self.store.runs.finished_since(revision.first_seen, ("apply", "remediate"))
        found: dict[str, RunRecord] = {}
        for run in since:
            if not run.test:
                found.setdefault(run.minion, run)
        return found

    def _class(
        self,
        of: ChangeClass,
        runs: Mapping[str, RunRecord],
        revision: str,
        done: Collection[str],
        together: Sequence[MergedWith] = (),
    ) -> ClassOutcome:
        others: dict[str, str] = {}
        others_failed: list[str] = []
        applied: list[str] = []
        failed: dict[str, str] = {}
        differs: dict[str, str] = {}
        for minion in of.minions:
            run = runs.get(minion)
            if run is None:
                applied += [minion] if minion in done else []
                continue
            verdict = self._verdict(of, run, revision, together)
            if verdict.others:
                others[minion] = verdict.others
            others_failed += [minion] if verdict.others_failed else []
            if verdict.failed:
                failed[minion] = verdict.failed
            elif verdict.differs:
                differs[minion] = verdict.differs
            else:
                applied.append(minion)
        waiting = tuple(each for each in of.minions if each not in runs and each not in done)
        return ClassOutcome(
            id=of.id,
            applied=tuple(applied),
            failed=failed,
            differs=differs,
            waiting=waiting,
            others=others,
            others_failed=tuple(others_failed),
        )

    def _verdict(self, of: ChangeClass, run: RunRecord, revision: str, together: Sequence[MergedWith]) -> Verdict:
        foretold = tuple((each.action, each.key) for each in of.resources)
        key = run.run_id, revision, foretold, tuple((each.name, each.report.head) for each in together)
        if key not in self._verdicts:
            result = self.store.runs.result(run.run_id) or {}
            self._verdicts[key] = verdict_of(of, run, result.get("states") or {}, revision, together)
        return self._verdicts[key]


def _candidates(record: PullRecord, records: Iterable[PullRecord]) -> list[PullRecord]:
    """Those that may have been merged together with one, the nearest in time first."""
    own = record.forge, record.project, record.number

    def apart(other: PullRecord) -> float:
        return abs(other.merged_at - record.merged_at) if other.state == "merged" else _TOGETHER_SECONDS

    found = [
        each
        for each in records
        if (each.forge, each.project, each.number) != own
        and each.state != "closed"
        and each.previewed is not None
        and apart(each) <= _TOGETHER_SECONDS
    ]
    return sorted(found, key=apart)


def verdict_of(
    of: ChangeClass,
    run: RunRecord,
    states: Mapping[str, Mapping[str, Any]],
    revision: str,
    together: Sequence[MergedWith] = (),
) -> Verdict:
    """What a finished run of a minion of a class says of the preview.

    Args:
        of: the class.
        run: of the minion.
        states: its results by the keys of states.
        revision: digest of the previewed one; the run may be of a later one, of which the preview said nothing.
        together: pull requests that were merged together with it.
    """
    exact = run.revision == revision and run.keys is not None
    together = together if exact else ()
    changed = [key for key, entry in states.items() if entry.get("changes")]
    bad = [key for key, entry in states.items() if entry.get("result") is False]
    told = {key: [each.name for each in together if each.foretells(run.minion, key)] for key in (*changed, *bad)}
    own = {key for key in told if _foretells(of, key)}
    others = _told_by_others(told, own)
    if run.outcome not in _GOOD:
        failed = _named(bad) or run.outcome or "no result"
        theirs = bool(bad) and all(told[key] and key not in own for key in bad)
        return Verdict(failed=failed, others=others, others_failed=theirs)
    if not exact:
        return Verdict()  # it also did what others pushed, or what the machine lacked
    return Verdict(differs=_named([key for key in changed if key not in own and not told[key]]), others=others)


def _told_by_others(told: Mapping[str, Sequence[str]], own: Collection[str]) -> str:
    """Which states others foretold: `motd (file.managed) foretold by pull request 9`."""
    groups: dict[tuple[str, ...], list[str]] = {}
    for key, names in told.items():
        if names:
            groups.setdefault(("this one", *names) if key in own else tuple(names), []).append(key)
    return "; ".join(f"{_named(keys)} foretold by {' and '.join(names)}" for names, keys in groups.items())


def _foretells(of: ChangeClass, key: str) -> bool:
    if maker := maker_of(key):  # what a state made that the change takes out, or changes so that it names less
        return any(_fits(maker, _HOLE.split(each.key.split("_|-")[1])) for each in of.resources if "_|-" in each.key)
    return any(_fits(key, _HOLE.split(each.key)) for each in of.resources if each.action != "removed")


def predictions(outcome: MergeOutcome) -> tuple[int, int]:
    """How many minions did what the preview said, and how many did not.

    Where only that failed which another pull request foretold, nothing is known of this one: it counts as neither.
    """
    kept = sum(len(each.applied) for each in outcome.classes)
    failed = sum(len(each.failed) - len(each.others_failed) for each in outcome.classes)
    return kept, failed + sum(len(each.differs) for each in outcome.classes)


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
