"""A step of an orchestration over a hundred minions, beside the bare job.

The minions are connections with keys of their own, in one process; each answers a call as soon as it comes. The
controller, its store and the sockets are real.
"""

from __future__ import annotations

import itertools
import os
import tempfile
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import httpx
import msgspec
import zmq
from rig import Rig

from tools.bench.figures import Figure
from wire.codec import decode_to_minion, encode
from wire.messages import Call, Hello, KeepAlive, KeyRequest, RunResult, ToController

MINIONS = 100
TIMES = 20
_ALIVE = 5.0
_STEP = """
one:
  salt.function:
    - name: test.ping
    - tgt: 'm*'
"""


def measure() -> Iterator[Figure]:
    """Seconds from the question to the last return: the runner with one step, and `run '*' test.ping`."""
    with tempfile.TemporaryDirectory(prefix="saltern-bench-") as name:
        folder = Path(name)
        (folder / "tree/states/orch").mkdir(parents=True)
        (folder / "tree/pillar").mkdir()
        (folder / "tree/pillar/top.sls").write_text("base: {}\n")
        (folder / "tree/states/top.sls").write_text("base: {}\n")
        (folder / "tree/states/orch/init.sls").write_text(_STEP)
        with Rig(folder, {}, folder / "tree") as rig:
            rig.up()
            commit = rig.push("one step")
            with _minions(rig), _client(rig) as client:
                rig.wait("the tree", lambda: commit in str(rig.remotes()))
                yield _figure(client)


def _figure(client: httpx.Client) -> Figure:
    bare, step = [], []
    target = {"kind": "glob", "expression": "m*"}
    for _ in range(TIMES + 1):
        bare.append(_timed(client, "/call", {"target": target, "fun": "test.ping", "timeout": 60.0}))
        step.append(_timed(client, "/runner", {"kind": "runner", "fun": "state.orchestrate", "args": ["orch"]}))
    job = sorted(bare[1:])[TIMES // 2]
    return Figure(
        metric=f"an orchestration of one step over {MINIONS} minions",
        unit="s",
        samples=step[1:],
        reference=job,
        reference_of="the bare job",
        target=1.5 * job,
    )


def _timed(client: httpx.Client, path: str, question: dict[str, Any]) -> float:
    began = time.perf_counter()
    answer = client.post(path, json=question)
    took = time.perf_counter() - began
    if path == "/runner":
        last = msgspec.json.decode(answer.text.splitlines()[-1])
        text = str(last)
        if f"m{MINIONS - 1:03}" not in text or "failed" in text:
            raise RuntimeError(text[:2000])
    else:
        said = [msgspec.json.decode(line) for line in answer.text.splitlines()]
        if sum(each["t"] == "return" and each["ok"] for each in said) != MINIONS:
            raise RuntimeError(answer.text[:2000])
    return took


@contextmanager
def _client(rig: Rig) -> Iterator[httpx.Client]:
    transport = httpx.HTTPTransport(uds=str(rig.socket), verify=False)
    with httpx.Client(transport=transport, base_url="http://controller/api/v1", timeout=120) as client:
        yield client


@contextmanager
def _minions(rig: Rig) -> Iterator[None]:
    """A hundred connections whose keys are accepted, answered in a thread."""
    context: zmq.Context[zmq.Socket[bytes]] = zmq.Context()
    names = [f"m{number:03}" for number in range(MINIONS)]
    sockets = {name: _dealer(context, rig) for name in names}
    try:
        for name, dealer in sockets.items():
            _say(dealer, KeyRequest(id=name))
            rig.wait("a key request", lambda wanted=name: wanted in rig.keys("pending"))  # type: ignore[misc]
        rig.saltern("key", "accept", "*", "--yes")
        ended = threading.Event()
        thread = threading.Thread(target=_answer, args=(sockets, ended), daemon=True)
        thread.start()
        try:
            rig.wait(
                "all to connect", lambda: [one["connected"] for one in rig.status().values()].count(True) == MINIONS
            )
            yield
        finally:
            ended.set()
            thread.join()
    finally:
        context.destroy(linger=0)


def _dealer(context: zmq.Context[zmq.Socket[bytes]], rig: Rig) -> zmq.Socket[bytes]:
    public, secret = zmq.curve_keypair()
    dealer: zmq.Socket[bytes] = context.socket(zmq.DEALER)
    dealer.set(zmq.ROUTING_ID, b"\x01" + os.urandom(16))
    dealer.set(zmq.CURVE_SERVERKEY, rig.controller_key.encode())
    dealer.set(zmq.CURVE_PUBLICKEY, public)
    dealer.set(zmq.CURVE_SECRETKEY, secret)
    dealer.connect(f"tcp://127.0.0.1:{rig.wire_ports[1]}")
    return dealer


def _answer(sockets: dict[str, zmq.Socket[bytes]], ended: threading.Event) -> None:
    poller = zmq.Poller()
    names = {dealer: name for name, dealer in sockets.items()}
    for name, dealer in sockets.items():
        poller.register(dealer, zmq.POLLIN)
        _say(dealer, Hello(id=name, grains={"id": name}))
    beat = time.monotonic() + _ALIVE
    while not ended.is_set():
        for dealer, _ in poller.poll(100):
            _read(dealer)
        if time.monotonic() > beat:
            beat += _ALIVE
            for dealer in names:
                _say(dealer, KeepAlive())


def _read(dealer: zmq.Socket[bytes]) -> None:
    for _ in itertools.count():
        try:
            message = decode_to_minion(dealer.recv(zmq.NOBLOCK))
        except zmq.Again:
            return
        if isinstance(message, Call):
            result = RunResult(
                run_id=message.run_id, kind="call", generation=0, digest="", outcome="ok", value=True, seconds=0.001
            )
            _say(dealer, result)


def _say(dealer: zmq.Socket[bytes], message: ToController) -> None:
    dealer.send(encode(message))
