"""Attacks by a machine whose key is accepted."""

from __future__ import annotations

import contextlib
import itertools
import json
import math
import os
import time
from collections.abc import Mapping
from typing import Any

import zmq

from tools.attack.attacks import Attack, Running
from tools.attack.scene import HOST, HOSTILE, Scene, pack
from tools.attack.zmtp_curve import CurveClient, HandshakeBroken
from wire.codec import encode
from wire.messages import GetMine, Grains, Hello, Mine, MineEntry, PublishCall, ResyncRequired, RunStarted

_SLOW = ".?" * 300 + "Z"
"""A pattern that a backtracking engine never ends with."""


def regex_in_get_mine(scene: Scene, running: Running) -> None:
    """`mine.get` with patterns that backtrack."""
    dealer = _minion(scene)
    for number in itertools.count(1):
        asked = json.dumps([[f"{_SLOW}{number}", "network.ip_addrs"], {"tgt_type": "pcre"}])
        _send(dealer, encode(GetMine(request=number, asked=asked)), running)
        time.sleep(0.02)
        if not running():
            return


def regex_in_mine(scene: Scene, running: Running) -> None:
    """A mine that only those may have whose id matches a pattern that backtracks; then everybody asks for it."""
    dealer = _minion(scene)
    entry = MineEntry(value="x" * 100, allow=_SLOW, allow_type="pcre")
    _send(dealer, encode(Mine(entries={"test.ping": entry})), running)
    while running():
        _send(dealer, encode(GetMine(request=1, asked=json.dumps([["*", "test.ping"], {}]))), running)
        time.sleep(0.02)


def many_mine_questions(scene: Scene, running: Running) -> None:
    """Questions to the mine that are all different, so that remembered answers pile up."""
    dealer = _minion(scene)
    _send(dealer, encode(Mine(entries={"a.b": MineEntry(value="x" * 60_000)})), running)
    for number in itertools.count(1):
        asked = json.dumps([[f"*{' ' * 0}or-{number}", "a.b"], {}])
        _send(dealer, encode(GetMine(request=number, asked=asked)), running)
        if not running():
            return


def cloud_runners(scene: Scene, running: Running) -> None:
    """The runner `cloud`, of which each call is a process of its own, as `peer_run` permits it."""
    dealer = _minion(scene)
    for number in itertools.count(1):
        given = {"prof": "none", "instances": [f"web{number}-{each}" for each in range(10)]}
        call = PublishCall(
            request=number, nonce=f"{number}", kind="runner", fun="cloud.profile", kwargs=given, timeout=1.0
        )
        _send(dealer, encode(call), running)
        time.sleep(0.02)
        if not running():
            return


def unknown_runs(scene: Scene, running: Running) -> None:
    """`RunStarted` of runs that there are not, as fast as they are read."""
    dealer = _minion(scene)
    for number in itertools.count(1):
        _send(dealer, encode(RunStarted(run_id=f"2026{number:016d}")), running)
        if not running():
            return


def deep_grains(scene: Scene, running: Running) -> None:
    """Grains that are nested a thousand deep, in the first message of each connection."""
    nested: Any = "x"
    for _ in range(970):
        nested = {"a": nested}
    while running():
        dealer = scene.dealer()
        _send(dealer, pack("hello", id=HOSTILE, grains={"deep": nested}, protocol=1), running)
        time.sleep(0.5)
        dealer.close(linger=0)


def large_grains(scene: Scene, running: Running) -> None:
    """Grains of 15 MiB in many small values, changed again and again."""
    dealer = _minion(scene)
    for number in itertools.count(1):
        grains = {f"k{number}-{at}": ["v" * 10] * 8 for at in range(100_000)}
        _send(dealer, pack("grains", grains=grains), running)
        time.sleep(0.2)
        if not running():
            return


def odd_numbers(scene: Scene, running: Running) -> None:
    """Results with times that are infinite or no numbers, and integers that JSON does not have."""
    dealer = _minion(scene)
    for number in itertools.count(1):
        for seconds in (math.inf, math.nan, -1.0, 1e308):
            for value in (2**64 - 1, math.nan, "x"):
                result = pack(
                    "run-result",
                    run_id=f"2027{number:016d}",
                    kind="call",
                    generation=0,
                    digest="",
                    outcome="ok",
                    value=value,
                    seconds=seconds,
                )
                _send(dealer, result, running)
        time.sleep(0.01)
        if not running():
            return


def endless_message(scene: Scene, running: Running) -> None:
    """Messages of 128 MiB in frames of 64 KiB, with the accepted key."""
    while running():
        dealer = _minion(scene)
        time.sleep(0.5)
        for _ in range(2048):
            dealer.send(b"x" * 65536, zmq.SNDMORE)
        dealer.send(b"")  # libzmq's own clients send nothing of a message that does not end
        time.sleep(1)
        dealer.close(linger=0)


def endless_small_frames(scene: Scene, running: Running) -> None:
    """Frames of 16 bytes of one message that never ends, one by one, with the accepted key."""
    while running():
        try:
            client = CurveClient(HOST, scene.request_port, scene.controller_key, scene.key)
            client.send_frame(encode(Hello(id=HOSTILE, grains={"id": HOSTILE})), more=False)
            while running():
                client.send_frame(b"x" * 16, more=True)
        except (OSError, HandshakeBroken):
            time.sleep(0.1)
        else:
            client.close()


def many_triggers(scene: Scene, running: Running) -> None:
    """Signs of life that name a million pending triggers."""
    dealer = _minion(scene)
    alive = pack("alive", held="", running=[], pending_triggers=[f"t{at}" for at in range(1_000_000)])
    while running():
        _send(dealer, alive, running)
        time.sleep(0.05)


def unread_answers(scene: Scene, running: Running) -> None:
    """Questions to the mine whose answers are a MiB each, and none is read."""
    dealer = scene.minion(Hello(id=HOSTILE, grains={}), queue=1)
    entries = {f"f.{at}": MineEntry(value=os.urandom(2500).hex()) for at in range(180)}
    _send(dealer, encode(Mine(entries=entries)), running)
    asked = json.dumps([["*", ",".join(entries)], {}])
    for number in itertools.count(1):
        _send(dealer, encode(GetMine(request=number, asked=asked)), running)
        if number % 120 == 0:
            time.sleep(0.5)
        if not running():
            return


def unread_documents(scene: Scene, running: Running) -> None:
    """The whole document asked for again and again by one that reads none."""
    dealer = scene.minion(Hello(id=HOSTILE, grains={"id": HOSTILE}), queue=1)
    time.sleep(2)
    for number in itertools.count(1):
        _send(dealer, encode(ResyncRequired(generation=1, held="")), running)
        if number % 1000 == 0:
            time.sleep(0.01)
        if not running():
            return


def repeated_hello(scene: Scene, running: Running) -> None:
    """Hello without end on one connection."""
    dealer = _minion(scene)
    while running():
        _send(dealer, encode(Hello(id=HOSTILE, grains={"id": HOSTILE})), running)


def changing_grains(scene: Scene, running: Running) -> None:
    """Grains that are others in every message, so that the minion is compiled again and again."""
    dealer = _minion(scene)
    for number in itertools.count(1):
        _send(dealer, encode(Grains(grains={"root": "/nowhere", "n": number})), running)
        time.sleep(0.002)
        if not running():
            return


def changing_mine(scene: Scene, running: Running) -> None:
    """A mine that is another in every message, so that whoever asks for it is compiled again and again."""
    dealer = _minion(scene)
    for number in itertools.count(1):
        _send(dealer, encode(Mine(entries={"test.ping": MineEntry(value=number)})), running)
        time.sleep(0.002)
        if not running():
            return


def costly_targets(scene: Scene, running: Running) -> None:
    """Questions to the mine that need as many steps of matching as a question may."""
    dealer = scene.minion(Hello(id=HOSTILE, grains={"t": "a" * 9000}))
    _send(dealer, encode(Mine(entries={"test.ping": MineEntry(value=1)})), running)
    for number in itertools.count(1):
        pattern = "(a?a?a?b?){200}" + f"Z{number}"
        asked = json.dumps([[f"P@t:{pattern}", "test.ping"], {"tgt_type": "compound"}])
        _send(dealer, encode(GetMine(request=number, asked=asked)), running)
        if not running():
            return


def targets_of_large_grains(scene: Scene, running: Running) -> None:
    """Questions to the mine by grains, of a minion whose own grains are as many as they may be."""
    dealer = scene.minion(Hello(id=HOSTILE, grains={f"g{at}": {"a": at, "b": "x" * 20} for at in range(70_000)}))
    _send(dealer, encode(Mine(entries={"test.ping": MineEntry(value=1)})), running)
    for number in itertools.count(1):
        asked = json.dumps([[f"G@n:{number}", "test.ping"], {"tgt_type": "compound"}])
        _send(dealer, encode(GetMine(request=number, asked=asked)), running)
        if not running():
            return


def many_events(scene: Scene, running: Running) -> None:
    """Five hundred events of each of scheduled calls without end."""
    _events(_minion(scene), running, tuple((f"x/{at}", {"data": "x" * 1000}) for at in range(500)))


def large_events(scene: Scene, running: Running) -> None:
    """Events of scheduled calls of many MiB."""
    _events(_minion(scene), running, (("x", {"data": "x" * 15_000_000}),))


def large_results(scene: Scene, running: Running) -> None:
    """Results of scheduled calls with values of many MiB that do not compress."""
    dealer = _minion(scene)
    _results(dealer, running, value=os.urandom(7_500_000).hex())


def results_below_the_limit(scene: Scene, running: Running) -> None:
    """Results of almost 4 MiB that do not compress, each after a Hello; who is disconnected comes again at once."""
    value = os.urandom(1_950_000).hex()
    hello = encode(Hello(id=HOSTILE, grains={"id": HOSTILE}))
    given = {"kind": "call", "generation": 0, "digest": "", "outcome": "changed", "seconds": 1.0, "value": value}
    number = 0
    while running():
        dealer = scene.minion(Hello(id=HOSTILE, grains={"id": HOSTILE}))
        sent = time.monotonic()
        while running() and time.monotonic() - sent < 0.5:
            result = pack("run-result", run_id=f"scheduled-{time.time_ns()}-{number}", **given)
            for frame in (hello, result) if dealer.poll(20, zmq.POLLOUT) else ():
                with contextlib.suppress(zmq.Again):
                    dealer.send(frame, zmq.NOBLOCK)
                    number, sent = number + 1, time.monotonic()
            _read_all(dealer)
        dealer.close(linger=0)


def long_names(scene: Scene, running: Running) -> None:
    """Results of drift checks about states with names of MiB."""
    dealer = _minion(scene)
    states = {"x" * 5_000_000 + str(at): {"result": True, "changes": {"a": 1}} for at in range(3)}
    _results(dealer, running, kind="drift", states=states)


def _results(dealer: zmq.Socket[bytes], running: Running, *, kind: str = "call", **fields: Any) -> None:
    """Results of runs that a minion may begin by itself, all different, without end."""
    prefix = {"call": "scheduled", "drift": "drift"}[kind]
    given = {"kind": kind, "generation": 0, "digest": "", "outcome": "changed", "seconds": 1.0, **fields}
    for number in itertools.count(1):
        _send(dealer, pack("run-result", run_id=f"{prefix}-{time.time_ns()}-{number}", **given), running)
        _read_all(dealer)
        if not running():
            return


def _events(dealer: zmq.Socket[bytes], running: Running, events: tuple[tuple[str, Any], ...]) -> None:
    """Events of runs that a minion may begin by itself, all different, without end."""
    for number in itertools.count(1):
        run_id = f"scheduled-{time.time_ns()}-{number}"
        _send(dealer, pack("run-events", run_id=run_id, first=0, end=len(events), events=events), running)
        _read_all(dealer)
        if not running():
            return


def _read_all(dealer: zmq.Socket[bytes]) -> None:
    with contextlib.suppress(zmq.Again):
        while True:
            dealer.recv(zmq.NOBLOCK)


def _minion(scene: Scene) -> zmq.Socket[bytes]:
    return scene.minion(Hello(id=HOSTILE, grains={"id": HOSTILE}))


def _send(dealer: zmq.Socket[bytes], frame: bytes, running: Running) -> None:
    while running():
        try:
            dealer.send(frame, zmq.NOBLOCK)
        except zmq.Again:
            time.sleep(0.001)
        else:
            return


ATTACKS: Mapping[str, Attack] = {
    "regex-get-mine": Attack("mine.get with a regular expression that backtracks", regex_in_get_mine),
    "regex-mine-allow": Attack("a mine whose allow_tgt is such an expression", regex_in_mine),
    "mine-questions": Attack("different questions to the mine without end", many_mine_questions),
    "cloud-runners": Attack(
        "the runner `cloud` without end, by peer_run",
        cloud_runners,
        push_seconds=4.0,  # processes of their own load the machine
        options={"peer_run": {HOSTILE: ["cloud.*"]}},
    ),
    "unknown-runs": Attack("RunStarted of unknown runs without end", unknown_runs),
    "deep-grains": Attack("grains nested 970 deep", deep_grains),
    "large-grains": Attack("grains of 15 MiB, changed again and again", large_grains),
    "odd-numbers": Attack("results with inf, NaN and 2^64-1", odd_numbers),
    "endless-message": Attack("frames of one message that never ends", endless_message),
    "endless-small-frames": Attack("16-byte frames of one message that never ends", endless_small_frames),
    "unread-answers": Attack("answers of the mine of a MiB that are not read", unread_answers),
    "unread-documents": Attack("the whole document asked for again and again", unread_documents),
    "repeated-hello": Attack("Hello without end on one connection", repeated_hello),
    "changing-grains": Attack("grains that are others in every message", changing_grains),
    "changing-mine": Attack("a mine that is another in every message", changing_mine),
    "costly-targets": Attack("targets of mine.get that need many steps", costly_targets),
    "large-grain-targets": Attack("targets by grains of a minion with 70,000 grains", targets_of_large_grains),
    "many-events": Attack("five hundred events of each run", many_events),
    "large-events": Attack("events of 15 MiB", large_events),
    "large-results": Attack("results of 15 MiB that do not compress", large_results),
    "results-below-limit": Attack("results of almost 4 MiB, each after a Hello", results_below_the_limit),
    "long-names": Attack("results about states with names of 5 MiB", long_names),
    "many-triggers": Attack("a million pending triggers in each sign of life", many_triggers),
}
