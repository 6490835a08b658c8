"""The shell of rollouts: begins them, has `decide` say how they go on, carries that out, and keeps the record first.

The record is written before anything of it is done, so that a controller that is killed goes on where it was. It must
not decide anything itself. `RolloutGate` of the reconciler is answered from memory.
"""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, field

import msgspec
import structlog
from msgspec.structs import replace

from controller.observe.rollout_metrics import RolloutMetrics
from controller.policy.rollout import Approvals
from controller.reconcile.deciding.observed_state import ObservedState
from controller.reconcile.documents import Documents
from controller.reconcile.jids import Jids
from controller.reconcile.live import LiveRevision
from controller.reconcile.observation import GOOD
from controller.reconcile.reconciler import Reconciler
from controller.reconcile.revision_sources import moved_text
from controller.rollouts.decision import (
    CheckGates,
    DecideAgainAt,
    GateState,
    Release,
    RollBack,
    RolloutInstruction,
    Seen,
    Standing,
    decide,
    standing_of,
)
from controller.rollouts.gates import Gates
from controller.rollouts.planning import PlannedRollout, RolloutMember, plan_rollout
from controller.rollouts.quarantine import CannotRollBack
from controller.rollouts.rollout import Consent, Phase, Rollout
from controller.sessions.sessions import Sessions
from controller.store import StatusRow, Store, StoreError
from gitfs.source import Trees
from highstate.types import Minion
from reactors.bus import Bus

log = structlog.get_logger("saltern.rollouts")

TICK_SECONDS = 1.0
"""Between two looks at a rollout about which nothing is heard: whether its minions are connected."""
TOGETHER_SECONDS = 0.05
"""News of minions in this time are looked at together."""

_DECODER = msgspec.msgpack.Decoder(Rollout)


_MOST_SHOWN = 200


class NotPossible(Exception):
    """What a person asks for does not fit where the rollout stands; the text says why and what does."""


@dataclass(slots=True, kw_only=True)
class RolloutReconciler:
    """The rollout of the live revision, and those before it."""

    store: Store
    live: LiveRevision
    sessions: Sessions
    documents: Documents
    reconciler: Reconciler
    bus: Bus
    metrics: RolloutMetrics
    ids: Jids
    gates: Gates
    roll_back: Callable[[Rollout], Awaitable[None]]
    """Takes the revision of a rollout back; CannotRollBack."""
    is_pinned: Callable[[], bool]
    """Whether the live revision stands in the place of one that was taken back: that goes everywhere at once."""
    is_taken_back: Callable[[str], bool]
    """Whether a revision, by its digest, was taken back: nobody begins it, before they are compiled against another."""
    clock: Callable[[], float]
    current: Rollout | None = None
    """The newest one of the live revision."""
    _planned: str = ""
    """Digest of the revision for which it is known whether there is a rollout."""
    _places: dict[str, int] = field(default_factory=dict)
    """Minion -> place of its batch."""
    _standings: dict[str, Standing] = field(default_factory=dict)
    _gates: tuple[GateState, float, str] = (GateState.UNKNOWN, 0.0, "")
    _event: int = 0
    """Id of the newest event of the current rollout."""
    _news: asyncio.Event = field(default_factory=asyncio.Event)
    _planning: asyncio.Lock = field(default_factory=asyncio.Lock)

    # --- what the reconciler asks ---

    def waits(self, row: StatusRow) -> str:
        """See `RolloutGate`."""
        if row.desired is None:
            return ""
        if not self.live.knows(row.desired.revision if row.hold is None else ""):
            return "saltern.yaml is not read yet"
        if row.hold is not None:
            return ""
        if self.is_taken_back(row.desired.revision):
            return f"{row.attempted_label} was taken back"
        if self.live.policy_for(row.desired.revision).rollout is None:
            return ""
        if self._planned != self.live.digest:
            return "the rollout is being planned" if row.applied is not None else ""
        if row.desired.revision != self.live.digest:  # what is live is being compiled for it
            return f"{row.attempted_label} is live no more" if row.applied is not None else ""
        rollout = self.current
        if rollout is None or rollout.phase is Phase.COMPLETED:
            return ""
        place = self._places.get(row.minion.id)
        if place is None:
            return self._waits_besides(rollout, row)
        if place < len(rollout.released) and rollout.phase in (Phase.PROGRESSING, Phase.WAITING, Phase.CONFIRMING):
            return ""
        return f"rollout {rollout.id} is {rollout.phase.value}: {rollout.batches[place].title}"

    @staticmethod
    def _waits_besides(rollout: Rollout, row: StatusRow) -> str:
        """One that the rollout did not know of: a new minion is free while it goes well, others come at its end."""
        if row.applied is None and rollout.phase in (Phase.PROGRESSING, Phase.WAITING, Phase.CONFIRMING):
            return ""
        return f"comes after rollout {rollout.id}, which is {rollout.phase.value}"

    def saw(self, minion: str, state: ObservedState) -> None:
        """See `RolloutGate`."""
        rollout = self.current
        if rollout is None or rollout.ended or minion not in self._places:
            return
        attempted = self.live.digest
        policy = self.live.policy_of(minion, attempted, None, lambda: self.reconciler.grains_of(minion))
        found = standing_of(state, policy, self.clock(), rollout.created)
        if self._standings.get(minion) is not found:
            self._standings[minion] = found
            self._news.set()

    # --- the beginning ---

    async def begin(self, trees: Trees) -> None:
        """All minions are compiled against trees: plan their rollout, or go on with it after a restart."""
        async with self._planning:
            lost = await self._begin(trees)
        if lost is not None:  # the controller was killed after it was decided, and before it was done
            await self._take_back(lost)

    async def _begin(self, trees: Trees) -> Rollout | None:
        """As `begin`; the rollout whose revision has still to be taken back."""
        revision = self.live.digest
        if trees.revision.digest == revision and self._planned != revision:
            newest = self._newest()
            if newest is not None and newest.revision == revision and newest.phase is not Phase.SUPERSEDED:
                self._take(newest, revision)
                return newest if newest.phase is Phase.ROLLED_BACK else None
            if newest is not None and not newest.ended:
                superseded = replace(newest, phase=Phase.SUPERSEDED, since=self.clock())
                self._keep(superseded, "superseded", {"by": self.live.label})
            rollout = None if self.is_pinned() else await self._plan(revision)
            if self.live.digest == revision:
                if rollout is not None:
                    self._event = self.live.event
                    self._keep(rollout, "started", {"minions": rollout.size, "batches": len(rollout.batches)})
                self._take(rollout, revision)
        return None

    def _newest(self) -> Rollout | None:
        found = self.store.rollouts.newest(1)
        return _DECODER.decode(found[0]) if found else None

    async def _plan(self, revision: str) -> Rollout | None:
        policy = self.live.policy.rollout
        if policy is None:
            return None
        members = self._members()
        if not members:
            return None
        planned = await asyncio.to_thread(plan_rollout, policy, members, self.documents.desired)
        record = self.store.revisions.get(revision)
        return Rollout(
            id=self.ids.next(),
            revision=revision,
            label=self.live.label,
            about=moved_text(record) if record else "",
            created=self.clock(),
            since=self.clock(),
            policy=policy,
            batches=planned.batches,
            needs=_needed(policy.approvals, planned),
        )

    def _members(self) -> list[RolloutMember]:
        """Minions that have something and shall have something else."""
        grains = {one.id: one.grains for one in self.store.minions.all()}
        found = []
        for row in self.store.minions.status():
            desired, applied, one = row.desired, row.applied, row.minion.id
            if desired is None or applied is None or desired.errors or row.hold:
                continue
            reached = _reached(row, desired.digest) or applied.digest
            if reached != desired.digest:
                minion = Minion(id=one, grains=grains.get(one, {}))
                there = self.sessions.session(one) is not None
                found.append(RolloutMember(minion=minion, connected=there, applied=reached, desired=desired.digest))
        return found

    def _take(self, rollout: Rollout | None, revision: str) -> None:
        """Let this be the rollout of the live revision (None: it has none), and have minions looked at."""
        self.current, self._planned, self._gates = rollout, revision, (GateState.UNKNOWN, 0.0, "")
        batches = rollout.batches if rollout is not None else ()
        self._places = {minion: place for place, batch in enumerate(batches) for minion in batch.minions}
        self._standings = {}
        if self.live.policy.rollout is not None:
            self.reconciler.wake([row.id for row in self.store.minions.all()], cause=self._event)
        self._news.set()

    # --- going on ---

    async def run(self) -> None:
        """Work until cancelled."""
        again = float("inf")
        while True:
            active = self.current is not None and not self.current.ended
            limit = min(TICK_SECONDS, max(0.0, again - self.clock())) if active else None
            with contextlib.suppress(TimeoutError):
                async with asyncio.timeout(limit):
                    await self._news.wait()
            await asyncio.sleep(TOGETHER_SECONDS)
            self._news.clear()
            try:
                again = await self._step()
            except StoreError as error:
                log.error("store cannot be used; retrying", error=str(error))
                again = self.clock() + TICK_SECONDS

    async def _step(self) -> float:
        """Decide until nothing changes; when to decide again."""
        again = float("inf")
        while (rollout := self.current) is not None and not rollout.ended:
            changed, instructions = decide(rollout, self._seen(rollout), self.clock())
            if changed != rollout:
                self._changed(rollout, changed)
            for each in instructions:
                again = min(again, await self._carry_out(changed, each))
            if changed == rollout and not any(isinstance(each, CheckGates) for each in instructions):
                break
        return again

    def _seen(self, rollout: Rollout) -> Seen:
        """What is observed of minions of the batches that are released, and of the one that comes next."""
        shown = rollout.batches[: rollout.current + 1]
        found = {}
        for minion in (each for batch in shown for each in batch.minions):
            known = self._standings.get(minion, Standing.PENDING)
            if known in (Standing.PENDING, Standing.WAITING, Standing.GOOD) and self.sessions.session(minion) is None:
                known = Standing.ABSENT
            elif known is Standing.ABSENT and self.sessions.session(minion) is not None:
                known = Standing.PENDING
            found[minion] = known
        return Seen(standings=found, gates=self._gates[0], gates_at=self._gates[1], gates_why=self._gates[2])

    async def _carry_out(self, rollout: Rollout, instruction: RolloutInstruction) -> float:
        """Do it; when to look again."""
        match instruction:
            case DecideAgainAt(time=time):
                return time
            case Release(minions=minions):
                self.reconciler.wake(minions, cause=self._event)
            case CheckGates():
                batch = rollout.batch
                problem = await self.gates.check(rollout, batch.gates) if batch is not None else ""
                state = GateState.FAILED if problem else GateState.PASSED
                self._gates = (state, self.clock(), problem)
                if self.current is not None and self.current.id == rollout.id:
                    self._news.set()
            case RollBack():
                await self._take_back(rollout)
        return float("inf")

    async def _take_back(self, rollout: Rollout) -> None:
        """Take its revision back; where there is none to go back to, the rollout has failed, and stops."""
        try:
            await self.roll_back(rollout)
        except CannotRollBack as error:
            why = f"{rollout.why}; it cannot be taken back: {error}"
            log.error("rollout cannot be taken back", id=rollout.id, revision=rollout.label, why=str(error))
            self._changed(rollout, replace(rollout, phase=Phase.FAILED, since=self.clock(), why=why))

    def _changed(self, before: Rollout, after: Rollout) -> None:
        """Keep what was decided, and say it."""
        if after.current != before.current or after.released_at != before.released_at:
            self._gates = (GateState.UNKNOWN, 0.0, "")
        batch = after.batch
        if after.released_at is not None and before.released_at is None and batch is not None:
            data = {"wave": batch.wave, "canary": batch.canary, "minions": list(batch.minions[:100])}
            self._keep(after, "released", {**data, "count": len(batch.minions), "place": after.current + 1})
        if after.phase is not before.phase and not (
            after.phase is Phase.PROGRESSING and before.phase is Phase.PROGRESSING
        ):
            self._keep(after, after.phase.value.lower(), {"why": after.why})
        else:
            self._keep(after, "", {})
        if after.ended:
            self.metrics.ended(after.phase.value)
            self.reconciler.wake(self._places, cause=self._event)

    def _keep(self, rollout: Rollout, said: str, data: Mapping[str, object]) -> None:
        """Store it, then say it."""
        self.store.rollouts.put(rollout.id, msgspec.msgpack.encode(rollout))
        if self.current is not None and self.current.id == rollout.id:
            self.current = rollout
        self.metrics.phase(rollout.phase.value)
        if said:
            log.info("rollout", id=rollout.id, revision=rollout.label, phase=rollout.phase.value, why=rollout.why)
            self._event = self.bus.publish(
                f"saltern/rollout/{rollout.id}/{said}",
                {"id": rollout.id, "revision": rollout.label, "phase": rollout.phase.value, **data},
                cause=self._event,
                revision=rollout.label,
            ).id

    # --- people ---

    def find(self, name: str) -> Rollout:
        """A rollout by its id, the beginning of it, or the label of its revision; empty: the newest. LookupError."""
        if not name and (newest := self._newest()) is not None:
            return newest
        if name and (record := self.store.rollouts.get(name)) is not None:
            return _DECODER.decode(record)
        wanted = (one for one in self.newest(_MOST_SHOWN) if name and (one.id.startswith(name) or one.label == name))
        found = next(wanted, None)
        if found is None:
            raise LookupError(name)
        return found

    def newest(self, most: int) -> list[Rollout]:
        """The newest first."""
        return [_DECODER.decode(record) for record in self.store.rollouts.newest(most)]

    def forget_rollback(self, revision: str) -> None:
        """A revision was let out of quarantine: when it is live again, it gets a rollout of its own."""
        for one in self.newest(_MOST_SHOWN):
            if one.revision == revision and one.phase is Phase.ROLLED_BACK:
                self._keep(replace(one, phase=Phase.SUPERSEDED, since=self.clock()), "", {})

    def standings(self, rollout: Rollout) -> Mapping[str, Standing]:
        """How its minions are doing; nothing of one that is not the current one."""
        return self._seen(rollout).standings if self.current is not None and rollout.id == self.current.id else {}

    def change(self, rollout: Rollout, action: str, user: str) -> Rollout:
        """What a person asks for: one of `_CHANGES`. NotPossible."""
        retried = action == "retry" and rollout.phase in (Phase.FAILED, Phase.ABORTED)
        newest = self._newest()  # after a restart it is known before it is taken up again
        if newest is None or rollout.id != newest.id or (rollout.ended and not retried):
            raise NotPossible(f"rollout {rollout.id} is {rollout.phase.value}: it does not go on")
        if action == "retry":
            self._standings = {}
        changed = _CHANGES[action](newest, user, self.clock())
        if action in ("pause", "abort"):
            changed = replace(changed, since=self.clock())
        self._keep(changed, action, {"user": user, "why": changed.why})
        if changed.ended:
            self.metrics.ended(changed.phase.value)
        self.reconciler.wake(self._places, cause=self._event)
        self._news.set()
        return changed


def _reached(row: StatusRow, desired: str) -> str:
    """Digest of another document than the desired one that a run is applying, or has left halfway; or empty."""
    last = row.last_run if row.last_run is not None and row.last_run.outcome not in GOOD else None
    run = row.open_run or last
    return run.digest if run is not None and run.digest != desired else ""


def _needed(approvals: Approvals | None, planned: PlannedRollout) -> int:
    if approvals is None:
        return 0
    concerned = planned.functions is None or approvals.concern(planned.functions)
    return approvals.count if concerned else 0


def _paused(rollout: Rollout, user: str, now: float) -> Rollout:
    if rollout.phase is Phase.PAUSED:
        raise NotPossible(f"rollout {rollout.id} is paused already")
    return replace(rollout, phase=Phase.PAUSED, why=f"paused by {user}" if user else "paused", user=user)


def _resumed(rollout: Rollout, user: str, now: float) -> Rollout:
    if rollout.phase is not Phase.PAUSED:
        raise NotPossible(f"rollout {rollout.id} is not paused")
    return replace(rollout, phase=Phase.PROGRESSING, since=now, why="", user=user)


def _aborted(rollout: Rollout, user: str, now: float) -> Rollout:
    return replace(rollout, phase=Phase.ABORTED, why=f"aborted by {user}" if user else "aborted", user=user)


def _approved(rollout: Rollout, user: str, now: float) -> Rollout:
    approvals = rollout.policy.approvals
    if len(rollout.approvals) >= rollout.needs or approvals is None:
        raise NotPossible(f"rollout {rollout.id} needs no approval")
    if not approvals.may(user):
        raise NotPossible(
            f"approvals of {user or 'nobody known'} do not count: policy names {', '.join(approvals.users)}"
        )
    if any(each.user == user for each in rollout.approvals):
        raise NotPossible(f"{user} has approved rollout {rollout.id} already; somebody else has to")
    return replace(rollout, approvals=(*rollout.approvals, Consent(user=user, at=now)))


def _promoted(rollout: Rollout, user: str, now: float) -> Rollout:
    # Who resumes and promotes at once is not too early.
    soon_waits = rollout.phase is Phase.PROGRESSING and rollout.waits_for_promotion
    if rollout.phase is not Phase.WAITING and not soon_waits:
        raise NotPossible(f"rollout {rollout.id} is {rollout.phase.value}: no wave waits")
    return replace(rollout, promoted=rollout.current + 1, user=user)


def _confirmed(rollout: Rollout, user: str, now: float) -> Rollout:
    if rollout.phase is not Phase.CONFIRMING:
        raise NotPossible(f"rollout {rollout.id} is {rollout.phase.value}: there is nothing to confirm")
    return replace(rollout, phase=Phase.COMPLETED, since=now, why=f"confirmed by {user}" if user else "", user=user)


def _retried(rollout: Rollout, user: str, now: float) -> Rollout:
    if not rollout.ended:
        raise NotPossible(f"rollout {rollout.id} is {rollout.phase.value}: it goes on")
    again = replace(rollout, phase=Phase.PROGRESSING, since=now, created=now, why="", user=user)
    return replace(again, released_at=None, well_since=None, promoted=max(rollout.promoted, rollout.current + 1))


_CHANGES: Mapping[str, Callable[[Rollout, str, float], Rollout]] = {
    "pause": _paused,
    "resume": _resumed,
    "abort": _aborted,
    "approve": _approved,
    "promote": _promoted,
    "confirm": _confirmed,
    "retry": _retried,
}
