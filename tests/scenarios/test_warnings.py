"""What a compile goes on with is told: of the fleet, of a minion, and of a branch before it is merged."""

import json

TWICE = """
{% set where = salt['cmd.which']('sh') %}
warned:
  file.managed:
    - name: {{ grains.root }}/warned
    - makedirs: True
    - contents: {{ where }}
    - require: [{test: one}]
    - require: [{test: one}]
one:
  test.nop: []
"""


def test_warnings_and_what_a_compile_stands_on(make_rig):
    rig = make_rig(minions={"web1": {}})
    (rig.work / "states" / "warned.sls").write_text(TWICE.replace("    - require: [{test: one}]\n", "", 1))
    (rig.work / "states" / "top.sls").write_text("base:\n  '*':\n    - warned\n")
    rig.wait_applied(rig.push("nothing to tell"))
    assert rig.status()["web1"]["warnings"] == []
    clean = json.loads(rig.saltern("show", "web1", "--out", "json").stdout)
    assert [(one["name"], one["asked"]) for one in clean["volatile"]] == [("cmd.which", '[["sh"], {}]')]
    assert clean["volatile"][0]["at"] > 0

    (rig.work / "states" / "warned.sls").write_text(TWICE)
    rig.push("a branch", branch="twice")
    rig.saltern("remote", "fetch")
    words = ("preview", "--base", "main", "--head", "twice", "--no-live", "--out", "json")
    rig.wait("the branch to be there", lambda: rig.saltern(*words, check=False).returncode in (0, 2))
    [warned] = json.loads(rig.saltern(*words, check=False).stdout)["warned"]
    assert warned["minions"] == ["web1"]
    assert "the last one alone counts" in warned["texts"][0]

    rig.push_head()
    [told] = rig.wait("the warning to show", lambda: rig.status()["web1"]["warnings"])
    assert told.startswith("warned.sls:8: ")
    rig.wait_applied(rig.head())
    assert rig.status()["web1"]["message"] == "1 warning of its compile"
    assert "warning: warned.sls:8: " in rig.saltern("show", "web1").stdout
    assert "warning: warned.sls:8: " in rig.saltern("diff", "web1", check=False).stdout
