"""The mine over real sockets: collected by agents, seen by templates of others, and a change compiles who read it."""

import json

MEMBERS = """
{% set members = salt['mine.get']('web*', 'app_address') %}
members:
  file.managed:
    - name: {{ grains.root }}/members
    - makedirs: True
    - contents: {{ members | tojson | tojson }}
"""
FUNCTIONS = "mine_functions:\n  app_address:\n    mine_function: grains.get\n    key: address\n"


def up(make_rig, pillar=FUNCTIONS, states=MEMBERS):
    rig = make_rig(minions={"web1": {"address": "10.0.0.1"}, "web2": {"address": "10.0.0.2"}, "db1": {"address": "x"}})
    (rig.work / "states" / "members.sls").write_text(states)
    (rig.work / "states" / "top.sls").write_text("base:\n  '*':\n    - members\n")
    (rig.work / "pillar" / "mine.sls").write_text(pillar)
    (rig.work / "pillar" / "top.sls").write_text("base:\n  '*':\n    - numbers\n    - mine\n")
    return rig


def members(rig, minion="db1"):
    path = rig.root(minion) / "members"
    return json.loads(path.read_text()) if path.exists() else None


def test_what_minions_have_reaches_the_templates_of_others(make_rig):
    rig = up(make_rig)
    rig.push("mine")
    rig.wait("all members", lambda: members(rig) == {"web1": "10.0.0.1", "web2": "10.0.0.2"})
    rig.wait("the members' own", lambda: members(rig, "web1") == {"web1": "10.0.0.1", "web2": "10.0.0.2"})
    assert rig.status()["db1"]["volatile"] == ["mine.get"]
    rig.saltern("run", "web2", "mine.send", "app_address", "mine_function=test.echo", "text=10.9.9.9")
    rig.wait("the new value", lambda: members(rig) == {"web1": "10.0.0.1", "web2": "10.9.9.9"})
    got = rig.saltern("run", "db1", "mine.get", "*", "app_address", "--out", "json")
    assert {"web1", "web2", "db1"} == set(json.loads(got.stdout)["db1"])
    runner = {"states/members.sls": ("'mine.get'](", "'saltutil.runner']('mine.get', tgt=")}
    text = rig.work / "states" / "members.sls"
    text.write_text(text.read_text().replace("'app_address')", "fun='app_address')"))
    rig.wait_applied(rig.push("asked as pillars ask", runner))
    assert members(rig) == {"web1": "10.0.0.1", "web2": "10.9.9.9"}
    rig.saltern("run", "web1", "mine.delete", "app_address")
    rig.wait("it to be gone", lambda: members(rig) == {"web2": "10.9.9.9"})
    rig.saltern("key", "delete", "web2", "--yes")
    rig.wait("who is forgotten to be gone", lambda: members(rig) == {})


def test_nobody_hears_what_is_kept_from_him(make_rig):
    guarded = FUNCTIONS + "    allow_tgt: 'web*'\n"
    rig = up(make_rig, guarded)
    rig.push("mine")
    rig.wait("the members", lambda: members(rig, "web1") == {"web1": "10.0.0.1", "web2": "10.0.0.2"})
    rig.wait("the others", lambda: members(rig) == {})
    got = rig.saltern("run", "db1", "mine.get", "*", "app_address", "--out", "json")
    assert json.loads(got.stdout)["db1"] == {}
