"""A controller made of the real wire server, and agents as real processes."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import prepared
import pytest

from highstate.desired import Desired
from highstate.files import MemoryFiles, blob_id
from highstate.run.runner import run
from highstate.types import Chunk, StateResult
from minion.engine.engine import StateEngine
from minion.machine.file_locks import lock_holder
from minion.machine.machine import LocalMachine
from minion.processes import kill_tree
from wire import patch
from wire.address import Bind
from wire.keys import KeyPair, load_or_create
from wire.messages import (
    BLOB_CHUNK,
    Blob,
    DesiredUpdate,
    FileFound,
    FileList,
    FindFile,
    GetBlob,
    Hello,
    HelloAck,
    KeyRequest,
    KeyState,
    ListFiles,
    MinionEvents,
    MinionEventsAck,
    ResultAck,
    ResyncRequired,
    Run,
    RunEvents,
    RunEventsAck,
    RunResult,
)
from wire.server.server import Server
from wire.server.types import Gone, Identity, Incoming

DEADLINE = 100.0
"""Seconds: patience alone, for a machine that is busy."""


@pytest.fixture(autouse=True)
def _signals() -> Iterator[None]:
    """What a call in this very process does on SIGTERM is not for the tests after it: it would end their commands."""
    before = {number: signal.getsignal(number) for number in (signal.SIGTERM, signal.SIGHUP, signal.SIGINT)}
    yield
    for number, handler in before.items():
        signal.signal(number, handler)


class Controller:
    """Answers as a controller does; what a test wants to see is in `seen`. Acts on `Registry` by itself."""

    def __init__(self, keys: KeyPair, host: str = "127.0.0.1", ports: tuple[int, int] = (0, 0)) -> None:
        self.keys = keys
        self.host = host
        self.files: dict[str, bytes] = {}
        self.states: dict[str, Identity] = {}
        self.seen: list[Any] = []
        self.gone = 0
        self.events: dict[str, list[tuple[str, Any]]] = {}
        """Events of each run, each once, in their order."""
        self.own_events: list[tuple[str, Any]] = []
        """Events of no run, each once, in their order."""
        self._taken: dict[str, int] = {}
        self.told: list[tuple[str, Any]] = []
        """The same as often as they came."""
        self.acknowledges = True
        self.accepts = True
        self.rejects = False
        self.epoch = "e1"
        self.document: Any = None
        self.digest = ""
        self.generation = 0
        self._changed = threading.Condition()
        self._ports = ports
        self.start()

    def start(self) -> None:
        self.server = Server(
            Bind(host=self.host, publish_port=self._ports[0], request_port=self._ports[1]),
            self.keys,
            self,
            self._deliver,
        )
        self.server.start()
        self._ports = (self.server.ports.publish, self.server.ports.request)

    @property
    def ports(self) -> tuple[int, int]:
        return self._ports

    def identity(self, key: str) -> Identity | None:
        return self.states.get(key)

    @property
    def key(self) -> str:
        """The one minion of most tests."""
        return next(iter(self.states))

    def send(self, message: Any) -> None:
        self.server.send(self.key, message)

    def desire(self, desired: Desired, *, whole: bool = False) -> str:
        """Offer a document; its digest."""
        document = desired.as_document()
        old, base = (None, "") if whole or self.document is None else (self.document, self.digest)
        self.generation += 1
        self.document, self.digest = document, patch.digest(document)
        self.send(
            DesiredUpdate(generation=self.generation, base=base, digest=self.digest, patch=patch.diff(old, document))
        )
        return self.digest

    def run(self, run_id: str, **fields: Any) -> None:
        self.send(
            Run(**{"run_id": run_id, "kind": "apply", "generation": self.generation, "digest": self.digest, **fields})
        )

    def wait(self, wanted: Callable[[], Any], what: str = "") -> Any:
        """Until `wanted` is true."""
        deadline = time.monotonic() + DEADLINE
        with self._changed:
            while not (found := wanted()):
                left = deadline - time.monotonic()
                assert left > 0, f"waited in vain for {what or wanted}; seen: {[type(m).__name__ for m in self.seen]}"
                self._changed.wait(min(left, 0.5))
        return found

    def all(self, kind: type, /, **fields: Any) -> list[Any]:
        return [
            message
            for message in list(self.seen)
            if isinstance(message, kind) and all(getattr(message, key) == value for key, value in fields.items())
        ]

    def next(self, kind: type, /, **fields: Any) -> Any:
        """The first message of this kind."""
        return self.wait(lambda: self.all(kind, **fields), f"{kind.__name__} {fields}")[0]

    def result(self, run_id: str) -> RunResult:
        return self.next(RunResult, run_id=run_id)

    def _deliver(self, batch: list[Any]) -> None:
        for item in batch:
            if isinstance(item, Incoming):
                self._answer(item)
            elif isinstance(item, Gone):
                self.gone += 1
        with self._changed:
            self.seen += [item.message for item in batch if isinstance(item, Incoming)]
            self._changed.notify_all()

    def _answer(self, item: Incoming) -> None:
        reply: Any = None
        match item.message:
            case KeyRequest():
                state = "rejected" if self.rejects else "accepted" if self.accepts else "pending"
                if item.key not in self.states or self.accepts:
                    self.states[item.key] = Identity(id=item.message.id, state=state)
                reply = KeyState(state=state)
            case Hello():
                reply = HelloAck(epoch=self.epoch, alive_interval=0.5)
            case RunResult():
                reply = ResultAck(run_id=item.message.run_id) if self.acknowledges else None
            case RunEvents(run_id=run_id, first=first):
                taken = self.events.setdefault(run_id, [])
                if first <= len(taken):
                    taken.extend(item.message.events[len(taken) - first :])
                self.told += item.message.events
                reply = RunEventsAck(run_id=run_id, taken=len(taken)) if self.acknowledges else None
            case MinionEvents(stream=stream, first=first, end=end):
                taken = self._taken.get(stream, 0)
                self.own_events += item.message.events[max(0, taken - first) :]
                self._taken[stream] = max(taken, end)
                reply = MinionEventsAck(stream=stream, taken=self._taken[stream]) if self.acknowledges else None
            case FindFile(request=request, path=path):
                data = self.files.get(path)
                reply = (
                    FileFound(request=request)
                    if data is None
                    else FileFound(request=request, oid=blob_id(data), size=len(data))
                )
            case ListFiles(request=request, prefix=prefix):
                found = {p: blob_id(d) for p, d in self.files.items() if p.startswith(prefix)}
                reply = FileList(request=request, files=found)
            case GetBlob(request=request, oid=oid, offset=offset):
                data = next((d for d in self.files.values() if blob_id(d) == oid), None)
                part = b"" if data is None else data[offset : offset + BLOB_CHUNK]
                total = -1 if data is None else len(data)
                reply = Blob(request=request, oid=oid, offset=offset, total=total, data=part)
            case ResyncRequired():
                pass
        if reply is not None:
            self.server.send(item.key, reply)


class AgentProcess:
    """`saltern minion`, as far as the agent goes."""

    def __init__(self, config_dir: Path) -> None:
        self.config_dir = config_dir
        self.log = config_dir / "log"
        self.process: prepared.PreparedProcess | subprocess.Popen[bytes] | None = None

    @property
    def cachedir(self) -> Path:
        return self.config_dir / "root/var/cache/saltern/minion"

    def start(self) -> AgentProcess:
        words = ["minion", "-c", str(self.config_dir), "--log-level", "debug"]
        with self.log.open("ab") as log, Path(os.devnull).open("wb") as nothing:
            self.process = prepared.start(words, os.environ, nothing, log)
        return self

    def start_alone(self) -> AgentProcess:
        """An interpreter of its own, which has imported what the agent imports, and nothing for other tests."""
        words = [Path(sys.executable).with_name("saltern"), "minion", "-c", self.config_dir]
        with self.log.open("ab") as log:
            self.process = subprocess.Popen(words, stdout=subprocess.DEVNULL, stderr=log)
        return self

    def kill(self) -> None:
        assert self.process
        self.process.kill()
        self.process.wait()

    def stop(self) -> int:
        assert self.process
        self.process.send_signal(signal.SIGTERM)
        return self.process.wait(DEADLINE)

    def logged(self) -> str:
        return self.log.read_text() if self.log.exists() else ""

    def end(self) -> None:
        if self.process is not None and self.process.poll() is None:
            self.kill()
        self.end_workers()

    def end_workers(self) -> None:
        for pid in self.workers():
            kill_tree(pid)

    def workers(self) -> list[int]:
        """Process groups of workers that are still there, the agent's or orphans."""
        found = []
        for path in [self.cachedir / "run.lock", *self.cachedir.glob("runs/*/lock")]:
            pid = lock_holder(path)
            if pid:
                found.append(pid)
        return found


@pytest.fixture
def controller(tmp_path: Path) -> Iterator[Controller]:
    controller = Controller(load_or_create(tmp_path / "controller-pki" / "controller.key"))
    yield controller
    controller.server.stop()


@pytest.fixture
def second(tmp_path: Path, controller: Controller) -> Iterator[Controller]:
    """Another controller, on the same ports of another address."""
    made = Controller(load_or_create(tmp_path / "second" / "controller.key"), "127.0.0.2", controller.ports)
    yield made
    made.server.stop()


@pytest.fixture
def agents(tmp_path: Path, controller: Controller) -> Iterator[Callable[..., AgentProcess]]:
    made: list[AgentProcess] = []

    def make(minion_id: str = "web1", **options: Any) -> AgentProcess:
        config = tmp_path / minion_id
        config.mkdir()
        settings = {
            "id": minion_id,
            "master": "127.0.0.1",
            "publish_port": controller.ports[0],
            "master_port": controller.ports[1],
            "controller_key": controller.keys.public,
            "root_dir": str(config / "root"),
            **options,
        }
        (config / "minion").write_text(json.dumps(settings))
        made.append(AgentProcess(config))
        return made[-1]

    yield make
    for agent in made:
        agent.end()


def chunk(state: str, fun: str, name: str, **arguments: Any) -> Chunk:
    given = {key.rstrip("_"): value for key, value in arguments.items()}
    return Chunk(state=state, fun=fun, id=given.pop("id", name), name=name, sls="web", arguments=given)


@pytest.fixture
def desired_state() -> Callable[..., Desired]:
    """desired(chunks..., pillar=..., files=..., drift=...)."""

    def make(*chunks: tuple[Any, ...], **fields: Any) -> Desired:
        made = [chunk(state, fun, name, **(rest[0] if rest else {})) for state, fun, name, *rest in chunks]
        return Desired(chunks={one.tag: one for one in made}, **fields)

    return make


@pytest.fixture
def converge(tmp_path: Path) -> Callable[..., StateResult]:
    """converge("file.touch", name, **arguments): planned under test, done, and planned again.

    Holds for every state: the test run says what the real run does and leaves `tmp_path` as it was, and a second run
    finds nothing to do. `machine` is another machine than a plain one.
    """
    plain = LocalMachine(sources_port=MemoryFiles({}))

    def once(machine: LocalMachine, fun: str, name: str, arguments: dict[str, Any], *, test: bool) -> StateResult:
        state, _, bare = fun.partition(".")
        one = Chunk(state=state, fun=bare, id="x", name=name, sls="s", arguments=arguments)
        engine = StateEngine(machine, test=test, backup_dir=str(tmp_path / "kept"))
        return run({"k": one}, engine, test=test, clock=lambda: 0.0)["k"]

    def call(fun: str, name: Any, *, machine: LocalMachine = plain, **arguments: Any) -> StateResult:
        before = contents(tmp_path)
        predicted = once(machine, fun, str(name), arguments, test=True)
        assert contents(tmp_path) == before
        result = once(machine, fun, str(name), arguments, test=False)
        if result.changes and result.result is not False:
            assert predicted.result is None
            assert predicted.changes == result.changes
            again = once(machine, fun, str(name), arguments, test=False)
            assert (again.result, again.changes) == (True, {})
            tested = once(machine, fun, str(name), arguments, test=True)
            assert (tested.result, tested.changes) == (True, {})
            assert again.comment in (
                tested.comment,
                tested.comment.replace("is already", "was already").replace("are al", "were al"),
            )
        elif not result.changes:
            assert contents(tmp_path) == before
            # What shows only when it is tried (a check of the content, a server that is waited for) is not predicted.
            if predicted.result is not None:
                assert (predicted.result, predicted.comment) == (result.result, result.comment)
        return result

    return call


def contents(top: Path) -> dict[str, Any]:
    """What there is below a folder."""
    return {
        str(path): (path.lstat().st_mode, path.readlink() if path.is_symlink() else path.read_bytes())
        for path in sorted(top.rglob("*"))
        if path.is_symlink() or path.is_file()
    }
