"""What templates ask of live machines: answered over the wire, kept, played back, asked again, never by a preview."""

import json

import yaml

FACTS = """
{% set marker = salt['file.file_exists'](grains.root ~ '/marker') %}
{% set where = salt['cmd.which']('sh') %}
asked:
  file.managed:
    - name: {{ grains.root }}/asked
    - makedirs: True
    - contents: marker {{ marker }} sh {{ where }}
"""


def with_facts(rig, text=FACTS):
    (rig.work / "states" / "facts.sls").write_text(text)
    (rig.work / "states" / "top.sls").write_text("base:\n  '*':\n    - facts\n")


def asked(rig, minion="web1"):
    path = rig.root(minion) / "asked"
    return path.read_text().strip() if path.exists() else ""


def test_a_minion_is_asked_and_its_answer_is_played_back_while_it_is_away(make_rig):
    rig = make_rig(minions={"web1": {}})
    with_facts(rig)
    rig.wait_applied(rig.push("facts"))
    assert asked(rig).startswith("marker False sh /")
    (rig.root("web1") / "marker").touch()
    fresh = rig.push("again", {"states/facts.sls": ("contents:", "contents: now")})
    rig.wait_applied(fresh)
    assert asked(rig).startswith("now marker True"), "a push asks again"
    rig.stop("web1")
    rig.wait("it to be gone", lambda: not rig.status()["web1"]["connected"])
    away = rig.push("while it is away", {"states/facts.sls": ("contents: now", "contents: later")})
    rig.wait("it to compile", lambda: rig.status()["web1"]["attempted_revision"] == away)
    assert rig.status()["web1"]["errors"] == []
    assert rig.status()["web1"]["volatile"] == ["cmd.which", "file.file_exists"]
    rig.start_minion("web1")
    rig.wait_applied(away)
    assert asked(rig).startswith("later marker True")


def test_a_changed_answer_compiles_the_minion_again(make_rig):
    rig = make_rig(minions={"web1": {}})
    with_facts(rig)
    often = {"states/saltern.yaml": ("interval: 30m", "interval: 1s, splay: 0")}
    rig.wait_applied(rig.push("facts", often))
    (rig.root("web1") / "marker").touch()
    rig.wait("the answer to be asked again", lambda: asked(rig).startswith("marker True"))


def test_only_functions_that_look_or_that_policy_allows_are_asked(make_rig):
    rig = make_rig(minions={"web1": {}})
    where = "{name: {{ grains.root }}/asked}, {makedirs: True}"
    with_facts(rig, "asked: {file.managed: [" + where + ", {contents: {{ salt['cmd.run']('echo hi') }}}]}")
    rig.push("facts")
    refused = rig.wait("the error", lambda: rig.status().get("web1", {}).get("errors"))
    assert "`facts` in saltern.yaml" in refused[0]
    policy = rig.work / "states" / "saltern.yaml"
    policy.write_text(policy.read_text() + "facts: [cmd.run]\n")
    rig.wait_applied(rig.push("allowed"))
    assert asked(rig) == "hi"


def test_a_preview_asks_only_what_looks(make_rig):
    rig = make_rig(minions={"web1": {}})
    with_facts(rig)
    policy = rig.work / "states" / "saltern.yaml"
    policy.write_text(policy.read_text() + "facts: [cmd.run]\n")
    rig.wait_applied(rig.push("facts"))
    rig.git("checkout", "-q", "-b", "feature")
    rig.push("known question", {"states/facts.sls": ("contents:", "contents: better")}, branch="feature")
    ask = ("preview", "--base", "main", "--out", "json", "--head")
    done = rig.wait("the branch", lambda: (d := rig.saltern(*ask, "feature", check=False)).returncode in (0, 2) and d)
    assert "better marker False" in json.dumps(json.loads(done.stdout))
    mark = rig.directory / "ran"
    text = FACTS + "{% do salt['cmd.run']('touch " + str(mark) + "') %}\n"
    (rig.work / "states" / "facts.sls").write_text(text)
    rig.push("a question of the branch", branch="other")
    done = rig.wait("the branch", lambda: (d := rig.saltern(*ask, "other", check=False)).stdout.startswith("{") and d)
    assert [one["texts"] for one in json.loads(done.stdout)["unknown"]] == [["cmd.run"]]
    assert not mark.exists()


def test_an_external_pillar_that_changes_is_applied_without_a_push(make_rig, tmp_path):
    inventory = tmp_path / "inventory.json"
    inventory.write_text('{"external": 1}')
    rig = make_rig(minions={"web1": {}}, pillar_cache_ttl=1, ext_pillar_first=False)
    settings = yaml.safe_load((rig.config / "controller").read_text())
    settings["ext_pillar"].append({"cmd_json": f"cat {inventory}"})
    rig.stop("controller")
    (rig.config / "controller.d").mkdir()
    (rig.config / "controller.d" / "external.conf").write_text(yaml.safe_dump({"ext_pillar": settings["ext_pillar"]}))
    rig.start_controller()
    where = "{name: {{ grains.root }}/asked}, {makedirs: True}"
    with_facts(rig, "asked: {file.managed: [" + where + ", {contents: 'external {{ pillar.external }}'}]}")
    rig.wait_applied(rig.push("external"))
    assert asked(rig) == "external 1"
    inventory.write_text('{"external": 2}')
    rig.wait("the new value", lambda: asked(rig) == "external 2")
