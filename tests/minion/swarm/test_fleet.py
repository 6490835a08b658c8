"""Members with real sockets, against a real server."""

from __future__ import annotations

import threading
import time
from collections.abc import Iterator

import pytest

from minion.swarm.fleet import DESCRIPTORS_OF_MEMBER, DESCRIPTORS_OF_PROCESS, SwarmFleet
from minion.swarm.member import SwarmBehaviour
from minion.swarm.member_keys import identities, numbered
from minion.swarm.processes import SwarmPlan, SwarmProcesses, TooManyMembers, processes_for
from wire.address import Address, Bind
from wire.keys import load_or_create
from wire.messages import Call, Heartbeat, Hello, HelloAck, KeyRequest, KeyState, ResultAck, RunResult
from wire.server.server import Server
from wire.server.types import Gone, Identity, Incoming

PATIENCE = 20.0


class Welcoming:
    """A server that accepts every key and says what minions have to hear."""

    def __init__(self, folder, bind=None) -> None:
        self.keys = load_or_create(folder / "controller.key")
        self.ids: dict[str, str] = {}
        self.online: set[str] = set()
        self.results: list[RunResult] = []
        self._lock = threading.Lock()
        self.server = Server(bind or Bind(publish_port=0, request_port=0), self.keys, self, self._deliver)
        self.server.start()

    @property
    def address(self) -> Address:
        ports = self.server.ports
        return Address(
            host="127.0.0.1",
            publish_port=ports.publish,
            request_port=ports.request,
            controller_key=self.keys.public,
        )

    def identity(self, key: str) -> Identity | None:
        return Identity(id=self.ids[key], state="accepted") if key in self.ids else None

    def _deliver(self, batch) -> None:
        for each in batch:
            match each:
                case Incoming(key=key, message=KeyRequest(id=name)):
                    self.ids[key] = name
                    self.server.send(key, KeyState(state="accepted"))
                case Incoming(key=key, message=Hello()):
                    self.online.add(key)
                    self.server.send(key, HelloAck(epoch="e1", alive_interval=15.0))
                case Incoming(key=key, message=RunResult() as result):
                    self.results.append(result)
                    self.server.send(key, ResultAck(run_id=result.run_id))
                case Gone(key=key):
                    self.online.discard(key)


@pytest.fixture
def welcoming(tmp_path) -> Iterator[Welcoming]:
    made = Welcoming(tmp_path)
    yield made
    made.server.stop()


def serve(fleet: SwarmFleet, until) -> None:
    deadline = time.monotonic() + PATIENCE
    while not until():
        assert time.monotonic() < deadline, fleet.counts()
        fleet.run(time.monotonic() + 0.02)


def test_members_connect_answer_and_come_back(welcoming, tmp_path):
    fleet = SwarmFleet(identities(numbered("load-", 12), None), welcoming.address, SwarmBehaviour(), pace=200.0)
    try:
        serve(fleet, lambda: fleet.counts()["connected"] == 12)
        assert len(welcoming.online) == 12
        for turn in range(3):
            for key in list(welcoming.ids):
                welcoming.server.send(key, Call(run_id=f"{turn}-{welcoming.ids[key]}", fun="test.ping"))
            serve(fleet, lambda turn=turn: len(welcoming.results) == 12 * (turn + 1))
        assert {result.value for result in welcoming.results} == {True}
        assert fleet.counts()["calls"] == 36
        ports = welcoming.server.ports
        welcoming.server.stop()
        serve(fleet, lambda: fleet.counts()["connected"] == 0)
        assert fleet.counts()["most_connected"] == 12
        again = Welcoming(tmp_path, Bind(publish_port=ports.publish, request_port=ports.request))
        try:
            serve(fleet, lambda: fleet.counts()["connected"] == 12)
            assert fleet.counts()["reconnections"] == 12
            again.server.publish(Heartbeat(epoch="e2", serial=1, time=time.time()))
            time.sleep(0.05)
            serve(fleet, lambda: again.server.counts()["in.hello"] >= 12)
        finally:
            fleet.close()
            again.server.stop()
    finally:
        fleet.close()


def test_they_connect_no_faster_than_their_pace(welcoming):
    began = time.monotonic()
    fleet = SwarmFleet(identities(numbered("load-", 5), None), welcoming.address, SwarmBehaviour(), pace=10.0)
    try:
        serve(fleet, lambda: fleet.counts()["connected"] == 5)
        assert time.monotonic() - began >= 0.4
    finally:
        fleet.close()


def test_processes_share_the_members_and_say_bye(welcoming):
    members = identities(numbered("load-", 7), None)
    plan = SwarmPlan(members=members, address=welcoming.address, behaviour=SwarmBehaviour(), pace=100.0, processes=2)
    swarm = SwarmProcesses(plan)
    swarm.start()
    deadline = time.monotonic() + PATIENCE
    while swarm.counts()["connected"] < 7:
        assert time.monotonic() < deadline, swarm.counts()
        swarm.wait(0.1)
    swarm.stop()
    assert swarm.counts()["members"] == swarm.counts()["connected"] == 7
    assert swarm.counts()["ended"] == 0
    while welcoming.online:
        assert time.monotonic() < deadline, "they say Bye"
        time.sleep(0.01)


def test_more_members_have_more_processes_and_what_is_too_much_is_said():
    enough = DESCRIPTORS_OF_PROCESS + 100 * DESCRIPTORS_OF_MEMBER
    assert processes_for(100, enough) == 1
    assert processes_for(101, enough) == 2
    assert processes_for(100, enough, asked=3) == 3
    with pytest.raises(TooManyMembers, match=r"RLIMIT_NOFILE.*LimitNOFILE=.*--processes"):
        processes_for(101, enough, asked=1)
    with pytest.raises(TooManyMembers, match="64 processes"):
        processes_for(10_000, 100)
