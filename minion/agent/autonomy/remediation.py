"""Puts drift right while no controller is reached: what the agent has to know of it, and the run that does it.

Part of the agent, which tells what has ended, what the controller says, and whether one is reached, and asks `look` at
each turn of its loop. What is decided is in `decision`. Whatever is a duration is by the monotonic clock, so that
nobody who sets the clock of the machine makes a minion act; for windows see `known_time`.
"""

from __future__ import annotations

import logging
import secrets
from pathlib import Path

import msgspec

from minion.agent.autonomy.decision import DriftReport, RemediateAlone, Situation, Tries, Wait, decide
from minion.agent.autonomy.kept import MOST_ACTING, KeptFile
from minion.agent.autonomy.known_time import boot_id, counted, told
from minion.agent.drift_watch import WATCHED
from minion.agent.ended_run import EndedRun, ended_run
from minion.spool.desired_state import DesiredState
from minion.spool.outbox import HEALED
from reactors.clock_steps import boot_time
from reactors.remediation import AutonomyRules, touched_rest
from reactors.schedule import BadSchedule, known_zone
from wire.messages import Autonomy, OwnRun, Run, RunResult

log = logging.getLogger(__name__)

_KEEP_TIME_EVERY = 600.0
"""Seconds between two writes of what the time is."""


class OwnRemediation:
    """What the minion does by itself. Times are monotonic seconds."""

    def __init__(self, cachedir: Path, minion_id: str, now: float, last_drift: RunResult | None = None) -> None:
        """Go on from what an earlier agent left.

        Args:
            cachedir: of the minion.
            minion_id: its id.
            now: monotonic seconds.
            last_drift: the newest drift check that no controller has acknowledged.
        """
        self._id = minion_id
        self._boot = boot_id()
        self._file = KeptFile(cachedir)
        self._report: DriftReport | None = None
        self._alone_since: float | None = now
        self._failed_at = self._remediated_at = now
        self._told = ""
        self.due_at = float("inf")
        self.problems = self._look_for_problems()
        """Why nothing could be done, for the controller."""
        if last_drift is not None:
            self._checked(ended_run(None, last_drift, changed_machine=False), now)

    @property
    def digest(self) -> str:
        """Of the rules."""
        return self._file.kept.digest

    def accept(self, message: Autonomy) -> None:
        """The controller says what may be done while it is away."""
        try:
            rules = msgspec.convert(message.rules, AutonomyRules) if message.digest else None
        except msgspec.ValidationError as error:
            log.error("event=autonomy_refused do=%s error=%s", "update this minion", error)
            rules = None
        self._file.change(digest=message.digest, rules=rules, acting=())
        self.problems = self._look_for_problems()

    def time_told(self, time: float) -> None:
        """A controller says what the time is, in seconds since the epoch."""
        if known := told(time, boot_time(), self._boot):
            self._file.change(known=known)

    def ended(self, run: EndedRun, now: float) -> None:
        """A run of states has ended."""
        if run.kind == "drift":
            self._checked(run, now)
        elif run.kind in ("apply", "remediate") and run.changed_machine:
            self._changed(run, now)

    def look(self, desired: DesiredState, now: float, wall: float, *, reached: bool, busy: bool) -> Run | None:
        """The run to begin now.

        Args:
            desired: what the minion holds.
            now: monotonic seconds.
            wall: seconds since the epoch.
            reached: whether there is a connection on which a controller has proved its key.
            busy: whether states run, or wait to.
        """
        if reached:
            self._alone_since, self._told = None, ""
        elif self._alone_since is None:
            self._alone_since = now
        decision = decide(self._situation(desired, now, busy=busy), wall, self._counted(wall))
        if isinstance(decision, Wait):
            self.due_at = float("inf") if decision.seconds is None else now + decision.seconds
            self._tell(decision.why)
            return None
        self.due_at = float("inf")
        return self._begin(decision, desired, now, wall)

    def _counted(self, wall: float) -> float | None:
        """See `decide`. Kept now and then, so that a restarted machine knows which times are past."""
        kept = self._file.kept
        if kept.rules is None or not kept.rules.windows:
            return wall
        known = counted(kept.known, wall, boot_time(), self._boot)
        if known is None:
            return None
        if known.boot != kept.known.boot or known.time - kept.known.time >= _KEEP_TIME_EVERY:
            self._file.change(known=known)
        return known.time

    def _situation(self, desired: DesiredState, now: float, *, busy: bool) -> Situation:
        kept, report = self._file.kept, self._report
        touched = report is not None and report.touched
        count, age = kept.touched if touched else kept.remediations, now - self._remediated_at
        return Situation(
            rules=kept.rules,
            alone=None if self._alone_since is None else now - self._alone_since,
            report=report,
            held=desired.digest,
            applied=desired.applied,
            busy=busy,
            acting=frozenset(kept.acting),
            failures=Tries(count=kept.failures if kept.failed == desired.digest else 0, age=now - self._failed_at),
            remediations=Tries(count=count, age=age),
        )

    def _begin(self, decision: RemediateAlone, desired: DesiredState, now: float, wall: float) -> Run:
        kept, alone = self._file.kept, now - (self._alone_since or now)
        counts = {"touched": kept.touched + 1} if decision.report.touched else {"remediations": kept.remediations + 1}
        self._file.change(**counts)
        self._remediated_at, self._told = now, ""
        run_id = f"{HEALED}{self._id}-{int(wall * 1000):012x}{secrets.token_hex(5)}"
        log.warning(
            "event=remediates_alone run_id=%s drift=%s states=%d seconds_without_controller=%.0f",
            run_id,
            decision.report.run_id,
            len(decision.report.keys),
            alone,
        )
        return Run(
            run_id=run_id,
            kind="remediate",
            generation=desired.generation,
            digest=desired.digest,
            own=OwnRun(drift_run=decision.report.run_id, alone=alone),
            left_out=tuple(sorted(decision.left_out)),
        )

    def _checked(self, run: EndedRun, now: float) -> None:
        """A drift check has ended. One that came to no end says nothing."""
        touched, kept = run.run_id.startswith(WATCHED), self._file.kept
        if touched and now - self._remediated_at > touched_rest(kept.touched):
            self._file.change(touched=0)
        if run.differs:
            self._report = DriftReport(run_id=run.run_id, digest=run.digest, keys=run.differs, touched=touched)
        elif run.good and not touched and kept.failures and kept.failed == run.digest:
            # What failed may be what only a change sets off: it is tried again, as the controller would.
            self._report = self._report or DriftReport(run_id=run.run_id, digest=run.digest, keys=frozenset())
        elif run.good and not touched:
            self._report = None
            self._file.change(remediations=0)

    def _changed(self, run: EndedRun, now: float) -> None:
        """A run of a document that changes the machine has ended, whoever asked for it."""
        if run.good:
            self._report = None
        if not run.own:
            self._file.change(failures=0, failed="")
            return
        kept = self._file.kept
        acting = tuple(sorted({*kept.acting, *run.again})[:MOST_ACTING])
        if run.good:
            self._file.change(failures=0, failed="", acting=acting)
            return
        self._failed_at = now
        again = kept.failures if kept.failed == run.digest else 0
        self._file.change(failures=again + 1, failed=run.digest, acting=acting)

    def _tell(self, why: str) -> None:
        """Log why nothing is done, once."""
        if why and why != self._told:
            log.info("event=drift_left reason=%s", why)
            self._told = why

    def _look_for_problems(self) -> tuple[str, ...]:
        kept = self._file.kept
        wrong = "its rules are not understood: update this minion" if kept.digest and kept.rules is None else ""
        try:
            for window in kept.rules.windows if kept.rules is not None else ():
                known_zone(window.timezone)
        except BadSchedule as error:
            wrong = str(error)
        return (f"drift is not put right while no controller is reached: {wrong}",) if wrong else ()
