"""examples/shadow: its policy is read, and its lines of salt-minions name both masters, and then the gateway."""

from pathlib import Path

import yaml

from controller.policy.reading import read_policy
from gitfs.tree.snapshot import directory_snapshot
from highstate.types import Minion

FOLDER = Path(__file__).parents[2] / "examples/shadow"


def test_everybody_is_in_shadow_but_those_who_are_moved():
    policy = read_policy(directory_snapshot({"base": [str(FOLDER / "states")]}), {})
    assert {each: policy.of(Minion(id=each, grains={})).shadow for each in ("web1", "web2")} == {
        "web1": False,
        "web2": True,
    }


def test_the_gateway_comes_last_and_then_alone():
    beside, moved = (yaml.safe_load((FOLDER / f"{name}.conf").read_text())["master"] for name in ("beside", "moved"))
    assert beside[-1] == moved
    assert len(beside) == 2
