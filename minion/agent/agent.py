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
from collections.abc import Collection, Iterator, Mapping, Sequence
from pathlib import Path

from highstate.desired import Desired
from minion.agent.autonomy.remediation import OwnRemediation
from minion.agent.beacons import BeaconKeeper, healing_call
from minion.agent.call_questions import CallQuestions
from minion.agent.child_tasks import ChildTasks, collect_grains
from minion.agent.confirming.decision import EndRun
from minion.agent.confirming.going_back import OwnWayBack
from minion.agent.connection import take_cachedir
from minion.agent.controllers.addresses import KnownController, known_controllers
from minion.agent.controllers.failover import order_of
from minion.agent.controllers.link import ControllerLink, LinkPorts
from minion.agent.controllers.links import ControllerLinks
from minion.agent.drift import DriftTimer
from minion.agent.drift_watch import DriftWatch
from minion.agent.enrolment import enrolment_request
from minion.agent.fact_queries import FactAnswerer
from minion.agent.file_requests import FileRelay
from minion.agent.grains import Collector, GrainsKeeper
from minion.agent.mine import MineKeeper
from minion.agent.returners import ReturnerKeeper
from minion.agent.runs import RunJobs, RunPorts
from minion.agent.schedule import ScheduleTimer
from minion.agent.settings_reader import settings_from_child
from minion.agent.textfile import AgentNow, Textfile
from minion.agent.visit import AgentVisit
from minion.agent.workers import Workers
from minion.beacons.frames import ToAgent
from minion.config.files import UNUSABLE, BadMinionSettings
from minion.config.settings import MinionSettings
from minion.log import LogShape, log_to_stderr
from minion.processes import Child
from minion.spool.desired_state import DesiredState
from minion.spool.minion_events import MinionEventsOutbox
from minion.spool.schedule import UNREPORTED
from minion.spool.triggers import TriggerFile
from reactors.clock_steps import ClockSteps
from reactors.scheduled_jobs import whens_of
from wire.client import ConnectionEvent, Disconnected, NotUnderstood
from wire.errors import BadKey, CannotConnect, PatchMismatch
from wire.messages import (
    CHECKS_CALLS,
    CHECKS_RUNS,
    GOES_BACK,
    HEALS_ALONE,
    RETURNERS_OF_CALL,
    ROTATE_KEY,
    SETS_INTERVAL,
    STATES_OF_CALL,
    Autonomy,
    Blob,
    Call,
    CheckCalls,
    Confirmed,
    DesiredUpdate,
    FactRequest,
    FileFound,
    FileList,
    FilePushed,
    Grains,
    Heartbeat,
    Held,
    Hello,
    HelloAck,
    KeepAlive,
    KeyRequest,
    MineFound,
    MinionEventsAck,
    Preview,
    Published,
    Refused,
    ResultAck,
    ResultRefused,
    ResyncRequired,
    Run,
    RunEventsAck,
    StatesFound,
    ToController,
    ToMinion,
)

log = logging.getLogger(__name__)

LONGEST_WAIT = 30.0
"""Seconds; the loop reads the clock at least that often, in case the wall clock was set."""

TAKES = (
    STATES_OF_CALL,
    RETURNERS_OF_CALL,
    ROTATE_KEY,
    CHECKS_CALLS,
    CHECKS_RUNS,
    SETS_INTERVAL,
    HEALS_ALONE,
    GOES_BACK,
)
"""See `Hello.takes`."""

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


class Agent:
    """The parts of one agent, and its loop."""

    def __init__(
        self,
        settings: MinionSettings,
        controllers: Sequence[KnownController],
        *,
        collect: Collector,
        umask: int,
        visit: AgentVisit | None = None,
    ) -> None:
        self._settings, self._visit = settings, visit
        self.links = self._make_links(controllers)
        self._session_id = secrets.token_hex(8)
        self._stopping, self.exit_code = False, 0
        cachedir = settings.cachedir
        self._desired = DesiredState(cachedir)
        self._tasks = tasks = ChildTasks(
            settings=settings, umask=umask, document=self._desired.path, grains=lambda: self._grains.grains
        )
        self._workers = Workers(tasks.worker, lambda: self._grains.grains)
        self._triggers = TriggerFile(cachedir)
        self._files = FileRelay(self._ask_controller)
        self._call_questions = CallQuestions(cachedir, self._files.ask)
        self._returners = ReturnerKeeper(cachedir, settings.id, settings.options.returners, tasks.deliver_to)
        self._textfile = Textfile(settings.metrics_textfile, cachedir, settings.id)
        self._jobs = RunJobs(
            cachedir,
            self._desired,
            RunPorts(
                send=self._send_from_jobs,
                start=self._workers.start,
                ended=self._worker_ended,
                answered=self._returners.answered,
                returned=self._returners.returned,
                finished=self._textfile.finished,
                reachable=self._reachable,
            ),
            report_progress=settings.state_events is not False,
            stop_grace=settings.stop_grace,
            known=self.links.names,
        )
        self._events = MinionEventsOutbox(cachedir)
        self._facts = FactAnswerer(self.links.send, tasks.fork, tasks.fact_answer)
        self._drift = DriftTimer(cachedir, settings.id)
        self._schedule = ScheduleTimer(cachedir, settings.id, settings.options.schedule.jobs)
        self._clock_steps = ClockSteps()
        self._drift_watch = DriftWatch(settings.id)
        self._remediation = OwnRemediation(cachedir, settings.id, time.monotonic(), self._jobs.outbox.last_drift())
        self._going_back = OwnWayBack(cachedir, settings.id, time.monotonic())
        self._not_understood: set[str] = set()
        """Names of messages that were said not to be known."""
        self._beacons = BeaconKeeper(cachedir, settings.options.beacons, tasks.host_beacons, self._act)
        least = {**settings.grains, "id": settings.id}
        self._grains = GrainsKeeper(cachedir, collect, tasks.fork, least=least)
        self._grains_due = float("inf")
        self._send_results_from = self._resync_from = 0.0
        self._resync: ResyncRequired | None = None
        """Is sent when a document may be kept again."""
        self._mine = MineKeeper(
            cachedir, self.links.broadcast, tasks.fork, tasks.update_mine, minutes=settings.options.mine.minutes
        )

    def _make_links(self, controllers: Sequence[KnownController]) -> ControllerLinks:
        settings = self._settings
        by_name = {known.name: known for known in controllers}
        order = order_of(
            tuple(by_name),
            kind=settings.master_type,
            minion_id=settings.id,
            shuffle=secrets.SystemRandom().shuffle if settings.master_shuffle else None,
            failback=settings.master_failback,
        )
        ports = LinkPorts(
            key_request=self._key_request,
            hello=self._hello,
            keep_alive=self._keep_alive,
            fork=lambda task: self._tasks.fork(task),
        )
        links = [ControllerLink(by_name[name], settings, ports) for name in order]
        return ControllerLinks(links, settings, self._runs_for)

    def stop(self) -> None:
        """End the loop at its next turn. Safe to call from a signal handler."""
        self._stopping = True

    def run(self) -> None:
        """Serve until `stop`."""
        if self._visit is None:  # else there is one run as a rule, which imports what it needs itself
            self._tasks.preload()
        self.links.start(time.monotonic())
        self._start_grains(time.monotonic())
        self._follow_drift()
        self._follow_mine_functions(time.monotonic())
        with _wakeups() as wakeup:
            while not self._stopping:
                self._turn(wakeup)
        self._jobs.suspend()
        self._workers.stop()
        self._beacons.stop()
        self._returners.stop()
        self.links.stop()
        log.info("event=stopped minion=%s", self._settings.id)

    def _turn(self, wakeup: int) -> None:
        self._do_due(time.monotonic())
        parts = (
            self._grains,
            self._mine,
            self._facts,
            self._beacons,
            self._returners,
            self._jobs,
            self.links,
        )
        readers = [wakeup, self._events.fd, *(fd for part in parts for fd in part.readers())]
        events, ready = self.links.receive(self._wait(time.monotonic()), readers)
        for link, event in events:
            self._handle(link, event, time.monotonic())
        for fd in ready:
            self._read(fd, wakeup)

    def _wait(self, now: float) -> float:
        """Seconds until something is due."""
        deadlines = [
            self._visit.due_at if self._visit else float("inf"),
            now + LONGEST_WAIT,
            self.links.due_at,
            self._files.next_deadline(),
            self._facts.next_deadline(),
            self._jobs.next_deadline(),
            self._workers.due_at,
            self._grains_due,
            self._mine.due_at,
            self._beacons.due_at,
            self._returners.due_at,
            self._remediation.due_at,
            self._going_back.due_at,
            self._textfile.due_at,
            self._drift_watch.due_at(self._desired.digest, busy=self._jobs.states_waiting()),
            now + (min(self._drift.due_at, self._schedule.due_at) - time.time()),
        ]
        if self.links.online:
            reachable = self._reachable()
            of_runs = min(part.next_due(now, reachable) for part in (self._jobs.outbox, self._jobs.events))
            due = min(of_runs, self._events.next_due(now))
            deadlines.append(max(due, self._send_results_from))
            if self._resync is not None:
                deadlines.append(self._resync_from)
        return max(0.0, min(deadlines) - now)

    def _do_due(self, now: float) -> None:
        self._look_at_controllers(now)
        self._files.expire(now)
        self._facts.expire(now)
        self._jobs.expire(now)
        if now >= self._grains_due or self._grains.take_request():
            self._refresh_grains(now)
        self._check_touched(now)
        self._go_back(now)
        self._remediate_alone(now)
        self._follow_clock(self._clock_steps.taken())
        if time.time() >= self._drift.due_at:
            self._check_drift()
        self._run_scheduled_jobs(time.time())
        self._mine.tick(now, online=bool(self.links.online))
        self._jobs.start_waiting(now)
        self._returners.tick(now)
        self._look_at_beacons(now)
        self._send_resync(now)
        self._send_results(now)
        self._workers.tick(now)
        if now >= self._textfile.due_at:
            self._textfile.tick(now, self._own_metrics())
        if self._visit is not None:
            self._look_at_visit(self._visit, now)

    def _follow_clock(self, step: float) -> None:
        """Somebody set the clock of the machine: intervals go on, and times of day are those of the new clock."""
        if step:
            log.warning("event=clock_set minion=%s seconds=%.1f", self._settings.id, step)
            self._drift.clock_set(step, time.time())
            self._schedule.clock_set(step, time.time())

    def _look_at_controllers(self, now: float) -> None:
        self.links.look(now)
        why = self.links.gave_up()
        if why:
            log.critical("event=gave_up minion=%s cause=%s", self._settings.id, why)
            self.exit_code = 1
            self._stopping = True

    def _handle(self, link: ControllerLink, event: ToMinion | ConnectionEvent, now: float) -> None:
        was_online = link.online
        link.take(event, now)
        asked_by = self.links.name_of(link)
        match event:
            case Disconnected():
                self._disconnected(link, now, was_online=was_online)
            case NotUnderstood():
                self._refuse(event, asked_by)
            case HelloAck(time=said):
                if link is self.links.authority:
                    self._remediation.time_told(said)
                    self._going_back.time_told(said)
                self._connected(link, now)
            case Heartbeat():
                if link.session.heartbeat(event, now):
                    self._files.offline(now, link.name)
            case DesiredUpdate():
                if link is self.links.authority:
                    self._accept_desired(event, link)
            case Run():
                self._accept_run(event, link)
            case Preview() | Call():
                self._jobs.accept(event, asked_by)
            case CheckCalls(run_ids=run_ids):
                for run_id in run_ids:
                    self._jobs.check(run_id, asked_by)
            case FactRequest():
                self._facts.accept(event, now, asked_by)
            case RunEventsAck():
                if self._jobs.events.controller_of(event.run_id) in ("", asked_by):
                    self._jobs.events_acknowledged(event)
            case MinionEventsAck():
                self._events.acknowledge(event)
            case Autonomy():
                self._take_autonomy(event, link)
            case Confirmed():
                if link is self.links.authority:
                    self._going_back.accept(event, self._desired)
            case ResultAck():
                self._acknowledged(event.run_id, asked_by)
            case ResultRefused():
                log.error("event=result_refused run_id=%s reason=%s", event.run_id, event.reason)
                self._acknowledged(event.run_id, asked_by)
            case (
                FileFound() | FileList() | Blob() | MineFound() | StatesFound() | Published() | FilePushed() | Refused()
            ):
                self._files.answer(event)

    def _accept_run(self, run: Run, link: ControllerLink) -> None:
        """Accept a run of what is held; of two controllers only one says what that is."""
        followed = self.links.authority
        if link is followed or run.digest == self._desired.digest or followed is None:
            self._jobs.accept(run, self.links.name_of(link))
        else:
            why = f"this minion follows the controller {followed.name}"
            self._jobs.refuse(run.run_id, why, self.links.name_of(link))

    def _acknowledged(self, run_id: str, controller: str) -> None:
        if self._jobs.acknowledged(run_id, controller):
            self._tell_all()  # controllers wait until they know how the minion's own runs have ended

    def _take_autonomy(self, message: Autonomy, link: ControllerLink) -> None:
        if link is not self.links.authority:
            return
        wrong = self._remediation.problems
        self._remediation.accept(message)
        if self._remediation.problems != wrong:
            self._tell_all()

    def _refuse(self, message: NotUnderstood, asked_by: str) -> None:
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
            why = f"this minion does not know the message {message.name!r}: update this minion, or ask in another way"
            self._jobs.refuse(message.run_id, why, asked_by)

    def _connected(self, link: ControllerLink, now: float) -> None:
        if not self.links.came_online(link, now):
            return
        self._textfile.changed()
        self._files.online(now, link.name)
        moved = self._jobs.moved(self.links.cluster_of(link), self.links.name_of(link))
        self._jobs.outbox.reconnected(self.links.name_of(link))
        self._jobs.events.reconnected()
        self._events.reconnected()
        self._mine.connected()
        self._greet_again()
        problems = self._drift.problems or self._remediation.problems or self._beacons.problems
        if moved or problems or self._returners.problems:
            link.send(self._keep_alive(link.name))

    def _disconnected(self, link: ControllerLink, now: float, *, was_online: bool) -> None:
        self._textfile.changed()
        if was_online:
            log.warning("event=connection_lost minion=%s controller=%s", self._settings.id, link.name)
            self._jobs.outbox.reconnected(self.links.name_of(link))
            self._jobs.events.reconnected()
            self._events.reconnected()
            self._greet_again()
        self._files.offline(now, link.name)

    def _greet_again(self) -> None:
        """Tell controllers which of them this minion follows, when that is another one than they were told."""
        followed = self.links.authority
        if followed is not None:
            self._jobs.followed(self.links.name_of(followed))
        for link in self.links.online:
            if link.follows != (link is followed):
                link.session.tell_again()

    def _accept_desired(self, message: DesiredUpdate, link: ControllerLink) -> None:
        modules = self._desired.modules
        try:
            changed = self._desired.accept(message)
        except OSError as error:
            log.error("event=desired_not_stored generation=%s error=%s", message.generation, error)
            self._resync_from = time.monotonic() + NOT_KEPT_SECONDS
            return
        except PatchMismatch as error:
            log.info("event=patch_refused generation=%s error=%s", message.generation, error)
            link.send(ResyncRequired(generation=message.generation, held=self._desired.digest))
            return
        self._resync = None
        link.send(Held(generation=message.generation, digest=message.digest))
        self._follow_document(changed, modules)

    def _follow_document(self, changed: Desired | None, modules: Mapping[str, str]) -> None:
        """A document is held; `changed`: another one; `modules`: of the one before."""
        if changed is not None and self._triggers.forget_others(changed.chunks):
            self._tell_all()
        wrong = self._drift.problems
        self._follow_drift()
        if self._drift.problems != wrong:
            self._tell_all()
        self._follow_mine_functions(time.monotonic())
        self._jobs.document_changed()
        if self._desired.modules != modules:  # without a run, grains of a changed `_grains` would wait for the next
            self._jobs.accept(
                Call(
                    run_id=f"{UNREPORTED}sync-{self._desired.generation}-{self._desired.digest[:12]}",
                    fun="saltutil.sync_all",
                )
            )

    def _follow_drift(self) -> None:
        """Look for drift by the schedule of the document in force."""
        if self._visit is None:
            self._drift.follow(self._desired.drift, time.time())

    def _look_at_visit(self, visit: AgentVisit, now: float) -> None:
        held = bool(self._desired.digest) and bool(self.links.online)
        if visit.take_drift_check(possible=held and not self._jobs.states_waiting()):
            self._check_drift()
        if visit.is_over(now, busy=self._is_busy()):
            self._stopping = True

    def _is_busy(self) -> bool:
        """Whether something runs, or waits for a controller that is there."""
        waiting = len(self._jobs.outbox) or self._events.waiting_bytes() or not self._grains.collected
        return bool(self._jobs.running()) or (bool(self.links.online) and bool(waiting))

    def _worker_ended(self, child: Child) -> None:
        self._files.forget(child)
        if self._visit is None:
            self._workers.ended()

    def _send_from_jobs(self, message: ToController, controller: str) -> bool:
        """Send it; a document that could not be kept a moment ago is asked for again after a while."""
        if isinstance(message, ResyncRequired) and time.monotonic() < self._resync_from:
            self._resync = message
            return True
        return self.links.send(message, controller)

    def _ask_controller(self, question: ToController, controller: str) -> str:
        """Ask the controller of a run, or the one that is followed where that is away; the name of the one asked."""
        for link in (self.links.named(controller), self.links.authority):
            if link is not None and link.online:
                return link.name if link.send(question) else ""
        return ""

    def _reachable(self) -> tuple[str, ...]:
        """Names of the controllers that are online, where there are several."""
        return tuple(self.links.name_of(link) for link in self.links.online)

    def _runs_for(self) -> bool:
        """Whether something is on its way that the controller of now asked for."""
        followed = self.links.authority
        return followed is not None and self._jobs.asked_by(self.links.name_of(followed))

    def _send_resync(self, now: float) -> None:
        if self._resync is not None and self.links.authority is not None and now >= self._resync_from:
            message, self._resync = self._resync, None
            self.links.send(message)

    def _send_results(self, now: float) -> None:
        if not self.links.online or now < self._send_results_from:
            return
        reachable = self._reachable()
        full = self._send_events(now, reachable)
        for result in self._jobs.outbox.due(now, reachable, full):
            owner = self._jobs.outbox.owner(result.run_id)
            if self.links.send(result, owner):
                self._jobs.outbox.sent(result.run_id, now)
            else:
                full.add(owner)
        if full:
            self._send_results_from = now + SEND_QUEUE_FULL

    def _send_events(self, now: float, reachable: Collection[str]) -> set[str]:
        """Send events of runs, and those that belong to none; the controllers whose send queue is full."""
        full: set[str] = set()
        own = self._events.due(now)
        if own is not None:
            if self.links.send(own):
                self._events.sent(now)
            else:
                full.add("")
        while (events := self._jobs.events.due(now, reachable, full)) is not None:
            owner = self._jobs.events.controller_of(events.run_id)
            if self.links.send(events, owner):
                self._jobs.events.sent(events, now)
            else:
                full.add(owner)
        return full

    def _look_at_beacons(self, now: float) -> None:
        if self._visit is not None:
            return
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
            self._remediation.ended(ended, now)
            self._going_back.ended(ended, now)
            if len(self.links.links) > 1:
                self._tell_all()  # whoever waits for the end of what another controller asked for
        busy = self._jobs.states_waiting()
        if self._drift_watch.whole_wanted and not busy:
            self._drift_watch.whole_wanted = False
            self._check_drift()
        elif now >= self._drift_watch.due_at(self._desired.digest, busy=busy):
            self._jobs.accept(self._drift_watch.take(self._desired, now, time.time()))

    def _remediate_alone(self, now: float) -> None:
        """Put drift right while no controller is reached."""
        reached, busy = self.links.reached, self._jobs.states_waiting()
        run = self._remediation.look(self._desired, now, time.time(), reached=reached, busy=busy)
        if run is not None and run.own is not None:
            self._jobs.outbox.answered(run.own.drift_run)
            self._jobs.accept(run)

    def _go_back(self, now: float) -> None:
        """Go back from what nobody confirmed, while no controller lets the minion in."""
        jobs, modules = self._jobs, self._desired.modules
        way = self._going_back.look(
            self._desired,
            now,
            running=jobs.applying(),
            busy=jobs.states_waiting(),
            let_in=bool(self.links.online),
        )
        if isinstance(way, EndRun):
            jobs.end_applying(now)
        elif way is not None:
            try:
                changed = self._desired.hold(way.document)
            except (OSError, ValueError) as error:
                self._going_back.not_begun(now, error)
                return
            self._follow_document(changed, modules)
            jobs.accept(way.run)

    def _run_scheduled_jobs(self, now: float) -> None:
        if self._visit is not None:
            return
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
            if self._grains.receive():
                self.links.broadcast(Grains(grains=self._grains.grains))
        elif fd in self.links.readers():
            self.links.read(fd)
        elif fd in self._mine.readers():
            self._mine.receive()
        elif fd in self._facts.readers():
            self._facts.receive(fd)
        elif fd in self._beacons.readers():
            if self._beacons.receive(time.monotonic()):
                self._tell_all()
        elif fd in self._returners.readers():
            if self._returners.receive(fd, time.monotonic()):
                self._tell_all()
        else:
            self._jobs.receive(fd, self._ask_for)

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

    def _ask_for(self, child: Child, frame: bytes) -> None:
        """A worker asks."""
        self._files.ask(child, frame, time.monotonic(), self._jobs.controller_of(child))

    def _key_request(self, accepted: bool) -> KeyRequest:
        if accepted:
            return KeyRequest(id=self._settings.id)
        return enrolment_request(self._settings, self._grains.grains)

    def _hello(self, name: str) -> Hello:
        return Hello(
            id=self._settings.id,
            grains=self._grains.grains,
            held=self._desired.digest,
            applied=self._jobs.applied_for_others(self.links.origin(name)),
            follows=self.links.may_follow(name),
            session=self._session_id,
            agent=f"saltern python/{sys.version_info.major}.{sys.version_info.minor}",
            takes=TAKES,
            autonomy=self._remediation.digest,
            confirmed=self._going_back.digest,
            start_grains=self._settings.start_event_grains,
        )

    def _tell_all(self) -> None:
        """Tell what a sign of life says, now."""
        for link in self.links.online:
            link.send(self._keep_alive(link.name))

    def _keep_alive(self, name: str) -> KeepAlive:
        pending_triggers = tuple(sorted(self._triggers.pending_triggers()))[:MOST_PENDING_TRIGGERS]
        return KeepAlive(
            held=self._desired.digest,
            applied=self._jobs.applied_for_others(self.links.origin(name)),
            running=self._jobs.running(),
            pending_triggers=pending_triggers,
            problems=(
                *self._drift.problems,
                *self._remediation.problems,
                *self._going_back.problems,
                *self._beacons.problems,
                *self._returners.problems,
                *self._results_that_wait(),
            )[:MOST_PROBLEMS],
        )

    def _own_metrics(self) -> AgentNow:
        return AgentNow(
            configured=len(self.links.links),
            connected=len(self.links.online),
            results=len(self._jobs.outbox),
            dropped=self._jobs.outbox.dropped,
            events=self._events.waiting_bytes(),
            events_told=self._events.acknowledged,
            problems={
                "drift": len(self._drift.problems),
                "autonomy": len(self._remediation.problems),
                "going-back": len(self._going_back.problems),
                "beacons": len(self._beacons.problems),
                "returners": len(self._returners.problems),
            },
        )

    def _results_that_wait(self) -> list[str]:
        """What is told of results for controllers that are away."""
        reachable, waiting = self._reachable(), self._jobs.outbox.waiting_for()
        return [
            f"{count} results wait for the controller {name}, which this minion is not connected to"
            for name, count in waiting.items()
            if name not in reachable
        ]


def main(config_dir: Path, log_level: str | None = None, visit: AgentVisit | None = None) -> int:
    """Run the agent of the configuration in `config_dir` until SIGTERM or SIGINT. The exit code.

    `visit`: it is there for a visit, and SIGUSR1 says that it may end when nothing is on its way any more.
    """
    umask = os.umask(0o077)
    log_to_stderr(log_level or "info")
    try:
        settings = settings_from_child(config_dir)
        log_level = log_level or settings.log_level
        shape = LogShape(form=settings.log_format, bound={"minion": settings.id})
        log_to_stderr(log_level, settings.log_file, settings.log_level_logfile, shape)
        for warning in settings.warnings:
            log.warning("event=setting_questionable warning=%s", warning)
        controllers = known_controllers(settings)
        take_cachedir(settings)
        agent = Agent(settings, controllers, collect=lambda: collect_grains(settings), umask=umask, visit=visit)
    except (BadMinionSettings, BadKey, OSError) as error:
        log.critical("event=cannot_start error=%s", error)
        return 1 if isinstance(error, OSError) else UNUSABLE
    for number in (signal.SIGTERM, signal.SIGINT):
        signal.signal(number, lambda *_: agent.stop())
    if visit is not None:
        signal.signal(signal.SIGUSR1, lambda *_: visit.finish())
    try:
        agent.run()
    except BadKey as error:
        log.critical("event=cannot_start error=%s", error)
        return UNUSABLE
    except CannotConnect as error:
        log.critical("event=cannot_connect error=%s", error)
        return 1
    return agent.exit_code


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
