"""Jobs while connections and processes fail, with real sockets: each ends once on each minion, as it was done there.

`ledger.note` writes down that it begins and that it ends. At the end of each fault the books are compared: what the
controller says of a job on a minion is what the minion did. The suite tries a few faults, `make soak` all.
"""

import json
import time
from collections import Counter

import httpx
import pytest
import yaml
from effort import steps
from faulty_wire import FaultyWire

MODULE = """\
import os
import time


def note(job, seconds=0.2):
    path = os.path.join(__grains__["root"], "ledger")
    _write(path, job + " begin")
    time.sleep(seconds)
    _write(path, job + " end")
    return "noted " + job


def _write(path, line):
    with open(path, "a") as book:
        book.write(line + "\\n")
"""
NAMES = ("db1", "web1", "web2")
NEVER_BEGUN = ("unreachable", "refused", "cancelled")


class Books:
    """A rig whose minions reach their controller through a faulty wire, and what was asked of them."""

    def __init__(self, rig, wire):
        self.rig, self.wire = rig, wire
        self.number = 0

    def ask(self):
        """A job to everybody; its id and the name that is written down."""
        self.number += 1
        name = f"job{self.number}"
        begun = self.rig.saltern("run", "*", "ledger.note", name, "--async", "--out", "json", check=False)
        return "" if begun.returncode else json.loads(begun.stdout)["jid"], name

    def found(self, name):
        """The id of a job whose asker got no answer, as the controller was killed; empty: there is none."""
        jobs = json.loads(self.rig.saltern("jobs", "list", "--out", "json").stdout)
        return next((job["jid"] for job in jobs if job["args"] == name), "")

    def done(self, minion, name):
        """How often it began and ended there."""
        path = self.rig.root(minion) / "ledger"
        lines = Counter(path.read_text().splitlines() if path.exists() else ())
        return lines[f"{name} begin"], lines[f"{name} end"]

    def outcomes(self, jid):
        """Minion -> what it came to; None while that may still change: who is away now may come back with a result."""
        job = json.loads(self.rig.saltern("jobs", "show", jid, "--out", "json", check=False).stdout)
        return {one["minion"]: one["outcome"] if one["state"] in ("finished", "") else None for one in job["minions"]}

    def all_connected(self):
        return all(each["connected"] for each in self.rig.status().values())

    def returned(self, jid):
        """Events of returns: who, how often."""
        transport = httpx.HTTPTransport(uds=str(self.rig.socket))
        with httpx.Client(transport=transport, base_url="http://controller", timeout=30) as client:
            query = {"tag": f"salt/job/{jid}/ret/*", "since": "3600", "follow": "false", "match": "glob"}
            raw = client.get("/events", params=query).text
            events = map(json.loads, raw.splitlines())
            return Counter(event["data"]["id"] for event in events if "data" in event and "id" in event["data"])

    def reconcile(self, jid, name, *, told=True):
        """Everybody is there, the job is over for each of them, once, and the books agree. What it came to.

        `told`: whether the event of each return is there; one that is not durable may end with its controller.
        """
        self.rig.wait("all to be connected", self.all_connected, patience=30)
        self.rig.wait(f"{name} to end", lambda: None not in self.outcomes(jid).values(), patience=30)
        found = self.outcomes(jid)
        assert set(found) == set(NAMES)
        for minion, outcome in found.items():
            begun, ended = self.done(minion, name)
            assert begun <= 1, f"{name} ran twice on {minion}"
            if outcome in ("ok", "changed"):
                assert (begun, ended) == (1, 1), (minion, outcome)
            elif outcome in NEVER_BEGUN:
                assert (begun, ended) == (0, 0), (minion, outcome)
        done = {minion for minion, outcome in found.items() if outcome in ("ok", "changed")}
        if told:
            self.rig.wait("a return of who did it", lambda: done <= set(self.returned(jid)), patience=20)
        assert set(self.returned(jid).values()) <= {1}
        return found


@pytest.fixture
def books(make_rig):
    wires = []

    def through(rig):
        wires.append(FaultyWire(*rig.wire_ports))
        for minion in rig.minions:
            path = rig.directory / minion / "minion"
            given = yaml.safe_load(path.read_text())
            more = {"master_port": wires[0].request, "publish_port": wires[0].publish, "master_alive_interval": 0.5}
            path.write_text(yaml.safe_dump(given | more))

    rig = make_rig(before_minions=through)
    (rig.work / "states/_modules").mkdir()
    (rig.work / "states/_modules/ledger.py").write_text(MODULE)
    rig.wait_applied(rig.push("first"))
    yield Books(rig, wires[0])
    for wire in wires:
        wire.close()


FAULTS = {
    "the call is held": lambda wire: wire.after(1, wire.partition),
    "cut as the call goes out": lambda wire: wire.after(1, wire.cut),
    "cut as the second call goes out": lambda wire: wire.after(2, wire.cut),
    "cut as it begins": lambda wire: wire.after(4, wire.cut),
    "cut among the returns": lambda wire: wire.after(8, wire.cut),
    "cut among the acknowledgements": lambda wire: wire.after(11, wire.cut),
    "held among the returns": lambda wire: wire.after(8, wire.partition),
    "the call comes twice": lambda wire: setattr(wire, "twice", 1),
    "all come twice": lambda wire: setattr(wire, "twice", 6),
    "two in another order": lambda wire: setattr(wire, "swapped", 1),
    "many in another order": lambda wire: setattr(wire, "swapped", 5),
    "slow": lambda wire: setattr(wire, "delay", 0.1),
    "1 % waits for a retransmission": lambda wire: setattr(wire, "loss", 0.01),
    "every third waits": lambda wire: setattr(wire, "loss", 0.33),
}


@pytest.mark.timeout(900)
def test_connections_fail_while_a_job_runs(books):
    came_to = Counter()
    for name in steps([*FAULTS], 5):
        FAULTS[name](books.wire)
        jid, job = books.ask()
        time.sleep(1.5)  # longer than a connection may be silent
        books.wire.heal()
        came_to.update(books.reconcile(jid, job).values())
    assert set(came_to) <= {"ok", "unreachable"}
    assert came_to["ok"]


KILLS = [
    # who dies, with its workers or alone, and before which read of the wire after the job was asked for
    ("web1", True, 1),
    ("controller", False, 2),
    ("web1", False, 3),
    ("controller", True, 4),
    ("web1", True, 5),
    ("controller", False, 6),
    ("web1", False, 7),
    ("controller", True, 8),
    ("web1", True, 9),
    ("controller", False, 10),
    ("web1", True, 11),
    ("controller", True, 12),
]


@pytest.mark.timeout(900)
def test_kills_at_the_steps_of_a_job(books):
    """kill -9 of either side as a message passes."""
    rig = books.rig
    for victim, children, reads in steps(KILLS, 4):
        died = []

        def kill(victim=victim, children=children, died=died):
            rig.kill(victim, children=children)
            died.append(victim)

        books.wire.after(reads, kill)
        jid, job = books.ask()
        while not died:
            time.sleep(0.02)
        if victim == "controller":
            rig.start_controller()
        else:
            rig.start_minion(victim)
        books.wire.heal()
        jid = jid or books.found(job)
        if not jid:
            rig.wait("all to be connected", books.all_connected)
            assert {books.done(minion, job) for minion in NAMES} == {(0, 0)}, "nobody was asked"
            continue
        found = books.reconcile(jid, job, told=victim != "controller")
        others = {minion: outcome for minion, outcome in found.items() if minion != victim}
        assert set(others.values()) <= {"ok", "unreachable"}, (victim, reads, found)
