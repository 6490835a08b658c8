"""What looks, groups and fills the spool. Run by `controller.app` on the controller that leads.

A look at the fleet brings what holds (`take`); groups and messages that come of it are kept in one transaction, and
`delivery` sends the messages. Nothing is decided here: `finding`, `grouping` and `wording` are pure.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace

import msgspec
import structlog

from controller.config.limits import NotificationLimits
from controller.fleet_status.fleet_status import FleetLook
from controller.notifications.delivery import NotificationDelivery, room_of
from controller.notifications.finding import SeenFleet, find
from controller.notifications.grouping import Flush, Grouped, NotificationGroup, group_notices
from controller.notifications.notice import Message, Notice
from controller.notifications.wording import WordBounds, revision_of, worded
from controller.observe.notification_metrics import NotificationMetrics
from controller.observe.redactor import Redactor
from controller.policy.notifications import NotificationPolicy, NotificationRoute
from controller.reconcile.live import LiveRevision
from controller.rollouts.rollouts import RolloutReconciler
from controller.store import Store, StoreError
from controller.store.notifications.table import SpoolEntry
from highstate.targeting.match import match_minion
from highstate.types import Minion
from options.limits import CountRefusal

log = structlog.get_logger("saltern.notifications")

_ROLLOUTS = 5
"""The newest, of which is told."""
_KEYS = 100
"""Keys that wait, of which is told."""
_REVISIONS = 20
"""The newest, whose commits messages name."""
_AGAIN = 10.0
"""Seconds after the store could not be used."""
_TARGETS = 300.0
"""Seconds for which it is known whether a target means a minion: grains change seldom."""
_DECODER = msgspec.msgpack.Decoder(NotificationGroup)


@dataclass(slots=True, kw_only=True)
class Notifier:
    """Finds what there is to notify of.

    Args:
        url: where people look on; empty: there is no such address.
        leader: names this controller's lease; empty without one.
        host: where it runs.
    """

    store: Store
    live: LiveRevision
    rollouts: RolloutReconciler
    redactor: Redactor
    delivery: NotificationDelivery
    limits: NotificationLimits
    metrics: NotificationMetrics
    clock: Callable[[], float]
    url: str
    leader: str
    host: str
    on_refusal: CountRefusal
    groups: dict[str, NotificationGroup] = field(default_factory=dict)
    unknown: tuple[str, ...] = ()
    """Receivers that saltern.yaml names and the configuration has not."""
    _marks: dict[str, str] = field(default_factory=dict)
    _look: FleetLook | None = None
    _news: asyncio.Event = field(default_factory=asyncio.Event)
    _fits: dict[tuple[str, str], bool] = field(default_factory=dict)
    _fits_until: float = 0.0

    def take(self, look: FleetLook) -> None:
        """A look at the fleet has ended."""
        self._look = look
        self._news.set()

    async def run(self) -> None:
        """Until cancelled."""
        async with asyncio.TaskGroup() as tasks:
            tasks.create_task(self.delivery.run())
            await self._until_done(self._load)
            while True:
                self._news.clear()
                wait = await self._until_done(self._step)
                try:
                    async with asyncio.timeout(wait):
                        await self._news.wait()
                except TimeoutError:
                    continue

    async def _until_done(self, work: Callable[[], Awaitable[float | None]]) -> float | None:
        """Do it, again until the store takes it."""
        while True:
            try:
                return await work()
            except StoreError as error:
                log.error("notifications: the store cannot be used; it is tried again", error=str(error))
                await asyncio.sleep(_AGAIN)

    async def _load(self) -> None:
        table = self.store.notifications
        records = await asyncio.to_thread(table.groups)
        self.groups = {key: _DECODER.decode(record) for key, record in records.items()}
        self._marks = await asyncio.to_thread(table.marks)

    async def _step(self) -> float | None:
        """Look at what holds; seconds until something is due, where nothing new comes."""
        look = self._look
        if look is None or self.live.trees is None:
            return None  # without a policy nobody knows who is to be told
        policy = self.live.policy.notifications
        routes = self._known(policy)
        if not routes and not self.groups:
            return None
        now = self.clock()
        seen = await asyncio.to_thread(self._seen, look)
        found, marks = find(seen, self._marks)
        grouped = await asyncio.to_thread(
            group_notices, self.groups, routes, found, now, fits=self._fit, most=self.limits.notices
        )
        messages = await asyncio.to_thread(self._messages, grouped.flushes, policy)
        await asyncio.to_thread(self._keep, grouped, marks, messages)
        self.groups, self._marks = dict(grouped.groups), marks
        if grouped.refused:
            log.warning("notifications: more notices than the limit; nobody is told of them", count=grouped.refused)
            self.on_refusal("notices")
        if messages:
            self.delivery.wake()
        return None if grouped.next_at is None else max(0.1, grouped.next_at - self.clock())

    def _known(self, policy: NotificationPolicy) -> tuple[NotificationRoute, ...]:
        """The routes, with the receivers that there are."""
        unknown = tuple(name for name in policy.receivers if name not in self.delivery.receivers)
        if unknown != self.unknown:
            self.unknown = unknown
            self.metrics.unknown(len(unknown))
            if unknown:
                log.error("saltern.yaml names receivers that the configuration has not", receivers=", ".join(unknown))
        routes = []
        for route in policy.routes:
            if there := tuple(name for name in route.receivers if name not in unknown):
                routes.append(msgspec.structs.replace(route, receivers=there))
        return tuple(routes)

    def _seen(self, look: FleetLook) -> SeenFleet:
        return SeenFleet(
            minions=look.minions,
            facts=look.facts,
            rollouts=self.rollouts.newest(_ROLLOUTS),
            pulls=self.store.pull_requests.all(unsettled_only=True),
            keys=self.store.keys.waiting(_KEYS),
            live=self.live.label,
            leader=self.leader,
            host=self.host,
            at=look.at,
        )

    def _fit(self, target: str, minion: str) -> bool:
        """Whether a target means a minion, by the grains that it said last."""
        now = self.clock()
        if now > self._fits_until:
            self._fits, self._fits_until = {}, now + _TARGETS
        known = self._fits.get((target, minion))
        if known is None:
            record = self.store.minions.get(minion)
            grains = record.grains if record is not None else {}
            known = self._fits[target, minion] = match_minion(target, Minion(id=minion, grains=grains))
        return known

    def _messages(self, flushes: Sequence[Flush], policy: NotificationPolicy) -> list[Message]:
        """The messages that are due, without secrets."""
        revisions = self.store.revisions.newest_of(_REVISIONS) if flushes else []
        commits = {
            each.label: {name: source.commit for source in each.sources for name in source.remotes}
            for each in reversed(revisions)
        }
        bounds = WordBounds(shown=self.limits.shown, characters=self.limits.text_characters)
        found = []
        for flush in flushes:
            clean = replace(
                flush,
                firing=self._redacted(flush.firing),
                resolved=self._redacted(flush.resolved),
            )
            template = policy.templates.get(flush.group.template) if flush.group.template else None
            message, error = worded(clean, template, commits.get(revision_of(clean), {}), bounds, self.url)
            if error:
                log.error("template of notifications not used", template=flush.group.template, error=error)
            found.append(
                msgspec.structs.replace(
                    message,
                    title=self.redactor.of_nobody(message.title),
                    text=self.redactor.of_nobody(message.text),
                )
            )
        return found

    def _redacted(self, notices: tuple[Notice, ...]) -> tuple[Notice, ...]:
        """The notices, of which those that may be shown are without the secrets of their minions."""
        shown = []
        for one in notices[: self.limits.shown]:
            take_out = self.redactor.of(one.minion).text if one.minion else self.redactor.of_nobody
            shown.append(msgspec.structs.replace(one, title=take_out(one.title), text=take_out(one.text)))
        return (*shown, *notices[self.limits.shown :])

    def _keep(self, grouped: Grouped, marks: Mapping[str, str], messages: Sequence[Message]) -> None:
        changed = {key: value for key, value in marks.items() if self._marks.get(key) != value}
        if not (grouped.changed or grouped.ended or changed or messages):
            return
        dropped = self.store.notifications.keep(
            {each.key: msgspec.msgpack.encode(each) for each in grouped.changed},
            grouped.ended,
            changed,
            [entry_of(message) for message in messages],
            room_of(self.limits),
        )
        for name, count in dropped.items():
            if count:
                self.metrics.dropped(name, "no_room", count)
                self.on_refusal("entries")
                log.error("notifications dropped: the spool has no room", receiver=name, count=count)


def entry_of(message: Message) -> SpoolEntry:
    """A message as it waits in the spool."""
    return SpoolEntry(
        id=message.id, receiver=message.receiver, created=message.at, body=msgspec.msgpack.encode(message)
    )
