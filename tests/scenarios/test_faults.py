"""Jobs while connections and processes fail, with real sockets: each ends once on each minion, as it was done there.

`ledger.note` writes down that it begins and that it ends. At the end of each fault the books are compared: what the
controller says of a job on a minion is what the minion did. The suite tries a few faults, `make soak` all.
"""

import time
from collections import Counter

import pytest
import yaml
from effort import steps
from faulty_wire import FaultyWire
from ledger import Ledger, add_module


class Books(Ledger):
    """Those of a rig whose minions reach their controller through a faulty wire."""

    def __init__(self, rig, wire):
        super().__init__(rig)
        self.wire = wire


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
    add_module(rig)
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
    for name in steps([*FAULTS], 3):
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
    for victim, children, reads in steps(KILLS, 3):
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
            assert {books.done(minion, job) for minion in rig.minions} == {(0, 0)}, "nobody was asked"
            continue
        found = books.reconcile(jid, job, told=victim != "controller")
        others = {minion: outcome for minion, outcome in found.items() if minion != victim}
        assert set(others.values()) <= {"ok", "unreachable"}, (victim, reads, found)
