"""Notices become messages: routed to receivers, grouped, and told in the rhythm of Alertmanager. Pure.

A group is what one route tells one receiver with the same labels. Its first message waits `group_wait` for what else
comes; what changes is told `group_interval` after the last message, and what does not, after `repeat_interval`. A
condition that is over before anybody was told of it is told to nobody; one that was told has its end told.
https://prometheus.io/docs/alerting/latest/configuration/#route
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field

import msgspec

from controller.notifications.notice import IncidentAction, Notice
from controller.policy.notifications import GroupLabel, NotificationRoute

FitsTarget = Callable[[str, str], bool]
"""Whether a target expression means a minion."""


class NotificationGroup(msgspec.Struct, frozen=True, kw_only=True):
    """What one receiver is told together, as it is kept in the store."""

    key: str
    receiver: str
    labels: tuple[tuple[str, str], ...]
    template: str = ""
    began: float
    """When the first notice came."""
    firing: Mapping[str, Notice] = {}
    """What holds, by key."""
    told: frozenset[str] = frozenset()
    """Keys of what the last message said to hold."""
    over: Mapping[str, Notice] = {}
    """What was told and is over, and its end is not told."""
    happened: tuple[Notice, ...] = ()
    """What happened once, and is not told."""
    sent: int = 0
    """Messages."""
    sent_at: float = 0.0
    acknowledged: bool = False
    """Whether the last message said that somebody knows."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Flush:
    """A message that is due; it gets its words later."""

    group: NotificationGroup
    """As it was before."""
    id: str
    action: IncidentAction
    firing: tuple[Notice, ...]
    resolved: tuple[Notice, ...]
    at: float


@dataclass(frozen=True, slots=True, kw_only=True)
class Grouped:
    """What is to be kept, and what is due."""

    groups: Mapping[str, NotificationGroup]
    """By key; only what stays."""
    changed: tuple[NotificationGroup, ...]
    """Of these, those that are others than before."""
    ended: tuple[str, ...]
    """Keys of groups that are forgotten."""
    flushes: tuple[Flush, ...]
    refused: int = 0
    """Notices for which there was no room."""
    next_at: float | None = None
    """When something is due next."""


@dataclass(frozen=True, slots=True, kw_only=True)
class FoundNotices:
    """What is true now, and what happened since the last look."""

    conditions: Mapping[str, Notice]
    """By key."""
    unknown: Callable[[Notice], bool] = field(default=lambda notice: False)
    """Whether nothing can be said of a condition yet: what was known of it stays."""
    happened: tuple[Notice, ...] = ()


def group_notices(
    groups: Mapping[str, NotificationGroup],
    routes: Sequence[NotificationRoute],
    found: FoundNotices,
    now: float,
    *,
    fits: FitsTarget,
    most: int,
) -> Grouped:
    """The groups after a look, and the messages that are due.

    Args:
        groups: as they were, by key.
        routes: of the live policy. Of two that lead the same notice to the same receiver the first counts.
        found: what holds and what happened.
        now: seconds since the epoch.
        fits: whether a target means a minion.
        most: notices that all groups may hold; more are refused.
    """
    placed, made, refused = _placed(groups, routes, found, now, fits, most)
    changed, ended, flushes, stays = [], [], [], {}
    next_at: float | None = None
    rhythm = {key: route for key, (_, route) in made.items()}
    for key in dict.fromkeys((*groups, *made)):
        before = groups.get(key)
        group = _looked(before or made[key][0], placed.get(key, {}))
        route = rhythm.get(key) or NotificationRoute(receivers=(group.receiver,))
        due = _due(group, route)
        if due is not None and due <= now:
            flush, group = _flushed(group, route, now)
            flushes += [flush] if flush else []
            due = _due(group, route)
        if not (group.firing or group.over or group.happened):
            ended += [key] if before is not None else []
            continue
        stays[key] = group
        changed += [group] if group != before else []
        if due is not None:
            next_at = due if next_at is None else min(next_at, due)
    return Grouped(
        groups=stays,
        changed=tuple(changed),
        ended=tuple(ended),
        flushes=tuple(flushes),
        refused=refused,
        next_at=next_at,
    )


_Placed = dict[str, dict[str, Notice]]
_Made = dict[str, tuple[NotificationGroup, NotificationRoute]]


def _placed(
    groups: Mapping[str, NotificationGroup],
    routes: Sequence[NotificationRoute],
    found: FoundNotices,
    now: float,
    fits: FitsTarget,
    most: int,
) -> tuple[_Placed, _Made, int]:
    """Group -> notices that are in it now; the groups that routes lead to; and how many found no room."""
    placed: _Placed = {}
    made: _Made = {}
    count = refused = 0
    kept = (notice for group in groups.values() for notice in group.firing.values() if found.unknown(notice))
    known = {**found.conditions, **{notice.key: notice for notice in kept}}
    for notice in (*known.values(), *found.happened):
        for route, receiver in _ways(notice, routes, fits):
            if count >= most:
                refused += 1
                continue
            count += 1
            group = _group(notice, route, receiver, now)
            made.setdefault(group.key, (group, route))
            placed.setdefault(group.key, {})[notice.key] = notice
    for key, group in groups.items():  # an older group whose route is still there keeps its rhythm
        if key not in made and (own := _route_of(group, routes)) is not None:
            made[key] = (group, own)
    return placed, made, refused


def _ways(
    notice: Notice, routes: Sequence[NotificationRoute], fits: FitsTarget
) -> Iterable[tuple[NotificationRoute, str]]:
    """The routes that a notice takes, one to each receiver."""
    seen: set[str] = set()
    for route in routes:
        if not route.takes(notice.kind, notice.severity, notice.environments):
            continue
        if route.target and not (notice.minion and fits(route.target, notice.minion)):
            continue
        for receiver in route.receivers:
            if receiver not in seen:
                seen.add(receiver)
                yield route, receiver


def _group(notice: Notice, route: NotificationRoute, receiver: str, now: float) -> NotificationGroup:
    labels = tuple((label, _label(notice, label)) for label in route.group_by)
    return NotificationGroup(
        key=_key(receiver, labels, route.template),
        receiver=receiver,
        labels=labels,
        template=route.template,
        began=now,
    )


def _label(notice: Notice, label: GroupLabel) -> str:
    match label:
        case "kind":
            return notice.kind
        case "severity":
            return notice.severity
        case "minion":
            return notice.minion
        case "environment":
            return ",".join(notice.environments)
        case "subject":
            return notice.subject


def _key(receiver: str, labels: tuple[tuple[str, str], ...], template: str) -> str:
    return hashlib.sha256(msgspec.json.encode((receiver, labels, template))).hexdigest()[:32]


def _route_of(group: NotificationGroup, routes: Sequence[NotificationRoute]) -> NotificationRoute | None:
    names = tuple(name for name, _ in group.labels)
    return next(
        (
            route
            for route in routes
            if group.receiver in route.receivers and route.group_by == names and route.template == group.template
        ),
        None,
    )


def _looked(group: NotificationGroup, notices: Mapping[str, Notice]) -> NotificationGroup:
    """A group with what holds now."""
    firing = {key: notice for key, notice in notices.items() if notice.ends}
    ended = {key: notice for key, notice in group.firing.items() if key not in firing and key in group.told}
    over = {key: notice for key, notice in {**group.over, **ended}.items() if key not in firing}
    known = {(one.key, one.since) for one in group.happened}
    new = tuple(one for one in notices.values() if not one.ends and (one.key, one.since) not in known)
    return msgspec.structs.replace(group, firing=firing, over=over, happened=(*group.happened, *new))


def _due(group: NotificationGroup, route: NotificationRoute) -> float | None:
    """When its next message is due; None: nothing is to be told."""
    new = bool(group.firing.keys() - group.told) or bool(group.happened)
    over = bool(group.over)
    acknowledged = bool(group.firing) and all(one.acknowledged for one in group.firing.values())
    if new or over or (acknowledged and not group.acknowledged and group.told):
        return group.began + route.group_wait if not group.sent else group.sent_at + route.group_interval
    if group.firing and group.told:
        return group.sent_at + route.repeat_interval
    return None


def _flushed(group: NotificationGroup, route: NotificationRoute, now: float) -> tuple[Flush | None, NotificationGroup]:
    """The message that is due, and the group after it."""
    over = tuple(group.over.values())
    firing = (*group.firing.values(), *group.happened)
    acknowledged = bool(group.firing) and not group.happened and all(one.acknowledged for one in firing)
    after = msgspec.structs.replace(
        group,
        told=frozenset(group.firing),
        over={},
        happened=(),
        sent=group.sent + 1,
        sent_at=now,
        acknowledged=acknowledged,
    )
    if not firing and not (over and route.send_resolved):
        return None, after
    action: IncidentAction = "resolve" if not firing else "acknowledge" if acknowledged and group.told else "trigger"
    flush = Flush(
        group=group,
        id=f"{group.key}-{int(group.began * 1000):x}-{group.sent}",
        action=action,
        firing=firing,
        resolved=over if route.send_resolved else (),
        at=now,
    )
    return flush, after
