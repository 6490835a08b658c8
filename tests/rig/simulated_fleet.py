"""A fleet for tests of decisions: the real store, reconciler, rollouts, quarantine and handlers of messages, with fakes
for what is outside of them: the wire, the clock, git, the compile and the machines of the minions.

A controller that is killed is thrown away, in the middle of a write where that is asked for, and made again from the
store. What the wire has not delivered is lost with the connection; minions keep what a minion keeps on its disk.
"""

from __future__ import annotations

import asyncio
import hashlib
from collections import deque
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from types import SimpleNamespace

import msgspec
import sqlalchemy
import virtual_loop

from controller.compilation.source_reconciler import SourceReconciler
from controller.messages.after_commit import AfterCommit
from controller.messages.call_results import CallResults
from controller.messages.context import MessageContext, Reconcilers
from controller.messages.greetings import Greetings
from controller.messages.message_handlers import MessageHandlers
from controller.messages.refusal_log import RefusalLog
from controller.messages.replies import Replies
from controller.messages.run_results import RunResults
from controller.messages.state_results import StateResults
from controller.observe.metrics import Metrics
from controller.observe.redactor import Redactor
from controller.observe.rollout_metrics import RolloutMetrics
from controller.reconcile.documents import Documents
from controller.reconcile.jids import Jids
from controller.reconcile.live import LiveRevision
from controller.reconcile.reconciler import Reconciler
from controller.rollouts import rollouts as rollouts_module
from controller.rollouts.gates import Gates
from controller.rollouts.quarantine import Quarantine
from controller.rollouts.rollouts import RolloutReconciler
from controller.sessions.sessions import Sessions
from controller.store import DesiredRecord, Store
from gitfs.source import RemoteRevision, Revision, Trees
from highstate.files import MemoryFiles
from reactors.bus import Bus
from wire import patch
from wire.messages import (
    CHECKS_CALLS,
    CHECKS_RUNS,
    CheckCalls,
    DesiredUpdate,
    Held,
    Hello,
    HelloAck,
    ResultAck,
    ResultRefused,
    ResyncRequired,
    Run,
    RunResult,
    RunStarted,
)
from wire.server.types import Gone, Incoming

COMPILE_SECONDS = 0.5
"""Of one minion."""
KEY = "file_|-state_|-/state_|-managed"


class Killed(KeyboardInterrupt):
    """The controller is killed here. As this kind of exception leaves asyncio's loop at once."""


@dataclass(frozen=True, slots=True)
class Commit:
    """A commit of the only remote."""

    number: int
    policy: str
    """Text of saltern.yaml."""
    texts: Mapping[str, str]
    """Minion -> what its state is to be; the same as before where the commit does not concern it."""
    fails: frozenset[str] = frozenset()
    """Minions on which its state fails."""

    @property
    def name(self) -> str:
        """As git names it."""
        return hashlib.sha1(f"{self.number}".encode(), usedforsecurity=False).hexdigest()

    @property
    def digest(self) -> str:
        """Of its revision."""
        return hashlib.sha256(self.name.encode()).hexdigest()

    def document(self, minion: str) -> bytes:
        """Packed, what a minion shall have."""
        chunk = {
            "state": "file", "fun": "managed", "__id__": "state", "name": "/state", "order": 1, "__sls__": "a",
            "__env__": "base", "contents": self.texts[minion],
        }  # fmt: skip
        return msgspec.msgpack.encode({"pillar": {}, "chunks": {KEY: chunk}, "files": {}, "contents": {}, "drift": {}})

    def document_digest(self, minion: str) -> str:
        """Digest of the document."""
        return patch.digest_of_packed(self.document(minion))

    @property
    def trees(self) -> Trees:
        """What the controller reads."""
        files = MemoryFiles({"base": {"saltern.yaml": self.policy.encode()}})
        place = RemoteRevision(
            remote="states", branch="main", commit=self.name, subject=f"{self.number}", author="a", committed=1.0
        )
        revision = Revision(id=self.name[:8], digest=self.digest, remotes={"states": place})
        return Trees(files=files, pillar=files, revision=revision)


class Remote:
    """The port of what git has."""

    remotes = (SimpleNamespace(name="states"),)

    def __init__(self, first: Commit) -> None:
        self.commits = [first]
        self.head = first

    def push(self, commit: Commit) -> None:
        """Put the branch on a commit, a new one or one that there was."""
        if commit not in self.commits:
            self.commits.append(commit)
        self.head = commit

    def live(self) -> Trees:
        """See `Source`."""
        return self.head.trees

    def pinned(self, commits: Mapping[str, str]) -> Trees:
        """See `Source`."""
        return next(each.trees for each in self.commits if each.name == commits["states"])

    def of_digest(self, digest: str) -> Commit:
        """The commit of a revision."""
        return next(each for each in self.commits if each.digest == digest)


@dataclass(slots=True)
class Machine:
    """A minion: what is on its disk, and what came by its connection and was not read yet."""

    id: str
    connected: bool = False
    connection: int = 0
    inbox: deque = field(default_factory=deque)
    held: bytes = b""
    generation: int = 0
    job: Run | None = None
    waiting: dict[str, Run] = field(default_factory=dict)
    results: dict[str, RunResult] = field(default_factory=dict)
    text: str = ""
    """What the state is on this machine."""
    drifted: bool = False
    drift_checks: int = 0

    @property
    def digest(self) -> str:
        """Of the document that it holds."""
        return patch.digest_of_packed(self.held) if self.held else ""

    @property
    def key(self) -> str:
        """Of its connection."""
        return f"{self.id}-{self.connection}"

    def knows(self, run_id: str) -> bool:
        """Whether it has begun a run, or has its result."""
        return run_id in self.results or (self.job is not None and self.job.run_id == run_id)

    def take(self, say: Callable[[object], None]) -> None:
        """Read the next message, as `minion.agent` does."""
        match self.inbox.popleft():
            case HelloAck():
                for result in list(self.results.values()):
                    say(result)
            case DesiredUpdate() as message:
                self._take_document(message, say)
            case Run() as run:
                self._take_run(run, say)
            case CheckCalls(run_ids=run_ids):
                for run_id in run_ids:
                    self._check(run_id, say)
            case ResultAck(run_id=run_id) | ResultRefused(run_id=run_id):
                self.results.pop(run_id, None)

    def _take_document(self, message: DesiredUpdate, say) -> None:
        if message.base and message.base != self.digest:
            say(ResyncRequired(generation=message.generation, held=self.digest))
            return
        old = msgspec.msgpack.decode(self.held) if message.base else {}
        self.held, self.generation = msgspec.msgpack.encode(patch.apply(old, message.patch)), message.generation
        assert self.digest == message.digest
        say(Held(generation=message.generation, digest=message.digest))
        for run in list(self.waiting.values()):
            if run.digest == self.digest:
                self._take_run(self.waiting.pop(run.run_id), say)
            elif run.generation < self.generation:
                self._end(self.waiting.pop(run.run_id), "error", say, error="its document was replaced")

    def _take_run(self, run: Run, say) -> None:
        if self.job is not None and run.run_id == self.job.run_id:
            say(RunStarted(run_id=run.run_id))
        elif run.run_id in self.results:
            say(self.results[run.run_id])
        elif run.digest != self.digest:
            self.waiting[run.run_id] = run
            say(ResyncRequired(generation=run.generation, held=self.digest))
        else:
            if self.job is None:
                self.job = run
                say(RunStarted(run_id=run.run_id))
            else:
                self.inbox.append(run)  # its turn comes: the controller has given up the one before

    def _check(self, run_id: str, say) -> None:
        if self.job is not None and run_id == self.job.run_id:
            say(RunStarted(run_id=run_id))
        elif run_id in self.results:
            say(self.results[run_id])
        else:
            self.waiting.pop(run_id, None)
            say(
                RunResult(
                    run_id=run_id, kind="call", generation=0, digest="", outcome="error", error="it never came",
                    ending="unreachable",
                )
            )  # fmt: skip

    def end_run(self, failed: bool, say) -> None:
        """The run in progress comes to its end."""
        run, self.job = self.job, None
        assert run is not None
        wanted = msgspec.msgpack.decode(self.held)["chunks"][KEY]["contents"]
        differs = wanted != self.text or self.drifted
        if run.test or run.kind == "drift":
            self._end(run, "pending" if differs else "ok", say)
            return
        if failed:
            self.text = f"half of {wanted}"
        elif run.keys is None or KEY in run.keys:
            self.text, self.drifted = wanted, False
        self._end(run, "failed" if failed else ("changed" if differs else "ok"), say)

    def _end(self, run: Run, outcome, say, error: str = "") -> None:
        state = {"pending": None, "failed": False}.get(outcome, True)
        changes = {"diff": "x"} if outcome in ("changed", "pending") else {}
        states = {KEY: {"result": state, "changes": changes, "comment": ""}}
        result = RunResult(
            run_id=run.run_id, kind=run.kind, generation=run.generation, digest=run.digest, outcome=outcome,
            states={} if error else states, error=error,
        )  # fmt: skip
        self.results[run.run_id] = result
        say(result)

    def check_drift(self, say) -> None:
        """A drift check of its own schedule."""
        if self.held and self.job is None:
            self.drift_checks += 1
            run = Run(
                run_id=f"drift-{self.id}-{self.drift_checks}",
                kind="drift",
                generation=self.generation,
                digest=self.digest,
                test=True,
            )
            wanted = msgspec.msgpack.decode(self.held)["chunks"][KEY]["contents"]
            self._end(run, "pending" if wanted != self.text or self.drifted else "ok", say)


class Compiles:
    """The port of compiles: one minion after another, again from the first when other trees go live meanwhile."""

    def __init__(self, fleet: SimulatedFleet) -> None:
        self._fleet = fleet
        self._due, self._done = asyncio.Event(), asyncio.Event()
        self._due.set()

    def revision_changed(self, cause: int = 0) -> None:
        """See `BuildReconciler`."""
        self._done.clear()
        self._due.set()

    def connected(self, minion: str, cause: int = 0) -> None:
        """See `BuildReconciler`."""
        self._due.set()

    def grains_changed(self, minion: str, cause: int = 0) -> None:
        """See `BuildReconciler`."""
        self._due.set()

    def fleet_changed(self, cause: int = 0) -> None:
        """See `BuildReconciler`."""

    async def compiled(self) -> None:
        """See `BuildReconciler`."""
        await self._done.wait()

    async def run(self) -> None:
        """Work until cancelled."""
        while True:
            await self._due.wait()
            self._due.clear()
            if self._fleet.live.trees is not None and await self._compile():
                self._done.set()

    async def _compile(self) -> bool:
        fleet, digest = self._fleet, self._fleet.live.digest
        commit = fleet.remote.of_digest(digest)
        for record in fleet.store.minions.all():
            before = fleet.store.desired.get(record.id)
            if before is not None and before.revision == digest:
                continue
            await asyncio.sleep(COMPILE_SECONDS)
            if fleet.live.digest != digest:
                self._due.set()
                return False
            new = commit.document_digest(record.id)
            changed = before is None or before.digest != new
            generation = before.generation if before else 0
            desired = DesiredRecord(
                minion=record.id,
                generation=generation + changed,
                revision=digest,
                compiled_revision=digest,
                digest=new,
                document=commit.document(record.id) if changed else None,
            )
            fleet.store.desired.put([desired])
            fleet.reconciler.wake([record.id], cause=fleet.bus.publish(f"saltern/compile/{record.id}/ok", {}).id)
        return True


class SimulatedFleet:
    """Minions and their controller.

    Args:
        url: of a database that has its tables.
        minions: ids.
        first: what git has.
        epoch: the time at the beginning, in seconds since the epoch.
        on_run: is told of each run that is sent, with its minion.
    """

    def __init__(
        self, url: str, minions: tuple[str, ...], first: Commit, epoch: float, on_run: Callable[[Machine, Run], None]
    ) -> None:
        self.url, self.remote, self._on_run, self._epoch = url, Remote(first), on_run, epoch
        self.machines = {minion: Machine(minion) for minion in minions}
        self.loop = virtual_loop.VirtualLoop()
        self.faults: list[str] = []
        self._tasks: list[asyncio.Task] = []
        self._writes_left: int | None = None
        rollouts_module.TICK_SECONDS = 30.0  # there is a look at each of them, and days pass
        self.start()

    def now(self) -> float:
        """The clock."""
        return self._epoch + self.loop.time()

    # --- the controller's life ---

    def start(self) -> None:
        """Make a controller of what is in the store."""
        self.loop.run_until_complete(self._make())

    async def _make(self) -> None:
        self.store = store = Store(self.url)
        sqlalchemy.event.listen(store._database._engine, "commit", self._writes)
        self.sessions, self.live = Sessions(), LiveRevision()
        self.bus = Bus(self.now, last=store.events.last_id())
        metrics, documents, redactor = Metrics(self.now), Documents(store), Redactor(store, "key")
        ids = Jids(self.now)
        server = SimpleNamespace(send=self._send, send_all=self._send_all, disconnect=self._hang_up)
        self.reconciler = Reconciler(
            store=store, sessions=self.sessions, server=server, documents=documents, bus=self.bus, metrics=metrics,
            redactor=redactor, ids=ids, clock=self.now, run_timeout=3600.0, live=self.live,
        )  # fmt: skip
        self.quarantine = Quarantine(
            store=store, source=self.remote, live=self.live, bus=self.bus, clock=self.now, go_live=self.go_live
        )
        self.rollouts = self._rollouts(documents, metrics, ids)
        self.reconciler.rollouts = self.rollouts
        self.compiles = Compiles(self)
        self.sources = SourceReconciler(
            source=self.remote, live=self.live, builds=self.compiles, store=store, reconciler=self.reconciler,
            files=SimpleNamespace(use=lambda files: None), bus=self.bus, metrics=metrics, clock=self.now,
            instead_of=self.quarantine.instead_of, after_compile=self.rollouts.begin,
        )  # fmt: skip
        self.handlers = self._handlers(server, metrics, redactor)
        for work in (self.reconciler.run(), self.rollouts.run(), self.compiles.run(), self.go_live()):
            self.begin(work)

    def _rollouts(self, documents, metrics, ids) -> RolloutReconciler:
        async def roll_back(rollout) -> None:
            await self.quarantine.roll_back("", user="", why=f"rollout {rollout.id}: {rollout.why}")

        return RolloutReconciler(
            store=self.store, live=self.live, sessions=self.sessions, documents=documents, reconciler=self.reconciler,
            bus=self.bus, metrics=RolloutMetrics(metrics.registry), ids=ids, roll_back=roll_back,
            gates=Gates(store=self.store, clock=self.now), is_pinned=self.quarantine.is_pinned,
            is_taken_back=self.quarantine.is_taken_back, clock=self.now,
        )  # fmt: skip

    def _handlers(self, server, metrics, redactor) -> MessageHandlers:
        context = MessageContext(
            store=self.store, sessions=self.sessions, bus=self.bus, metrics=metrics, clock=self.now,
            after_commit=AfterCommit(),
        )  # fmt: skip
        replies = Replies(context=context, server=server, greeting=HelloAck(epoch="e", alive_interval=15.0))
        reconcilers = Reconcilers(runs=self.reconciler, builds=self.compiles)
        results = RunResults(
            context=context, reconciler=self.reconciler, redactor=redactor, keep_runs=50, keep_bytes=2**30
        )
        keys = SimpleNamespace(
            rotations=SimpleNamespace(announce=lambda key: None), take_together=lambda key_requests: None
        )
        mines = SimpleNamespace(changed=lambda: None)
        others = SimpleNamespace(
            files=SimpleNamespace(forget=lambda key: None), mine_pace=SimpleNamespace(forget=lambda minion: None)
        )
        return MessageHandlers(
            context=context,
            replies=replies,
            keys=keys,
            greetings=Greetings(context=context, replies=replies, keys=keys, reconcilers=reconcilers, mines=mines),
            reconcilers=reconcilers,
            results=results,
            calls=CallResults(context=context, replies=replies, results=results),
            states=StateResults(context=context, replies=replies, results=results),
            events=None,
            minion_events=None,
            answers=others,
            refusals=RefusalLog(most=20, clock=self.now),
        )

    async def go_live(self) -> None:
        """Take what git has."""
        await self.sources.go_live()

    def begin(self, work) -> None:
        """Have a task of the controller go on beside the others. Its end by an error is a fault."""
        task = self.loop.create_task(work)
        task.add_done_callback(self._ended)
        self._tasks.append(task)

    def _ended(self, task: asyncio.Task) -> None:
        if task.cancelled() or isinstance(error := task.exception(), Killed):
            return
        if error is not None:
            self.faults.append(f"a task of the controller ended: {error!r}")

    def _writes(self, connection) -> None:
        if self._writes_left is not None and not connection.get_execution_options().get("saltern_reads"):
            self._writes_left -= 1
            if self._writes_left < 0:
                raise Killed

    def kill_at(self, write: int) -> None:
        """Kill the controller at the write after so many."""
        self._writes_left = write

    def restart(self) -> None:
        """The controller that was killed is gone, with its connections; another takes its place."""
        self._writes_left = None
        tasks, self._tasks = self._tasks, []
        for task in tasks:
            task.remove_done_callback(self._ended)
            task.cancel()
        self.loop.go_on()
        self.loop.run_until_complete(asyncio.gather(*tasks, return_exceptions=True))
        self.store.close()
        there = [machine for machine in self.machines.values() if machine.connected]
        for machine in there:
            machine.connected = False
            machine.inbox.clear()
        self.start()
        for machine in there:
            self.connect(machine.id)

    def survive(self, act: Callable[[], None]) -> bool:
        """Do something; a controller that is killed meanwhile is started again. Whether it was not."""
        try:
            act()
        except Killed:
            self.restart()
            return False
        return True

    def close(self) -> None:
        """End all."""
        self._writes_left = None
        for task in self._tasks:
            task.remove_done_callback(self._ended)
            task.cancel()
        self.loop.go_on()
        self.loop.run_until_complete(asyncio.gather(*self._tasks, return_exceptions=True))
        self.store.close()
        self.loop.close()

    # --- the wire ---

    def _send(self, key: str, message: object) -> None:
        for machine in self.machines.values():
            if machine.connected and machine.key == key:
                if isinstance(message, Run):
                    self._on_run(machine, message)
                machine.inbox.append(message)

    def _send_all(self, messages) -> None:
        for key, message in messages:
            self._send(key, message)

    def _hang_up(self, key: str) -> None:
        for machine in self.machines.values():
            if machine.connected and machine.key == key:
                machine.connected = False
                machine.inbox.clear()

    def say(self, machine: Machine) -> Callable[[object], None]:
        """What a machine says goes to the controller, while there is a connection."""

        def say(message: object) -> None:
            if machine.connected:
                self.handlers.deliver([Incoming(key=machine.key, id=machine.id, message=message)])

        return say

    def connect(self, minion: str) -> None:
        """A minion connects."""
        machine = self.machines[minion]
        machine.connected, machine.connection = True, machine.connection + 1
        hello = Hello(
            id=minion, grains={"id": minion}, held=machine.digest, session="s", takes=(CHECKS_CALLS, CHECKS_RUNS)
        )
        self.say(machine)(hello)

    def disconnect(self, minion: str) -> None:
        """Its connection ends, with what was on its way."""
        machine = self.machines[minion]
        machine.connected = False
        machine.inbox.clear()
        self.handlers.deliver([Gone(key=machine.key)])
