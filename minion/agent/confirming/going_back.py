"""Goes back from what nobody confirmed, where no controller can say so: what the agent has to know, and the run.

Part of the agent, which tells what the controller says and what runs, and asks `look` at each turn of its loop, before
workers are given to runs. What is decided is in `decision`. Level-triggered: what waits follows from what runs, and
from what was applied last, so that an agent that was killed anywhere goes on.
"""

from __future__ import annotations

import logging
import secrets
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import msgspec

from minion.agent.autonomy.decision import Tries, Wait
from minion.agent.autonomy.known_time import boot_id, counted, told
from minion.agent.confirming.decision import EndRun, GoBack, UnconfirmedSituation, decide
from minion.agent.confirming.kept import KeptConfirmation, Mark, passed
from minion.agent.ended_run import EndedRun
from minion.spool.desired_state import DesiredState
from minion.spool.outbox import HEALED
from reactors.clock_steps import boot_time
from reactors.confirmation import ConfirmRules
from wire.errors import PatchMismatch
from wire.messages import Confirmed, OwnRun, Run

log = logging.getLogger(__name__)

_KEEP_TIME_EVERY = 60.0
"""Seconds between two writes of the time that is left."""
_TRY_AGAIN = 10.0
"""Seconds until it is tried again, where the document to go back to cannot be put in place."""


@dataclass(frozen=True, slots=True)
class WayBack:
    """What is to be held from now on, and run."""

    document: Path
    run: Run


def _wall() -> float:
    return time.time()


class OwnWayBack:
    """What the minion knows of confirmations. Times are monotonic seconds, but for those of `Mark`."""

    def __init__(self, cachedir: Path, minion_id: str, now: float, *, wall: Callable[[], float] = _wall) -> None:
        """Go on from what an earlier agent left."""
        self._id, self._boot, self._wall = minion_id, boot_id(), wall
        self._file = KeptConfirmation(cachedir)
        self._alone_since: float | None = now
        self._failed_at = now
        self._told = ""
        self.due_at = float("inf")

    @property
    def digest(self) -> str:
        """Of the rules."""
        return self._file.kept.digest

    @property
    def problems(self) -> tuple[str, ...]:
        """Why it could not go back, for the controller."""
        kept = self._file.kept
        if kept.digest and kept.rules is None:
            return ("it does not go back by itself from what nobody confirms: update this minion",)
        return ()

    def accept(self, message: Confirmed, desired: DesiredState) -> None:
        """The controller says what is confirmed. What cannot be kept is said again after the next Hello."""
        if not message.digest:
            self._file.change(digest="", rules=None, waiting="", begun=False, failures=0)
            self._file.forget_others()
            return
        try:
            rules = msgspec.convert(message.rules, ConfirmRules)
        except msgspec.ValidationError as error:
            log.error("event=confirmed_refused do=%s error=%s", "update this minion", error)
            self._file.change(digest=message.digest, rules=None)
            return
        try:
            if not self._file.has_document(rules.confirmed):
                packed = desired.packed_patch(message.base, message.patch, rules.confirmed)
                self._file.keep_document(rules.confirmed, packed)
        except (OSError, PatchMismatch) as error:
            log.error("event=confirmed_not_stored error=%s", error)
            return
        self._follow(message.digest, rules)
        self._file.forget_others()

    def _follow(self, digest: str, rules: ConfirmRules) -> None:
        before, waiting = self._file.kept, self._file.kept.waiting
        self._file.change(digest=digest, rules=rules)
        if waiting == rules.confirmed:
            self._file.change(waiting="", begun=False, failures=0)
        elif rules.waiting and waiting != rules.waiting:
            self._begin_to_wait(rules.waiting, rules.seconds, begun=False)
        elif waiting and before.rules is not None and before.rules.seconds != rules.seconds:
            self._file.change(left=before.left + rules.seconds - before.rules.seconds)

    def time_told(self, at: float) -> None:
        """A controller says what the time is, in seconds since the epoch."""
        rules = self._file.kept.rules
        if rules is not None and rules.windows and (known := told(at, boot_time(), self._boot)):
            self._file.change(known=known)

    def ended(self, run: EndedRun, now: float) -> None:
        """A run of states has ended."""
        kept = self._file.kept
        if not run.changed_machine or kept.rules is None:
            return
        if run.own and run.digest == kept.rules.confirmed and not run.good:
            self._failed_at = now
            self._file.change(failures=kept.failures + 1)
        elif run.digest == kept.waiting and kept.fresh and kept.begun and run.outcome == "ok":
            self._file.change(waiting="", begun=False, failures=0)

    def look(
        self, desired: DesiredState, now: float, *, running: str, busy: bool, let_in: bool
    ) -> WayBack | EndRun | None:
        """What to do now.

        Args:
            desired: what the minion holds.
            now: monotonic seconds.
            running: digest of the document that a controller has had run, while that run goes on or waits to.
            busy: whether states run, or wait to.
            let_in: whether a controller has let the minion in.
        """
        if let_in:
            self._alone_since, self._told = None, ""
        elif self._alone_since is None:
            self._alone_since = now
        self.due_at = float("inf")
        if self._file.kept.rules is None:
            return None
        self._see(desired.applied, running)
        decision = decide(self._situation(now, running=running, busy=busy), self._wall(), self._counted())
        if isinstance(decision, Wait):
            if decision.seconds is not None:
                self.due_at = now + decision.seconds
            self._tell(decision.why)
            return None
        return self._way_back(desired, now) if isinstance(decision, GoBack) else decision

    def _see(self, applied: str, running: str) -> None:
        """Follow what runs, and what was applied last."""
        kept, rules = self._file.kept, self._file.kept.rules
        if rules is None:
            return
        if running:
            if running not in (rules.confirmed, kept.waiting):
                self._begin_to_wait(running, rules.seconds + rules.run_seconds, begun=True)
        elif kept.waiting and applied == rules.confirmed:
            self._file.change(waiting="", begun=False, failures=0)
        elif kept.waiting and kept.begun:
            self._begin_to_wait(kept.waiting, rules.seconds, begun=False)
        elif kept.waiting and passed(kept.since, self._mark()) >= _KEEP_TIME_EVERY and kept.left > 0:
            self._file.change(left=self._left(), since=self._mark())

    def _begin_to_wait(self, digest: str, seconds: float, *, begun: bool) -> None:
        fresh = begun and not self._file.kept.waiting
        self._file.change(waiting=digest, left=seconds, since=self._mark(), begun=begun, fresh=fresh, failures=0)

    def _mark(self) -> Mark:
        return Mark(wall=self._wall(), steady=boot_time(), boot=self._boot)

    def _left(self) -> float:
        return max(0.0, self._file.kept.left - passed(self._file.kept.since, self._mark()))

    def _situation(self, now: float, *, running: str, busy: bool) -> UnconfirmedSituation:
        kept = self._file.kept
        return UnconfirmedSituation(
            rules=kept.rules,
            waiting=kept.waiting,
            left=self._left() if kept.waiting else 0.0,
            alone=None if self._alone_since is None else now - self._alone_since,
            running=bool(running),
            busy=busy,
            failures=Tries(count=kept.failures, age=now - self._failed_at),
        )

    def _counted(self) -> float | None:
        """See `decide`. Kept now and then, so that a restarted machine knows which times are past."""
        kept, wall = self._file.kept, self._wall()
        if kept.rules is None or not kept.rules.windows:
            return wall
        known = counted(kept.known, wall, boot_time(), self._boot)
        if known is None:
            return None
        if known.boot != kept.known.boot or known.time - kept.known.time >= 10 * _KEEP_TIME_EVERY:
            self._file.change(known=known)
        return known.time

    def _way_back(self, desired: DesiredState, now: float) -> WayBack:
        kept, alone = self._file.kept, now - (self._alone_since or now)
        confirmed = kept.rules.confirmed if kept.rules is not None else ""
        self._told = ""
        run_id = f"{HEALED}{self._id}-{int(self._wall() * 1000):012x}{secrets.token_hex(5)}"
        log.warning(
            "event=goes_back run_id=%s from=%s to=%s seconds_without_controller=%.0f",
            run_id,
            kept.waiting[:12],
            confirmed[:12],
            alone,
        )
        run = Run(
            run_id=run_id,
            kind="remediate",
            generation=desired.generation,
            digest=confirmed,
            own=OwnRun(drift_run="", alone=alone, back_from=kept.waiting),
        )
        return WayBack(self._file.document_path, run)

    def not_begun(self, now: float, error: Exception) -> None:
        """The document could not be read, or put in place: it is tried again."""
        log.error("event=cannot_go_back error=%s", error)
        self.due_at = now + _TRY_AGAIN

    def _tell(self, why: str) -> None:
        """Log why nothing is done, once."""
        if why and why != self._told:
            log.info("event=unconfirmed_left reason=%s", why)
            self._told = why
