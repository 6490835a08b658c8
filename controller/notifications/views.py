"""Notifications as people see them, and what they may do: test a receiver, have a message tried again."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Sequence
from dataclasses import dataclass

import msgspec

from controller.config.notifications import ReceiverSettings
from controller.notifications.grouping import NotificationGroup
from controller.notifications.notice import Message
from controller.notifications.notifier import Notifier
from controller.schema.errors import ServiceError
from controller.schema.fleet.notifications import (
    NotificationGroupView,
    NotificationsView,
    ReceiverTestView,
    ReceiverView,
    RouteView,
    SpooledMessage,
)
from controller.store.notifications.table import SpoolCount, SpoolEntry

_NAMED = 100
_MOST = 1_000


@dataclass(frozen=True, slots=True, kw_only=True)
class NotificationViews:
    """What people ask about notifications."""

    notifier: Notifier
    receivers: tuple[ReceiverSettings, ...]

    async def overview(self) -> NotificationsView:
        """Receivers, routes, and what they were told of that is not over."""
        counts = await asyncio.to_thread(self.notifier.store.notifications.counts)
        of = {one.receiver: one for one in counts}
        policy = self.notifier.live.policy.notifications
        routes = []
        for line, route in zip(policy.lines, policy.routes, strict=True):
            fields = {name: getattr(route, name) for name in RouteView.__struct_fields__ if name != "line"}
            routes.append(RouteView(line=line, **fields))
        return NotificationsView(
            receivers=tuple(self._receiver(one, of.get(one.name)) for one in self.receivers),
            unknown=tuple(name for name in policy.receivers if name not in self.notifier.delivery.receivers),
            routes=tuple(routes),
            groups=tuple(map(_group, list(self.notifier.groups.values())[:_MOST])),
        )

    def _receiver(self, settings: ReceiverSettings, count: SpoolCount | None) -> ReceiverView:
        state = self.notifier.delivery.states[settings.name]
        policy = self.notifier.live.policy.notifications
        return ReceiverView(
            name=settings.name,
            kind=settings.kind,
            routes=sum(settings.name in route.receivers for route in policy.routes),
            waiting=count.waiting if count else 0,
            given_up=count.dead if count else 0,
            sent=state.sent,
            sent_at=state.sent_at,
            failures=state.failures,
            error=state.error,
        )

    async def spool(self, limit: int) -> Sequence[SpooledMessage]:
        """The newest messages that wait, or were given up."""
        most = max(1, min(limit, _MOST))
        entries = await asyncio.to_thread(self.notifier.store.notifications.newest, most)
        return [_spooled(one) for one in entries]

    async def test(self, receiver: str, user: str) -> ReceiverTestView:
        """Send a message that says that it is a test; ServiceError where there is no such receiver."""
        delivery = self.notifier.delivery
        if receiver not in delivery.receivers:
            known = ", ".join(delivery.receivers) or "none"
            raise ServiceError("not-found", f"there is no receiver {receiver!r}; there are: {known}")
        began = time.monotonic()
        at = self.notifier.clock()
        error = ""
        settings = next(one for one in self.receivers if one.name == receiver)
        for action in ("trigger", "resolve") if settings.kind in ("pagerduty", "opsgenie") else ("trigger",):
            error = error or await delivery.test(receiver, _test_message(receiver, user, at, action))
        return ReceiverTestView(
            receiver=receiver, taken=not error, error=error, seconds=round(time.monotonic() - began, 3)
        )

    async def retry(self, message: str) -> Sequence[str]:
        """Have a message that was given up tried again; its id, or ServiceError where there is none."""
        if not await asyncio.to_thread(self.notifier.store.notifications.retry, message):
            raise ServiceError("not-found", f"no message {message!r} was given up")
        self.notifier.delivery.wake()
        return (message,)


def _test_message(receiver: str, user: str, at: float, action: str) -> Message:
    return msgspec.convert(
        {
            "id": f"test-{int(at * 1000):x}-{action}",
            "receiver": receiver,
            "group": f"saltern-test-{int(at * 1000):x}",
            "action": action,
            "severity": "info",
            "labels": {"kind": "test"},
            "title": "Saltern: a test of notifications",
            "text": f"{user} tested the receiver {receiver}. Nothing is wrong.",
            "at": at,
        },
        Message,
    )


def _group(group: NotificationGroup) -> NotificationGroupView:
    return NotificationGroupView(
        receiver=group.receiver,
        labels=dict(group.labels),
        began=group.began,
        sent=group.sent,
        sent_at=group.sent_at or None,
        firing=tuple(list(group.firing)[:_NAMED]),
        count=len(group.firing),
    )


def _spooled(entry: SpoolEntry) -> SpooledMessage:
    message = msgspec.msgpack.decode(entry.body, type=Message)
    return SpooledMessage(
        id=entry.id,
        receiver=entry.receiver,
        state=entry.state,
        action=message.action,
        severity=message.severity,
        title=message.title,
        created=entry.created,
        attempts=entry.attempts,
        next_at=entry.next_at or None if entry.state == "waiting" else None,
        error=entry.error,
    )
