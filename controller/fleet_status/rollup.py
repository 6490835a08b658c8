"""Minions counted together: states, revisions and reasons of each group, with its conditions. Pure.

Called in a thread, since the fleet may be large.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from controller.fleet_status.conditions import FleetFacts, findings, transition
from controller.fleet_status.standing import SEVERITY, Cause, MinionStanding
from controller.observe.minion_metrics import MinionTotals, TotalsCount
from controller.schema.fleet.status import (
    GroupCondition,
    GroupScope,
    GroupStatus,
    ReasonCount,
    RevisionCount,
    StateCount,
)
from controller.store.rollouts.conditions import ConditionRecord

MOST_GROUPS = 128
"""Of a kind; further minions are one group."""
OTHERS = "(others)"
NO_ENVIRONMENT = "(none)"
"""Minions without states."""
_MOST_REVISIONS = 10
_MOST_REASONS = 10
_MOST_NAMES = 5
_MOST_NAME = 255


@dataclass(frozen=True, slots=True)
class KnownConditions:
    """What was known before."""

    records: Mapping[tuple[str, str, str], ConditionRecord]
    """By scope, name and type."""
    started: float = 0.0
    """When the controller was started."""


@dataclass(frozen=True, slots=True)
class RolledUp:
    """All groups, and what is to be kept of their conditions."""

    groups: tuple[GroupStatus, ...]
    conditions: tuple[ConditionRecord, ...]
    totals: MinionTotals


def roll_up(
    minions: Sequence[MinionStanding], waves: Mapping[str, str], facts: FleetFacts, known: KnownConditions, now: float
) -> RolledUp:
    """The fleet, its environments and its waves.

    Args:
        minions: all of them, by id.
        waves: minion -> its wave, in the order of waves.
        facts: of the whole fleet.
        known: conditions as they were before.
        now: in seconds since the epoch.
    """
    groups, records = [], []
    for scope, name, members in _groups(minions, waves):
        found = []
        for finding in findings(scope, name, members, facts):
            record = transition(
                known.records.get((scope, name, finding.type)), finding, scope, name, (known.started, now)
            )
            records.append(record)
            found.append(
                GroupCondition(
                    type=finding.type,
                    status=record.status,
                    reason=record.reason,
                    message=finding.message,
                    last_transition=record.since,
                )
            )
        groups.append(_group(scope, name, members, tuple(found)))
    return RolledUp(tuple(groups), tuple(records), _totals(minions))


def _totals(minions: Sequence[MinionStanding]) -> MinionTotals:
    count = TotalsCount()
    for one in minions:
        count.add(
            (one.sync.value, one.health.value),
            one.drift,
            connected=one.connected,
            missing_sources=one.missing_sources,
            unconfirmed=one.unconfirmed,
        )
    return count.totals()


def _groups(
    minions: Sequence[MinionStanding], waves: Mapping[str, str]
) -> Iterable[tuple[GroupScope, str, Sequence[MinionStanding]]]:
    """A minion is in the group of each environment that it has states from."""
    yield "fleet", "fleet", minions
    environments = defaultdict[str, list[MinionStanding]](list)
    of_waves: dict[str, list[MinionStanding]] = {}
    for name in dict.fromkeys(waves.values()):
        of_waves[name[:_MOST_NAME]] = []
    for one in minions:
        for saltenv in one.saltenvs or (NO_ENVIRONMENT,):
            environments[saltenv[:_MOST_NAME]].append(one)
        if one.minion in waves:
            of_waves[waves[one.minion][:_MOST_NAME]].append(one)
    yield from (("environment", *each) for each in sorted(_bounded(environments)))
    yield from (("wave", *each) for each in _bounded(of_waves))


def _bounded(groups: Mapping[str, list[MinionStanding]]) -> list[tuple[str, list[MinionStanding]]]:
    """The largest groups in their order; the minions of all others together, each once."""
    if len(groups) <= MOST_GROUPS:
        return list(groups.items())
    large = set(sorted(groups, key=lambda name: -len(groups[name]))[: MOST_GROUPS - 1])
    rest = {one.minion: one for name, members in groups.items() if name not in large for one in members}
    return [*((name, groups[name]) for name in groups if name in large), (OTHERS, list(rest.values()))]


def _group(
    scope: GroupScope, name: str, minions: Sequence[MinionStanding], conditions: tuple[GroupCondition, ...]
) -> GroupStatus:
    states = Counter((one.sync, one.health) for one in minions)
    revisions, reasons = _revisions(minions), _reasons(minions)
    return GroupStatus(
        scope=scope,
        name=name,
        minions=len(minions),
        connected=sum(one.connected for one in minions),
        states=tuple(
            StateCount(sync=sync.value, health=health.value, minions=count)
            for (sync, health), count in states.most_common()
        ),
        revisions=tuple(revisions[:_MOST_REVISIONS]),
        more_revisions=max(0, len(revisions) - _MOST_REVISIONS),
        reasons=tuple(reasons[:_MOST_REASONS]),
        more_reasons=max(0, len(reasons) - _MOST_REASONS),
        conditions=conditions,
    )


def _revisions(minions: Sequence[MinionStanding]) -> list[RevisionCount]:
    attempted = Counter(one.attempted for one in minions)
    applied = Counter(one.applied for one in minions)
    found = [
        RevisionCount(revision=label, attempted=attempted[label], applied=applied[label])
        for label in attempted | applied
    ]
    return sorted(found, key=lambda one: (-(one.attempted + one.applied), one.revision))


def _reasons(minions: Sequence[MinionStanding]) -> list[ReasonCount]:
    found: dict[tuple[int, str], list[tuple[Cause, str]]] = defaultdict(list)
    for one in minions:
        for cause in one.causes:
            found[SEVERITY[cause.reason], cause.message].append((cause, one.minion))
    ordered = sorted(found.items(), key=lambda item: (item[0][0], -len(item[1]), item[0][1]))
    return [
        ReasonCount(
            reason=same[0][0].reason.value,
            message=message,
            minions=len(same),
            since=min((cause.since for cause, _ in same if cause.since is not None), default=None),
            names=tuple(minion for _, minion in same[:_MOST_NAMES]),
        )
        for (_, message), same in ordered
    ]
