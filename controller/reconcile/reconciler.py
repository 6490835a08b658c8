"""The loop's shell: takes minions from a work queue, asks `reconcile` what to do, does it.

Triggers (a push, a message, a timer, a person) only put a minion's id into the queue with `wake`. What is to be done
follows from the store and the fleet, so that after a crash asking again is enough. It must not decide anything itself.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Any, assert_never

import structlog
from cachetools import LRUCache

from controller.observe.drift_classes import DriftClass, acts_each_time
from controller.observe.metrics import Metrics
from controller.observe.push_check import PushChecks
from controller.observe.redactor import Redactor
from controller.observe.run_text import LONGEST_SUMMARY, requested
from controller.policy.policy import MinionPolicy
from controller.reconcile.confirmations import ConfirmationKeeper
from controller.reconcile.deciding.confirming import ForgetConfirmation, NoteConfirmation, TakeBack
from controller.reconcile.deciding.decision import reconcile
from controller.reconcile.deciding.instructions import (
    AfterRun,
    Apply,
    ApplyMissed,
    ApplyRequested,
    CheckPush,
    CheckRun,
    Decline,
    Declined,
    Instruction,
    JoinRun,
    LookInShadow,
    ReleaseHold,
    Remediate,
    RemediateApplied,
    RequeueAfter,
    Resend,
    SendApplied,
    SendAutonomy,
    SendConfirmed,
    SendDesired,
    SkipCheck,
    TakeApplied,
    TimeOutRun,
    WaitForRemotes,
    WithConnection,
)
from controller.reconcile.deciding.observed_state import ObservedState, Request
from controller.reconcile.documents import Documents
from controller.reconcile.gating import OpenGate, RolloutGate
from controller.reconcile.holds import hold_text, is_superseded, release
from controller.reconcile.jids import Jids
from controller.reconcile.links import LinkFinder
from controller.reconcile.live import LiveRevision
from controller.reconcile.observation import GOOD, NO_STREAK, Streak, Streaks, is_by_minion, observe
from controller.reconcile.plan import PushPlan, plan, with_needs
from controller.reconcile.plan_text import headline
from controller.reconcile.queue import WorkQueue
from controller.reconcile.remote_lag import RemoteLag
from controller.reconcile.revision_sources import moved_text
from controller.reconcile.runs.causes import RunCauses
from controller.reconcile.runs.open_runs import OpenTests, RunAges
from controller.reconcile.runs.starter import RunRequest, RunStarter
from controller.reconcile.sending import DocumentSender
from controller.reconcile.touched import TouchedStates
from controller.sessions.outbox import MinionOutbox
from controller.sessions.room import LOOK_SECONDS, Room
from controller.sessions.sessions import Session, Sessions
from controller.store import (
    AppliedRecord,
    DesiredRecord,
    RevisionRecord,
    RunRecord,
    StatusRow,
    Store,
    StoreError,
    StoreUnavailable,
)
from reactors.bus import Bus
from reactors.clock_steps import ClockSteps
from reactors.windows import look, window_text
from wire.messages import CheckCalls
from wire.server.server import Server

log = structlog.get_logger("saltern.reconcile")

SUSPENDED = "suspended in saltern.yaml"
SHADOW = "in shadow by saltern.yaml"
"""Nothing is applied there, and no function called that may change something."""
RETRY_SECONDS = 10.0
"""Until a minion is looked at again after an error of ours."""
MOST_TOGETHER = 64
"""Minions for which a transaction writes what they shall do: its messages are in memory until it is committed."""
MOST_AT_ONCE = 256
"""Minions that are looked at before other work of the loop has its turn."""
_REVISIONS = 32
"""That are kept ready."""
GATHER_SECONDS = 0.02
"""At most, from one step to the next."""


@dataclass(slots=True, kw_only=True)
class Reconciler:
    """The work queue of a controller: takes minions from it, decides, and carries out the instructions."""

    store: Store
    sessions: Sessions
    server: Server
    documents: Documents
    bus: Bus
    metrics: Metrics
    redactor: Redactor
    """Takes secrets out of the names of states that are kept of runs."""
    ids: Jids
    clock: Callable[[], float]
    run_timeout: float
    live: LiveRevision = field(default_factory=LiveRevision)
    lag: RemoteLag = field(default_factory=RemoteLag)
    rollouts: RolloutGate = field(default_factory=OpenGate)
    room: Room = field(default_factory=Room)
    confirmations: ConfirmationKeeper = field(init=False)
    causes: RunCauses = field(init=False)
    _queue: WorkQueue = field(init=False)
    _ages: RunAges = field(init=False)
    _steps: ClockSteps = field(init=False)
    _causes: dict[str, int] = field(default_factory=dict)
    """Minion -> id of the event that changed its desired state and woke it."""
    _failures: dict[str, Streak] = field(default_factory=dict)
    _remediations: dict[str, Streak] = field(default_factory=dict)
    _checks: PushChecks = field(init=False)
    _tests: OpenTests = field(init=False)
    _touched: TouchedStates = field(init=False)
    _looked: dict[str, str] = field(default_factory=dict)
    """Minion in shadow -> digest of the document that it was asked to look at: it is asked once for each."""
    _links: LinkFinder = field(default_factory=LinkFinder, init=False)
    _outbox: MinionOutbox = field(init=False)
    _send: DocumentSender = field(init=False)
    _runs: RunStarter = field(init=False)
    _revisions: LRUCache[str, RevisionRecord] = field(default_factory=lambda: LRUCache(_REVISIONS), init=False)
    """Of the store, by their digests."""
    _requests: dict[str, Request] = field(default_factory=dict)
    """Requests of people, by minion; only while they are decided."""
    _answers: dict[str, str | Declined | AfterRun] = field(default_factory=dict)
    """Answers to requests: the id of a run, or why there is none."""

    def __post_init__(self) -> None:
        self._queue = WorkQueue(self.clock)
        self.causes = RunCauses(self.store, self.bus)
        self._ages, self._steps = RunAges(self.clock), ClockSteps(self.clock)
        self.confirmations = ConfirmationKeeper(store=self.store, bus=self.bus, clock=self.clock)
        self._checks = PushChecks(store=self.store, bus=self.bus, metrics=self.metrics)
        self._tests = OpenTests(self.store, self.clock)
        self._touched = TouchedStates(store=self.store, documents=self.documents, bus=self.bus)
        self._outbox = MinionOutbox(
            store=self.store, bus=self.bus, server=self.server, count=self.metrics.sent, failed=self._retry
        )
        self._send = DocumentSender(documents=self.documents, outbox=self._outbox)
        self._runs = RunStarter(
            store=self.store,
            bus=self.bus,
            outbox=self._outbox,
            ids=self.ids,
            clock=self.clock,
            causes=self.causes,
            ages=self._ages,
            tests=self._tests,
        )

    # --- the queue ---

    def wake(self, minions: Iterable[str], cause: int = 0) -> None:
        """Look at these minions soon; `cause`: id of the event that a run follows from, if one does."""
        minions = list(minions)
        if cause:
            self._causes.update(dict.fromkeys(minions, cause))
        self._queue.add(minions)

    def waiting(self) -> int:
        """How many minions are to be looked at now."""
        return len(self._queue)

    async def run(self) -> None:
        """Work until cancelled."""
        clock = asyncio.get_running_loop().time
        while True:
            batch = await self._queue.take(MOST_AT_ONCE)
            began = clock()
            if batch:
                self.step(batch)
            # A look at one minion costs a fifth of a look at ten: those who come meanwhile are looked at together.
            await asyncio.sleep(0 if self._queue.has_due else min(clock() - began, GATHER_SECONDS))

    def step(self, minions: Iterable[str]) -> None:
        """Reconcile these minions once. A failure requeues its own minion and delays no other."""
        self._follow_clock(self._steps.taken())
        now = self.clock()
        for minion in minions:
            self.room.leave(minion)
        try:
            rows = self.store.minions.status(sorted(minions))
        except StoreError as error:
            log.error("store does not answer; retrying", error=str(error))
            for minion in minions:
                self._retry(minion)
            return
        self.metrics.reconciled(len(rows))
        for at in range(0, len(rows), MOST_TOGETHER):
            self._reconcile_all(rows[at : at + MOST_TOGETHER], now)
        self._let_in(now)

    def _let_in(self, now: float) -> None:
        """Look at minions whose documents wait: now where there is room, else soon."""
        self._queue.add(self.room.next(MOST_TOGETHER))
        if (first := self.room.first()) is not None:
            self._queue.add_by(first, now + LOOK_SECONDS)

    def _reconcile_all(self, rows: Sequence[StatusRow], now: float) -> None:
        """Reconcile minions in one transaction."""
        try:
            with self._outbox.together():
                for row in rows:
                    try:
                        self._reconcile(row, now)
                    except StoreUnavailable:
                        raise
                    except Exception:
                        log.exception("reconcile failed; retrying", minion=row.minion.id)
                        self._retry(row.minion.id)
        except StoreUnavailable as error:
            log.error("what minions shall do is not stored; retrying", count=len(rows), error=str(error))
            for row in rows:
                self._retry(row.minion.id)

    def _retry(self, minion: str) -> None:
        self._queue.add_at(minion, self.clock() + RETRY_SECONDS)

    def _follow_clock(self, step: float) -> None:
        """The clock was set by so many seconds: what counts from a time counts from the same moment."""
        if step:
            log.warning("the clock was set", seconds=round(step, 1))
            for streaks in (self._failures, self._remediations):
                streaks.update({minion: replace(each, at=each.at + step) for minion, each in streaks.items()})

    def _reconcile(self, row: StatusRow, now: float) -> None:
        policy = self.policy_of(row)
        state = self.observed_under(row, policy, now)
        if (run := state.open_run) is not None:
            asked_at = self._ages.asked_at(row.minion.id, run.run_id, run.asked_at, now)
            state = replace(state, open_run=replace(run, asked_at=asked_at))
        self.rollouts.saw(row.minion.id, state)
        instructions = reconcile(state, policy, now, run_timeout=self.run_timeout)
        if self._waits_for_room(row.minion.id, instructions):
            return
        for instruction in instructions:
            self._carry_out(row, instruction, now)

    def _waits_for_room(self, minion: str, instructions: Sequence[Instruction]) -> bool:
        """Whether a minion would be sent a whole document, and there is no room for it: then it is looked at again."""
        if not any(isinstance(each, SendDesired | SendApplied) for each in instructions):
            return False
        session = self.sessions.session(minion)
        if session is None or minion in self._requests or self.documents.document(session.held) is not None:
            return False  # it gets what is new
        return not self.room.enter(minion)

    # --- observed state ---

    def policy_of(self, row: StatusRow) -> MinionPolicy:
        """What the policy says for a minion."""
        minion, session = row.minion.id, self.sessions.session(row.minion.id)
        grains = session.grains if session is not None else None
        attempted = self._attempted(row)
        return self.live.policy_of(minion, attempted, grains, lambda: self.grains_of(minion))

    @staticmethod
    def _attempted(row: StatusRow) -> str:
        """Digest of the revision whose policy holds for a minion; empty: the live one's."""
        return row.desired.revision if row.desired and row.hold is None else ""

    def forbidden(self, minion: str, *, manual: bool) -> str:
        """Why the policy forbids that states are run on a minion now; empty where it does not.

        `manual`: a person asks for it, whom a window may let pass.
        """
        if not self.live.has_bounds:
            return ""
        rows = self.store.minions.status([minion])
        if rows and (waits := self.rollouts.waits(rows[0])):
            return waits
        policy = self.policy_of(rows[0]) if rows else self.live.policy
        if policy.applies_nothing:
            return SHADOW if policy.shadow else SUSPENDED
        window = look(policy.windows, now := self.clock())
        return "" if window.open or (manual and window.manual) else window_text(policy.windows, now)

    def shadowed(self, minions: Collection[str]) -> frozenset[str]:
        """Those of these minions that the policy has only looked at."""
        if not self.live.has_bounds:
            return frozenset()
        rows = {row.minion.id: row for row in self.store.minions.status(sorted(minions))}
        policies = {each: self.policy_of(rows[each]) if each in rows else self.live.policy for each in minions}
        return frozenset(each for each, policy in policies.items() if policy.shadow)

    def grains_of(self, minion: str) -> Mapping[str, Any]:
        """What a minion said last."""
        found = self.store.minions.get(minion)
        return found.grains if found is not None else {}

    def observed(self, row: StatusRow) -> ObservedState:
        """The facts about one minion."""
        return self.observed_under(row, self.policy_of(row))

    def observed_under(self, row: StatusRow, policy: MinionPolicy, now: float | None = None) -> ObservedState:
        """The same, for who knows already what the policy says for it (`policy_of`), and what time it is."""
        minion, now = row.minion.id, self.clock() if now is None else now
        streaks = Streaks(
            failures=self._failures.get(minion, NO_STREAK),
            remediations=self._remediations.get(minion, NO_STREAK),
            touched=self._touched.streak(minion, now),
            checked=self._checks.checked.get(minion, ""),
            missed=self._checks.missed_in(minion),
        )
        request = self._requests.get(minion)
        lags, gated = bool(self.unfetched(row)), bool(self.rollouts.waits(row))
        state = observe(
            row,
            self.sessions.session(minion),
            streaks,
            request,
            suspended=policy.suspend,
            looked=self._looked.get(minion, "") if policy.shadow else None,
            visited=self.live.visited(minion),
            lags=lags,
            gated=gated,
            taken_back=self._taken_back(row),
            superseded=self._superseded(row),
            acting=self._acting(row),
            open_tests=self._tests.of(minion, self.sessions.session(minion), now),
        )
        # After a restart the policy of a minion may not be known yet: that forgets no confirmation.
        if state.confirmation is None or self.live.knows(self._attempted(row)):
            return state
        return replace(state, confirmation=None, knows_confirmed=False)

    def _superseded(self, row: StatusRow) -> bool:
        """Whether a minion that was taken back shall have what is live, which is compiled for it."""
        hold, live = row.hold, self.live.digest
        if hold is not None and (hold.revision, hold.taken) == (live, self.live.label):
            return False  # taken back from what grains or pillar made of the same revision
        if hold is None or not hold.rollback or row.compiled_for != live or row.desired is None or row.desired.errors:
            return False
        position = self.store.revisions.position
        return is_superseded(hold, held=position(hold.revision), live=position(live))

    def _taken_back(self, row: StatusRow) -> bool:
        """Whether what a minion has was taken back; what an earlier revision says of it too stays."""
        desired, applied = row.desired, row.applied
        if applied is None or not self.rollouts.is_taken_back(applied.revision):
            return False
        return desired is None or applied.digest != desired.digest or self.rollouts.is_taken_back(desired.revision)

    def _acting(self, row: StatusRow) -> tuple[str, ...]:
        """See `ObservedState.acting`."""
        found = row.last_drift
        if found is None or not found.classes.get(DriftClass.NOT_CONVERGENT):
            return ()
        return tuple(sorted(acts_each_time(self.store.drift.of(row.minion.id))))

    def unfetched(self, row: StatusRow) -> tuple[str, ...]:
        """The remotes that have to be fetched before anything is decided for a minion."""
        documents = [each.digest for each in (row.desired, row.applied) if each is not None]
        return self.lag.unfetched(self.sessions.session(row.minion.id), documents)

    # --- instructions ---

    def _carry_out(self, row: StatusRow, instruction: Instruction, now: float) -> None:
        minion = row.minion.id
        match instruction:
            case Decline(why=answer) | JoinRun(run_id=answer) | (AfterRun() as answer):
                self._answers[minion] = answer
            case SkipCheck(run_id=run_id):
                self._checks.checked[minion] = run_id
            case RequeueAfter(time=time):
                self._queue.add_at(minion, time)
            case TimeOutRun(run_id=run_id):
                self._time_out(run_id, now)
            case WaitForRemotes():
                if seconds := self.lag.wait(minion):
                    self._queue.add_at(minion, now + seconds)
            case ReleaseHold():
                self._release(row)
            case NoteConfirmation() | ForgetConfirmation() | TakeBack():
                self.confirmations.carry_out(row, instruction, self.policy_of(row))
                if not isinstance(instruction, TakeBack):
                    self.wake([minion])
            case _:
                session = self.sessions.session(minion)
                if session is not None:  # else it disconnected meanwhile, and its next Hello wakes it
                    self._carry_out_there(row, session, instruction)

    def _carry_out_there(self, row: StatusRow, session: Session, instruction: WithConnection) -> None:
        """What needs a connection."""
        minion = row.minion.id
        match instruction:
            case SendDesired():
                self._send.document(session, row.desired)
            case SendApplied():
                self._send.document(session, row.applied)
            case SendAutonomy(rules=rules):
                self._send.autonomy(session, rules)
            case SendConfirmed(rules=rules):
                self._send.confirmed(session, rules)
            case TakeApplied():
                self._applied_without_run(row)
                self.wake([minion])
            case Apply(whole=whole):
                self._apply(row, session, whole)
            case ApplyRequested(whole=whole, test=test):
                self._apply_requested(row, session, whole=whole, test=test)
            case Remediate(drift_run=drift_run, touched=touched):
                self._remediate(row, session, drift_run, touched=touched)
            case RemediateApplied(drift_run=drift_run):
                self._remediate(row, session, drift_run, applied=True)
            case CheckPush(run_id=run_id):
                order = RunRequest(kind="drift", keys=None, reason=self._checks.begin(row, run_id), test=True)
                self._runs.start(row, session, order)
            case LookInShadow():
                why = f"in shadow: {self._revision_reason(row)}"[:LONGEST_SUMMARY]
                self._looked[minion] = row.desired.digest if row.desired else ""
                self._runs.start(row, session, RunRequest(kind="drift", keys=None, reason=why, test=True))
            case ApplyMissed(drift_run=drift_run):
                desired = self.documents.desired(row.desired.digest if row.desired else "")
                keys = with_needs(self._checks.take(minion) & desired.chunks.keys(), desired)
                order = RunRequest(kind="remediate", keys=keys, reason=f"missed by the plan {drift_run}")
                self._runs.start(row, session, order, event=self.causes.report(minion))
            case Resend(run_id=run_id):
                self._runs.resend(run_id, session)
            case CheckRun(run_id=run_id):
                self._outbox.send(session, CheckCalls(run_ids=(run_id,)), partial(session.sent.add, run_id))
            case _:
                assert_never(instruction)

    def _remediate(
        self, row: StatusRow, session: Session, drift_run: str, *, touched: bool = False, applied: bool = False
    ) -> None:
        """Put drift right: all of it, what somebody touched, or what was applied last (`RunRequest.applied`)."""
        minion, now, keys = row.minion.id, self.clock(), None
        event = self.causes.report(minion)
        if touched:
            keys = self._touched.begin(row, drift_run, now, event)
        else:
            streak = self._remediations.get(minion, NO_STREAK)
            self._remediations[minion] = Streak(count=streak.count + 1, at=now)
            held = row.applied if applied else row.desired
            keys = self._but_acting(minion, held.digest if held else "")
        request = RunRequest(kind="remediate", keys=keys, reason=f"drift {drift_run}", applied=applied)
        self._runs.start(row, session, request, event=event)

    def _but_acting(self, minion: str, digest: str) -> tuple[str, ...] | None:
        """The states to run for drift: those that act each time are left out; None: all."""
        acting = acts_each_time(self.store.drift.of(minion))
        if not acting:
            return None
        return tuple(key for key in self.documents.desired(digest).chunks if key not in acting)

    def _nothing_drifts(self, run_id: str) -> bool:
        """Whether a drift check has found nothing but states that act each time."""
        run = self.store.runs.get(run_id)
        acting = run.classes.get(DriftClass.NOT_CONVERGENT, 0) if run is not None else 0
        return run is not None and acting > 0 and run.changes + run.failed == acting

    def _release(self, row: StatusRow) -> None:
        why = "a newer revision is live" if row.hold and row.hold.rollback else "its time is over"
        for event in release(self.store, self.bus, [row.hold] if row.hold else [], why):
            self.wake([row.minion.id], cause=event.id)

    def _time_out(self, run_id: str, now: float) -> None:
        run = self.store.runs.get(run_id)
        summary = f"no result within {self.run_timeout:g} s"
        if run is None:
            return
        self._tests.ended(run)
        keys = self.redactor.keys(run.minion, run.keys)
        if self.store.runs.finish(run_id, "lost", finished=now, summary=summary, keys=keys):
            lost = self.bus.publish(
                f"saltern/run/{run_id}/lost", {"minion": run.minion}, cause=self.causes.run_event(run)
            )
            self.metrics.runs_ended(run.kind, [("lost", now - run.created, run_id)])
            self.ended(run, "lost", cause=lost.id)

    def _apply(self, row: StatusRow, session: Session, whole: bool) -> None:
        reason, keys, note = self._revision_reason(row), None, ""
        if not whole:
            changes = self._pending(row)
            if not changes.run and not self._prunes(row, changes):
                self._applied_without_run(row)
                return
            keys, note = changes.run, headline(changes)
        event = self._cause(row.minion.id)
        self._runs.start(row, session, RunRequest(kind="apply", keys=keys, reason=reason), note=note, event=event)

    def _prunes(self, row: StatusRow, changes: PushPlan) -> bool:
        """Whether a push without states to run takes some away, or prunes otherwise: then the minion looks."""
        if self.policy_of(row).prune == "off" or self.store.prune_reports.of(row.minion.id) is None:
            return False
        held = [self.documents.desired(each.digest) for each in (row.applied, row.desired) if each is not None]
        return bool(changes.changes) or len({str(each.drift.get("prune")) for each in held}) > 1

    def _revision_reason(self, row: StatusRow) -> str:
        """The revision that is applied, with what moved in it; or the pull request."""
        if row.hold is not None:
            asked = f", asked for by {row.hold.user}" if not row.hold.rollback else ""
            return f"{hold_text(row.hold, row.attempted_label)}{asked}"[:LONGEST_SUMMARY]
        known = self._revision(row.desired.revision) if row.desired else None
        about = moved_text(known) if known else ""
        return f"revision {row.attempted_label}{': ' if about else ''}{about}"[:LONGEST_SUMMARY]

    def _revision(self, digest: str) -> RevisionRecord | None:
        """A revision; what is used of it here never changes."""
        found = self._revisions.get(digest)
        if found is None and (found := self.store.revisions.get(digest)) is not None:
            self._revisions[digest] = found
        return found

    def _apply_requested(self, row: StatusRow, session: Session, *, whole: bool, test: bool) -> None:
        keys = None if whole else self._pending(row).run
        asked = self._requests[row.minion.id]
        words = ["sync", *(["--whole"] if asked.whole else []), *(["--test"] if test else [])]
        reason = requested(" ".join(words), asked.user)
        request = RunRequest(kind="preview" if test else "apply", keys=keys, reason=reason, test=test, user=asked.user)
        run = self._runs.start(row, session, request, event=self._causes[row.minion.id])
        self._answers[row.minion.id] = run.run_id

    def _pending(self, row: StatusRow) -> PushPlan:
        """The plan from the applied to the desired document of a minion that has both."""
        if row.applied is None or row.desired is None:
            raise ValueError(f"{row.minion.id} has nothing to compare")
        before, after = (self.documents.desired(each.digest) for each in (row.applied, row.desired))
        return plan(before, after, self._links.links_of)

    def _applied_without_run(self, row: StatusRow) -> None:
        """Record a new document without a run, when it changes no state: an unused pillar key, a removed state."""
        if row.desired is not None:
            cause = self._cause(row.minion.id)
            self._applied(minion=row.minion.id, document=row.desired, outcome="ok", run_id="", cause=cause)

    def _cause(self, minion: str) -> int:
        """The event that changed the desired state of the minion, or else that of its last failed run."""
        return self._causes.pop(minion, 0) or self.causes.report(minion)

    def request(self, minions: Sequence[str], request: Request, cause: int = 0) -> dict[str, str | Declined | AfterRun]:
        """Decide at once on a request of a person: the id of a run of each minion, or why there is none yet.

        `cause`: id of the event that says so.
        """
        answers: dict[str, str | Declined | AfterRun] = {}
        rows = self.store.minions.status(minions)
        for at in range(0, len(rows), MOST_TOGETHER):
            with self._outbox.together():
                answers |= {row.minion.id: self._answer(row, request, cause) for row in rows[at : at + MOST_TOGETHER]}
        return answers

    def _answer(self, row: StatusRow, request: Request, cause: int) -> str | Declined | AfterRun:
        minion = row.minion.id
        before = self._causes.pop(minion, 0)
        self._requests[minion], self._causes[minion] = request, cause
        try:
            self._reconcile(row, self.clock())
            return self._answers.pop(minion, Declined.UNREACHABLE)
        finally:
            del self._requests[minion], self._causes[minion]
            if before:
                self._causes[minion] = before

    # --- what came of it ---

    def together(self) -> AbstractContextManager[None]:
        """What `ended` is told inside is stored with few statements."""
        return self._outbox.together()

    def forget_run(self, run: RunRecord) -> None:
        """A run that says nothing of what is applied has ended."""
        self.causes.forget_run(run.run_id)
        self._tests.ended(run)

    def never_began(self, run: RunRecord) -> None:
        """A run that was asked for was lost on its way, and the minion begins it no more."""
        self.forget_run(run)
        self.wake([run.minion])

    def ended(self, run: RunRecord, outcome: str, cause: int = 0, back_from: str = "") -> None:
        """A run of the whole machine ended (once for each run): what it means for the minion's applied state.

        Args:
            run: which.
            outcome: how.
            cause: id of the event that says so.
            back_from: see `OwnRun.back_from`.
        """
        minion, now = run.minion, self.clock()
        self.causes.forget_run(run.run_id)
        self._tests.ended(run)
        session = self.sessions.session(minion)
        if session is not None and run.kind != "drift" and run.run_id in session.sent:
            session.applied = ""  # from before this run
        if outcome not in GOOD:
            self.causes.reported(minion, cause)
        if run.kind == "drift":
            self._checks.ended(run, outcome, cause)
            if outcome in GOOD or self._nothing_drifts(run.run_id):
                self._remediations.pop(minion, None)
        elif not run.test:
            if back_from:
                self.confirmations.went_back(minion, run.digest, back_from)
            self._changed(run, outcome, cause, now, back=bool(back_from))
        self.wake([minion])

    def _changed(self, run: RunRecord, outcome: str, cause: int, now: float, *, back: bool) -> None:
        """A run that changes the machine ended. `back`: by it the minion went back from what nobody confirmed."""
        minion = run.minion
        if is_by_minion(run.run_id) and not back:
            streak = self._remediations.get(minion, NO_STREAK)
            self._remediations[minion] = Streak(count=streak.count + 1, at=now)
            applied = self.store.applied.get(minion)
            if applied is None or applied.digest != run.digest:
                return  # a run of another document has ended since
        if outcome in GOOD:
            self._failures.pop(minion, None)
            # Going back is a change, whether or not a state had something to do: it confirms nothing.
            outcome = "changed" if back else outcome
            self._applied(minion=minion, document=run, outcome=outcome, run_id=run.run_id, cause=cause)
        else:
            streak = self._failures.get(minion, NO_STREAK)
            count = streak.count + 1 if streak.digest == run.digest else 1
            self._failures[minion] = Streak(digest=run.digest, count=count, at=now)

    def _applied(
        self, *, minion: str, document: RunRecord | DesiredRecord, outcome: str, run_id: str, cause: int
    ) -> None:
        """The minion has this document in full now."""
        revision = document.revision if isinstance(document, RunRecord) else document.compiled_revision
        self._outbox.apply(
            AppliedRecord(
                minion=minion,
                generation=document.generation,
                digest=document.digest,
                revision=revision,
                at=self.clock(),
                outcome=outcome,
            )
        )
        known = self._revision(revision)
        label = known.label if known else ""
        data = {"id": minion, "run": run_id, "generation": document.generation, "outcome": outcome}
        self.bus.publish(f"saltern/minion/{minion}/applied", data, cause=cause, revision=label)
        if known is not None and isinstance(document, RunRecord) and document.kind == "apply":
            trace = self.metrics.traces.trace_id(known.digest, known.first_seen)
            self.metrics.push_applied(max(0.0, self.clock() - known.first_seen), run_id, trace)
