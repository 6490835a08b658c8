"""The process of the beacons: looks when one is due, waits for the kernel otherwise, and puts events into the queue.

Forked by the agent (`minion.agent.beacons`), which it may not hold up: whatever a beacon does, it does here or in a
child of this process. Frames of the agent say what is configured and when states run; frames to it say what is wrong,
and what is to be healed.
"""

from __future__ import annotations

import logging
import math
import select
import time
from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple

import msgspec

from highstate.types import Chunk
from minion.beacons.active import ActiveBeacon, BeaconOutcome, activate
from minion.beacons.beacon import World
from minion.beacons.configured import BeaconSources, ConfiguredBeacon, Ensure, read_beacons
from minion.beacons.ensuring import Step
from minion.beacons.frames import TO_HOST, ToAgent, ToHost
from minion.beacons.watched_services import WatchedServices
from minion.beacons.watched_states import WatchedStates
from minion.processes import AgentGone, AgentPipe

log = logging.getLogger(__name__)

EVENTS_AT_ONCE = 2000
"""Events of all beacons that may come at once; more are dropped, and counted."""
EVENTS_A_SECOND = 20.0
"""Of all beacons, for good."""

MOST_PROBLEMS = 50
"""That are told to the controller."""


class HostPorts(NamedTuple):
    """What the process needs of the minion."""

    minion_id: str
    world: World
    tree: TreeBeacons
    add: Callable[[Sequence[tuple[str, Mapping[str, Any]]]], None]
    """Puts events into the queue."""
    drop: Callable[[int], None]
    """Counts events that are not put there."""
    document: Callable[[], tuple[str, Mapping[str, Chunk]]]
    """Digest and chunks of the desired document in force. Raises OSError and ValueError."""


class TreeBeacons(NamedTuple):
    """Beacons of the tree (`_beacons`)."""

    names: Callable[[], tuple[frozenset[str], Mapping[str, str]]]
    """Their names, and why others cannot be used."""
    functions: Callable[[str], Mapping[str, Callable[..., Any]]]
    """Loads one: its functions."""


class BeaconHost:
    """All beacons of this minion."""

    def __init__(self, ports: HostPorts, pipe: AgentPipe) -> None:
        self._ports, self._pipe = ports, pipe
        self._active: dict[str, ActiveBeacon] = {}
        self._watched = WatchedStates()
        self._services = WatchedServices()
        self._running = False
        self._tokens, self._filled = float(EVENTS_AT_ONCE), time.monotonic()
        self._wrong: list[str] = []
        self._told: tuple[str, ...] = ()
        self._tree: frozenset[str] | None = None
        self._tree_failures: Mapping[str, str] = {}

    def run(self) -> None:
        """Until the agent has gone."""
        try:
            while True:
                self._turn()
        except AgentGone:
            for one in self._active.values():
                one.close()
            self._watched.close()
            self._services.close()
            raise

    def _turn(self) -> None:
        now = time.monotonic()
        poll = select.poll()
        poll.register(self._pipe.fd, select.POLLIN)
        of_fd: dict[int, ActiveBeacon] = {}
        for one in self._active.values():
            for fd in one.readers(now):
                of_fd[fd] = one
                poll.register(fd, select.POLLIN)
        for fd in (*self._watched.readers(now), *self._services.readers(now)):
            poll.register(fd, select.POLLIN)
        dues = (one.due_at(now) for one in self._active.values())
        due = min((*dues, self._watched.due_at(now), self._services.due_at(now)))
        wait = None if due == math.inf else max(0, math.ceil((due - now) * 1000))
        ready = [fd for fd, _ in poll.poll(wait)]
        now = time.monotonic()
        if self._pipe.fd in ready:
            self._take(TO_HOST.decode(self._pipe.receive()))
        for one in {id(of_fd[fd]): of_fd[fd] for fd in ready if fd in of_fd}.values():
            self._handle(one, one.woken(now), now)
        for one in list(self._active.values()):
            if one.due_at(now) <= now:
                self._handle(one, one.due(now), now)
        if touched := self._watched.look(now) | self._services.look(now, ready):
            self._tell(ToAgent(touched=tuple(sorted(touched)), touched_of=self._watched.digest))
        self._tell_problems()

    def _take(self, frame: ToHost) -> None:
        if frame.running is not None:
            self._running = frame.running
            for one in self._active.values():
                one.state_run(running=frame.running, changed=frame.changed)
            self._watched.state_run(running=frame.running, changed=frame.changed, now=time.monotonic())
            self._services.state_run(running=frame.running, now=time.monotonic())
        if frame.sources is not None:
            self._configure(frame.sources)
        if frame.watched is not None:
            self._watch(frame.watched)

    def _watch(self, digest: str) -> None:
        """Watch what the document in force has; that of another digest is told by a later frame."""
        if not digest:
            self._watched.close()
            self._services.close()
            self._watched, self._services = WatchedStates(), WatchedServices()
            return
        try:
            held, chunks = self._ports.document()
        except (OSError, ValueError) as error:
            log.error("event=document_not_watched error=%s", error)
            return
        self._watched.follow(held, chunks, time.monotonic())
        self._services.follow(chunks, time.monotonic())

    def _configure(self, sources: BeaconSources) -> None:
        """Beacons that are as before go on."""
        if self._tree is None:
            self._tree, self._tree_failures = self._ports.tree.names()
        names = self._tree
        configured, self._wrong = read_beacons(sources, lambda name: name in names or name in self._tree_failures)
        before, self._active = self._active, {}
        for one in configured:
            known = before.get(one.name)
            if known is not None and known.beacon == one:
                self._active[one.name] = before.pop(one.name)
            elif one.module in self._tree_failures:
                why = self._tree_failures[one.module]
                self._wrong.append(f"_beacons/{one.module}.py: beacon {one.name}: {why}")
            else:
                if known is not None:
                    before.pop(one.name).close()
                self._active[one.name] = self._activated(one)
        for known in before.values():
            known.close()

    def _activated(self, one: ConfiguredBeacon) -> ActiveBeacon:
        functions = self._ports.tree.functions if one.module in (self._tree or ()) else None
        return activate(one, self._ports.world, functions, running=self._running, now=time.monotonic())

    def _handle(self, one: ActiveBeacon, outcome: BeaconOutcome, now: float) -> None:
        head = f"salt/beacon/{self._ports.minion_id}/{one.beacon.name}/"
        events: list[tuple[str, Mapping[str, Any]]] = []
        for data in outcome.found:
            tag = head + str(data.pop("tag", ""))
            events.append((tag, {**data, "id": data.get("id", self._ports.minion_id)}))
        if outcome.failed_anew:
            log.error("event=beacon_failed beacon=%s error=%s", one.beacon.name, one.error)
            events.append((head, {"id": self._ports.minion_id, "error": one.error}))
        for step in outcome.steps:
            events.append(self._healing(one, step, now))
        self._send(events, now)

    def _healing(self, one: ActiveBeacon, step: Step, now: float) -> tuple[str, Mapping[str, Any]]:
        """Ask the agent to heal, and the event that says so."""
        ensure = one.beacon.ensure or Ensure()
        if step is Step.HEAL:
            self._tell(ToAgent(heal_of=ensure.of, heal_keys=ensure.keys))
        name = one.beacon.name
        data = {
            "id": self._ports.minion_id,
            "beacon": name,
            "tries": one.tries_told(),
            "seconds": round(one.ensuring.seconds(now), 1) if one.ensuring is not None else 0.0,
            "ensure": {ensure.of: list(ensure.keys)},
        }
        log.info("event=ensure_%s beacon=%s tries=%s", step.value, name, data["tries"])
        return f"saltern/ensure/{self._ports.minion_id}/{name}/{step.value}", data

    def _send(self, events: list[tuple[str, Mapping[str, Any]]], now: float) -> None:
        """Put events into the queue, as many as may come now."""
        if not events:
            return
        self._tokens = min(EVENTS_AT_ONCE, self._tokens + (now - self._filled) * EVENTS_A_SECOND)
        self._filled = now
        room = min(len(events), int(self._tokens))
        self._tokens -= room
        if room:
            self._ports.add(events[:room])
        if room < len(events):
            log.warning("event=beacon_events_dropped count=%s", len(events) - room)
            self._ports.drop(len(events) - room)

    def _tell_problems(self) -> None:
        errors = [f"beacon {one.beacon.name}: {one.error}" for one in self._active.values() if one.error]
        problems = tuple([*self._watched.problems, *self._services.problems, *self._wrong, *errors][:MOST_PROBLEMS])
        if problems != self._told:
            self._told = problems
            self._tell(ToAgent(problems=problems))

    def _tell(self, frame: ToAgent) -> None:
        self._pipe.send(msgspec.msgpack.encode(frame))
