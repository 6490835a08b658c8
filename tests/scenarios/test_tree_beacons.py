"""Beacons of saltern.yaml on real minions: they come with a push, by the minion's id, and go with one."""

import json

import psutil

from minion.agent.child_tasks import SPARE

BEACONS = """
beacons:
- target: 'web*'
  beacons:
    memusage: [{percent: 0}, {interval: 0.5}]
"""


def test_beacons_of_the_tree_come_and_go_with_a_push(make_rig):
    rig = make_rig(minions={"web1": {}, "db1": {}})
    states = rig.work / "states"
    policy = (states / "saltern.yaml").read_text()
    (states / "saltern.yaml").write_text(policy + BEACONS)
    rig.wait_applied(rig.push("beacons"))
    first = rig.saltern("events", "salt/beacon/*", "--since", "1h", "-n", "2", "--out", "json").stdout
    assert {json.loads(line)["minion"] for line in first.splitlines()} == {"web1"}

    (states / "saltern.yaml").write_text(policy + BEACONS.replace("percent: 0", "percnt: 0"))
    rig.push("a typing error")
    rig.wait("the refusal", lambda: "beacon memusage: " in rig.log("controller", 1000))
    assert rig.saltern("events", "salt/beacon/*", "--since", "1s", "-n", "1").stdout, "the last good ones go on"

    (states / "saltern.yaml").write_text(policy)
    rig.wait_applied(rig.push("no beacons"))
    rig.wait("the end of their process", lambda: len(rig_children(rig)) == 0)


def rig_children(rig):
    """But for the worker that waits for the next run."""
    found = [each for each in psutil.Process(rig.pid("web1")).children() if each.status() != psutil.STATUS_ZOMBIE]
    return [each for each in found if each.name() != SPARE]
