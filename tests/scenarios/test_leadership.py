"""Two real controllers of one PostgreSQL database: one leads, the other takes over, the frozen one does nothing."""

from __future__ import annotations

import os
import shutil
import signal
import sys
import tempfile
import time
from pathlib import Path

import pytest
import yaml
from postgres_server import PROGRAMS, PostgresServer
from rig import Rig

TREE = Path(__file__).parent / "tree"
HOSTS = ("127.0.0.1", "127.0.0.2")

pytestmark = pytest.mark.skipif(PROGRAMS is None, reason="there is no PostgreSQL in /usr/lib/postgresql")


class SharedStore:
    """Both controllers, with one key and one database, and a minion that knows both."""

    def __init__(self, folder):
        self.server = PostgresServer()
        self.first = Rig(folder / "1", {"web1": {"roles": ["web"]}}, TREE, forked=True)
        self.second = Rig(folder / "2", {}, TREE, forked=True)
        shared = {"store_url": self.server.new_database("saltern")}
        publish, request = self.first.wire_ports
        self.first.configure(**shared)
        self.second.configure(**shared, interface=HOSTS[1], publish_port=publish, ret_port=request)

    def up(self):
        self.first.make_remote()
        self.second.directory.mkdir()
        self.second.remote = self.first.remote
        self.first.start_controller()
        self.first.configure_minions()
        path = self.first.directory / "web1/minion"
        given = yaml.safe_load(path.read_text()) | {
            "master": [*HOSTS],
            "master_type": "failover",
            "master_alive_interval": 1,
        }
        path.write_text(yaml.safe_dump(given))
        self.first.start_minion("web1")
        self.first.accept_all()
        self.second.config.mkdir()
        keys = "c/etc/saltern/pki"
        shutil.copytree(self.first.directory / keys, self.second.directory / keys)

    def start_standby(self):
        """Start the second, which waits."""
        self.second.start_controller(waits=False)
        log = self.second.directory / "controller.log"
        self.second.wait("the second to wait", lambda: "another controller leads" in log.read_text())
        assert not self.second.answers

    def wait_led(self):
        """Wait until the second leads and has the minion; the seconds until it answered."""
        began = time.monotonic()
        self.second.wait("the second to lead", lambda: self.second.answers)
        seconds = time.monotonic() - began
        self.second.wait("web1 to connect", lambda: self.second.status()["web1"]["connected"])
        return seconds

    def stop(self):
        self.first.stop_all()
        self.second.stop_all()
        self.server.close()


@pytest.fixture
def shared():
    folder = Path(tempfile.mkdtemp(prefix="saltern-"))
    scene = SharedStore(folder)
    scene.up()
    yield scene
    scene.stop()
    shutil.rmtree(folder, ignore_errors=True)


def applies(rig):
    return [run for run in rig.history("web1") if run["kind"] in ("apply", "remediate")]


NUMBERS = [{"pillar/numbers.sls": (f"number: {at}\n", f"number: {at + 1}\n")} for at in range(5)]


@pytest.mark.timeout(400)
def test_a_killed_leader_is_followed_by_the_one_that_waits(shared, capsys):
    first, second = shared.first, shared.second
    first.wait_applied(first.push("first"))
    shared.start_standby()
    first.kill("controller", children=True)
    seconds = shared.wait_led()
    with capsys.disabled():
        sys.stdout.write(f"\nafter kill -9 of the leader: the next one answers in {seconds:.1f} s\n")
    assert second.keys("accepted") == ["web1"], "keys are in the store"
    assert len(applies(second)) == 1, "what was applied is known"
    second.wait_applied(first.push("second", NUMBERS[0]), ["web1"])
    assert len(applies(second)) == 2

    first.start_controller(waits=False)
    second.stop("controller")
    first.wait("the first to lead again", lambda: first.answers)
    first.wait("web1 to connect", lambda: first.status()["web1"]["connected"])
    first.wait_applied(first.push("third", NUMBERS[1]), ["web1"])
    assert len(applies(first)) == 3


@pytest.mark.timeout(400)
def test_a_frozen_leader_does_nothing_more_when_it_wakes(shared, capsys):
    first, second = shared.first, shared.second
    first.wait_applied(first.push("first"))
    shared.start_standby()
    os.kill(first.pid("controller"), signal.SIGSTOP)
    seconds = shared.wait_led()
    with capsys.disabled():
        sys.stdout.write(f"\nafter the leader froze: the next one answers in {seconds:.1f} s\n")
    pushed = first.push("second", NUMBERS[0])
    second.wait_applied(pushed, ["web1"])
    os.kill(first.pid("controller"), signal.SIGCONT)
    assert first.exit_code("controller", 60) == 1
    assert "another controller leads now" in first.log("controller", 2000)
    second.wait_applied(first.push("third", NUMBERS[1]), ["web1"])
    assert len(applies(second)) == 3, "nothing ran twice"


@pytest.mark.timeout(400)
def test_a_database_that_is_killed_and_comes_back_loses_nothing(shared):
    first, server = shared.first, shared.server
    first.wait_applied(first.push("first"))
    for at in range(3):
        pushed = first.push(f"number {at}", NUMBERS[at])
        time.sleep(0.05 * at)
        server.stop(kill=True)
        time.sleep(0.3)
        server.start()
        first.wait_applied(pushed, ["web1"])
    assert all(run["outcome"] in ("ok", "changed") for run in applies(first))
    assert len(applies(first)) == 4
