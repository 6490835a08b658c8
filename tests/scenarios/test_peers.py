"""Minions that have functions called on others, and runners: what `peer` and `peer_run` allow, and nothing else."""

from __future__ import annotations

import json

MINIONS = {"web1": {"role": "web"}, "web2": {"role": "web"}, "db1": {"role": "db"}}
RULES = {
    "peer": {"db.*": ["test.*", {"web*": ["cmd.run"]}], "web1": [{"web2": ["test.echo"]}]},
    "peer_run": {"db1": ["manage.up", "test.arg"]},
}


def published(rig, minion, *words):
    """(exit code, what came back) of `publish.…`, called on a minion."""
    done = rig.saltern("run", minion, *words, "--out", "json", check=False)
    return done.returncode, json.loads(done.stdout).get(minion)


def test_minions_call_others_as_far_as_rules_say(make_rig):
    rig = make_rig(minions=MINIONS, **RULES)
    rig.push("nothing of note")
    rig.wait("all to be there", lambda: all(each["connected"] for each in rig.status().values()))
    assert published(rig, "db1", "publish.publish", "web*", "test.ping") == (0, {"web1": True, "web2": True})
    assert published(rig, "db1", "publish.publish", "*", "test.echo", "hello") == (0, dict.fromkeys(MINIONS, "hello"))
    named = published(rig, "db1", "publish.publish", "web1", "test.arg", "arg=['a', 'b=3']")
    assert named == (0, {"web1": {"args": ["a"], "kwargs": {"b": 3}}})
    [full] = published(rig, "db1", "publish.full_data", "web2", "cmd.run", "echo x")[1].values()
    assert (full["ret"], full["success"]) == ("x", True)
    assert published(rig, "db1", "publish.runner", "test.arg", "[1, 'k=v']") == (
        0, {"args": [1], "kwargs": {"k": "v"}}
    )  # fmt: skip
    assert sorted(published(rig, "db1", "publish.runner", "manage.up")[1]) == sorted(MINIONS)
    assert published(rig, "web1", "publish.publish", "web2", "test.echo", "x") == (0, {"web2": "x"})
    for minion, *words in (
        ("db1", "publish.publish", "*", "cmd.run", "id"),  # db1 is not in the target of the rule
        ("db1", "publish.publish", "web*", "pkg.upgrade"),
        ("db1", "publish.publish", "web*", "publish.publish"),
        ("db1", "publish.publish", "web*", "test.ping,cmd.run"),
        ("db1", "publish.runner", "salt.cmd", "cmd.run"),
        ("db1", "publish.publish", "role:web", "test.ping", "tgt_type=pillar"),
        ("db1", "publish.publish", "I@role:web", "test.ping", "tgt_type=compound"),
        ("db1", "publish.publish", "web* and I/@role/web", "test.ping", "tgt_type=compound"),
        ("db1", "publish.publish", "web*", "test.ping", "tgt_type=nonsense"),
        ("web1", "publish.publish", "*", "test.echo", "x"),
        ("web1", "publish.runner", "manage.up"),
        ("web2", "publish.publish", "*", "test.ping"),
    ):
        code, told = published(rig, minion, *words)
        assert code != 0, (minion, words, told)
    assert "may not call pkg.upgrade: no rule of peer" in published(
        rig, "db1", "publish.publish", "web*", "pkg.upgrade"
    )[1]  # fmt: skip
    kept = json.loads(rig.saltern("audit", "list", "--user", "minion db1", "--out", "json").stdout)
    assert {row["action"]: row["allowed"] for row in kept}["call pkg.upgrade"] is False
    assert {row["method"] for row in kept} == {"peer"}
    history = json.loads(rig.saltern("history", "web2", "--out", "json").stdout)
    assert any("minion db1" in each["cause"] for each in history), history


def test_without_rules_nobody_publishes(make_rig):
    rig = make_rig(minions=MINIONS)
    rig.push("nothing of note")
    rig.wait("all to be there", lambda: all(each["connected"] for each in rig.status().values()))
    code, told = published(rig, "db1", "publish.publish", "*", "test.ping")
    assert code != 0
    assert "no rule of peer" in told
    assert published(rig, "db1", "publish.runner", "manage.up")[0] != 0
