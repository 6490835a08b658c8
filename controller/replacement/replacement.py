"""The replacement of one agent, step by step. Each step is kept before the next, and may be done again.

    installing -> starting -> handed over -> retiring -> done
        |            |             |
        +------------+--> failed <-+-- going back

At each time one key is accepted for the id, so one agent answers, whoever is killed. The old one runs until the new
one has answered and has its document: until then the old one's key waits, and accepting that again is all that going
back needs.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass
from typing import Any, Protocol

import msgspec
import structlog

from controller.config.limits import ReplacementLimits
from controller.replacement.machine_steps import LOOK_SECONDS, PREFIX, MachineReport, MachineStepFailed
from controller.schema.errors import ServiceError
from controller.sessions.sessions import KeyRegistry, Session, Sessions
from controller.ssh.bundle import NoBundle, TargetPython, WorkerBundle
from controller.store import Store
from controller.store.jobs.agent_replacements import AgentKind, ReplacementRecord, ReplacementStep
from wire.errors import BadKey
from wire.keys import check_public_key
from wire.limits import MIB

log = structlog.get_logger("saltern.replacement")

NEEDED = 200 * MIB
"""Free bytes below `PREFIX`: the bundle, unpacked, and the one before it."""
SERVICES: Mapping[AgentKind, str] = {"salt": "salt-minion", "saltern": "saltern-minion"}
_ANSWERS = "the old agent answers, as before"


class ReplacedKeys(Protocol):
    """Changes keys: `controller.api.key_changes.KeyChanges`."""

    def hand_over(self, minion: str, old: str, new: str, user: str, beside: Callable[[], None]) -> None:
        """Accept one key in the place of another, which waits."""

    def forget(self, public_key: str) -> None:
        """Know a key no more that is not accepted."""

    def put_aside(self, minion: str, public_key: str, state: Any, user: str) -> None:
        """Have a key wait, or be rejected."""


class MachineStepsPort(Protocol):
    """Has steps done on machines: `controller.replacement.machine_steps.MachineSteps` says what each is."""

    async def look(self, minion: str, user: str) -> MachineReport:
        """What is there."""

    async def install(
        self, minion: str, bundle: WorkerBundle, unit: str, own: Mapping[str, Any], user: str
    ) -> tuple[str, tuple[str, ...]]:
        """Put the new agent in place, and start it."""

    async def start(self, minion: str, service: str, user: str) -> None:
        """Start a service."""

    async def stop(self, minion: str, service: str, user: str, *, purge: bool = False) -> None:
        """Stop a service for good."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ReplacementPorts:
    """What replacements need of the controller.

    Args:
        steps: has steps done on machines.
        store: keeps how far they are.
        keys: changes keys.
        keyring: has their states.
        sessions: who is connected.
        bundle: the new agent for a Python, and where its modules are.
        unit: text of its systemd unit.
        own: options of its configuration, by the address under which it reaches this controller.
        refusal: why a minion's agent must not be replaced now; empty: it may.
        limits: see `ReplacementLimits`.
        clock: seconds since the epoch.
    """

    steps: MachineStepsPort
    store: Store
    keys: ReplacedKeys
    keyring: KeyRegistry
    sessions: Sessions
    bundle: Callable[[TargetPython], Awaitable[WorkerBundle]]
    unit: Callable[[], str]
    own: Callable[[str], Mapping[str, Any]]
    refusal: Callable[[str], str]
    limits: ReplacementLimits
    clock: Callable[[], float]


Tell = Callable[[ReplacementRecord, tuple[str, ...]], None]
"""Is told of each step, and with it what of the old configuration is not taken."""


@dataclass(slots=True, kw_only=True)
class AgentReplacement:
    """One of them.

    Args:
        record: how far it is.
        ports: see `ReplacementPorts`.
        tell: see `Tell`.
    """

    record: ReplacementRecord
    ports: ReplacementPorts
    tell: Tell

    async def run(self) -> ReplacementRecord:
        """Go on to the end from where it is; how it ended."""
        while not self.record.ended:
            step = self.record.step
            try:
                await self._do(step)
            except MachineStepFailed as error:
                await self._failed(step, error)
            except ServiceError as error:
                await self._failed(step, MachineStepFailed(error.message, error.hint))
            except NoBundle as error:
                await self._failed(
                    step, MachineStepFailed(str(error), "install a Python there that the controller has, too")
                )
        return self.record

    async def _do(self, step: ReplacementStep) -> None:
        record = self.record
        match step:
            case "installing":
                await (self._install() if record.to == "saltern" else self._wake())
            case "starting":
                await self._until(self._shows_its_key, "the new agent shows no key: it does not reach this controller")
                self._hand_over(record.old_key, record.new_key, "handed over")
            case "handed over":
                text = "the new agent does not connect, or does not take its document"
                await self._until(lambda: self._answers(record.new_key), text)
                self._come_to("retiring")
            case "retiring":
                await self._until(lambda: self._is_there(record.new_key), "the new agent is not connected")
                await self._steps.stop(record.minion, SERVICES[_other(record.to)], record.user, purge=record.purge)
                self.ports.keys.put_aside(record.minion, record.old_key, "rejected", record.user)
                self._come_to("done")
            case "going back":
                await self._until(lambda: self._is_there(record.old_key), "the old agent has not come back")
                await self._steps.stop(record.minion, SERVICES[record.to], record.user)
                self.ports.keys.put_aside(record.minion, record.new_key, "rejected", record.user)
                self._come_to("failed")
            case _:
                raise AssertionError(step)

    # --- steps

    @property
    def _steps(self) -> MachineStepsPort:
        return self.ports.steps

    async def _install(self) -> None:
        """The new agent is put in place by the old one, whose word is authentic: the key that it tells is the one."""
        record, ports = self.record, self.ports
        await self._until(lambda: self._is_there(record.old_key), "the agent is not connected")
        report = await self._steps.look(record.minion, record.user)
        if why := refusal_of(report, record.to):
            raise MachineStepFailed(*why)
        bundle = await ports.bundle(report.python)
        own = {"id": record.minion, **ports.own(record.controller)}
        public, notes = await self._steps.install(record.minion, bundle, ports.unit(), own, record.user)
        try:
            check_public_key(public)
        except BadKey as error:
            raise MachineStepFailed(f"the machine tells no key: {error}") from error
        known = ports.keyring.identity(public)
        if known is not None and known.id != record.minion:
            raise MachineStepFailed(f"the machine tells the key of {known.id}")
        if known is not None and known.state == "rejected":  # of a replacement before
            ports.keys.forget(public)
        self._come_to("starting", new_key=public, notes=notes)

    async def _wake(self) -> None:
        """The stopped salt-minion starts again. It has to be told to wait, not that it is rejected, which ends it."""
        record = self.record
        await self._until(lambda: self._is_there(record.old_key), "the agent is not connected")
        self.ports.keys.put_aside(record.minion, record.new_key, "pending", record.user)
        await self._steps.start(record.minion, SERVICES["salt"], record.user)
        self._hand_over(record.old_key, record.new_key, "handed over")

    async def _failed(self, step: ReplacementStep, error: MachineStepFailed) -> None:
        """Go back where the old agent has to answer again; stay where the new one answers already."""
        log.warning("replacement failed", minion=self.record.minion, step=step, why=str(error))
        record = self.record
        self.record = msgspec.structs.replace(record, why=str(error), hint=error.hint or "ask again")
        match step:
            case "handed over":
                self._hand_over(record.new_key, record.old_key, "going back")
            case "retiring":
                text = f"the new agent answers, and the old one could not be stopped: {error}"
                self.record = msgspec.structs.replace(self.record, why=text)
                self._come_to("failed")
            case "going back":
                self.record = msgspec.structs.replace(self.record, why=f"{record.why}; then: {error}", hint=record.hint)
                self._come_to("failed")
            case _:
                await self._undo()
                self._come_to("failed")

    async def _undo(self) -> None:
        """Stop what was started beside the old agent, as far as that one can. What a machine has of its own is left."""
        record = self.record
        if record.new_key and self._is_there(record.old_key):
            try:
                await self._steps.stop(record.minion, SERVICES[record.to], record.user)
            except MachineStepFailed as error:
                log.warning("new agent not stopped", minion=record.minion, why=str(error))
        if record.new_key:
            self.ports.keys.put_aside(record.minion, record.new_key, "rejected", record.user)

    # --- keys, and who is there

    def _hand_over(self, old: str, new: str, step: ReplacementStep) -> None:
        """Change keys and keep the step, both or neither."""
        record = self._at(step)
        keys = self.ports.keys
        keys.hand_over(record.minion, old, new, record.user, lambda: self.ports.store.replacements.put(record))
        self.record = record
        self.tell(record, ())

    def _come_to(self, step: ReplacementStep, *, new_key: str = "", notes: tuple[str, ...] = ()) -> None:
        self.record = self._at(step, new_key or self.record.new_key)
        self.ports.store.replacements.put(self.record)
        self.tell(self.record, notes)

    def _at(self, step: ReplacementStep, new_key: str = "") -> ReplacementRecord:
        new_key = new_key or self.record.new_key
        return msgspec.structs.replace(self.record, step=step, new_key=new_key, changed=self.ports.clock())

    def _shows_its_key(self) -> bool:
        """Whether the key that the machine told has asked here, for this id: its agent runs and reaches us."""
        known = self.ports.keyring.identity(self.record.new_key)
        return known is not None and known.id == self.record.minion and known.state != "rejected"

    def _session_of(self, key: str) -> Session | None:
        session = self.ports.sessions.session(self.record.minion)
        return session if session is not None and session.key == key else None

    def _is_there(self, key: str) -> bool:
        return self._session_of(key) is not None

    def _answers(self, key: str) -> bool:
        """Whether this agent is connected, is of the right kind, and holds the document that it shall."""
        session = self._session_of(key)
        if session is None or kind_of(session) != self.record.to:
            return False
        rows = self.ports.store.minions.status([self.record.minion])
        desired = rows[0].desired if rows else None
        return desired is None or not desired.digest or session.held == desired.digest

    async def _until(self, condition: Callable[[], bool], why: str) -> None:
        """Wait until something holds. MachineStepFailed."""
        seconds = self.ports.limits.come_seconds
        deadline = asyncio.get_running_loop().time() + seconds
        while not condition():
            if asyncio.get_running_loop().time() > deadline:
                raise MachineStepFailed(f"{why} ({seconds:g} s)", "its log on the machine says why; then ask again")
            await asyncio.sleep(LOOK_SECONDS)


def kind_of(session: Session) -> AgentKind:
    """Which agent is connected."""
    return "salt" if session.agent == "salt" or session.agent.startswith("salt ") else "saltern"


def awaited(record: ReplacementRecord) -> tuple[str, str]:
    """The service, and the key, of the agent for which a replacement waits, or which does its step."""
    if record.step in ("installing", "going back"):
        return SERVICES[_other(record.to)], record.old_key
    return SERVICES[record.to], record.new_key


def refusal_of(report: MachineReport, to: AgentKind) -> tuple[str, str] | None:
    """Why the agent of this machine cannot be replaced, and what to do; None: it can.

    Args:
        report: of the machine.
        to: the agent that shall answer.
    """
    if not report.root:
        return "the agent there is not root", "run the salt-minion as root: `user` in its configuration"
    if not report.manager:
        return (
            "neither systemd nor init scripts start services there",
            "install the minion by hand: docs/installation.md",
        )
    if to == "salt":
        if report.services["salt-minion"]:
            return None
        return "there is no service salt-minion any more", "install the package salt-minion, which need not start it"
    if not report.services["salt-minion"]:
        return "the salt-minion there is no service, so it cannot be stopped for good", "make it a service"
    if not report.configured:
        return "there is no configuration of a minion in /etc/salt", "put it there, as Salt's packages do"
    if not report.venv and not report.program:
        return "the Python there has no module venv", "apt install python3-venv, or install the package saltern-minion"
    if report.free < NEEDED and not report.program:
        return f"{report.free // MIB} MiB are free below {PREFIX}", f"{NEEDED // MIB} MiB are needed"
    return None


def plan_of(report: MachineReport, to: AgentKind, own: Mapping[str, Any], *, purge: bool) -> tuple[str, ...]:
    """What would be done, step by step, as people read it.

    Args:
        report: of the machine.
        to: the agent that shall answer.
        own: options of the new agent's configuration that are not Salt's.
        purge: whether the old one's package goes.
    """
    gone = ", and remove its package" if purge else ""
    if to == "salt":
        return (
            f"start the service salt-minion again, at each boot ({report.manager})",
            "accept its key in the place of that of saltern-minion, which waits",
            "wait until it is connected and has its document; otherwise go back",
            f"stop the service saltern-minion for good{gone}",
        )
    python = ".".join(map(str, report.python.version))
    program = f"use {report.program}, which is there" if report.program else f"install {PREFIX} for Python {python}"
    grains = ", and /etc/saltern/grains from /etc/salt/grains" if report.grains else ""
    return (
        program,
        f"write /etc/saltern/minion from /etc/salt, with master {own['master']}{grains}; make a key",
        f"start the service saltern-minion, at each boot ({report.manager})",
        "wait until it shows that key here; accept it in the place of the salt-minion's, which waits",
        "wait until it is connected and has its document; otherwise go back",
        f"stop the service salt-minion for good{gone}",
    )


def _other(kind: AgentKind) -> AgentKind:
    return "salt" if kind == "saltern" else "saltern"
