"""Targets of pillar that a minion can make true by its own grains."""

from __future__ import annotations

import pytest

from highstate.lint.grain_targets import claimed_grains

GROUPS = {"dbs": "G@role:db and not G@os:Windows", "ids": "L@db1,db2", "both": ["N@dbs", "or", "N@both"]}


@pytest.mark.parametrize(
    ("target", "items", "names"),
    [
        ("*", ["a"], []),
        ("db1", ["a"], []),
        ("G@role:db", ["a"], ["role"]),
        ("web* and not ( P@role:d.* or G|@place|x:y )", ["a"], ["role", "place"]),
        ("G@id:db1", ["a"], []),
        ("G@os:Debian", ["a"], []),
        ("role:db", [{"match": "grain"}, "a"], ["role"]),
        ("role:d.*", ["a", {"match": "grain_pcre"}], ["role"]),
        ("role:db", ["a"], []),
        ("G@role:db", [{"match": "glob"}], []),
        ("dbs", [{"match": "nodegroup"}], ["role"]),
        ("N@both", ["a"], ["role"]),
        ("N@ids", ["a"], []),
        ("I@role:db", ["a"], []),
        ("db@role:x", "no list", []),
    ],
)
def test_grains_that_a_target_asks_for(target, items, names):
    assert claimed_grains(target, items, GROUPS) == names
