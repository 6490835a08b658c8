"""Minions in a network of their own, whose cable is pulled: the kernel of this machine loses packets, and tells nobody.

In a network namespace a partition is what it is between machines: connections stay open on both sides and are silent.
"""

import contextlib
import itertools
import json
import os
import shutil
import subprocess
import tempfile
import time
from pathlib import Path

import pytest
import yaml
from effort import steps
from ledger import Ledger, add_module
from rig import Rig

pytestmark = pytest.mark.skipif(os.geteuid() != 0 or not shutil.which("ip"), reason="namespaces are made by root's ip")

TREE = Path(__file__).parent / "tree"
NAMES = ("db1", "web1")
_NUMBERS = itertools.count()


def ip(*words):
    return subprocess.run(["ip", *words], capture_output=True, text=True, check=False)


class Cable:
    """A pair of network devices, one of them in a namespace."""

    def __init__(self):
        number = next(_NUMBERS) + (os.getpid() % 20_000) * 4
        self.namespace = f"saltern-{os.getpid()}-{number}"
        self.near, self._far = f"sn{number}a", f"sn{number}b"
        self._net = f"10.{200 + number // 65536 % 50}.{number // 256 % 256}"
        self._host = number % 60 * 4
        self.address = f"{self._net}.{self._host + 1}"
        self._tell("netns", "add", self.namespace)
        self._tell("link", "add", self.near, "type", "veth", "peer", "name", self._far, "netns", self.namespace)
        self._tell("addr", "add", f"{self.address}/29", "dev", self.near)
        self._tell("link", "set", self.near, "up")
        self._in("link", "set", "lo", "up")
        self.give(2)

    def give(self, last):
        """The minions have another address, as after a move to another network: connections of the old one are dead."""
        self._in("addr", "flush", "dev", self._far)
        self._in("addr", "add", f"{self._net}.{self._host + last}/29", "dev", self._far)
        self._in("link", "set", self._far, "up")

    def pull(self):
        """Nothing passes from now on."""
        self._tell("link", "set", self.near, "down")

    def plug_in(self):
        """As before."""
        self._tell("link", "set", self.near, "up")

    def remove(self):
        ip("netns", "del", self.namespace)

    def _in(self, *words):
        self._tell("-n", self.namespace, *words)

    @staticmethod
    def _tell(*words):
        done = ip(*words)
        if done.returncode:
            pytest.skip(f"no network namespaces here: {done.stderr.strip()}")


class FarRig(Rig):
    """Its minions are at the other end of a cable."""

    cable: Cable

    def _start(self, name, *arguments, before=()):
        away = ("ip", "netns", "exec", self.cable.namespace) if name in self.minions else ()
        super()._start(name, *arguments, before=(*away, *before))


@pytest.fixture
def far():
    folder = Path(tempfile.mkdtemp(prefix="saltern-"))
    with contextlib.ExitStack() as stack:
        stack.callback(shutil.rmtree, folder, ignore_errors=True)
        cable = Cable()
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


FAULTS = [pulled(0.5), pulled_until_it_is_given_up, moved, pulled(2.0), pulled(6.0), moved]


@pytest.mark.timeout(600)
def test_jobs_while_the_network_loses_everything(far):
    ledger, jobs = Ledger(far), []
    for fault in steps(FAULTS, 3):
        jobs.append(ledger.ask(seconds=1.0))
        fault(far)
        jobs.append(ledger.ask())
        far.wait("all to be connected", ledger.all_connected)
    came_to = ledger.reconcile_all(jobs)
    assert set(came_to) <= {"ok", "unreachable"}
    assert came_to["ok"] > len(jobs)
    returned = json.loads(far.saltern("run", "*", "test.ping", "--out", "json").stdout)
    assert returned == dict.fromkeys(NAMES, True)
