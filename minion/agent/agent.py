"""The minion's agent: keeps the connection, holds the desired document, gives runs to workers, delivers results.

`main` is the composition root of `saltern minion`. One thread, one poll loop, and each part below does its own work in
its own module; here is only who is told of what. Must stay small while idle: no Jinja, YAML, psutil or asyncio.

On SIGTERM it says Bye and ends at once; its workers end after the state that goes on, and the next agent goes on there.
"""

from __future__ import annotations

import contextlib
import logging
import os
import secrets
import signal
import sys
import time
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Protocol

from minion.agent.child_tasks import ChildTasks, collect_grains
from minion.agent.connection import open_connection
from minion.agent.drift import DriftTimer
from minion.agent.fact_queries import FactAnswerer
from minion.agent.file_requests import FileRelay
from minion.agent.grains import Collector, GrainsKeeper
from minion.agent.mine import MineKeeper, mine_minutes
from minion.agent.runs import Jobs, RunPorts
from minion.agent.schedule import ScheduleTimer
from minion.agent.session import AgentSession, LinkPorts
from minion.agent.settings_reader import settings_from_child
from minion.config.files import BadMinionSettings
from minion.config.settings import MinionSettings
from minion.log import log_to_stderr
from minion.spool.desired_state import DesiredState
from minion.spool.triggers import TriggerFile
from wire.client import Connected, ConnectionEvent, Disconnected, HandshakeFailed
from wire.errors import BadKey, CannotConnect, PatchMismatch
from wire.messages import (
    Blob,
    Bye,
    Call,
    DesiredUpdate,
    FactRequest,
    FileFound,
    FileList,
    Grains,
    Heartbeat,
    Held,
    Hello,
    HelloAck,
    KeepAlive,
    KeyState,
    MineFound,
    Preview,
    Refused,
    ResultAck,
    ResyncRequired,
    Run,
    ToController,
    ToMinion,
)

log = logging.getLogger(__name__)

LONGEST_WAIT = 30.0
"""Seconds; the loop looks at the clock at least that often, in case the wall clock was set."""

MOST_OWED = 20
"""Triggers that the controller is told of."""

SEND_QUEUE_FULL = 0.2
"""Seconds until results are tried again when the connection takes no more."""


class Wire(Protocol):
    """The connection as the agent uses it (`wire.client.Connection`)."""

    def send(self, message: ToController) -> bool:
        """Queue a message; False when the queue is full."""

    def receive(
        self, timeout: float, readers: Sequence[int] = ()
    ) -> tuple[list[ToMinion | ConnectionEvent], list[int]]:
        """What has come, and which of `readers` are readable."""

    def close(self) -> None:
        """Close the sockets."""


class Agent:
    """The parts of one agent, and the loop that feeds them."""

    def __init__(
        self, settings: MinionSettings, connection: Wire, *, fingerprint: str, collect: Collector, umask: int
    ) -> None:
        self._settings = settings
        self._connection = connection
        self._session = secrets.token_hex(8)
        self._stop_asked = False
        cachedir = settings.cachedir
        self._holding = DesiredState(cachedir)
        self._children = children = ChildTasks(
            settings=settings, umask=umask, document=self._holding.path, grains=lambda: self._grains.grains
        )
        self._triggers = TriggerFile(cachedir)
        self._files = FileRelay(connection.send)
        self._jobs = Jobs(
            cachedir,
            self._holding,
            RunPorts(send=self._send, fork=children.worker, ended=self._files.forget),
            tells_progress=settings.state_events,
        )
        self._facts = FactAnswerer(self._send, children.fork, children.fact_answer)
        self._drift = DriftTimer(cachedir, settings.id)
        self._schedule = ScheduleTimer(cachedir, settings.id, settings.opts.get("schedule"))
        least = {**settings.grains, "id": settings.id}
        self._grains = GrainsKeeper(cachedir, collect, children.fork, least=least)
        self._grains_due = float("inf")
        self._deliver_from = 0.0
        minutes = mine_minutes(settings.opts)
        self._mine = MineKeeper(cachedir, self._send, children.fork, children.update_mine, minutes=minutes)
        self._link = AgentSession(
            settings.id, fingerprint, LinkPorts(send=connection.send, hello=self._hello, alive=self._alive)
        )

    def stop(self) -> None:
        """End the loop at its next turn. Safe to call from a signal handler."""
        self._stop_asked = True

    def run(self) -> None:
        """Serve until `stop`."""
        self._children.warm()
        self._start_grains(time.monotonic())
        self._drift.follow(self._holding.drift, time.time())
        self._follow_mine(time.monotonic())
        with _wakeups() as wakeup:
            while not self._stop_asked:
                self._turn(wakeup)
        self._jobs.leave_off()
        self._connection.send(Bye())
        self._connection.close()
        log.info("event=stopped id=%s", self._settings.id)

    def _turn(self, wakeup: int) -> None:
        self._do_what_is_due(time.monotonic())
        parts = (self._grains, self._mine, self._facts, self._jobs)
        readers = [wakeup, *(fd for part in parts for fd in part.readers())]
        events, ready = self._connection.receive(self._wait(time.monotonic()), readers)
        for event in events:
            self._handle(event, time.monotonic())
        for fd in ready:
            self._read(fd, wakeup)

    def _wait(self, now: float) -> float:
        """Seconds until something is due."""
        deadlines = [
            now + LONGEST_WAIT,
            self._link.deadline,
            self._files.next_deadline(),
            self._facts.next_deadline(),
            self._jobs.next_deadline(),
            self._grains_due,
            self._mine.due_at,
            now + (min(self._drift.due_at, self._schedule.due_at) - time.time()),
        ]
        if self._link.online:
            deadlines.append(max(self._jobs.outbox.next_due(now), self._deliver_from))
        return max(0.0, min(deadlines) - now)

    def _do_what_is_due(self, now: float) -> None:
        self._link.tick(now)
        self._files.expire(now)
        self._facts.expire(now)
        self._jobs.expire(now)
        if now >= self._grains_due or self._grains.asked():
            self._refresh_grains(now)
        if time.time() >= self._drift.due_at:
            self._look_for_drift()
        self._do_scheduled(time.time())
        self._mine.tick(now, online=self._link.online)
        self._jobs.start_waiting(now)
        self._deliver(now)

    def _handle(self, event: ToMinion | ConnectionEvent, now: float) -> None:
        match event:
            case Connected():
                self._link.connected(now)
            case Disconnected():
                self._went_offline(now)
            case HandshakeFailed():
                log.error(
                    "event=handshake_failed do=%s reason=%s",
                    "compare controller_key with `saltern key controller`",
                    event.reason,
                )
            case KeyState():
                self._link.key_state(event, now)
            case Refused():
                self._link.refused(event, now)
            case HelloAck():
                self._welcomed(event, now)
            case Heartbeat():
                if self._link.heartbeat(event, now):
                    self._files.offline(now)
            case DesiredUpdate():
                self._desire(event)
            case Run() | Preview() | Call():
                self._jobs.accept(event)
            case FactRequest():
                self._facts.accept(event, now)
            case ResultAck():
                self._jobs.outbox.acknowledge(event.run_id)
            case FileFound() | FileList() | Blob() | MineFound():
                self._files.answer(event)

    def _welcomed(self, message: HelloAck, now: float) -> None:
        self._link.welcome(message, now)
        self._files.online(now)
        self._jobs.outbox.reconnected()
        self._mine.welcomed()

    def _went_offline(self, now: float) -> None:
        if self._link.online:
            log.warning("event=controller_unreachable id=%s", self._settings.id)
        self._link.disconnected()
        self._files.offline(now)

    def _desire(self, message: DesiredUpdate) -> None:
        try:
            self._holding.accept(message)
        except OSError as error:
            log.error("event=desired_not_kept generation=%s error=%s", message.generation, error)
            return
        except PatchMismatch as error:
            log.info("event=patch_refused generation=%s error=%s", message.generation, error)
            self._connection.send(ResyncRequired(generation=message.generation, held=self._holding.digest))
            return
        self._connection.send(Held(generation=message.generation, digest=message.digest))
        self._drift.follow(self._holding.drift, time.time())
        self._follow_mine(time.monotonic())
        self._jobs.document_changed()

    def _deliver(self, now: float) -> None:
        if not self._link.online or now < self._deliver_from:
            return
        for result in self._jobs.outbox.due(now):
            if not self._connection.send(result):
                self._deliver_from = now + SEND_QUEUE_FULL
                return
            self._jobs.outbox.sent(result.run_id, now)

    def _do_scheduled(self, now: float) -> None:
        self._schedule.look(self._holding.schedule, now)
        if now >= self._schedule.due_at:
            for call in self._schedule.take_due(now, self._jobs.running(), len(self._jobs.outbox)):
                self._jobs.accept(call)

    def _look_for_drift(self) -> None:
        run = self._drift.run_now(self._holding, time.time())
        if self._holding.digest and not self._jobs.states_waiting():
            self._jobs.accept(run)

    def _read(self, fd: int, wakeup: int) -> None:
        if fd == wakeup:
            with contextlib.suppress(BlockingIOError):
                os.read(wakeup, 4096)
        elif fd in self._grains.readers():
            if self._grains.receive() and self._link.online:
                self._connection.send(Grains(grains=self._grains.grains))
        elif fd in self._mine.readers():
            self._mine.receive()
        elif fd in self._facts.readers():
            self._facts.receive(fd)
        else:
            self._jobs.receive(fd, lambda child, frame: self._files.ask(child, frame, time.monotonic()))

    def _start_grains(self, now: float) -> None:
        if self._grains.collected:
            self._refresh_grains(now)  # those of the last start will do until these are there
            return
        self._grains.first()
        self._plan_grains(now)

    def _refresh_grains(self, now: float) -> None:
        self._grains.refresh()
        self._plan_grains(now)

    def _plan_grains(self, now: float) -> None:
        minutes = self._settings.grains_refresh_every
        self._grains_due = now + minutes * 60 if minutes else float("inf")

    def _follow_mine(self, now: float) -> None:
        """Collect what the configuration and the document in force say."""
        self._mine.functions((self._settings.opts.get("mine_functions"), self._holding.mine_functions), now)

    def _send(self, message: ToController) -> bool:
        """Only when somebody listens: what is said to nobody would be said again, later and out of date."""
        return self._link.online and self._connection.send(message)

    def _hello(self) -> Hello:
        return Hello(
            id=self._settings.id,
            grains=self._grains.grains,
            held=self._holding.digest,
            session=self._session,
            agent=f"saltern python/{sys.version_info.major}.{sys.version_info.minor}",
        )

    def _alive(self) -> KeepAlive:
        pending_triggers = tuple(sorted(self._triggers.pending_triggers()))[:MOST_OWED]
        return KeepAlive(held=self._holding.digest, running=self._jobs.running(), pending_triggers=pending_triggers)


def main(config_dir: Path, log_level: str | None = None) -> int:
    """Run the agent of the configuration in `config_dir` until SIGTERM or SIGINT. The exit code."""
    umask = os.umask(0o077)
    log_to_stderr(log_level or "info")
    try:
        settings = settings_from_child(config_dir)
        log_level = log_level or settings.log_level
        log_to_stderr(log_level, settings.log_file, settings.log_level_logfile)
        for warning in settings.warnings:
            log.warning("event=setting_questionable warning=%s", warning)
        connection, fingerprint = open_connection(settings)
        agent = Agent(
            settings, connection, fingerprint=fingerprint, collect=lambda: collect_grains(settings), umask=umask
        )
    except (BadMinionSettings, BadKey, OSError) as error:
        log.critical("event=cannot_start error=%s", error)
        return 1
    for number in (signal.SIGTERM, signal.SIGINT):
        signal.signal(number, lambda *_: agent.stop())
    try:
        agent.run()
    except CannotConnect as error:
        log.critical("event=cannot_connect error=%s", error)
        return 1
    return 0


@contextlib.contextmanager
def _wakeups() -> Iterator[int]:
    """A descriptor that becomes readable with every signal, so that the poll ends."""
    reader, writer = os.pipe2(os.O_NONBLOCK | os.O_CLOEXEC)
    before = signal.set_wakeup_fd(writer, warn_on_full_buffer=False)
    try:
        yield reader
    finally:
        signal.set_wakeup_fd(before)
        os.close(reader)
        os.close(writer)
