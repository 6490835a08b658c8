"""Real controllers of one PostgreSQL database: one leads, minions reach it by all, another takes over, a frozen one
does nothing more."""

from __future__ import annotations

import json
import os
import shutil
import signal
import sys
import tempfile
import threading
import time
from pathlib import Path

import pytest
from cluster import Cluster
from effort import FULL, soak
from ledger import Ledger, add_module
from postgres_server import PROGRAMS

pytestmark = pytest.mark.skipif(PROGRAMS is None, reason="there is no PostgreSQL in /usr/lib/postgresql")

ROUNDS = 5 if FULL else 2
NUMBERS = [{"pillar/numbers.sls": (f"number: {at}\n", f"number: {at + 1}\n")} for at in range(9)]


@pytest.fixture
def make_cluster():
    folder = Path(tempfile.mkdtemp(prefix="saltern-"))
    made = []

    def make(*arguments, **options):
        made.append(Cluster(folder, *arguments, **options))
        made[-1].up()
        return made[-1]

    yield make
    for each in made:
        each.stop()
    shutil.rmtree(folder, ignore_errors=True)


@pytest.fixture
def pair(make_cluster):
    """Two controllers, and a minion that knows both."""
    cluster = make_cluster(2, {"web1": (0, 1)})
    cluster.start_minions()
    return cluster


@pytest.fixture
def trio(make_cluster):
    """Three controllers, a minion that knows the first two, and one for each that waits."""
    cluster = make_cluster(3, {"web1": (0, 1), "web2": (1,), "web3": (2,)})
    cluster.start_waiting(1, 2)
    add_module(cluster.rigs[0])
    cluster.start_minions()
    return cluster


def tell(capsys, text):
    with capsys.disabled():
        sys.stdout.write(f"\n{text}\n")


def applies(rig, minion="web1"):
    return [run for run in rig.history(minion) if run["kind"] in ("apply", "remediate")]


def connected(rig):
    return {name for name, status in rig.status().items() if status["connected"]}


@pytest.mark.timeout(400)
def test_a_killed_leader_is_followed_by_the_one_that_waits(pair, capsys):
    first, second = pair.rigs
    first.wait_applied(first.push("first"))
    pair.start_waiting(1)
    first.kill("controller", children=True)
    _, seconds = pair.wait_leader(1)
    tell(capsys, f"after kill -9 of the leader: the next one leads in {seconds:.1f} s")
    second.wait("web1 to connect", lambda: connected(second))
    assert second.keys("accepted") == ["web1"], "keys are in the store"
    assert len(applies(second)) == 1, "what was applied is known"
    second.wait_applied(first.push("second", NUMBERS[0]), ["web1"])
    assert len(applies(second)) == 2

    pair.start_waiting(0)
    second.stop("controller")
    pair.wait_leader(0)
    first.wait("web1 to connect", lambda: connected(first))
    first.wait_applied(first.push("third", NUMBERS[1]), ["web1"])
    assert len(applies(first)) == 3


@pytest.mark.timeout(400)
def test_a_frozen_leader_does_nothing_more_when_it_wakes(pair, capsys):
    first, second = pair.rigs
    first.wait_applied(first.push("first"))
    pair.start_waiting(1)
    os.kill(first.pid("controller"), signal.SIGSTOP)
    _, seconds = pair.wait_leader(1)
    tell(capsys, f"after the leader froze: the next one leads in {seconds:.1f} s")
    second.wait("web1 to connect", lambda: connected(second))
    pushed = first.push("second", NUMBERS[0])
    second.wait_applied(pushed, ["web1"])
    os.kill(first.pid("controller"), signal.SIGCONT)
    assert first.exit_code("controller", 60) == 1
    assert "another controller leads now" in first.log("controller", 2000)
    second.wait_applied(first.push("third", NUMBERS[1]), ["web1"])
    assert len(applies(second)) == 3, "nothing ran twice"


@pytest.mark.timeout(400)
def test_a_database_that_is_killed_and_comes_back_loses_nothing(pair):
    first, server = pair.rigs[0], pair.server
    first.wait_applied(first.push("first"))
    rounds = 3 if FULL else 1
    for at in range(rounds):
        pushed = first.push(f"number {at}", NUMBERS[at])
        time.sleep(0.05 * at)
        server.stop(kill=True)
        time.sleep(0.3)
        server.start()
        first.wait_applied(pushed, ["web1"])
    assert all(run["outcome"] in ("ok", "changed") for run in applies(first))
    assert len(applies(first)) == 1 + rounds


@pytest.mark.timeout(400)
def test_minions_and_people_reach_the_leader_by_a_controller_that_waits(trio):
    first, second, third = trio.rigs
    first.wait_applied(first.push("first"))
    assert connected(second) == {"web1", "web2", "web3"}
    assert trio.leads(0)
    assert not trio.leads(1)
    assert [trio.metric(at, "saltern_leader") for at in range(3)] == [1, 0, 0]
    assert trio.metric(0, "saltern_waiting_controllers") == 2
    assert [trio.metric(at, "saltern_passed_on_connections") for at in (1, 2)] == [1, 1]
    assert second.history("web2") == first.history("web2")
    returned = json.loads(third.saltern("run", "*", "test.ping", "--out", "json").stdout)
    assert returned == dict.fromkeys(("web1", "web2", "web3"), True)
    second.saltern("pause", "web3")
    assert first.status()["web3"]["sync"] == "Paused"
    third.saltern("resume", "web3")
    pushed = first.push("second", NUMBERS[0])
    third.wait_applied(pushed, ["web1", "web2", "web3"])
    assert [len(applies(second, name)) for name in ("web1", "web2", "web3")] == [2, 2, 2]


@pytest.mark.timeout(400)
def test_a_push_comes_by_a_controller_that_waits(trio, capsys):
    first, second, _ = trio.rigs
    first.wait_applied(first.push("first"))
    paths = {name: first.root(name) / "app.conf" for name in trio.known}
    took = dict.fromkeys(paths, ())
    for at in range(ROUNDS):
        pushed = first.push(f"number {at + 1}", NUMBERS[at])
        began = time.monotonic()
        for name, path in paths.items():
            second.wait(f"{name} to have it", lambda path=path, at=at: f"number {at + 1}\n" in path.read_text())
            took[name] += (time.monotonic() - began,)
        second.wait_applied(pushed, list(paths))
    for name, seconds in took.items():
        way = "to the leader" if 0 in trio.known[name] else "by one that waits"
        tell(capsys, f"{name}, {way}: push to file {min(seconds):.2f} to {max(seconds):.2f} s")
    assert [len(applies(second, name)) for name in paths] == [1 + ROUNDS] * 3


@pytest.mark.timeout(400)
def test_who_asks_one_that_waits_gets_an_answer_or_a_reason(trio):
    """While the leader is frozen, too: nobody is kept waiting for it."""
    first, _, third = trio.rigs
    first.wait_applied(first.push("first"))
    for command in (("history", "--out", "json"), ("keys", "list"), ("diff", "web3")):
        at_leader = first.saltern(*command, check=False)
        asked = third.saltern(*command, check=False)
        assert (asked.returncode, asked.stdout) == (at_leader.returncode, at_leader.stdout), command
    assert all(name in third.saltern("status").stdout for name in trio.known)
    os.kill(first.pid("controller"), signal.SIGSTOP)
    asked = third.saltern("status", check=False)
    assert asked.returncode == 3
    assert "leads no more" in asked.stderr
    leader, _ = trio.wait_leader(1, 2)
    waiting = trio.rigs[3 - leader]
    trio.rigs[leader].wait("all to be back", lambda: connected(trio.rigs[leader]) == set(trio.known))
    waiting.wait_applied(first.push("second", NUMBERS[0]), list(trio.known))
    os.kill(first.pid("controller"), signal.SIGCONT)
    assert first.exit_code("controller", 60) == 1
    trio.start_waiting(0)
    assert first.status().keys() == set(trio.known), "it waits now, and answers"
    assert [len(applies(first, name)) for name in trio.known] == [2, 2, 2]


@pytest.mark.timeout(400)
def test_a_leader_that_alone_is_cut_off_from_the_database_ends(pair, capsys):
    """Its minions are connected to it and would never hear of the one that leads."""
    first, second = pair.rigs
    first.wait_applied(first.push("first"))
    pair.start_waiting(1)
    first.wait("the leader to see it", lambda: pair.metric(0, "saltern_waiting_controllers") == 1)
    pair.cut_off(0)
    began = time.monotonic()
    _, seconds = pair.wait_leader(1)
    tell(capsys, f"after the leader lost the database: the next one leads in {seconds:.1f} s")
    pushed = first.push("second", NUMBERS[0])
    assert first.exit_code("controller", 90) == 1
    tell(capsys, f"and it ended after {time.monotonic() - began:.1f} s")
    assert "others may lead by now" in first.log("controller", 2000)
    second.wait_applied(pushed, ["web1"])
    assert len(applies(second)) == 2, "the push ran once"
    pair.let_in(0)
    pair.start_waiting(0)
    assert first.history("web1") == second.history("web1")


class Load:
    """Pushes and jobs, one after the other, until it ends: what was asked for, and of whom an answer came.

    Each asks a controller at random order of those that may answer; who gets none asks the next time.
    """

    def __init__(self, cluster, ledger):
        self.cluster = cluster
        self.ledger = ledger
        self.jobs = []
        self.pushed = []
        self._ending = threading.Event()
        self._thread = threading.Thread(target=self._run)

    def __enter__(self):
        self._thread.start()
        return self

    def __exit__(self, *_):
        self._ending.set()
        self._thread.join()

    def _run(self):
        number = 0
        while not self._ending.is_set() and number < 60:
            if number % 4 == 0 and len(self.pushed) < len(NUMBERS):
                at = len(self.pushed)
                self.pushed.append(self.cluster.rigs[0].push(f"number {at + 1}", NUMBERS[at]))
            self.ledger.rig = self.cluster.rigs[number % len(self.cluster.rigs)]
            self.jobs.append(self.ledger.ask(seconds=0.1))
            number += 1
            self._ending.wait(0.3)


def reconcile(cluster, ledger, load, asked, capsys):
    """All is as it would be without the faults: each push applied once, each job as the books of the minions say."""
    ledger.rig = asked
    asked.wait_applied(load.pushed[-1], list(cluster.known), patience=120)
    came_to = ledger.reconcile_all(load.jobs, told=False)
    runs = {name: applies(asked, name) for name in cluster.known}
    tell(capsys, f"{len(load.pushed)} pushes, {len(load.jobs)} jobs: {dict(came_to)}")
    for name, done in runs.items():
        assert all(run["state"] == "finished" for run in done), name
        revisions = [run["revision"] for run in done]
        assert len(set(revisions)) == len(revisions), f"{name} ran a revision twice: {revisions}"
    assert came_to["ok"] > 0


@soak
@pytest.mark.timeout(900)
def test_under_load_leaders_are_killed_and_frozen_and_nothing_is_done_twice(trio, capsys):
    trio.rigs[0].wait_applied(trio.rigs[0].push("first"))
    ledger = Ledger(trio.rigs[0], dict.fromkeys(trio.known, trio.rigs[0]))
    with Load(trio, ledger) as load:
        time.sleep(1)
        trio.rigs[0].kill("controller", children=True)
        leader, seconds = trio.wait_leader(1, 2)
        tell(capsys, f"after kill -9 under load: the next one leads in {seconds:.1f} s")
        trio.start_waiting(0)
        time.sleep(1)
        os.kill(trio.rigs[leader].pid("controller"), signal.SIGSTOP)
        _, seconds = trio.wait_leader(*({0, 1, 2} - {leader}))
        tell(capsys, f"after SIGSTOP under load: the next one leads in {seconds:.1f} s")
        time.sleep(2)
        os.kill(trio.rigs[leader].pid("controller"), signal.SIGCONT)
        assert trio.rigs[leader].exit_code("controller", 60) == 1
        trio.start_waiting(leader)
        time.sleep(1)
    reconcile(trio, ledger, load, trio.rigs[leader], capsys)


@pytest.mark.timeout(900)
def test_under_load_the_database_is_restarted_and_those_that_wait_go_on(trio, capsys):
    trio.rigs[0].wait_applied(trio.rigs[0].push("first"))
    ledger = Ledger(trio.rigs[0], dict.fromkeys(trio.known, trio.rigs[0]))
    with Load(trio, ledger) as load:
        for kill in (True, False, True) if FULL else (True,):
            time.sleep(1)
            trio.server.stop(kill=kill)
            time.sleep(1)
            trio.server.start()
        time.sleep(1)
    leader, _ = trio.wait_leader(0, 1, 2)
    assert trio.rigs[1].pid("controller"), "those that wait are there still"
    reconcile(trio, ledger, load, trio.rigs[(leader + 1) % 3], capsys)


SWARM = 200


@soak
@pytest.mark.timeout(600)
def test_two_hundred_minions_come_back_by_a_controller_that_waits(make_cluster, swarm, capsys):
    cluster = make_cluster(3, {}, settings={"auto_accept": True})
    cluster.start_waiting(1, 2)
    asked = cluster.rigs[2]
    cluster.rigs[0].push("first")
    host = ("--controller", cluster.hosts[2])
    running = swarm(cluster.rigs[0], *host, "--minions", str(SWARM), "--id-prefix", "load-", "--fail-percent", "0")
    asked.wait("all to connect", lambda: len(connected(asked)) == SWARM, patience=120)
    assert cluster.metric(2, "saltern_passed_on_connections") == SWARM
    cluster.rigs[0].kill("controller", children=True)
    began = time.monotonic()
    leader, seconds = cluster.wait_leader(1, 2)
    asked = cluster.rigs[3 - leader]
    cluster.rigs[leader].wait("all to be back", lambda: len(connected(cluster.rigs[leader])) == SWARM, patience=120)
    tell(capsys, f"the next one leads in {seconds:.1f} s, and has all {SWARM} after {time.monotonic() - began:.1f} s")
    returned = json.loads(asked.saltern("run", "*", "test.ping", "--out", "json").stdout)
    assert set(returned.values()) == {True}
    assert len(returned) == SWARM
    running.terminate()
    running.wait(30)
