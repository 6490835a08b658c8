"""All visits: whom people ask for, and who is visited now. On the controller's loop.

A machine is visited once, however many ask for it; the visit goes on while anybody does. Whoever stops asking ends
nothing: the agent there finishes what it runs first.
"""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import AsyncIterator, Callable, Coroutine, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import structlog

from controller.config.limits import SshLimits
from controller.schema.errors import ServiceError
from controller.schema.fleet.ssh import SshQuestion, SshRawQuestion, SshRawView, SshTargetsView, SshVisitView
from controller.sessions.sessions import Sessions
from controller.ssh.pre_flight import run_pre_flight
from controller.ssh.raw_command import OF_SSH, RawCommand, deploy_key, wipe
from controller.ssh.rosters import Rosters
from controller.ssh.target import BadRoster, SshTarget
from controller.ssh.visit import Visit, VisitFailed, VisitPorts
from highstate.targeting.match import BadTarget, match_minion, parse_target
from highstate.types import Minion
from matching.linear_regex import PatternRefused
from matching.matcher import person_matcher
from options.limits import CountRefusal, uncounted

log = structlog.get_logger("saltern.ssh")

GONE_SECONDS = 5.0
"""That the connection of a visit takes to end, at most, after the session."""
LOOK_SECONDS = 0.03
"""Between two looks for minions that have connected."""
_LOG = "the log of the agent is there, in the folder `minions/ID` of /var/lib/saltern-ssh"
_BY_ID = ("glob", "list", "pcre", "nodegroup", "compound")


@dataclass(slots=True, kw_only=True)
class _Open:
    """A visit that goes on."""

    visit: Visit
    task: asyncio.Task[None]
    ready: asyncio.Future[None]
    """VisitFailed: it has come to nothing."""
    holders: int = 0
    finishing: bool = False


@dataclass(slots=True, kw_only=True)
class SshVisits:
    """Visits machines.

    Args:
        rosters: which there are.
        sessions: who is connected.
        ports: gives what visits need; called in a thread, since keys are made.
        nodegroups: of the configuration.
        connect_at_once: connections that are made at the same time (`ssh_max_procs`).
        limits: see `SshLimits`.
        on_refusal: see `options.limits.CountRefusal`.
    """

    rosters: Rosters
    sessions: Sessions
    ports: Callable[[], VisitPorts]
    nodegroups: Mapping[str, Any]
    connect_at_once: int
    limits: SshLimits
    on_refusal: CountRefusal = uncounted
    beside: Callable[[], Coroutine[Any, Any, None]] | None = None
    """What begins visits without being asked (`controller.ssh.waker`); runs while this does."""
    known: frozenset[str] = frozenset()
    """Ids of the configured roster, as it was read last: they are no minions of their own."""
    _open: dict[str, _Open] = field(default_factory=dict)
    _tasks: set[asyncio.Task[None]] = field(default_factory=set)
    _left: set[str] = field(default_factory=set)
    """Who was visited, and may still be connected for a moment."""
    _connecting: asyncio.Semaphore | None = None

    async def serve(self) -> None:
        """Work until cancelled; then end all sessions: agents finish what they run."""
        try:
            async with asyncio.TaskGroup() as group:
                group.create_task(self._run())
                if self.beside is not None:
                    group.create_task(self.beside())
        finally:
            await self._close()

    async def _run(self) -> None:
        """Know the roster from the start; then see who has connected."""
        if await asyncio.to_thread(self._has_roster):
            with contextlib.suppress(ServiceError):
                await self._read("", None)
        while True:
            waiting = [each for each in self._open.values() if each.visit.is_bridged and not each.ready.done()]
            for each in waiting:
                if self.sessions.session(each.visit.target.id) is not None:
                    each.ready.set_result(None)
            await asyncio.sleep(LOOK_SECONDS if self._open else 0.2)

    async def _close(self) -> None:
        tasks = [each.task for each in self._open.values()]
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)

    async def targets(self, question: SshQuestion) -> SshTargetsView:
        """Whom a question means. ServiceError: nobody, or the roster cannot be used."""
        return SshTargetsView(minions=tuple(await self._meant(question)), at_once=self.limits.visits)

    async def visit(self, question: SshQuestion, *, drift: bool = False) -> AsyncIterator[SshVisitView]:
        """Visit machines, and stay with them until the iterator is closed.

        One item for each machine, when it can be asked or could not be reached; then nothing more comes.
        """
        targets = await self._meant(question)
        if len(targets) > self.limits.visits:
            self.on_refusal("visits")
            raise ServiceError("too-many-requests", f"{len(targets)} machines, and {self.limits.visits} at a time")
        ports = await self._ports(question)
        with self._holding(targets, question, ports, drift=drift) as opened:
            waiting = {asyncio.ensure_future(_outcome(each)): each.visit.target.id for each in opened}
            try:
                for done in asyncio.as_completed(waiting):
                    yield await done
                while True:  # whoever asked stays until it has what it wants
                    await asyncio.sleep(3600)
            finally:
                for each in waiting:
                    each.cancel()

    async def raw(self, question: SshRawQuestion) -> AsyncIterator[SshRawView]:
        """Run a command there, or remove what is ours; one item for each machine as they come."""
        targets = await self._meant(question)
        ports = await self._ports(question)

        async def one(target: SshTarget) -> SshRawView:
            async with self._gate():
                if question.wipe:
                    visit = Visit(target=target, ports=ports, host_keys=question.host_keys, wipe=True)
                    return await wipe(visit, question.timeout)
                try:
                    await self._prepare(target, question, ports)
                except VisitFailed as error:
                    return SshRawView(minion=target.id, retcode=OF_SSH, error=str(error))
                run = RawCommand(question.command, question.host_keys, question.timeout, self.limits.output_bytes)
                return await run.on(target, ports.commands)

        tasks = [asyncio.create_task(one(target)) for target in targets.values()]
        try:
            for done in asyncio.as_completed(tasks):
                yield await done
        finally:
            for task in tasks:
                task.cancel()

    async def _ports(self, question: SshQuestion) -> VisitPorts:
        try:
            return await asyncio.to_thread(self.ports)
        except BadRoster as error:
            raise ServiceError("bad-request", str(error)) from error

    def _has_roster(self) -> bool:
        settings = self.rosters.settings
        return Path(settings.roster_file or self.rosters.config_dir / "roster").exists()

    async def _read(self, kind: str, text: str | None) -> dict[str, SshTarget]:
        try:
            found = await asyncio.to_thread(self.rosters.read, kind, text)
        except BadRoster as error:
            raise ServiceError("bad-request", str(error)) from error
        if text is None and not kind:
            self.known = frozenset(found)
        return found

    async def _meant(self, question: SshQuestion) -> dict[str, SshTarget]:
        """The machines of a question, as somebody wants them reached."""
        if question.target.kind not in _BY_ID:
            kinds = ", ".join(_BY_ID)
            raise ServiceError("bad-request", f"a roster has no {question.target.kind}: {kinds} mean its machines")
        roster = await self._read(question.roster, question.roster_text)
        matcher = person_matcher()
        kind, expression = question.target.kind, question.target.expression
        try:
            parse_target(expression, kind=kind, nodegroups=self.nodegroups, matcher=matcher)
            found = {
                name: target
                for name, target in sorted(roster.items())
                if match_minion(
                    expression, Minion(id=name, grains={}), {}, kind=kind, nodegroups=self.nodegroups, matcher=matcher
                )
            }
        except (BadTarget, PatternRefused) as error:
            raise ServiceError("bad-request", f"the target {expression!r} cannot be read: {error}") from error
        if not found:
            hint = f"it has {len(roster)} machines, such as {next(iter(roster))}" if roster else "it is empty"
            raise ServiceError("no-target", f"no machine of the roster matches {expression!r}", hint=hint)
        given = {
            **({"user": question.user} if question.user else {}),
            **({"passwd": question.password} if question.password else {}),
            **({"priv": question.private_key} if question.private_key else {}),
            **({"port": question.port} if question.port else {}),
        }
        return {name: target.with_given(given) for name, target in found.items()}

    @contextlib.contextmanager
    def _holding(
        self, targets: Mapping[str, SshTarget], question: SshQuestion, ports: VisitPorts, *, drift: bool
    ) -> Iterator[Sequence[_Open]]:
        """Visits of these machines, which somebody wants meanwhile."""
        opened = []
        for target in targets.values():
            each = self._open.get(target.id)
            if each is None or each.task.done() or each.finishing:
                visit = Visit(
                    target=target,
                    ports=ports,
                    host_keys=question.host_keys,
                    drift=drift,
                    new_worker=question.new_worker,
                )
                each = self._begin(visit, question)
            each.holders += 1
            opened.append(each)
        try:
            yield opened
        finally:
            for each in opened:
                each.holders -= 1
                if not each.holders:
                    self._finish(each)

    def _begin(self, visit: Visit, question: SshQuestion) -> _Open:
        ready: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        before = self._open.get(visit.target.id)
        after = None if before is None or before.task.done() else before.task
        task = asyncio.create_task(self._visit(visit, ready, after, question))
        each = self._open[visit.target.id] = _Open(visit=visit, task=task, ready=ready)
        return each

    async def _visit(
        self, visit: Visit, ready: asyncio.Future[None], after: asyncio.Task[None] | None, question: SshQuestion
    ) -> None:
        """Visit a machine until its agent has ended; `after`: the visit that ends there now."""
        minion = visit.target.id
        try:
            await self._gone(minion, after)
            await self._stay(visit, ready, question)
        except VisitFailed as error:
            log.warning("visit failed", minion=minion, host=visit.target.host, error=str(error))
            _fail(ready, error)
        except Exception as error:  # of one machine; others are visited on
            log.exception("visit failed", minion=minion, host=visit.target.host)
            _fail(ready, VisitFailed(f"the controller failed to visit it: {type(error).__name__}", "see its log"))
        finally:
            if not ready.done():
                ready.cancel()
            self._left.add(minion)
            if (each := self._open.get(minion)) is not None and each.visit is visit:
                del self._open[minion]

    async def _prepare(self, target: SshTarget, question: SshQuestion, ports: VisitPorts) -> None:
        again = question.pre_flight or self.rosters.settings.ssh_run_pre_flight
        await run_pre_flight(target, ports.commands, question.host_keys, self.limits, again=again)

    async def _stay(self, visit: Visit, ready: asyncio.Future[None], question: SshQuestion) -> None:
        """Connect, in turn, and stay. Raises VisitFailed."""
        running: asyncio.Task[None] | None = None
        try:
            async with self._gate():
                if self.sessions.session(visit.target.id) is not None:
                    ready.set_result(None)  # it has an agent of its own, or that of the last visit is still there
                    return
                if question.key_deploy:
                    await deploy_key(visit.target, visit.host_keys, visit.ports.commands, self.limits.output_bytes)
                await self._prepare(visit.target, question, visit.ports)
                running = asyncio.create_task(visit.run())
                seconds = visit.target.timeout + self.limits.start_seconds
                await asyncio.wait((running, ready), timeout=seconds, return_when=asyncio.FIRST_COMPLETED)
            if not ready.done() and not running.done():
                raise VisitFailed(f"no agent came from there within {seconds:g} s", _LOG)
            await running
            if not ready.done():
                raise VisitFailed("the agent there ended at once", _LOG)
        finally:
            if running is not None:
                running.cancel()
                await asyncio.gather(running, return_exceptions=True)

    async def _gone(self, minion: str, after: asyncio.Task[None] | None) -> None:
        """Wait for the end of an earlier visit, and of its connection. What then is connected is no visit of ours."""
        if after is not None:
            await asyncio.wait((after,))
        if minion in self._left:
            with contextlib.suppress(TimeoutError):
                async with asyncio.timeout(GONE_SECONDS):
                    while self.sessions.session(minion) is not None:
                        await asyncio.sleep(LOOK_SECONDS)
            self._left.discard(minion)

    def _gate(self) -> asyncio.Semaphore:
        if self._connecting is None:
            self._connecting = asyncio.Semaphore(self.connect_at_once)
        return self._connecting

    def _finish(self, each: _Open) -> None:
        """Nobody wants a visit any more."""
        if not each.ready.done():
            each.task.cancel()
            return
        each.finishing = True
        log.info("visit ends", minion=each.visit.target.id)
        task = asyncio.create_task(each.visit.finish())
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)


def _fail(ready: asyncio.Future[None], error: VisitFailed) -> None:
    if not ready.done():
        ready.set_exception(error)
        ready.exception()


async def _outcome(each: _Open) -> SshVisitView:
    minion = each.visit.target.id
    try:
        await asyncio.shield(each.ready)
    except VisitFailed as error:
        return SshVisitView(minion=minion, state="failed", error=str(error), hint=error.hint)
    return SshVisitView(minion=minion, state="ready")
