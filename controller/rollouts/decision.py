"""The decision: how a rollout goes on. Pure; `controller.rollouts.rollouts` carries it out.

Level-triggered as `controller.reconcile.deciding.decision`: the answer follows from the record and from what is
observed now, so that a controller which was killed anywhere goes on by asking again.
"""

from __future__ import annotations

import enum
from collections.abc import Collection, Mapping
from dataclasses import dataclass
from typing import TypeAlias

from msgspec.structs import replace

from controller.policy.policy import MinionPolicy
from controller.reconcile.deciding.observed_state import ObservedState
from controller.rollouts.rollout import Batch, Phase, Rollout
from reactors.windows import look

GATE_SECONDS = 15.0
"""Between two checks of gates that did not pass."""


class Standing(enum.Enum):
    """How a minion that was released is doing."""

    GOOD = "good"
    PENDING = "pending"
    """Its run is not over, or has not begun."""
    WAITING = "waiting"
    """For its window."""
    FAILED = "failed"
    ABSENT = "absent"
    """Not connected."""
    HELD = "held"
    """A person or its policy keeps it back: nobody waits for it."""


def standing_of(state: ObservedState, policy: MinionPolicy, now: float, begun: float) -> Standing:
    """How a minion is doing with what it shall have. `begun`: of the rollout; nothing follows from runs before it."""
    if state.paused or not state.follows or state.broken or state.hold_until is not None:
        return Standing.HELD
    last = state.last_run
    if last is not None and not last.good and last.digest == state.desired and last.finished_at >= begun:
        return Standing.FAILED
    if not state.connected:
        return Standing.ABSENT
    if state.open_run is not None:
        return Standing.PENDING
    if state.applied == state.desired:
        return Standing.GOOD
    if policy.apply == "manual":
        return Standing.HELD
    return Standing.PENDING if look(policy.windows, now).open else Standing.WAITING


class GateState(enum.Enum):
    """What the gates of the current batch said last."""

    UNKNOWN = "unknown"
    PASSED = "passed"
    FAILED = "failed"


@dataclass(frozen=True, slots=True, kw_only=True)
class Seen:
    """What is observed now."""

    standings: Mapping[str, Standing]
    """Of minions that are released; one that is not in it is pending."""
    gates: GateState = GateState.UNKNOWN
    gates_at: float = 0.0
    """When they were asked."""
    gates_why: str = ""


@dataclass(frozen=True, slots=True)
class Release:
    """Have the minions of the current batch apply it."""

    minions: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class CheckGates:
    """Ask the gates of the current batch."""


@dataclass(frozen=True, slots=True)
class RollBack:
    """Take the revision back."""


@dataclass(frozen=True, slots=True)
class DecideAgainAt:
    """Decide again at this time."""

    time: float


RolloutInstruction: TypeAlias = Release | CheckGates | RollBack | DecideAgainAt


def decide(rollout: Rollout, seen: Seen, now: float) -> tuple[Rollout, list[RolloutInstruction]]:
    """What becomes of a rollout now, and what is to be done.

    To be asked again with the result until it is the same.
    """
    if rollout.ended or rollout.phase is Phase.PAUSED:
        return rollout, []
    if len(rollout.approvals) < rollout.needs:
        return _in_phase(rollout, Phase.PENDING, now, _approvals_text(rollout)), []
    bad = failed(rollout, seen, now)
    if len(bad) > rollout.policy.allowed_failures(rollout.size):
        return _fail(rollout, f"failed on {_some(bad)}", now)
    batch = rollout.batch
    if batch is None:
        return _finish(rollout, now)
    if rollout.released_at is None:
        return _release(rollout, batch, seen, now)
    return _watch(rollout, batch, rollout.released_at, seen, now)


def failed(rollout: Rollout, seen: Seen, now: float) -> list[str]:
    """Released minions on which it failed, or that do not come to an end."""
    found = [
        minion
        for each in rollout.released
        for minion in each.minions
        if seen.standings.get(minion) is Standing.FAILED and minion not in rollout.absent
    ]
    if rollout.released_at is not None and rollout.batch and now >= rollout.released_at + rollout.policy.timeout:
        found += _open(rollout, rollout.batch, seen)
    return found


def _open(rollout: Rollout, batch: Batch, seen: Seen) -> list[str]:
    """Minions of a released batch whose end somebody waits for, but for those outside their windows."""
    return [
        minion
        for minion in batch.minions
        if minion not in rollout.absent
        and seen.standings.get(minion, Standing.PENDING) in (Standing.PENDING, Standing.ABSENT)
    ]


def _release(rollout: Rollout, batch: Batch, seen: Seen, now: float) -> tuple[Rollout, list[RolloutInstruction]]:
    if rollout.waits_for_promotion:
        return _in_phase(rollout, Phase.WAITING, now, f"wave {batch.wave} waits for `saltern rollout promote`"), []
    away = {minion for minion in batch.minions if seen.standings.get(minion) is Standing.ABSENT}
    if batch.canary and away == set(batch.minions):
        return _in_phase(rollout, Phase.PROGRESSING, now, f"no minion of {batch.title} is connected"), []
    released = replace(rollout, released_at=now, well_since=None, absent=rollout.absent | away)
    return _in_phase(released, Phase.PROGRESSING, now, ""), [Release(batch.minions)]


def _watch(
    rollout: Rollout, batch: Batch, released_at: float, seen: Seen, now: float
) -> tuple[Rollout, list[RolloutInstruction]]:
    """A batch is released: wait for its minions, then for the time that it has to be well, then for the gates."""
    ends_at = released_at + rollout.policy.timeout
    still = _open(rollout, batch, seen)
    outside = [m for m in batch.minions if seen.standings.get(m) is Standing.WAITING and m not in rollout.absent]
    if still or outside:
        why = f"{len(outside)} wait for their windows" if outside and not still else ""
        waits = replace(_in_phase(rollout, Phase.PROGRESSING, now, why), well_since=None)
        return waits, [DecideAgainAt(ends_at)] if still and now < ends_at else []
    if rollout.well_since is None:
        return replace(_in_phase(rollout, Phase.PROGRESSING, now, ""), well_since=now), []
    well_at = rollout.well_since + batch.soak
    if now < well_at:
        return rollout, [DecideAgainAt(well_at)]
    if batch.gates and not (seen.gates is GateState.PASSED and seen.gates_at >= well_at):
        return _ask_gates(rollout, well_at, seen, now)
    return replace(rollout, current=rollout.current + 1, released_at=None, well_since=None), []


def _ask_gates(rollout: Rollout, well_at: float, seen: Seen, now: float) -> tuple[Rollout, list[RolloutInstruction]]:
    asked = seen.gates_at >= well_at
    if asked and seen.gates is GateState.FAILED and now >= well_at + rollout.policy.gate_timeout:
        return _fail(rollout, f"gate: {seen.gates_why}", now)
    if asked and now < seen.gates_at + GATE_SECONDS:
        told = _in_phase(rollout, Phase.PROGRESSING, now, f"gate: {seen.gates_why}")
        return told, [DecideAgainAt(seen.gates_at + GATE_SECONDS)]
    return rollout, [CheckGates()]


def _finish(rollout: Rollout, now: float) -> tuple[Rollout, list[RolloutInstruction]]:
    confirm = rollout.policy.confirm
    if not confirm:
        return _in_phase(rollout, Phase.COMPLETED, now, ""), []
    if rollout.phase is not Phase.CONFIRMING:
        return _in_phase(rollout, Phase.CONFIRMING, now, "waits for `saltern rollout confirm`"), []
    ends_at = rollout.since + confirm
    if now < ends_at:
        return rollout, [DecideAgainAt(ends_at)]
    return _in_phase(rollout, Phase.ROLLED_BACK, now, "nobody confirmed it in time"), [RollBack()]


def _fail(rollout: Rollout, why: str, now: float) -> tuple[Rollout, list[RolloutInstruction]]:
    if rollout.policy.on_failure == "rollback":
        return _in_phase(rollout, Phase.ROLLED_BACK, now, why), [RollBack()]
    return _in_phase(rollout, Phase.FAILED, now, why), []


def _in_phase(rollout: Rollout, phase: Phase, now: float, why: str) -> Rollout:
    if rollout.phase is phase:
        return rollout if rollout.why == why else replace(rollout, why=why)
    return replace(rollout, phase=phase, since=now, why=why)


def _approvals_text(rollout: Rollout) -> str:
    return f"{len(rollout.approvals)} of {rollout.needs} approvals: `saltern rollout approve`"


def _some(minions: Collection[str]) -> str:
    """`web1, web2 and 3 more`."""
    first = sorted(minions)[:3]
    return ", ".join(first) + (f" and {len(minions) - 3} more" if len(minions) > 3 else "")
