"""The beacons of this minion, for the agent: their process, its configuration, and what it says is wrong.

Part of the agent, which polls `readers` and calls `look` at every turn. The process is there only while beacons are
configured, or files of the document are watched. What beacons find they put into the queue themselves
(`minion.spool.minion_events`).
"""

from __future__ import annotations

import logging
import secrets
import time
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import Any

import msgspec

from minion.agent.schedule import REPORTED
from minion.beacons.configured import BeaconSources, modules_of
from minion.beacons.frames import TO_AGENT, ToAgent, ToHost
from minion.config.groups import BeaconOptions
from minion.processes import Child
from minion.spool.beacons import beacons_version, read_beacons_file, write_beacons
from wire.messages import Call

log = logging.getLogger(__name__)

AGAIN = 10.0
"""Seconds until the process is started again that has ended by itself; twice as long each time, up to ten minutes."""

LONGEST_AGAIN = 600.0


class BeaconKeeper:
    """The process of the beacons. Times are monotonic seconds."""

    def __init__(
        self,
        cachedir: Path,
        configured: BeaconOptions,
        host: Callable[[Iterable[str]], Child],
        act: Callable[[ToAgent], None],
    ) -> None:
        """`host`: starts the process, given modules that it needs. `act`: begins a run that it asks for."""
        self._cachedir = cachedir
        self._host, self._act = host, act
        self._child: Child | None = None
        self._started = 0.0
        self._pause = AGAIN
        self._not_before = 0.0
        self._version: tuple[int, ...] = ()
        self._pillar: Any = None
        self._running = False
        self._watched = ""
        self._sources = BeaconSources()
        self.problems: tuple[str, ...] = ()
        """What is wrong, for the controller."""
        try:
            write_beacons(cachedir, configured.own, configured.places)
        except OSError as error:
            log.error("event=beacons_not_stored error=%s", error)

    def readers(self) -> Sequence[int]:
        """The process's socket, while there is one."""
        return () if self._child is None else (self._child.fd,)

    @property
    def due_at(self) -> float:
        """When the process is to be started again."""
        return self._not_before if self._child is None and self._needed else float("inf")

    @property
    def _needed(self) -> bool:
        return bool(self._watched) or _any(self._sources)

    def look(self, beacons: Any, now: float, *, running: bool, changed: Sequence[str], watched: str = "") -> None:
        """See what is configured and whether states run.

        Args:
            beacons: those of the pillar.
            now: monotonic seconds.
            running: whether states run.
            changed: paths that runs changed which have ended.
            watched: digest of the document whose files and services are watched; empty: of none.
        """
        version = beacons_version(self._cachedir)
        if version != self._version or beacons != self._pillar:
            self._configure(version, beacons)
        if watched != self._watched:
            self._watched = watched
            if not self._needed:
                self.stop()
            self._tell(ToHost(watched=watched))
        if self._child is None and self._needed and now >= self._not_before:
            self._start(now)
        if self._child is not None and running != self._running:
            self._tell(ToHost(running=running, changed=tuple(changed)))
        self._running = running

    def receive(self, now: float) -> bool:
        """The process's socket is readable; whether `problems` has changed."""
        if self._child is None:
            return False
        frames, ended = self._child.receive()
        before = self.problems
        for frame in frames:
            said = TO_AGENT.decode(frame)
            if said.problems is not None:
                self._has_problems(said.problems)
            if said.heal_of or said.touched:
                self._act(said)
        if ended:
            self._ended(now)
        return self.problems != before

    def stop(self) -> None:
        """End the process."""
        if self._child is not None:
            self._child.kill()
            self._child.reap()
            self._child = None

    def _configure(self, version: tuple[int, ...], beacons: Any) -> None:
        modules_changed = bool(self._version) and version[2:] != self._version[2:]
        self._version, self._pillar = version, beacons
        own, places = read_beacons_file(self._cachedir) or (None, {})
        self._sources = BeaconSources(own=own, places=places, pillar=beacons)
        if modules_changed or not self._needed:
            self.stop()  # a process of them would go on with the modules that it has loaded
        if not self._needed:
            self._has_problems(())
        elif self._child is not None:
            self._tell(ToHost(sources=self._sources))
        self._not_before, self._pause = 0.0, AGAIN

    def _start(self, now: float) -> None:
        try:
            self._child = self._host(modules_of(self._sources))
        except OSError as error:
            log.error("event=beacons_not_started error=%s", error)
            self._not_before = now + self._pause
            return
        self._started = now
        self._tell(ToHost(sources=self._sources, running=self._running, watched=self._watched))

    def _ended(self, now: float) -> None:
        """The process has ended, which it never does by itself."""
        if self._child is None:
            return
        code = self._child.reap()
        self._child = None
        self._pause = AGAIN if now - self._started > LONGEST_AGAIN else min(2 * self._pause, LONGEST_AGAIN)
        self._not_before = now + self._pause
        why = f"the process of the beacons has ended with exit code {code}; it is started again in {self._pause:g} s"
        self._has_problems((why, *(one for one in self.problems if not one.startswith("the process of"))))

    def _has_problems(self, problems: tuple[str, ...]) -> None:
        for one in problems:
            if one not in self.problems:
                log.error("event=beacon_problem problem=%s", one)
        self.problems = problems

    def _tell(self, frame: ToHost) -> None:
        if self._child is not None and not self._child.send(msgspec.msgpack.encode(frame, enc_hook=str)):
            log.error("event=beacons_unresponsive do=%s", "they are started again")
            self.stop()
            self._not_before = time.monotonic() + self._pause


def healing_call(minion_id: str, wanted: ToAgent, now: float) -> Call:
    """The call that heals what a beacon found. `now`: seconds since the epoch."""
    run_id = f"{REPORTED}{minion_id}-{int(now * 1000):012x}{secrets.token_hex(5)}"
    names = ",".join(wanted.heal_keys)
    fun = {"sls": "state.sls", "state": "state.sls_id"}.get(wanted.heal_of, "state.highstate")
    return Call(run_id=run_id, fun=fun, args=(names,) if names else (), kwargs={"queue": True})


def _any(sources: BeaconSources) -> bool:
    return bool(sources.own) or bool(sources.pillar)
