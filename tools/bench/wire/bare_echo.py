"""The bare limit of `test.ping`: the same frames between a ROUTER and as many DEALERs, with CURVE and nothing else.

The ROUTER is in this process, the DEALERs are in others (`echo_peers`), as many as the swarm has.
"""

from __future__ import annotations

import os
import subprocess
import sys
import time
from dataclasses import dataclass
from pathlib import Path

import zmq

from controller.reconcile.jids import Jids
from wire.codec import encode
from wire.messages import Call, ResultAck, RunResult, RunStarted

PEERS = Path(__file__).with_name("echo_peers.py")
_PATIENCE = 120_000
"""Milliseconds until a frame that does not come is an error."""


@dataclass(frozen=True, slots=True)
class PingFrames:
    """What goes over the wire for the `test.ping` of one minion."""

    call: bytes
    started: bytes
    result: bytes
    acknowledged: bytes


def ping_frames() -> PingFrames:
    """The messages themselves, as controller and minion make them."""
    run_id = Jids(time.time).next()
    return PingFrames(
        call=encode(Call(run_id=run_id, fun="test.ping", job=run_id)),
        started=encode(RunStarted(run_id=run_id)),
        result=encode(
            RunResult(run_id=run_id, kind="call", generation=0, digest="", outcome="ok", value=True, seconds=0.0)
        ),
        acknowledged=encode(ResultAck(run_id=run_id)),
    )


class BareEcho:
    """The ROUTER, and its peers once `connect` has returned.

    Args:
        peers: DEALERs.
        processes: among which they are divided.
    """

    def __init__(self, peers: int, processes: int) -> None:
        self._peers = peers
        self._count = processes
        self._frames = ping_frames()
        self._context: zmq.Context[zmq.Socket[bytes]] = zmq.Context()
        self._router: zmq.Socket[bytes] = self._context.socket(zmq.ROUTER)
        self._names: list[bytes] = []
        self._processes: list[subprocess.Popen[bytes]] = []

    def __enter__(self) -> BareEcho:
        public, secret = zmq.curve_keypair()
        router = self._router
        for option, value in {
            zmq.LINGER: 0,
            zmq.BACKLOG: 4096,
            zmq.RCVTIMEO: _PATIENCE,
            zmq.CURVE_SERVER: 1,
            zmq.CURVE_SECRETKEY: secret,
            zmq.ROUTER_MANDATORY: 1,
        }.items():
            router.set(option, value)
        port = router.bind_to_random_port("tcp://127.0.0.1")
        for number in range(self._count):
            part = len(range(number, self._peers, self._count))
            words = [str(port), public.decode(), str(part), *(one.hex() for one in self._frames_of_peers())]
            self._processes.append(subprocess.Popen([sys.executable, PEERS, *words], cwd=Path.cwd()))
        self._names = [router.recv_multipart()[0] for _ in range(self._peers)]
        return self

    def __exit__(self, *_: object) -> None:
        for process in self._processes:
            process.terminate()
            process.wait(20)
        self._router.close()
        self._context.term()

    def _frames_of_peers(self) -> tuple[bytes, bytes, bytes]:
        return self._frames.call, self._frames.started, self._frames.result

    def echo(self) -> float:
        """Seconds until each peer has had the call and its result has come: two frames a peer."""
        return self._round(self._frames.call, answers=1)

    def ping(self) -> float:
        """The same with all frames of a `test.ping`: call, start, result, acknowledgement."""
        return self._round(b"\0" + self._frames.call, answers=2)

    def _round(self, question: bytes, answers: int) -> float:
        router, result = self._router, self._frames.result
        acknowledged = self._frames.acknowledged if answers > 1 else b""
        began = time.perf_counter()
        for name in self._names:
            router.send_multipart((name, question))
        for _ in range(self._peers * answers):
            name, frame = router.recv_multipart()
            if acknowledged and frame == result:
                router.send_multipart((name, acknowledged))
        return time.perf_counter() - began

    @staticmethod
    def computing() -> float:
        """Seconds of processor time that this process, which is the ROUTER, has taken."""
        times = os.times()
        return times.user + times.system
