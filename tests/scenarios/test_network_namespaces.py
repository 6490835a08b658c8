"""Minions in a network of their own, whose cable is pulled or loses packets: jobs end once, what is sent arrives."""

import contextlib
import json
import os
import shutil
import tempfile
import time
from pathlib import Path

import pytest
import yaml
from cables import Cable, FarRig, NoNamespaces
from effort import steps
from ledger import Ledger, add_module

pytestmark = pytest.mark.skipif(os.geteuid() != 0 or not shutil.which("ip"), reason="namespaces are made by root's ip")

TREE = Path(__file__).parent / "tree"
NAMES = ("db1", "web1")


@pytest.fixture
def far():
    folder = Path(tempfile.mkdtemp(prefix="saltern-"))
    with contextlib.ExitStack() as stack:
        stack.callback(shutil.rmtree, folder, ignore_errors=True)
        try:
            cable = Cable()
        except NoNamespaces as error:
            pytest.skip(f"no network namespaces here: {error}")
        stack.callback(cable.remove)
        options = {"interface": cable.address, "alive_interval": 0.5, "minion_timeout": 3, "http_port": 0}
        rig = FarRig(folder / "1", {name: {"roles": [name[:-1]]} for name in NAMES}, TREE, options)
        rig.cable = cable
        stack.callback(rig.stop_all)

        def there(rig):
            for name in NAMES:
                path = rig.directory / name / "minion"
                more = {"master": cable.address, "master_alive_interval": 0.5}
                path.write_text(yaml.safe_dump(yaml.safe_load(path.read_text()) | more))

        rig.up(there)
        add_module(rig)
        rig.wait_applied(rig.push("first"))
        yield rig


def pulled(seconds):
    def fault(rig):
        rig.cable.pull()
        time.sleep(seconds)
        rig.cable.plug_in()

    return fault


def moved(rig):
    rig.cable.give(3)
    time.sleep(1)


def pulled_until_it_is_given_up(rig):
    rig.cable.pull()
    rig.wait("both sides to know", lambda: not any(each["connected"] for each in rig.status().values()), patience=20)
    rig.cable.plug_in()


FAULTS = [pulled_until_it_is_given_up, pulled(0.5), moved, pulled(2.0), pulled(6.0), moved]


@pytest.mark.timeout(600)
def test_jobs_while_the_network_loses_everything(far):
    ledger, jobs = Ledger(far), []
    for fault in steps(FAULTS, 2):
        jobs.append(ledger.ask(seconds=1.0))
        fault(far)
        jobs.append(ledger.ask())
        far.wait("all to be connected", ledger.all_connected)
    came_to = ledger.reconcile_all(jobs)
    assert set(came_to) <= {"ok", "unreachable"}
    assert came_to["ok"] > 0, "a busy machine may lose most of them: what is said of each is what counts"
    returned = json.loads(far.saltern("run", "*", "test.ping", "--out", "json").stdout)
    assert returned == dict.fromkeys(NAMES, True)


LOSS = 0.01
LARGE = 2_000_000
"""Characters of a return: over a thousand packets of each minion."""


@pytest.mark.timeout(600)
@pytest.mark.skipif(not shutil.which("iptables"), reason="packets are lost by iptables, which is not installed")
def test_jobs_while_one_packet_of_a_hundred_is_lost(far):
    """In both directions. TCP sends it again: nobody is given up, and nothing is done twice."""
    ledger = Ledger(far)
    far.cable.lose(LOSS)
    jobs = [ledger.ask() for _ in range(5)]
    far.wait_applied(
        far.push("while packets are lost", {"pillar/numbers.sls": ("number: 0", "number: 1")}), patience=120
    )
    command = f"head -c {LARGE} /dev/zero | tr '\\0' x"
    large = json.loads(far.saltern("run", "*", "cmd.run", command, "-t", "120", "--out", "json").stdout)
    assert {minion: len(text) for minion, text in large.items()} == dict.fromkeys(NAMES, LARGE)
    assert far.cable.lost() > len(NAMES) * LARGE / 1500 * LOSS / 4, "packets were lost: a quarter of the mean"
    assert set(ledger.reconcile_all(jobs)) == {"ok"}
