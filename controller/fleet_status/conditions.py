"""Conditions of a group of minions, as Kubernetes, Flux and Argo CD have them, and since when they are so. Pure."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from enum import Enum
from typing import TypeVar

from controller.fleet_status.standing import MinionStanding, Reason
from controller.reconcile.deciding.observed_state import Health, Sync
from controller.rollouts.rollout import Phase, Rollout
from controller.schema.fleet.status import ConditionStatus, ConditionType, GroupScope
from controller.store.rollouts.conditions import ConditionRecord

_MOST_TEXT = 200
_Kind = TypeVar("_Kind", bound=Enum)
_UNSYNCED = (Sync.OUT_OF_SYNC, Sync.PROGRESSING, Sync.PAUSED, Sync.SHADOW, Sync.HELD, Sync.UNKNOWN)
"""The worst first."""
_UNWELL = (Health.UNREACHABLE, Health.FAILED, Health.DEGRADED, Health.DRIFTED)
_FINE = (Health.HEALTHY, Health.PROGRESSING)
_GOES_ON = (Phase.PROGRESSING, Phase.CONFIRMING)
_OF_HEALTH = {Reason.UNREACHABLE, Reason.RUN_FAILED, Reason.COMPILE_ERROR, Reason.DRIFTED}


@dataclass(frozen=True, slots=True, kw_only=True)
class FleetFacts:
    """What is true of the whole fleet at a moment."""

    remotes: Mapping[str, str] = field(default_factory=dict)
    """Remote -> why it could not be fetched; empty where it was."""
    fetched: bool = True
    """Whether there was a fetch of each remote, or an attempt."""
    refused: str = ""
    """Why the newest revision is not live."""
    rollout: Rollout | None = None
    """The newest."""


@dataclass(frozen=True, slots=True, kw_only=True)
class FoundCondition:
    """What holds now."""

    type: ConditionType
    status: ConditionStatus
    reason: str
    message: str = ""
    since: float | None = None
    """When it became so, as far as the minions tell."""
    kept: bool = False
    """Nothing can be said yet: what was known before stays."""


def findings(
    scope: GroupScope, name: str, minions: Sequence[MinionStanding], facts: FleetFacts
) -> Iterator[FoundCondition]:
    """The conditions of a group.

    Args:
        scope: what kind of group it is.
        name: of the group.
        minions: those in it.
        facts: of the whole fleet.
    """
    yield _synced(minions)
    yield _healthy(minions)
    yield _compiled(minions, facts.refused if scope == "fleet" else "")
    yield _suspended(minions)
    yield _window(minions)
    if scope == "fleet":
        yield _rollout(facts.rollout)
        yield _remotes(facts)
    elif scope == "wave":
        yield _wave(name, facts.rollout)


def transition(
    known: ConditionRecord | None, found: FoundCondition, scope: GroupScope, name: str, span: tuple[float, float]
) -> ConditionRecord:
    """The condition with the time of its last transition.

    What was known comes from the store, so that a restart of the controller changes no time. A change is found a moment
    later than it was: the minions tell when, which is neither before the last change nor after now.

    Args:
        known: what it was before.
        found: what it is now.
        scope: of the group.
        name: of the group.
        span: when the controller was started, before which another one would have found the change, and now.
    """
    started, now = span
    if known is not None and (found.kept or (known.status, known.reason) == (found.status, found.reason)):
        return known
    if known is not None and known.status == found.status:
        since = known.since
    else:
        earliest = max(known.since, started) if known else 0.0
        since = min(now, max(earliest, now if found.since is None else found.since))
    return ConditionRecord(
        scope=scope, name=name, type=found.type, status=found.status, reason=found.reason, since=since
    )


def _synced(minions: Sequence[MinionStanding]) -> FoundCondition:
    others = [one for one in minions if one.sync is not Sync.SYNCED]
    if not minions:
        return FoundCondition(type="Synced", status="Unknown", reason="NoMinions")
    if not others:
        since = max((one.applied_at for one in minions if one.applied_at is not None), default=None)
        return FoundCondition(type="Synced", status="True", reason="Synced", message=_all(minions), since=since)
    worst = _worst((one.sync for one in others), _UNSYNCED)
    return FoundCondition(
        type="Synced",
        status="Unknown" if worst is Sync.UNKNOWN else "False",
        reason=worst.value,
        message=_counted((one.sync for one in others), _UNSYNCED, len(minions)),
        since=_earliest(cause.since for one in others for cause in one.causes if cause.reason not in _OF_HEALTH)
        or _earliest(cause.since for one in others for cause in one.causes),
    )


def _healthy(minions: Sequence[MinionStanding]) -> FoundCondition:
    others = [one for one in minions if one.health not in _FINE and not one.awaited]
    awaited = sum(one.awaited for one in minions)
    if not minions:
        return FoundCondition(type="Healthy", status="Unknown", reason="NoMinions")
    if awaited and not others:
        text = f"{awaited} of {len(minions)} minions have not connected since the controller was started"
        return FoundCondition(type="Healthy", status="Unknown", reason="Reconnecting", message=text, kept=True)
    if not others:
        return FoundCondition(type="Healthy", status="True", reason="Healthy", message=_all(minions))
    worst = _worst((one.health for one in others), _UNWELL)
    return FoundCondition(
        type="Healthy",
        status="False",
        reason=worst.value,
        message=_counted((one.health for one in others), _UNWELL, len(minions)),
        since=_earliest(cause.since for one in others for cause in one.causes if cause.reason in _OF_HEALTH),
    )


def _compiled(minions: Sequence[MinionStanding], refused: str) -> FoundCondition:
    if refused:
        text = refused.splitlines()[0][:_MOST_TEXT]
        return FoundCondition(type="Compiled", status="False", reason="RevisionRefused", message=text)
    broken = [one for one in minions if one.broken]
    if broken:
        causes = [cause for one in broken for cause in one.causes if cause.reason is Reason.COMPILE_ERROR]
        return FoundCondition(
            type="Compiled",
            status="False",
            reason=Reason.COMPILE_ERROR.value,
            message=_some(len(broken), minions, causes[0].message if causes else ""),
            since=_earliest(cause.since for cause in causes),
        )
    missing = sum(not one.compiled for one in minions)
    if missing or not minions:
        reason = "NotCompiled" if minions else "NoMinions"
        return FoundCondition(type="Compiled", status="Unknown", reason=reason, message=_some(missing, minions))
    return FoundCondition(type="Compiled", status="True", reason="Compiled", message=_all(minions))


def _suspended(minions: Sequence[MinionStanding]) -> FoundCondition:
    paused = [one for one in minions if one.paused]
    if not paused:
        return FoundCondition(type="Suspended", status="False", reason="Active")
    found = {cause.reason for one in paused for cause in one.causes}
    reason = next((each for each in (Reason.SUSPENDED, Reason.SHADOW) if each in found), Reason.PAUSED).value
    return FoundCondition(type="Suspended", status="True", reason=reason, message=_some(len(paused), minions))


def _window(minions: Sequence[MinionStanding]) -> FoundCondition:
    shut = [one for one in minions if one.window]
    if shut:
        text = _some(len(shut), minions, shut[0].window)
        return FoundCondition(type="WindowOpen", status="False", reason="WindowClosed", message=text)
    reason = "WindowOpen" if any(one.windows for one in minions) else "NoWindows"
    return FoundCondition(type="WindowOpen", status="True", reason=reason)


def _rollout(rollout: Rollout | None) -> FoundCondition:
    if rollout is None:
        return FoundCondition(type="RolloutProgressing", status="False", reason="NoRollout")
    released = sum(len(each.minions) for each in rollout.released)
    text = f"{rollout.id} of {rollout.label}: {released} of {rollout.size} minions released"
    return FoundCondition(
        type="RolloutProgressing",
        status="True" if rollout.phase in _GOES_ON else "False",
        reason=rollout.phase.value,
        message=f"{text}; {rollout.why}"[:_MOST_TEXT] if rollout.why else text,
        since=rollout.since,
    )


def _wave(name: str, rollout: Rollout | None) -> FoundCondition:
    places = [place for place, batch in enumerate(rollout.batches) if batch.wave == name] if rollout else []
    if rollout is None or not places:
        return FoundCondition(type="RolloutProgressing", status="False", reason="NoRollout")
    size = sum(len(rollout.batches[place].minions) for place in places)
    begun = [place for place in places if place < len(rollout.released)]
    released = sum(len(rollout.batches[place].minions) for place in begun)
    done = places[-1] < rollout.current or rollout.phase is Phase.COMPLETED
    goes_on = bool(begun) and not done and rollout.phase is Phase.PROGRESSING
    waits = "WaitsForEarlierWaves" if not begun and rollout.phase is Phase.PROGRESSING else rollout.phase.value
    return FoundCondition(
        type="RolloutProgressing",
        status="True" if goes_on else "False",
        reason=Phase.COMPLETED.value if done else waits,
        message=f"{rollout.id} of {rollout.label}: {released} of {size} minions released",
    )


def _remotes(facts: FleetFacts) -> FoundCondition:
    failing = {name: error for name, error in facts.remotes.items() if error}
    if failing:
        name, error = next(iter(failing.items()))
        more = f" (+{len(failing) - 1} more)" if len(failing) > 1 else ""
        text = f"{name}: {error.splitlines()[0]}"[:_MOST_TEXT]
        return FoundCondition(type="RemotesReachable", status="False", reason="FetchFailed", message=text + more)
    if not facts.fetched:
        return FoundCondition(type="RemotesReachable", status="Unknown", reason="NotFetched", kept=True)
    return FoundCondition(type="RemotesReachable", status="True", reason="Fetched")


def _worst(found: Iterable[_Kind], order: Sequence[_Kind]) -> _Kind:
    seen = set(found)
    return next(each for each in order if each in seen)


def _counted(found: Iterable[_Kind], order: Sequence[_Kind], total: int) -> str:
    counts = Counter(found)
    parts = ", ".join(f"{each.value} {counts[each]}" for each in order if counts[each])
    return f"{parts} of {_minions(total)}"


def _earliest(times: Iterable[float | None]) -> float | None:
    return min((each for each in times if each is not None), default=None)


def _all(minions: Sequence[MinionStanding]) -> str:
    return _minions(len(minions))


def _some(count: int, minions: Sequence[MinionStanding], why: str = "") -> str:
    text = f"{count} of {_minions(len(minions))}"
    return f"{text}: {why}"[:_MOST_TEXT] if why else text


def _minions(count: int) -> str:
    return f"{count} minion{'' if count == 1 else 's'}"
