"""Hands events, jobs and messages for people to returners.

Events of the bus are written to a spool on disk, in a thread; a process for each returner delivers from there. A run
that was stored, and whose event was lost when the controller was killed, is found in the store at the next start.
"""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Any, TypeVar

import structlog

from controller.config.limits import ReturnerLimits
from controller.config.returners import ReturnerSettings
from controller.observe.metrics import Metrics
from controller.returners.delivery_process import DeliveryProcess
from controller.returners.entries import OWN_TAGS, ended_run, event_entries, load_entries, return_entries, takes_event
from controller.runners.job_views import jid_of
from controller.schema.minions import ReturnerStatus
from controller.store import RunRecord, Store
from minion.returners.delivery import MESSAGES
from minion.returners.registry import BUILT_IN, built_in
from minion.returners.spool import QueueState, Spool, SpoolBounds, Waiting
from options.limits import CountRefusal
from reactors.bus import Bus, Subscription
from reactors.events import Event


class NotSent(Exception):
    """A message that is not sent; the text says why."""


log = structlog.get_logger("saltern.returners")

_LOOK_SECONDS = 2.0
"""Between two looks at how returners are doing."""
_AGAIN_SECONDS = 1.0
"""Until what could not be written to disk is written again."""
_FAILING = 3
"""Failures in a row of which is told."""
_OVERLAP = 3600.0
"""Seconds before the last write of which runs are looked for again after a restart; job caches know them by name."""
_MARK = "written"
_LOADS = 10_000
_AT_ONCE = 500
"""Runs that are read together."""
_T = TypeVar("_T")
_KINDS = ("apply", "remediate", "call", "runner", "wheel")


@dataclass(slots=True, kw_only=True)
class Returners:
    """What hands events and jobs to returners."""

    settings: ReturnerSettings
    path: Path
    """Of the spool."""
    limits: ReturnerLimits
    message_bytes: int
    """Of a message for people."""
    life: str
    """Of this controller."""
    store: Store
    bus: Bus
    metrics: Metrics
    on_refusal: CountRefusal
    clock: Callable[[], float]
    statuses: tuple[ReturnerStatus, ...] = ()
    _processes: dict[str, DeliveryProcess] = field(default_factory=dict)
    _loaded: dict[str, None] = field(default_factory=dict)
    """The newest jobs of which it was written what was asked for; the others are written again, and known by name."""
    _spool: asyncio.Future[Spool] | None = None
    _needed: asyncio.Event = field(default_factory=asyncio.Event)
    """Set when there is something to do."""
    _unstarted: asyncio.Queue[str] = field(default_factory=asyncio.Queue)
    """Returners that get their first message."""
    _told: dict[str, tuple[bool, int]] = field(default_factory=dict)
    """Returner -> whether it was said to fail, and how many drops were told of."""

    async def run(self) -> None:
        """Hand over what happens, until cancelled."""
        with self.bus.subscribe_to(self._is_wanted, on_refusal=self.on_refusal) as subscription:
            if not (self._configured() or self.path.exists() or await asyncio.to_thread(self._asked_before)):
                await self._until_needed(subscription)
            bounds = SpoolBounds(entries=self.limits.entries, size=self.limits.size)
            spool = await self._until_written(lambda: Spool(self.path, bounds))
            left = await self._until_written(spool.waiting)
            able = [one for one in left if one.startswith(MESSAGES) or one in BUILT_IN]
            async with asyncio.TaskGroup() as tasks:
                for name in dict.fromkeys((*self._configured(), *able)):
                    self._deliver_to(name)
                self._spooled().set_result(spool)
                tasks.create_task(self._start_processes(spool, tasks))
                tasks.create_task(self._watch(spool))
                tasks.create_task(self._collect(spool, subscription))

    def _configured(self) -> Sequence[str]:
        return *self.settings.event_return, *self.settings.job_caches

    def _asked_before(self) -> bool:
        return bool(self.store.runs.to_return(1))

    async def _until_needed(self, subscription: Subscription) -> None:
        """Until somebody names a returner: a job whose return comes, or a message to people."""
        waits = [asyncio.ensure_future(one) for one in (self._needed.wait(), subscription.wait())]
        try:
            await asyncio.wait(waits, return_when=asyncio.FIRST_COMPLETED)
        finally:
            for one in waits:
                one.cancel()

    def _deliver_to(self, name: str) -> None:
        """Wake the process of a returner; the first time it is started."""
        if name in self._processes:
            self._processes[name].wake()
        else:
            self._unstarted.put_nowait(name)

    async def notify(self, returner: str, message: Mapping[str, Any], name: str) -> None:
        """Have a message sent to people; it is on disk when this returns.

        Args:
            returner: which sends it.
            message: `title`, `text`, `ret_config` (a profile of its options), and what it is about.
            name: by which the same message is known again.

        Raises:
            NotSent: it cannot be sent, or not be written; the text says why.
        """
        if why := await asyncio.to_thread(self._why_not, returner, message):
            raise NotSent(why)
        self._needed.set()
        queue = f"{MESSAGES}{returner}"
        spool = await asyncio.shield(self._spooled())
        try:
            await asyncio.to_thread(spool.put, [Waiting(returner=queue, kind="message", name=name, body=message)])
        except OSError as error:
            raise NotSent(f"the message cannot be written to disk: {error}") from error
        self._deliver_to(queue)

    def _why_not(self, returner: str, message: Mapping[str, Any]) -> str:
        """Why a message cannot be sent, as far as the configuration tells."""
        opts, profile, sender = self.settings.opts, message.get("ret_config"), built_in(returner)
        if profile and not any(name.startswith(f"{profile}.{returner}") for name in opts):
            return f"there are no options {profile}.{returner} in the controller's file"
        if sender.missing is not None and (missing := sender.missing(opts, message)):
            return f"{returner} is not configured: write {', '.join(missing)} into the controller's file"
        size = len(json.dumps(message, default=str).encode())
        if size > self.message_bytes:
            self.metrics.limit_refused("reactor", "message-bytes")
            return f"the message has {size} bytes; the limit is {self.message_bytes}"
        return ""

    def _spooled(self) -> asyncio.Future[Spool]:
        """The spool, once it is opened."""
        if self._spool is None:
            self._spool = asyncio.get_running_loop().create_future()
        return self._spool

    async def _start_processes(self, spool: Spool, tasks: asyncio.TaskGroup) -> None:
        while True:
            name = await self._unstarted.get()
            if name not in self._processes:
                process = DeliveryProcess(
                    returner=name, spool=spool, opts=dict(self.settings.opts), seconds=self.limits.seconds
                )
                self._processes[name] = process
                tasks.create_task(process.run())

    def _is_wanted(self, event: Event) -> bool:
        return bool(ended_run(self.settings, event.tag, event.data)) or takes_event(self.settings, event.tag)

    async def _collect(self, spool: Spool, subscription: Subscription) -> None:
        dropped = 0
        names = await self._find_lost(spool)
        while True:
            for name in names:
                self._deliver_to(name)
            await subscription.wait()
            events = subscription.drain()
            names = await self._until_written(partial(self._write, spool, events))
            if subscription.dropped > dropped:
                dropped = subscription.dropped
                log.warning("events dropped that returners would have got", dropped=dropped)
                names |= await self._find_lost(spool)

    async def _find_lost(self, spool: Spool) -> set[str]:
        """Write runs that ended and are not in the spool yet; the returners that get something."""
        names = await self._until_written(partial(self._write_ended, spool)) if self.settings.job_caches else set()
        while found := await self._until_written(partial(self._write_asked, spool)):
            names |= found
        return names

    def _write_ended(self, spool: Spool) -> set[str]:
        """Runs that ended about the time of the last write, for the job caches; those before are there."""
        if not (written := spool.mark(_MARK)):
            spool.put([], [(_MARK, self.clock())])
            return set()
        return self._put_runs(spool, self.store.runs.finished_since(written - _OVERLAP, _KINDS))

    def _write_asked(self, spool: Spool) -> set[str]:
        """Runs whose jobs name returners; each is there until it is written."""
        return self._put_runs(spool, self.store.runs.to_return(_AT_ONCE))

    def _write(self, spool: Spool, events: Sequence[Event]) -> set[str]:
        entries: list[Waiting] = []
        runs: list[RunRecord] = []
        for event in events:
            if takes_event(self.settings, event.tag):
                entries += event_entries(self.settings, event, self.life)
            if run_id := ended_run(self.settings, event.tag, event.data):
                run = self.store.runs.get(run_id)
                runs += [run] if run is not None and run.finished is not None else []
        return self._put_runs(spool, runs, entries, [(_MARK, self.clock())])

    def _put_runs(
        self,
        spool: Spool,
        runs: Sequence[RunRecord],
        entries: Sequence[Waiting] = (),
        marks: Sequence[tuple[str, float]] = (),
    ) -> set[str]:
        """Have runs wait that ended, and other entries; the returners that they wait for."""
        all_entries = [*entries, *(entry for run in runs for entry in self._entries(run))]
        spool.put(all_entries, marks)
        if asked := [run.run_id for run in runs if run.returners]:
            self.store.runs.handed_over(asked)
        return {entry.returner for entry in all_entries}

    def _entries(self, run: RunRecord) -> Sequence[Waiting]:
        jid, runs = jid_of(run), self.store.runs
        load: Sequence[RunRecord] = ()
        job = None
        if self.settings.job_caches and jid not in self._loaded:
            load, job = runs.of_job(jid) or (run,), self.store.jobs.get(jid)
            self._loaded[jid] = None
            if len(self._loaded) > _LOADS:
                del self._loaded[next(iter(self._loaded))]
        return *load_entries(self.settings, load, job), *return_entries(self.settings, run, runs.result(run.run_id))

    async def _until_written(self, write: Callable[[], _T]) -> _T:
        """Do it in a thread, again until the disk takes it; what comes meanwhile waits in memory, bounded."""
        while True:
            try:
                return await asyncio.to_thread(write)
            except OSError as error:
                log.error("returners: the spool is not written; it is tried again", error=str(error))
                await asyncio.sleep(_AGAIN_SECONDS)

    async def _watch(self, spool: Spool) -> None:
        while True:
            with suppress(OSError):
                self._tell(await asyncio.to_thread(spool.states))
            await asyncio.sleep(_LOOK_SECONDS)

    def _tell(self, states: Sequence[QueueState]) -> None:
        """Show how returners are doing, and publish what has changed."""
        self.statuses = tuple(
            ReturnerStatus(
                returner=one.returner,
                waiting=one.waiting,
                dropped=one.dropped,
                failures=one.failures,
                error=one.error,
            )
            for one in states
        )
        for one in states:
            self.metrics.returner_state(one.returner, one.waiting, one.failures, one.dropped)
            failing, dropped = self._told.get(one.returner, (False, 0))
            data = {"waiting": one.waiting, "dropped": one.dropped, "error": one.error}
            if one.dropped > dropped:
                self.bus.publish(f"{OWN_TAGS}{one.returner}/dropped", data)
                log.warning("entries dropped that a returner did not get", returner=one.returner, **data)
            if (one.failures >= _FAILING) != failing and (one.failures >= _FAILING or one.failures == 0):
                failing = not failing
                self.bus.publish(f"{OWN_TAGS}{one.returner}/{'failing' if failing else 'recovered'}", data)
                log.warning("returner fails" if failing else "returner works again", returner=one.returner, **data)
            self._told[one.returner] = failing, one.dropped
