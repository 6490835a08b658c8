"""Where each minion stands, as people see it: status lines, differences, history. Reads only.

Called by the service and by the metrics at each scrape, so nothing here loads a document unless it was asked for one.
"""

from __future__ import annotations

import asyncio
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache

from msgspec.structs import replace

from controller.observe.drift_classes import IGNORED, DriftClass, drift_class
from controller.observe.minion_metrics import MinionSample
from controller.observe.redactor import Redactor
from controller.observe.run_text import progress_text, short
from controller.policy.explain import explained
from controller.policy.policy import MinionPolicy
from controller.reconcile.comparing.master_comparison import compared_with_master
from controller.reconcile.confirmations import confirm_until, is_unconfirmed, unconfirmed_text
from controller.reconcile.deciding.decision import health_of, is_current, sync_of
from controller.reconcile.deciding.observed_state import Health, ObservedState, Sync
from controller.reconcile.documents import Documents
from controller.reconcile.holds import hold_text, pull_name
from controller.reconcile.plan import ChangeKind, PushPlan, plan
from controller.reconcile.plan_text import Contents, change_views, pillar_text, plan_text, unknown_content
from controller.reconcile.reconciler import SHADOW, SUSPENDED, Reconciler
from controller.reconcile.source_differences import ReadBlob, SourceDifferences
from controller.reconcile.unnamed import prune_view, with_unnamed
from controller.schema.errors import ServiceError
from controller.schema.events import WhyState
from controller.schema.fleet.comparisons import MinionComparison, SaltsSide
from controller.schema.fleet.policies import PolicyView
from controller.schema.minions import (
    CompileView,
    HeldPull,
    HeldRevision,
    MinionStatus,
    Unconfirmed,
    VolatileRead,
    stock_agent,
)
from controller.schema.plans import DriftView, MinionDiff, PruneView
from controller.schema.requests import HistoryQuery
from controller.schema.runs import HistoryEntry, RunView
from controller.sessions.sessions import KeyRegistry, Sessions
from controller.store import HoldRecord, Past, RunRecord, StatusRow, Store
from highstate.desired import Desired
from highstate.missing_sources import is_missing_source_warning
from highstate.types import Minion, Problem
from matching.matcher import person_matcher
from reactors.windows import window_text

_REJECTED = "its key is rejected: saltern key list"
_NEW = "accepted; has not connected yet"
_MOST_TEXT = 8 * 1024 * 1024
"""Characters of all differences of one answer; those of further minions are without the content of files."""


@dataclass(slots=True, kw_only=True)
class Status:
    """Answers about minions and runs."""

    store: Store
    sessions: Sessions
    reconciler: Reconciler
    documents: Documents
    redactor: Redactor
    keyring: KeyRegistry
    read_blob: ReadBlob
    """Contents of source files, those that were live before too."""

    def minions(self, ids: Sequence[str] | None = None) -> list[MinionStatus]:
        """One status a minion, sorted by id; None: all, with those that were accepted and have not connected yet."""
        asked, accepted = self.store.facts.oldest(ids), self.keyring.accepted
        found = [self._minion(row, asked.get(row.minion.id, {})) for row in self.store.minions.status(ids)]
        told = self.store.prune_reports.told()
        found = [with_unnamed(each, *told[each.minion]) if each.minion in told else each for each in found]
        found = [each if each.minion in accepted else replace(each, message=_REJECTED) for each in found]
        new = (accepted if ids is None else accepted & set(ids)) - {each.minion for each in found}
        found += [
            MinionStatus(minion=each, sync="Unknown", health="Unreachable", connected=False, message=_NEW)
            for each in new
        ]
        return sorted(found, key=lambda each: each.minion)

    def policy(self, minion: str) -> PolicyView:
        """What of the policy holds for a minion now."""
        row, live = self.known(minion), self.reconciler.live
        revision = row.desired.revision if row.desired else ""
        policy = live.policy_for(revision) if live.knows(revision) else live.policy
        label = row.attempted_label if policy is not live.policy else live.label
        one = Minion(id=minion, grains=self.reconciler.grains_of(minion))
        return explained(policy, one, self.reconciler.clock(), label)

    def forbidden(self, minion: str) -> str:
        """Why the policy forbids that something is applied on a minion now; empty where it does not."""
        row = self.known(minion)
        policy = self.reconciler.policy_of(row)
        if policy.applies_nothing:
            return SHADOW if policy.shadow else SUSPENDED
        return window_text(policy.windows, self.reconciler.clock()) or self.reconciler.rollouts.waits(row)

    def samples(self) -> Iterator[MinionSample]:
        """What a scrape shows of each minion."""
        committed, told = cache(self._committed), self.store.prune_reports.told()
        for row in self.store.minions.status():
            view = self.reconciler.observed(row)
            yield MinionSample(
                id=row.minion.id,
                sync=sync_of(view).value,
                health=health_of(view).value,
                connected=view.connected,
                drifted=view.drift.chunks if view.drift else 0,
                ignored=_classes(row, view).get(IGNORED, 0),
                unnamed=told.get(row.minion.id, (0, ""))[0],
                classes={each: count for each, count in _classes(row, view).items() if each != IGNORED},
                unconfirmed=is_unconfirmed(row),
                missing_sources=sum(map(is_missing_source_warning, row.desired.warnings)) if row.desired else 0,
                applied_at=row.applied.at if row.applied else None,
                # What a push does not touch has it as soon as it is compiled, as in `saltern status`.
                revision_at=committed(row.desired.revision)
                if row.desired and is_current(view)
                else row.applied_committed_at,
            )

    def _committed(self, revision: str) -> float | None:
        record = self.store.revisions.get(revision)
        return record.committed_at if record else None

    def _minion(self, row: StatusRow, asked: Mapping[str, float]) -> MinionStatus:
        view = self.reconciler.observed(row)
        session = self.sessions.session(row.minion.id)
        pending_triggers = tuple(short(key) for key in session.pending_triggers) if session else ()
        running = tuple(progress_text(one.said) for one in session.progress.values()) if session else ()
        errors = _texts(row.desired.errors) if row.desired else ()
        return MinionStatus(
            minion=row.minion.id,
            sync=sync_of(view).value,
            health=health_of(view).value,
            connected=session is not None,
            attempted_revision=row.attempted_label,
            # A push that changes nothing for a minion is applied there as soon as it is compiled.
            applied_revision=row.attempted_label if is_current(view) else row.applied_label,
            applied_at=row.applied.at if row.applied else None,
            last_seen=session.seen if session else row.minion.last_seen,
            paused=row.minion.paused,
            held=_held(row.hold),
            taken_back=_taken_back(row),
            unconfirmed=self._unconfirmed(row),
            drifted=view.drift.chunks if view.drift else 0,
            ignored=_classes(row, view).get(IGNORED, 0),
            classes={each: count for each, count in _classes(row, view).items() if each != IGNORED},
            message=f"{'running' if view.runs else 'checking'}: {running[0]}"
            if running
            else _lagging(self.reconciler.unfetched(row) if view.lags else ())
            or (self._gate(row) if view.gated and sync_of(view) is Sync.OUT_OF_SYNC and not errors else "")
            or _message(row, view, errors, self.reconciler.policy_of(row), self.reconciler.clock())
            or _owing(pending_triggers)
            or _faulty(session.problems if session else ()),
            errors=errors,
            warnings=_texts(row.desired.warnings) if row.desired else (),
            volatile=tuple(asked),
            asked_at=min(asked.values(), default=None),
            running=running,
            pending_triggers=pending_triggers,
            problems=session.problems if session else (),
            agent=session.agent if session else row.minion.agent,
        )

    def _unconfirmed(self, row: StatusRow) -> Unconfirmed | None:
        until = confirm_until(row, self.reconciler.policy_of(row))
        if until is None or row.confirmation is None:
            return None
        known = self.store.revisions.get(row.confirmation.revision)
        return Unconfirmed(back_to=known.label if known else row.confirmation.revision[:8], until=until)

    def _gate(self, row: StatusRow) -> str:
        return f"waits: {self.reconciler.rollouts.waits(row)}"

    async def diff(self, ids: Sequence[str]) -> list[MinionDiff]:
        """What is pending and what drifted on these minions; compared in a thread."""
        rows = []
        for row in self.store.minions.status(ids):
            session = self.sessions.session(row.minion.id)
            agent = stock_agent(session.agent if session is not None else row.minion.agent)
            rows.append((row, agent, self.reconciler.observed(row).drift is not None))
        return await asyncio.to_thread(self._diffs, rows)

    def _diffs(self, rows: Iterable[tuple[StatusRow, str, bool]]) -> list[MinionDiff]:
        sources, found, shown = SourceDifferences(self.read_blob), list[MinionDiff](), 0
        for row, agent, drifted in rows:
            one = self._diff(row, sources if shown < _MOST_TEXT else None, drifted=drifted)
            one = replace(one, agent=agent) if agent else one
            shown += len(one.text)
            found.append(one)
        return found

    def _diff(self, row: StatusRow, sources: SourceDifferences | None, *, drifted: bool) -> MinionDiff:
        old, new = self._documents(row)
        changes = plan(old, new) if new else None
        redaction = self.redactor.of(row.minion.id)
        contents = sources.between(old, new) if sources and new else unknown_content
        policy = self.reconciler.policy_of(row)
        drift, ignored, found_at = self.drift(row, drifted=drifted)
        return MinionDiff(
            minion=row.minion.id,
            base=row.applied_label,
            head=row.attempted_label,
            text=plan_text(changes, redaction, contents, prune=policy.prune) if changes else "",
            changes=change_views(changes, redaction, contents) if changes else (),
            pillar=pillar_text(old.pillar, new.pillar, redaction)
            if old and new and changes and _rendered_anew(changes, contents)
            else "",
            drift=drift,
            ignored=ignored,
            unnamed=prune_view(self.store.prune_reports.of(row.minion.id)),
            drift_at=found_at,
            heal=healed_by(row.minion.id, policy) if drift else "",
            errors=_texts(row.desired.errors) if row.desired else (),
            warnings=_texts(row.desired.warnings) if row.desired else (),
        )

    def known(self, minion: str) -> StatusRow:
        """What the store has of a minion; ServiceError when there is none of this name."""
        rows = self.store.minions.status([minion])
        if not rows:
            raise ServiceError("no-target", f"no minion {minion!r}", hint="`saltern status` lists the minions")
        return rows[0]

    def compile(self, minion: str) -> CompileView:
        """The newest compile of a minion."""
        row = self.known(minion)
        desired = row.desired
        if desired is None:
            return CompileView(minion=minion)
        facts = self.store.facts.by_minion([minion]).get(minion, [])
        asked = {fact.question.fun for fact in facts}
        reads = [VolatileRead(name=one.question.fun, asked=one.question.asked, at=one.at) for one in facts]
        reads += [VolatileRead(name=one, at=desired.compiled_at) for one in desired.volatile if one not in asked]
        return CompileView(
            minion=minion,
            revision=row.attempted_label,
            compiled_at=desired.compiled_at,
            errors=_texts(desired.errors),
            warnings=_texts(desired.warnings),
            volatile=tuple(reads),
        )

    def compare_with_master(self, theirs: SaltsSide) -> MinionComparison:
        """What a Salt master compiles for a minion, compared with what is compiled here."""
        row = self.known(theirs.minion)
        desired = row.desired
        return compared_with_master(
            theirs,
            self.documents.desired(desired.digest) if desired is not None and desired.generation else None,
            _texts(desired.errors) if desired is not None else (),
            self.redactor.of(theirs.minion),
            str(self.reconciler.grains_of(theirs.minion).get("saltversion", "")),
        )

    def _documents(self, row: StatusRow) -> tuple[Desired | None, Desired | None]:
        """The applied and the desired document; no desired one when nothing is pending."""
        if row.desired is None or not row.desired.generation:
            return None, None
        if row.applied is not None and row.applied.digest == row.desired.digest:
            return None, None
        applied = self.documents.desired(row.applied.digest) if row.applied else None
        return applied, self.documents.desired(row.desired.digest)

    def drift(
        self, row: StatusRow, *, drifted: bool
    ) -> tuple[tuple[DriftView, ...], tuple[DriftView, ...], float | None]:
        """What drifted, what is ignored of what differs, and when that was found."""
        run = row.last_drift
        if run is None or not (drifted or run.classes):
            return (), (), None
        result = self.store.runs.result(run.run_id)
        states = (result or {}).get("states") or {}
        past = self.store.drift.of(row.minion.id)
        found = tuple(
            DriftView(
                key=key,
                comment=str(entry.get("comment", "")),
                changes=entry.get("changes"),
                drift_class=_class_of(past, key, run.finished),
                evidence=entry.get("evidence") or {},
            )
            for key, entry in states.items()
            if drifted and entry.get("result") is not True
        )
        ignored = tuple(
            DriftView(key=key, ignored=entry["ignored"]) for key, entry in states.items() if entry.get("ignored")
        )
        return found, ignored, run.finished

    def unnamed(self, row: StatusRow, wanted: str | None) -> PruneView | None:
        """What no state names any more; `wanted`: a glob of it."""
        return prune_view(self.store.prune_reports.of(row.minion.id), wanted)

    def why_states(self, row: StatusRow, wanted: str | None) -> tuple[WhyState, ...]:
        """States that drifted, or of which something is ignored; `wanted`: a glob of IDs and names."""
        past, run = self.store.drift.of(row.minion.id), row.last_drift
        states = (self.store.runs.result(run.run_id) or {}).get("states") or {} if run else {}
        told = {key: entry for key, entry in states.items() if entry.get("ignored") or entry.get("result") is None}
        keys = [key for key in {**past, **told} if wanted is None or is_named(key, wanted)]
        return tuple(
            WhyState(
                key=key,
                drift_class=_class_of(past, key, self.reconciler.clock()),
                seen=tuple((one.at, one.what) for one in past.get(key, ())),
                changes=told.get(key, {}).get("changes"),
                ignored=told.get(key, {}).get("ignored"),
                evidence=told.get(key, {}).get("evidence") or {},
            )
            for key in keys
        )

    def history(self, query: HistoryQuery) -> list[HistoryEntry]:
        """Runs, newest first. ServiceError for a minion that is not known and has none, and a run that is not there."""
        found = self.store.runs.newest(
            minion=query.minion,
            kinds=_listed(query.kind),
            outcomes=_listed(query.outcome),
            before=query.before,
            limit=query.limit,
            aside=True,
        )
        if query.minion is not None and not found:
            self.known(query.minion)
        if query.before and not found and self.store.runs.get(query.before) is None:
            raise ServiceError("not-found", f"no run {query.before!r}", hint="`saltern history` lists the runs")
        return self.entries(found)

    def entries(self, runs: Iterable[RunRecord]) -> list[HistoryEntry]:
        """Runs in a line each."""
        return [self._entry(run) for run in runs]

    def run(self, run_id: str) -> RunView:
        """One run by its id or an unambiguous beginning of it."""
        found = self.store.runs.find(run_id, limit=2)
        exact = [run for run in found if run.run_id == run_id] or found
        if not exact:
            raise ServiceError("not-found", f"no run {run_id!r}", hint="`saltern history` lists the runs")
        if len(exact) > 1:
            raise ServiceError("bad-request", f"{run_id!r} is the beginning of several runs", hint="give more of it")
        run = exact[0]
        result = self.store.runs.result(run.run_id) or {}
        return RunView(
            entry=self._entry(run),
            keys=self.redactor.keys(run.minion, run.keys),
            states=result.get("states") or {},
            value=result.get("value"),
            error=result.get("error") or "",
        )

    def _entry(self, run: RunRecord) -> HistoryEntry:
        revision = self.store.revisions.get(run.revision) if run.revision else None
        return HistoryEntry(
            run_id=run.run_id,
            minion=run.minion,
            kind=run.kind,
            state=run.state,
            outcome=run.outcome,
            revision=revision.label if revision else "",
            test=run.test,
            created=run.created,
            started=run.started,
            finished=run.finished,
            seconds=run.seconds,
            changes=run.changes,
            failed=run.failed,
            summary=run.summary,
            cause=run.reason,
            classes=dict(run.classes),
            user=run.user,
            fun=run.fun,
            args=run.args,
        )


def _held(hold: HoldRecord | None) -> HeldPull | None:
    if hold is None or hold.rollback:
        return None
    return HeldPull(pull=pull_name(hold), head=hold.head, until=hold.until, user=hold.user)


def _taken_back(row: StatusRow) -> HeldRevision | None:
    hold = row.hold
    if hold is None or not hold.rollback:
        return None
    return HeldRevision(
        revision=row.attempted_label, rollback=hold.rollback, user=hold.user, since=hold.at, why=hold.why
    )


def _rendered_anew(changes: PushPlan, contents: Contents) -> bool:
    """Whether the content of a state changes while its sources are equal: its templates are given other values."""
    return any(one.kind is ChangeKind.CONTENT and not contents(one) for one in changes.changes)


def _lagging(unfetched: Sequence[str]) -> str:
    named = ", ".join(unfetched)
    waits = "has applied what this controller does not know; it waits until these remotes are fetched"
    return f"{waits}: {named} (`saltern sync` does not wait)" if named else ""


def _owing(pending_triggers: Sequence[str]) -> str:
    more = f" (+{len(pending_triggers) - 1} more)" if len(pending_triggers) > 1 else ""
    return f"still to act on a change: {pending_triggers[0]}{more}" if pending_triggers else ""


def _faulty(problems: Sequence[str]) -> str:
    more = f" (+{len(problems) - 1} more)" if len(problems) > 1 else ""
    return f"configuration: {problems[0]}{more}" if problems else ""


def healed_by(minion: str, policy: MinionPolicy) -> str:
    """What takes drift back."""
    if policy.shadow:
        return "in shadow: nothing is applied"
    return "healed by itself" if policy.drift.mode == "remediate" else f"to heal it: saltern sync {minion} --whole"


def _message(row: StatusRow, view: ObservedState, errors: Sequence[str], policy: MinionPolicy, now: float) -> str:
    """The one thing to know."""
    if errors:
        more = f" (+{len(errors) - 1} more)" if len(errors) > 1 else ""
        return f"compile error: {errors[0].splitlines()[0]}{more}"
    if health_of(view) is Health.FAILED and row.last_run is not None:
        last = f"{row.last_run.kind} {row.last_run.outcome}: {row.last_run.summary}"
        given_up = view.last_run is not None and policy.retry.wait(view.last_run.failures) is None
        return f"{last}; not tried again: retry.limit" if given_up else last
    match sync_of(view):
        case Sync.SHADOW:
            return _shadow_text(row, view)
        case Sync.UNKNOWN:
            return "nothing compiled yet"
        case Sync.OUT_OF_SYNC if not view.connected and policy.apply != "manual":
            return "applies when it connects"
        case Sync.OUT_OF_SYNC:
            shut = window_text(policy.windows, now) if policy.apply != "manual" else ""
            return f"waits for its window: {shut}" if shut else "waits for `saltern sync`"
        case Sync.PAUSED if not row.minion.paused:
            return SUSPENDED
        case Sync.PROGRESSING if row.open_run is not None:
            return f"{row.open_run.kind} {row.open_run.run_id}"
    if waits := unconfirmed_text(row, policy):
        return waits
    drift = ""
    if view.drift:
        states = f"{view.drift.chunks} state{'' if view.drift.chunks == 1 else 's'}"
        drift = f"drift in {states}{_class_text(row)}; {healed_by(row.minion.id, policy)}"
    if row.hold is not None:
        held = hold_text(row.hold, row.attempted_label)
        return f"{held}; {drift}" if drift else held
    if drift:
        return drift
    acting = _classes(row, view).get(DriftClass.NOT_CONVERGENT, 0)
    if acting:
        return f"{acting} state{'' if acting == 1 else 's'} changing at each run (not-convergent)"
    count = len(row.desired.warnings) if row.desired else 0
    return f"{count} warning{'s' if count > 1 else ''} of its compile" if count else ""


def _shadow_text(row: StatusRow, view: ObservedState) -> str:
    if not view.generation:
        return f"{SHADOW}; nothing compiled yet"
    if row.last_drift is None or row.desired is None or row.last_drift.digest != row.desired.digest:
        return f"{SHADOW}; not looked at yet"
    count = view.drift.chunks if view.drift else 0
    return f"{SHADOW}; a run would change {count or 'no'} state{'' if count == 1 else 's'}"


def _classes(row: StatusRow, view: ObservedState) -> Mapping[str, int]:
    """What the last drift check found, by class; drift only as long as nothing was run since."""
    found = row.last_drift.classes if row.last_drift else {}
    return (
        found if view.drift else {each: found[each] for each in (IGNORED, DriftClass.NOT_CONVERGENT) if each in found}
    )


def is_named(key: str, wanted: str) -> bool:
    """Whether a glob is of the ID, the name or the key of a state."""
    parts = key.split("_|-")
    return any(person_matcher().glob(wanted, part) for part in (*parts[1:3], short(key), key))


def _class_of(past: Past, key: str, now: float | None) -> str:
    found = drift_class(past.get(key, ()), now or 0.0)
    return found.value if found is not None else ""


def _class_text(row: StatusRow) -> str:
    classes = row.last_drift.classes if row.last_drift else {}
    shown = [each for each in classes if each not in (IGNORED, DriftClass.NOT_CONVERGENT)]
    return f" ({', '.join(shown)})" if shown else ""


def _texts(problems: Sequence[Problem]) -> tuple[str, ...]:
    return tuple(str(problem) for problem in problems)


def _listed(text: str) -> tuple[str, ...]:
    """Words with commas between them."""
    return tuple(each for each in text.split(",") if each)
