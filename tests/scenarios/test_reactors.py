"""Reactors on a real controller and minions: what they do, how it is traced, and what stops them."""

import json
import urllib.request

START = """
{% if data['id'] == 'web1' %}
welcome:
  local.test.arg:
    - tgt: 'db*'
    - args:
      - from: {{ data['id'] }}
told:
  runner.test.arg:
    - args:
      - tag: {{ tag }}
{% endif %}
"""


def reactions(rig):
    return rig.ask("/reactions", limit=1000)


def trace(rig, reaction):
    return rig.ask("/reaction", id=reaction)


def make(make_rig, tmp_path, sls, *, tag="salt/minion/*/start", minions=("web1", "db1", "db2"), **more):
    path = tmp_path / "reactor.sls"
    path.write_text(sls)
    return make_rig(minions={name: {} for name in minions}, reactor=[{tag: [str(path)]}], **more)


def ended(rig, *, tag):
    """Reactions to events with this tag that have ended."""
    return [each for each in reactions(rig) if each["tag"] == tag and each["outcome"]]


def test_a_minion_that_starts_sets_off_jobs_and_runners(make_rig, tmp_path):
    rig = make(make_rig, tmp_path, START)
    tag = "salt/minion/web1/start"
    rig.wait("the reaction", lambda: ended(rig, tag=tag))
    rig.stop("web1")
    rig.start_minion("web1")
    rig.wait("the next", lambda: len(ended(rig, tag=tag)) > 1)
    newest = ended(rig, tag=tag)[0]
    assert newest["outcome"] == "ok"
    assert not newest["errors"]
    assert [(each["type"], each["fun"]) for each in newest["reactions"]] == [
        ("local", "test.arg"),
        ("runner", "test.arg"),
    ]
    assert set(newest["reactions"][0]["jobs"]) == {"db1", "db2"}
    rig.wait("the jobs", lambda: len(returns(rig, newest["id"])) == 3)
    steps = trace(rig, newest["id"])["steps"]
    assert steps[0]["tag"] == tag
    assert steps[1]["tag"] == f"saltern/reaction/{newest['id']}/new"
    assert steps[1]["cause"] == steps[0]["id"]
    values = {step["minion"]: step["data"]["return"] for step in returns(rig, newest["id"])}
    assert values["db1"] == {"args": [], "kwargs": {"from": "web1"}}
    assert values[""] == {"args": [], "kwargs": {"tag": tag}}
    assert newest["id"] in rig.saltern("reactions", "list").stdout
    of_web1 = rig.ask("/reactions", limit=1000, minion="web1")
    assert of_web1[0]["id"] == newest["id"]
    assert {each["minion"] for each in of_web1} == {"web1"}
    assert rig.ask("/reactions", limit=1000, before=newest["id"]) == reactions(rig)[1:]
    assert rig.ask("/reactions", limit=1, minion="web1", before=newest["id"]) == of_web1[1:2] != []
    assert newest["id"] not in rig.saltern("reactions", "list", "--before", newest["id"]).stdout
    none = "no reactor has answered an event about web7"
    assert none in rig.saltern("reactions", "list", "--minion", "web7").stderr
    assert rig.ask("/reactions", before="0" * 20) == []
    shown = rig.saltern("reactions", "show", newest["id"]).stdout
    assert f"{tag}  ok" in shown
    assert all(len(line) <= 100 for line in shown.splitlines())


def returns(rig, reaction):
    return [step for step in trace(rig, reaction)["steps"] if "/ret" in step["tag"] and "return" in step["data"]]


def test_data_of_an_event_is_not_rendered(make_rig, tmp_path):
    sls = "x:\n  local.test.arg:\n  - tgt: web1\n  - arg: [{{ data['data']['text'] | tojson }}]\n"
    rig = make(make_rig, tmp_path, sls, tag="custom/*", minions=("web1",))
    text = "{{ 7 * 7 }}{% for x in range(9) %}{% endfor %}"
    rig.saltern("run", "web1", "event.send", "custom/text", json.dumps({"text": text}))
    rig.wait("the return", lambda: ended(rig, tag="custom/text") and returns(rig, reactions(rig)[0]["id"]))
    assert returns(rig, reactions(rig)[0]["id"])[0]["data"]["return"]["args"] == [text]


def test_what_fails_is_said_with_file_and_line(make_rig, tmp_path):
    rig = make(make_rig, tmp_path, "a:\n  local.test.ping:\n  - tgt: {{ data['nosuch'] }}\n", minions=("web1",))
    rig.wait("the reaction", lambda: ended(rig, tag="salt/minion/web1/start"))
    failed = ended(rig, tag="salt/minion/web1/start")[0]
    assert failed["outcome"] == "failed"
    assert f"{tmp_path}/reactor.sls:3" in failed["errors"][0]


def test_a_job_on_nobody_is_an_error(make_rig, tmp_path):
    rig = make(make_rig, tmp_path, "a:\n  local.test.ping:\n  - tgt: 'nobody*'\n", minions=("web1",))
    rig.wait("the reaction", lambda: ended(rig, tag="salt/minion/web1/start"))
    failed = ended(rig, tag="salt/minion/web1/start")[0]
    assert failed["outcome"] == "failed"
    assert "no minion matches 'nobody*'" in failed["errors"][0]


def test_an_sls_that_never_ends_is_ended_and_the_next_event_is_answered(make_rig, tmp_path):
    sls = "#!py\ndef run():\n    while data['data']['forever']:\n        pass\n    return {}\n"
    rig = make(make_rig, tmp_path, sls, tag="custom/*", minions=("web1",), limits={"reactor": {"sls_seconds": 1.0}})
    rig.saltern("run", "web1", "event.send", "custom/one", '{"forever": true}')
    rig.saltern("run", "web1", "event.send", "custom/two", '{"forever": false}')
    rig.wait("both", lambda: ended(rig, tag="custom/one") and ended(rig, tag="custom/two"))
    assert "took more than 1 s" in ended(rig, tag="custom/one")[0]["errors"][0]
    assert ended(rig, tag="custom/two")[0]["outcome"] == "ok"


def test_reactions_that_set_each_other_off_are_stopped_and_named(make_rig, tmp_path):
    sls = "a:\n  local.event.send:\n  - tgt: web1\n  - args: {tag: custom/again}\n"
    rig = make(make_rig, tmp_path, sls, tag="custom/*", minions=("web1",), limits={"reactor": {"chain": 4}})
    rig.saltern("run", "web1", "event.send", "custom/first")
    rig.wait("the end of the loop", lambda: "reactor stopped" in rig.log("controller", 1000))
    assert "reactions set each other off: custom/*" in rig.log("controller", 1000)
    assert len(reactions(rig)) == 4


def test_reactors_of_the_tree_go_live_with_their_revision(make_rig):
    rig = make_rig(minions={"web1": {}})
    states = rig.work / "states"
    (states / "reactor").mkdir()
    (states / "reactor/answer.sls").write_text("a:\n  local.test.arg:\n  - tgt: web1\n  - arg: [{{ tag }}]\n")
    policy = (states / "saltern.yaml").read_text() if (states / "saltern.yaml").exists() else ""
    (states / "saltern.yaml").write_text(policy + "\nreactor:\n- 'custom/*': [salt://reactor/answer.sls]\n")
    rig.saltern("run", "web1", "event.send", "custom/before")
    rig.wait_applied(rig.push("reactors"))
    rig.saltern("run", "web1", "event.send", "custom/after")
    rig.wait("the reaction", lambda: ended(rig, tag="custom/after"))
    assert not ended(rig, tag="custom/before")

    (states / "saltern.yaml").write_text(policy + "\nreactor:\n- 'custom/*': [salt://reactor/nosuch.sls]\n")
    rig.push("a typing error")
    rig.wait("the refusal", lambda: "there is no reactor/nosuch.sls" in rig.log("controller", 1000))
    rig.saltern("run", "web1", "event.send", "custom/still")
    rig.wait("the reaction", lambda: ended(rig, tag="custom/still"))
    assert ended(rig, tag="custom/still")[0]["outcome"] == "ok"


RULE = """
rules:
- name: wake-db
  tag: 'custom/*'
  when: data.data.load > 2
  throttle: 1h
  escalate: {after: 9, within: 1h, do: [{runner.test.arg: {args: [page]}}]}
  do:
  - local.test.arg: {tgt: 'db1', args: ['{{ minion }}', {load: '{{ data.data.load }}'}]}
  - runner.test.arg: {args: ['{{ tag }}']}
  - reconcile.sync: {tgt: '{{ minion }}', whole: true}
"""


def send(rig, tag, load):
    rig.saltern("run", "web1", "event.send", tag, json.dumps({"load": load}))


def test_a_native_rule_of_the_tree_fires_and_its_throttle_survives_a_kill(make_rig):
    rig = make_rig(minions={"web1": {}, "db1": {}})
    states = rig.work / "states"
    (states / "saltern.yaml").write_text((states / "saltern.yaml").read_text() + RULE)
    rig.wait_applied(rig.push("rules"))
    send(rig, "custom/low", 1)
    send(rig, "custom/high", 3)
    rig.wait("the reaction", lambda: ended(rig, tag="custom/high"))
    (fired,) = ended(rig, tag="custom/high")
    assert (fired["rule"], fired["outcome"], fired["errors"]) == ("wake-db", "ok", [])
    assert [each["type"] for each in fired["reactions"]] == ["local", "runner", "reconcile"]
    assert set(fired["reactions"][2]["jobs"]) == {"web1"}
    rig.wait("the returns", lambda: len(returns(rig, fired["id"])) == 2)
    values = {step["minion"]: step["data"]["return"] for step in returns(rig, fired["id"])}
    assert values["db1"] == {"args": ["web1"], "kwargs": {"load": 3}}
    assert "wake-db" in rig.saltern("reactions", "show", fired["id"]).stdout
    assert not ended(rig, tag="custom/low")

    rig.kill("controller", children=True)
    rig.start_controller()
    rig.wait("the minion", lambda: rig.status()["web1"]["connected"])
    send(rig, "custom/again", 3)
    rig.wait("the event", lambda: '"throttled"' in metrics(rig))
    assert not ended(rig, tag="custom/again")

    (states / "saltern.yaml").write_text(RULE.replace("data.data.load > 2", "data.data.load +"))
    rig.push("a typing error")
    rig.wait(
        "the refusal", lambda: "rules: wake-db: 'data.data.load +' is no expression" in rig.log("controller", 1000)
    )


def metrics(rig):
    with urllib.request.urlopen(rig.http + "/metrics") as answer:
        return "\n".join(line for line in answer.read().decode().splitlines() if "saltern_reactions_total" in line)


def test_a_debounced_rule_that_waits_fires_after_a_kill(make_rig, tmp_path):
    rule = {
        "name": "quiet",
        "tag": "custom/*",
        "debounce": "3s",
        "do": [{"local.test.arg": {"tgt": "{{ minion }}", "args": ["{{ tag }}"]}}],
    }
    rig = make_rig(minions={"web1": {}}, rules=[rule])
    rig.saltern("run", "web1", "event.send", "custom/one")
    rig.wait("the wait", lambda: '"waiting"' in metrics(rig))
    rig.saltern("events", "saltern/reaction/waiting", "--since", "1h", "-n", "1")
    rig.kill("controller", children=True)
    rig.start_controller()
    rig.wait("the reaction", lambda: ended(rig, tag="custom/one"))


def test_reactors_are_added_and_deleted_by_the_runner(make_rig, tmp_path):
    rig = make(make_rig, tmp_path, "a:\n  local.test.ping:\n  - tgt: web1\n", tag="custom/*", minions=("web1",))

    def runner(*words):
        return json.loads(rig.saltern("runner", *words, "--out", "json").stdout)

    def send(tag):
        rig.saltern("run", "web1", "event.send", tag)

    sls = str(tmp_path / "reactor.sls")
    assert runner("reactor.list") == [{"custom/*": [sls]}]
    assert runner("reactor.add", "other/*", sls) == {"status": True, "comment": "Reactor added."}
    assert runner("reactor.add", "custom/*", sls) == {"status": False, "comment": "Reactor already exists."}
    assert runner("reactor.delete", "custom/*") == {"status": True, "comment": "Reactor deleted."}
    assert runner("reactor.delete", "custom/*") == {"status": False, "comment": "Reactor does not exists."}
    assert runner("reactor.list") == [{"other/*": [sls]}]
    assert runner("reactor.set_leader", "False") is False
    send("other/one")
    assert runner("reactor.is_leader") is False
    assert runner("reactor.set_leader") is True
    send("custom/two")
    send("other/three")
    rig.wait("the reaction", lambda: ended(rig, tag="other/three"))
    assert [each["tag"] for each in reactions(rig)] == ["other/three"]


def test_a_reaction_applies_states_that_are_not_in_the_highstate(make_rig, tmp_path):
    sls = (
        "page:\n  local.state.sls:\n    - tgt: web1\n    - args:\n      - mods: page\n"
        "      - pillar: {text: {{ data['data']['text'] | tojson }}}\n"
        "broken:\n  cmd.state.apply:\n    - tgt: web1\n    - arg: [no_such]\n    - require: [{local: page}]\n"
    )
    rig = make(make_rig, tmp_path, sls, tag="custom/page", minions=("web1",))
    page = rig.root("web1") / "page"
    (rig.work / "states" / "page.sls").write_text(
        "page:\n  file.managed:\n    - name: {{ grains.root }}/page\n    - contents: {{ pillar['text'] | tojson }}\n"
    )
    commit = rig.push("an SLS that no top file names")
    rig.wait_applied(commit)
    assert not page.exists()
    rig.saltern("run", "web1", "event.send", "custom/page", '{"text": "{{ 1 + 1 }}"}')
    (reaction,) = rig.wait("the reaction", lambda: ended(rig, tag="custom/page"))
    rig.wait("both returns", lambda: len(returns(rig, reaction["id"])) == 2)
    assert page.read_text() == "{{ 1 + 1 }}\n", "what an event has is not rendered again"
    good, bad = sorted(returns(rig, reaction["id"]), key=lambda step: step["data"]["retcode"])
    assert (good["data"]["fun"], good["data"]["success"]) == ("state.sls", True)
    assert (bad["data"]["fun"], bad["data"]["success"]) == ("state.apply", False)
    assert "no_such" in json.dumps(bad["data"]["return"])
    rig.wait("the highstate to stay", lambda: rig.status()["web1"]["sync"] == "Synced")
    assert page.exists()


def test_lint_asks_the_controller_which_minions_there_are(make_rig, tmp_path):
    rig = make_rig(minions={"web1": {}})
    rig.wait_applied(rig.push("first"))
    tree = tmp_path / "tree"
    (tree / "reactor").mkdir(parents=True)
    (tree / "top.sls").write_text("base:\n  '*': []\n")
    for name, target in (("good", "web*"), ("bad", "wep1")):
        (tree / "reactor" / f"{name}.sls").write_text(f"x:\n  local.test.ping:\n    - tgt: '{target}'\n")
    assert rig.saltern("lint", str(tree), check=False).returncode == 0
    found = rig.saltern("lint", str(tree), "--controller", "--out", "json", check=False)
    [wrong] = json.loads(found.stdout)["findings"]
    assert (wrong["rule"], wrong["file"], "did you mean web1" in wrong["hint"]) == ("nobody", "reactor/bad.sls", True)
    rig.stop("controller")
    refused = rig.saltern("lint", str(tree), "--controller", check=False)
    assert refused.returncode == 3, "no controller answers"
