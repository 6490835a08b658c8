"""`saltern orchestrations`: one that goes on, one that ended, one that does not compile."""

import json

import pytest

STEPS = """
first:
  salt.function:
    - name: test.ping
    - tgt: 'web*'

second:
  salt.runner:
    - name: test.arg
    - require:
      - salt: first

third:
  salt.function:
    - name: test.false
    - tgt: db1
    - require:
      - salt: second
"""


@pytest.fixture
def rig(make_rig):
    made = make_rig()
    path = made.work / "states" / "orch.sls"
    path.write_text(STEPS)
    made.wait_applied(made.push("an orchestration"))
    return made


def shown(rig, *words):
    return json.loads(rig.saltern("orchestrations", *words, "--out", "json").stdout)


def states(found):
    return [(step["id"], step["state"], step["outcome"]) for step in found["steps"]]


def test_one_that_goes_on_and_one_that_ended(rig):
    assert "there has been no orchestration yet" in rig.saltern("orchestrations", "list").stderr
    (rig.work / "states" / "orch.sls").write_text(STEPS.replace("name: test.ping", "name: test.sleep\n    - arg: [2]"))
    rig.wait_applied(rig.push("a slow step"))
    jid = rig.saltern("runner", "--async", "state.orchestrate", "orch").stdout.strip()
    rig.wait("it to go on", lambda: rig.ask("/orchestrations") and rig.ask("/orchestration", jid=jid)["steps"])
    rig.saltern("runner", "state.pause", jid, "second")
    rig.wait("the pause", lambda: rig.ask("/orchestration", jid=jid)["steps"][0]["state"] == "finished")
    found = shown(rig, "show", jid)
    assert states(found) == [("first", "finished", "ok"), ("second", "paused", ""), ("third", "waiting", "")]
    assert found["steps"][0]["minions"] == {"web1": "ok", "web2": "ok"}
    assert found["steps"][0]["jid"]
    [line] = shown(rig, "list")
    assert (line["jid"], line["state"], line["done"], line["total"]) == (jid, "paused", 1, 3)
    assert "paused" in rig.saltern("orchestrations", "list").stdout

    rig.saltern("runner", "state.resume", jid, "second")
    rig.wait("the end", lambda: rig.ask("/orchestration", jid=jid)["orchestration"]["state"] == "finished")
    found = shown(rig, "show", jid)
    assert states(found) == [("first", "finished", "ok"), ("second", "finished", "ok"), ("third", "finished", "failed")]
    [line] = shown(rig, "list")
    assert (line["outcome"], line["summary"], line["sls"]) == ("failed", "third failed", "orch")
    text = rig.saltern("orchestrations", "show", jid).stdout
    assert "third (salt.function test.false)" in text
    assert "Running function test.false failed on minions: db1" in text


def test_what_does_not_compile_and_what_is_none(rig):
    rig.saltern("runner", "state.orchestrate", "nothing", check=False)
    rig.saltern("runner", "manage.up")
    [line] = shown(rig, "list")
    assert (line["outcome"], line["total"]) == ("failed", 0)
    rig.saltern("runner", "state.orchestrate", "neither", check=False)
    newest, oldest = shown(rig, "list")
    assert oldest == line
    assert shown(rig, "list", "--before", newest["jid"]) == [line]
    assert (
        f"no orchestration is older than {line['jid']}"
        in rig.saltern("orchestrations", "list", "--before", line["jid"]).stderr
    )
    found = shown(rig, "show", line["jid"])
    assert found["steps"] == []
    assert "No matching sls found for 'nothing'" in found["errors"][0]
    gone = rig.saltern("orchestrations", "show", "20200101000000000000", check=False)
    assert gone.returncode == 1
    assert "no orchestration '20200101000000000000'" in gone.stderr
    assert "saltern orchestrations list" in gone.stderr
