"""Beacons of saltern.yaml: who gets which, and that what is badly formed refuses the revision with its line."""

import pytest

from controller.policy.reading import PolicyInvalid, read_policy
from highstate.files import MemoryFiles
from highstate.targeting.targeted_beacons import with_beacons
from highstate.types import Minion

GOOD = """
beacons:
- target: 'web*'
  beacons:
    load: [{averages: {1m: [0.0, 4.0]}}, {interval: 30}]
    memusage: [{percent: 90}]
- target: [web2, db1]
  beacons:
    memusage: [{percent: 50}]
    ours: [{x: 1}]
"""


def policy(text, **more):
    return read_policy(MemoryFiles({"base": {"saltern.yaml": text.encode(), **more}}))


def test_each_minion_gets_its_own_and_its_pillar_counts_more():
    beacons = policy(GOOD, **{"_beacons/ours.py": b""}).beacons
    found = {name: with_beacons({"a": 1}, beacons, Minion(id=name, grains={})) for name in ("web1", "web2", "x")}
    assert found["x"] == {"a": 1}
    assert set(found["web1"]["beacons"]) == {"load", "memusage"}
    assert found["web2"]["beacons"]["memusage"] == [{"percent": 50}]
    assert set(found["web2"]["beacons"]) == {"load", "memusage", "ours"}
    own = with_beacons({"beacons": {"load": []}}, beacons, Minion(id="web1", grains={}))
    assert (own["beacons"]["load"], own["beacons"]["memusage"]) == ([], [{"percent": 90}])


@pytest.mark.parametrize(
    ("old", "new", "line", "why"),
    [
        ("memusage: [{percent: 90}]", "memusge: [{percent: 90}]", 6, "there is no beacon memusge"),
        ("{percent: 90}", "{percent: much}", 6, "percent must be a percentage"),
        ("[{percent: 90}]", "{percent: 90}", 6, "must be a list"),
        ("{interval: 30}", "{interval: soon}", 5, "interval must be a number"),
        ("- target: 'web*'", "- taget: 'web*'", 3, "an entry has `target`"),
        ("[web2, db1]", "[]", 7, "an entry has `target`"),
        ("ours: [{x: 1}]", "theirs: [{x: 1}]", 10, "there is no beacon theirs"),
    ],
)
def test_what_is_badly_formed_refuses_the_revision(old, new, line, why):
    with pytest.raises(PolicyInvalid) as caught:
        policy(GOOD.replace(old, new, 1), **{"_beacons/ours.py": b""})
    problem = caught.value.problem
    assert why in problem.message
    assert problem.pos.line == line
