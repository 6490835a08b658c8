"""examples/drift: the policy can be used, and ignores what it says."""

import time
from pathlib import Path

from controller.policy.ignored import expired
from controller.policy.reading import read_policy
from highstate.files import MemoryFiles
from highstate.types import Minion

TEXT = (Path(__file__).parents[2] / "examples/drift/saltern.yaml").read_bytes()


def test_the_policy():
    policy = read_policy(MemoryFiles({"base": {"saltern.yaml": TEXT}}))
    assert expired(policy, time.time()) == []
    web, database = policy.of(Minion(id="web1")), policy.of(Minion(id="db1"))
    assert (web.drift.mode, database.drift.mode) == ("remediate", "report")
    assert [rule.field for rule in web.ignore_differences] == ["mode"]
    assert [rule.field for rule in database.ignore_differences] == ["mode", "postgresql-*"]
