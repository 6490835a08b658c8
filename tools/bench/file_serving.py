"""How fast one controller gives files to many minions at once, beside a bare encrypted ZeroMQ socket.

Used by `bench_gitfs`. Both are asked by the same swarm, a process of its own: a hundred DEALER sockets, each asking for
the next content when the last one has come.
"""

from __future__ import annotations

import json
import multiprocessing
import os
import secrets
import tempfile
import threading
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Any

import zmq
from rig import Rig

from tools.bench.figures import Figure
from wire.codec import decode_to_minion, encode
from wire.messages import Blob, GetBlob, Hello, HelloAck, KeyRequest, KeyState

MINIONS = 100
FILES = 1000
FILE_BYTES = 100_000
EACH = 50
"""Files of the 100 MB that each minion takes, drawn for itself: all minions taking all files would be 10 GB a round,
and tell nothing more, since no content is looked up twice by one minion."""


def measure() -> Iterator[Figure]:
    """Throughput as seconds, so that less is better; and what the controller's memory grew by.

    Memory without the pages of mapped files: git maps its pack when it is read first, which the kernel may take back.
    """
    with tempfile.TemporaryDirectory(prefix="saltern-bench-") as folder:
        ours, grown = _ours(Path(folder))
    bare = _bare()
    total = MINIONS * EACH * FILE_BYTES / 1e6
    yield Figure(
        metric=f"{FILES} files of {FILES * FILE_BYTES / 1e6:.0f} MB, {EACH} to each of {MINIONS} minions at once "
        f"({total:.0f} MB, {total / min(ours):.0f} MB/s)",
        unit="s",
        samples=ours,
        reference=sorted(bare)[len(bare) // 2],
        reference_of=f"bare socket, {total / min(bare):.0f} MB/s",
        target=round(sorted(bare)[len(bare) // 2] / 0.6, 2),
    )
    yield Figure(metric="memory that this took at most", unit="MiB", samples=[grown], target=128.0)


def _ours(folder: Path) -> tuple[list[float], float]:
    tree = folder / "tree"
    for name in ("states/files", "pillar"):
        (tree / name).mkdir(parents=True)
    for number in range(FILES):
        (tree / f"states/files/{number}").write_text(os.urandom(FILE_BYTES // 2).hex())
    with Rig(folder, {}, tree, {"auto_accept": True}) as rig:
        rig.make_remote()
        rig.push("files")
        rig.start_controller()
        rig.wait("the files to be live", lambda: any(each["commit"] for each in rig.remotes()))
        listed = rig.git("ls-tree", "-r", "HEAD", "states/files").splitlines()
        oids = [line.split()[2] for line in listed]
        controller = rig.pid("controller")
        before = most = memory_of(controller)
        with _swarm(rig.wire_ports[1], rig.controller_key, oids) as rounds:
            samples = []
            for _ in range(4):
                rounds.send("go")
                while not rounds.poll(0.05):
                    most = max(most, memory_of(controller))
                samples.append(rounds.recv())
    return samples[1:], (most - before) / 2**20


def memory_of(pid: int) -> int:
    """Bytes that a process holds in memory and that are no file's."""
    status = Path(f"/proc/{pid}/status").read_text()
    return 1024 * int(next(line for line in status.splitlines() if line.startswith("RssAnon:")).split()[1])


def _bare() -> list[float]:
    """The same questions, each answered with a content that is in memory already."""
    context: zmq.Context[zmq.Socket[bytes]] = zmq.Context()
    public, secret = zmq.curve_keypair()
    router = context.socket(zmq.ROUTER)
    router.set(zmq.CURVE_SERVER, 1)
    router.set(zmq.CURVE_SECRETKEY, secret)
    port = router.bind_to_random_port("tcp://127.0.0.1")
    content = os.urandom(FILE_BYTES // 2).hex().encode()
    answers = {
        kind: encode(message)
        for kind, message in (
            ("key", KeyState(state="accepted")),
            ("hello", HelloAck(epoch="e", alive_interval=60)),
            ("blob", Blob(request=1, oid="0" * 40, offset=0, total=len(content), data=content)),
        )
    }
    over = threading.Event()
    server = threading.Thread(target=_serve, args=(router, answers, over), daemon=True)
    server.start()
    try:
        with _swarm(port, public.decode(), ["0" * 40]) as rounds:
            samples = [_round(rounds) for _ in range(4)]
    finally:
        over.set()
        server.join()
        context.destroy(linger=0)
    return samples[1:]


def _round(rounds: Connection) -> float:
    rounds.send("go")
    return float(rounds.recv())


def _serve(router: zmq.Socket[bytes], answers: dict[str, bytes], over: threading.Event) -> None:
    while not over.is_set():
        if router.poll(20):
            _answer_waiting(router, answers)


def _answer_waiting(router: zmq.Socket[bytes], answers: dict[str, bytes]) -> None:
    while True:
        try:
            peer, question = router.recv_multipart(zmq.NOBLOCK)
        except zmq.Again:
            return
        kind = "blob" if b"get-blob" in question else "hello" if b"hello" in question else "key"
        router.send_multipart([peer, answers[kind]])


@contextmanager
def _swarm(port: int, controller_key: str, oids: Sequence[str]) -> Iterator[Connection]:
    """A process that asks for everything each time it is told to, and says how many seconds that took."""
    context = multiprocessing.get_context("spawn")
    ours, theirs = context.Pipe()
    process = context.Process(target=_ask, args=(theirs, port, controller_key, list(oids)), daemon=True)
    process.start()
    try:
        if ours.recv() != "ready":
            raise RuntimeError("the swarm did not come up")
        yield ours
    finally:
        process.kill()
        process.join()


def _ask(told: Connection, port: int, controller_key: str, oids: Sequence[str]) -> None:
    context: zmq.Context[zmq.Socket[bytes]] = zmq.Context()
    context.set(zmq.MAX_SOCKETS, 4 * MINIONS)
    dealers = [_dealer(context, port, controller_key) for _ in range(MINIONS)]
    for number, dealer in enumerate(dealers):
        _until(dealer, KeyRequest(id=f"m{number}"), KeyState)
        _until(dealer, Hello(id=f"m{number}", grains={}), HelloAck)
    told.send("ready")
    poller = zmq.Poller()
    for dealer in dealers:
        poller.register(dealer, zmq.POLLIN)
    while True:
        told.recv()
        began = time.perf_counter()
        chance = secrets.SystemRandom()
        wanted = [chance.sample(oids, k=EACH) if len(oids) > 1 else list(oids) * EACH for _ in range(MINIONS)]
        taking = {dealer: _Taking(dealer, todo) for dealer, todo in zip(dealers, wanted, strict=True)}
        while taking:
            for dealer, _ in poller.poll():
                if dealer in taking and not taking[dealer].read():
                    del taking[dealer]
        told.send(time.perf_counter() - began)


class _Taking:
    """The contents that one minion takes, one after the other."""

    def __init__(self, dealer: zmq.Socket[bytes], todo: list[str]) -> None:
        self._dealer, self._todo = dealer, todo
        self._ask(0)

    def _ask(self, offset: int) -> None:
        self._dealer.send(encode(GetBlob(request=1, oid=self._todo[-1], offset=offset)))

    def read(self) -> bool:
        """Whether there is more to come after what has come now."""
        answer: Any = decode_to_minion(self._dealer.recv(copy=False).buffer)
        if not isinstance(answer, Blob):
            return True
        if answer.total < 0:
            raise RuntimeError(json.dumps(f"no content {answer.oid}"))
        reached = answer.offset + len(answer.data)
        if reached >= answer.total:
            self._todo.pop()
            reached = 0
        if self._todo:
            self._ask(reached)
        return bool(self._todo)


def _dealer(context: zmq.Context[zmq.Socket[bytes]], port: int, controller_key: str) -> zmq.Socket[bytes]:
    public, secret = zmq.curve_keypair()
    dealer = context.socket(zmq.DEALER)
    dealer.set(zmq.ROUTING_ID, b"\x01" + os.urandom(16))
    dealer.set(zmq.CURVE_SERVERKEY, controller_key.encode())
    dealer.set(zmq.CURVE_PUBLICKEY, public)
    dealer.set(zmq.CURVE_SECRETKEY, secret)
    dealer.connect(f"tcp://127.0.0.1:{port}")
    return dealer


def _until(dealer: zmq.Socket[bytes], question: Any, kind: type) -> None:
    """Ask once, and wait for an answer of this kind."""
    dealer.send(encode(question))
    while not isinstance(decode_to_minion(dealer.recv()), kind):
        pass
