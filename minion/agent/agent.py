"""The minion's agent: keeps the connection and the desired document, gives runs to workers, sends results.

`main` is the composition root of `saltern minion`. One thread runs one poll loop; each part does its work in a module
of its own, and here messages and descriptors are passed to the part that they concern. Must stay small while idle: no
Jinja, YAML, psutil or asyncio.

On SIGTERM it sends Bye and ends at once. Its workers end after the current state, and the next agent resumes their
runs.
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

from minion.agent.beacons import BeaconKeeper, healing_call
from minion.agent.call_questions import CallQuestions
from minion.agent.child_tasks import ChildTasks, collect_grains
from minion.agent.connection import open_connection
from minion.agent.connection_trouble import ConnectionTrouble
from minion.agent.controller_keys import ControllerKeys
from minion.agent.drift import DriftTimer
from minion.agent.drift_watch import DriftWatch
from minion.agent.enrolment import enrolment_request
from minion.agent.fact_queries import FactAnswerer
from minion.agent.file_requests import FileRelay
from minion.agent.grains import Collector, GrainsKeeper
from minion.agent.key_rotation import KeyRotation
from minion.agent.mine import MineKeeper
from minion.agent.returners import ReturnerKeeper
from minion.agent.runs import RunJobs, RunPorts
from minion.agent.schedule import ScheduleTimer
from minion.agent.session import AgentSession, SessionPorts
from minion.agent.settings_reader import settings_from_child
from minion.agent.workers import Workers
from minion.beacons.frames import ToAgent
from minion.config.files import UNUSABLE, BadMinionSettings
from minion.config.settings import MinionSettings
from minion.log import log_to_stderr
from minion.processes import Child
from minion.spool.desired_state import DesiredState
from minion.spool.minion_events import MinionEventsOutbox
from minion.spool.schedule import UNREPORTED
from minion.spool.triggers import TriggerFile
from reactors.scheduled_jobs import whens_of
from wire.client import Connected, ConnectionEvent, Disconnected, HandshakeFailed, NotUnderstood
from wire.errors import BadKey, CannotConnect, PatchMismatch
from wire.keys import KeyPair, fingerprint
from wire.messages import (
    CHECKS_CALLS,
    RETURNERS_OF_CALL,
    ROTATE_KEY,
    STATES_OF_CALL,
    Blob,
    Bye,
    Call,
    CheckCalls,
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
    KeyRequest,
    KeyState,
    MineFound,
    MinionEventsAck,
    NextControllerKey,
    Preview,
    Published,
    Refused,
    ResultAck,
    ResultRefused,
    ResyncRequired,
    RotateKey,
    Run,
    RunEventsAck,
    StatesFound,
    ToController,
    ToMinion,
)

log = logging.getLogger(__name__)

LONGEST_WAIT = 30.0
"""Seconds; the loop reads the clock at least that often, in case the wall clock was set."""

_MOST_NAMES = 100
"""Of messages that were said not to be known."""

MOST_PENDING_TRIGGERS = 20
"""Triggers that are reported to the controller."""

MOST_PROBLEMS = 100
"""That the controller takes of a minion."""

NOT_KEPT_SECONDS = 5.0
"""After a document could not be written: until the controller is asked for it again."""
SEND_QUEUE_FULL = 0.2
"""Seconds until results are sent again after the send queue was full."""


class AgentWire(Protocol):
    """The connection as the agent uses it (`wire.client.Connection`)."""

    def send(self, message: ToController) -> bool:
        """Queue a message; False when the queue is full."""

    def receive(
        self, timeout: float, readers: Sequence[int] = ()
    ) -> tuple[list[ToMinion | ConnectionEvent], list[int]]:
        """Messages that have arrived, and which of `readers` are readable."""

    def change_keys(self, keys: KeyPair) -> None:
        """Connect again with these keys."""

    def change_controller_key(self, public: str) -> None:
        """Expect this key of the controller from the next dial on."""

    def close(self) -> None:
        """Close the sockets."""


class Agent:
    """The parts of one agent, and its loop."""

    def __init__(
        self, settings: MinionSettings, connection: AgentWire, *, fingerprint: str, collect: Collector, umask: int
    ) -> None:
        self._settings = settings
        self._connection = connection
        self._session_id = secrets.token_hex(8)
        self._stopping = False
        cachedir = settings.cachedir
        self._desired = DesiredState(cachedir)
        self._tasks = tasks = ChildTasks(
            settings=settings, umask=umask, document=self._desired.path, grains=lambda: self._grains.grains
        )
        self._workers = Workers(tasks.worker, lambda: self._grains.grains)
        self._triggers = TriggerFile(cachedir)
        self._files = FileRelay(connection.send)
        self._call_questions = CallQuestions(cachedir, self._files.ask)
        self._returners = ReturnerKeeper(cachedir, settings.id, settings.options.returners, tasks.deliver_to)
        self._jobs = RunJobs(
            cachedir,
            self._desired,
            RunPorts(
                send=self._send_from_jobs,
                start=self._workers.start,
                ended=self._worker_ended,
                answered=self._returners.answered,
                returned=self._returners.returned,
            ),
            report_progress=settings.state_events is not False,
            stop_grace=settings.stop_grace,
        )
        self._events = MinionEventsOutbox(cachedir)
        self._facts = FactAnswerer(self._send, tasks.fork, tasks.fact_answer)
        self._drift = DriftTimer(cachedir, settings.id)
        self._schedule = ScheduleTimer(cachedir, settings.id, settings.options.schedule.jobs)
        self._drift_watch = DriftWatch(settings.id)
        self._not_understood: set[str] = set()
        """Names of messages that were said not to be known."""
        self._beacons = BeaconKeeper(cachedir, settings.options.beacons, tasks.host_beacons, self._act)
        least = {**settings.grains, "id": settings.id}
        self._grains = GrainsKeeper(cachedir, collect, tasks.fork, least=least)
        self._grains_due = float("inf")
        self._send_results_from = 0.0
        self._resync_from = 0.0
        self._resync: ResyncRequired | None = None
        """Is sent when a document may be kept again."""
        self._mine = MineKeeper(
            cachedir, self._send, tasks.fork, tasks.update_mine, minutes=settings.options.mine.minutes
        )
        self._session = AgentSession(
            settings.id,
            fingerprint,
            SessionPorts(
                send=connection.send, key_request=self._key_request, hello=self._hello, keep_alive=self._keep_alive
            ),
        )
        self._controller_keys = ControllerKeys(settings.pki_dir, settings.controller_key)
        self._key_rotation = KeyRotation(settings.pki_dir, self._use_key)
        host = settings.master[0] if settings.master else ""
        self._trouble = ConnectionTrouble(settings.id, host, settings.master_port, settings.controller_key, tasks.fork)

    def stop(self) -> None:
        """End the loop at its next turn. Safe to call from a signal handler."""
        self._stopping = True

    def run(self) -> None:
        """Serve until `stop`."""
        self._tasks.preload()
        self._trouble.dialling(time.monotonic())
        self._start_grains(time.monotonic())
        self._drift.follow(self._desired.drift, time.time())
        self._follow_mine_functions(time.monotonic())
        with _wakeups() as wakeup:
            while not self._stopping:
                self._turn(wakeup)
        self._jobs.suspend()
        self._workers.stop()
        self._beacons.stop()
        self._returners.stop()
        self._connection.send(Bye())
        self._connection.close()
        log.info("event=stopped id=%s", self._settings.id)

    def _turn(self, wakeup: int) -> None:
        self._do_due(time.monotonic())
        parts = (
            self._grains,
            self._mine,
            self._facts,
            self._beacons,
            self._returners,
            self._jobs,
            self._trouble,
        )
        readers = [wakeup, self._events.fd, *(fd for part in parts for fd in part.readers())]
        events, ready = self._connection.receive(self._wait(time.monotonic()), readers)
        for event in events:
            self._handle(event, time.monotonic())
        for fd in ready:
            self._read(fd, wakeup)

    def _wait(self, now: float) -> float:
        """Seconds until something is due."""
        deadlines = [
            now + LONGEST_WAIT,
            self._session.deadline,
            self._trouble.due_at,
            self._files.next_deadline(),
            self._facts.next_deadline(),
            self._jobs.next_deadline(),
            self._workers.due_at,
            self._grains_due,
            self._mine.due_at,
            self._beacons.due_at,
            self._returners.due_at,
            self._drift_watch.due_at(self._desired.digest, busy=self._jobs.states_waiting()),
            now + (min(self._drift.due_at, self._schedule.due_at) - time.time()),
        ]
        if self._session.online:
            parts = (self._jobs.outbox, self._jobs.events, self._events)
            due = min(part.next_due(now) for part in parts)
            deadlines.append(max(due, self._send_results_from))
            if self._resync is not None:
                deadlines.append(self._resync_from)
        return max(0.0, min(deadlines) - now)

    def _do_due(self, now: float) -> None:
        self._session.tick(now)
        self._trouble.look(now)
        self._files.expire(now)
        self._facts.expire(now)
        self._jobs.expire(now)
        if now >= self._grains_due or self._grains.take_request():
            self._refresh_grains(now)
        self._check_touched(now)
        if time.time() >= self._drift.due_at:
            self._check_drift()
        self._run_scheduled_jobs(time.time())
        self._mine.tick(now, online=self._session.online)
        self._jobs.start_waiting(now)
        self._returners.tick(now)
        self._look_at_beacons(now)
        self._send_resync(now)
        self._send_results(now)
        self._workers.tick(now)

    def _handle(self, event: ToMinion | ConnectionEvent, now: float) -> None:
        match event:
            case Connected():
                self._controller_keys.proved()
                self._trouble.connected(now)
                self._session.connected(now)
            case Disconnected():
                self._disconnected(now)
            case HandshakeFailed():
                self._trouble.handshake_failed(event.reason)
                if not event.of_own_key:
                    self._controller_keys.failed(self._connection.change_controller_key)
            case NextControllerKey():
                self._controller_keys.announced(event.public)
            case NotUnderstood():
                self._refuse(event)
            case KeyState():
                if not self._key_rotation.takes(event):
                    self._session.key_state(event, now)
            case RotateKey():
                new_key = self._key_rotation.new_key()
                if new_key is not None:
                    self._send(new_key)
            case Refused(request=0):
                self._session.refused(event, now)
            case HelloAck():
                self._connected(event, now)
            case Heartbeat():
                if self._session.heartbeat(event, now):
                    self._files.offline(now)
            case DesiredUpdate():
                self._accept_desired(event)
            case Run() | Preview() | Call():
                self._jobs.accept(event)
            case CheckCalls(run_ids=run_ids):
                for run_id in run_ids:
                    self._jobs.check(run_id)
            case FactRequest():
                self._facts.accept(event, now)
            case RunEventsAck():
                self._jobs.events_acknowledged(event)
            case MinionEventsAck():
                self._events.acknowledge(event)
            case ResultAck():
                self._jobs.outbox.acknowledge(event.run_id)
            case ResultRefused():
                log.error("event=result_refused run=%s reason=%s", event.run_id, event.reason)
                self._jobs.outbox.acknowledge(event.run_id)
            case FileFound() | FileList() | Blob() | MineFound() | StatesFound() | Published() | Refused():
                self._files.answer(event)

    def _refuse(self, message: NotUnderstood) -> None:
        """A message of a newer controller: said once a name, and a run that it asks for ends with that answer."""
        if message.name not in self._not_understood and len(self._not_understood) < _MOST_NAMES:
            self._not_understood.add(message.name)
            log.warning(
                "event=message_not_understood name=%r do=%s reason=%s",
                message.name,
                "update this minion",
                message.why,
            )
        if message.run_id:
            self._jobs.refuse(message.run_id, f"this minion does not know the message {message.name!r}")

    def _connected(self, message: HelloAck, now: float) -> None:
        self._session.hello_acknowledged(message, now)
        self._files.online(now)
        self._jobs.outbox.reconnected()
        self._jobs.events.reconnected()
        self._events.reconnected()
        self._mine.connected()
        if self._drift.problems or self._beacons.problems or self._returners.problems:
            self._send(self._keep_alive())

    def _disconnected(self, now: float) -> None:
        if self._session.online:
            log.warning("event=connection_lost id=%s", self._settings.id)
        self._session.disconnected()
        self._trouble.dialling(now)
        self._files.offline(now)

    def _accept_desired(self, message: DesiredUpdate) -> None:
        modules = self._desired.modules
        try:
            changed = self._desired.accept(message)
        except OSError as error:
            log.error("event=desired_not_stored generation=%s error=%s", message.generation, error)
            self._resync_from = time.monotonic() + NOT_KEPT_SECONDS
            return
        except PatchMismatch as error:
            log.info("event=patch_refused generation=%s error=%s", message.generation, error)
            self._connection.send(ResyncRequired(generation=message.generation, held=self._desired.digest))
            return
        self._resync = None
        self._connection.send(Held(generation=message.generation, digest=message.digest))
        if changed is not None and self._triggers.forget_others(changed.chunks):
            self._send(self._keep_alive())
        wrong = self._drift.problems
        self._drift.follow(self._desired.drift, time.time())
        if self._drift.problems != wrong:
            self._send(self._keep_alive())
        self._follow_mine_functions(time.monotonic())
        self._jobs.document_changed()
        if self._desired.modules != modules:  # without a run, grains of a changed `_grains` would wait for the next
            self._jobs.accept(Call(run_id=f"{UNREPORTED}sync-{message.generation}", fun="saltutil.sync_all"))

    def _worker_ended(self, child: Child) -> None:
        self._files.forget(child)
        self._workers.ended()

    def _send_from_jobs(self, message: ToController) -> bool:
        """Send it; a document that could not be kept a moment ago is asked for again after a while."""
        if isinstance(message, ResyncRequired) and time.monotonic() < self._resync_from:
            self._resync = message
            return True
        return self._send(message)

    def _send_resync(self, now: float) -> None:
        if self._resync is not None and self._session.online and now >= self._resync_from:
            message, self._resync = self._resync, None
            self._connection.send(message)

    def _send_results(self, now: float) -> None:
        if not self._session.online or now < self._send_results_from:
            return
        if not self._send_events(now):
            self._send_results_from = now + SEND_QUEUE_FULL
            return
        for result in self._jobs.outbox.due(now):
            if not self._connection.send(result):
                self._send_results_from = now + SEND_QUEUE_FULL
                return
            self._jobs.outbox.sent(result.run_id, now)

    def _send_events(self, now: float) -> bool:
        """Send events of runs, and those that belong to none; False when the send queue is full."""
        own = self._events.due(now)
        if own is not None:
            if not self._connection.send(own):
                return False
            self._events.sent(now)
        events = self._jobs.events.due(now)
        if events is not None:
            if not self._connection.send(events):
                return False
            self._jobs.events.sent(events, now)
        return True

    def _look_at_beacons(self, now: float) -> None:
        running = self._jobs.states_running()
        changed = () if running else self._jobs.take_changed()
        watched = self._desired.digest if self._desired.drift.get("watch") is True else ""
        if watched and not running:
            self._tasks.preload_rendering()
        self._beacons.look(self._desired.beacons, now, running=running, changed=changed, watched=watched)

    def _act(self, said: ToAgent) -> None:
        """Run what a beacon says is to be healed, and check what was touched."""
        if said.heal_of:
            self._jobs.accept(healing_call(self._settings.id, said, time.time()))
        if said.touched:
            self._drift_watch.touched(said.touched, said.touched_of)

    def _check_touched(self, now: float) -> None:
        """Begin a drift check of what others have touched."""
        for ended in self._jobs.take_ended():
            self._drift_watch.ended(ended.run_id, ended.outcome, now, changed_machine=ended.changed_machine)
        busy = self._jobs.states_waiting()
        if self._drift_watch.whole_wanted and not busy:
            self._drift_watch.whole_wanted = False
            self._check_drift()
        elif now >= self._drift_watch.due_at(self._desired.digest, busy=busy):
            self._jobs.accept(self._drift_watch.take(self._desired, now, time.time()))

    def _run_scheduled_jobs(self, now: float) -> None:
        whens = whens_of(self._desired.whens, self._grains.grains.get("whens"))
        self._schedule.look(self._desired.schedule, now, whens)
        if now >= self._schedule.due_at:
            for call in self._schedule.take_due(now, self._jobs.running(), len(self._jobs.outbox)):
                self._jobs.accept(call)

    def _check_drift(self) -> None:
        run = self._drift.run_now(self._desired, time.time())
        if self._desired.digest and not self._jobs.states_waiting():
            self._jobs.accept(run)

    def _read(self, fd: int, wakeup: int) -> None:
        if fd == wakeup:
            with contextlib.suppress(BlockingIOError):
                os.read(wakeup, 4096)
        elif fd == self._events.fd:
            self._events.woken()
            self._call_questions.look(time.monotonic())
        elif fd in self._grains.readers():
            if self._grains.receive() and self._session.online:
                self._connection.send(Grains(grains=self._grains.grains))
        elif fd in self._trouble.readers():
            self._trouble.receive(time.monotonic())
        elif fd in self._mine.readers():
            self._mine.receive()
        elif fd in self._facts.readers():
            self._facts.receive(fd)
        elif fd in self._beacons.readers():
            if self._beacons.receive(time.monotonic()):
                self._send(self._keep_alive())
        elif fd in self._returners.readers():
            if self._returners.receive(fd, time.monotonic()):
                self._send(self._keep_alive())
        else:
            self._jobs.receive(fd, lambda child, frame: self._files.ask(child, frame, time.monotonic()))

    def _start_grains(self, now: float) -> None:
        if self._grains.collected:
            self._refresh_grains(now)  # until then those of the last start are used
            return
        self._grains.first()
        self._plan_grains(now)

    def _refresh_grains(self, now: float) -> None:
        self._grains.refresh()
        self._plan_grains(now)

    def _plan_grains(self, now: float) -> None:
        minutes = self._settings.grains_refresh_every
        self._grains_due = now + minutes * 60 if minutes else float("inf")

    def _follow_mine_functions(self, now: float) -> None:
        """Collect the mine functions of the configuration and of the document in force."""
        self._mine.follow((self._settings.options.mine.functions, self._desired.mine_functions), now)

    def _send(self, message: ToController) -> bool:
        """Send while online only: what is queued for later would be out of date when it arrives."""
        return self._session.online and self._connection.send(message)

    def _use_key(self, keys: KeyPair) -> None:
        self._session.fingerprint = fingerprint(keys.public)
        self._connection.change_keys(keys)

    def _key_request(self, accepted: bool) -> KeyRequest:
        if accepted:
            return KeyRequest(id=self._settings.id)
        return enrolment_request(self._settings, self._grains.grains)

    def _hello(self) -> Hello:
        return Hello(
            id=self._settings.id,
            grains=self._grains.grains,
            held=self._desired.digest,
            session=self._session_id,
            agent=f"saltern python/{sys.version_info.major}.{sys.version_info.minor}",
            takes=(STATES_OF_CALL, RETURNERS_OF_CALL, ROTATE_KEY, CHECKS_CALLS),
        )

    def _keep_alive(self) -> KeepAlive:
        pending_triggers = tuple(sorted(self._triggers.pending_triggers()))[:MOST_PENDING_TRIGGERS]
        return KeepAlive(
            held=self._desired.digest,
            running=self._jobs.running(),
            pending_triggers=pending_triggers,
            problems=(*self._drift.problems, *self._beacons.problems, *self._returners.problems)[:MOST_PROBLEMS],
        )


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
        connection, own = open_connection(settings)
        agent = Agent(settings, connection, fingerprint=own, collect=lambda: collect_grains(settings), umask=umask)
    except (BadMinionSettings, BadKey, OSError) as error:
        log.critical("event=cannot_start error=%s", error)
        return 1 if isinstance(error, OSError) else UNUSABLE
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
