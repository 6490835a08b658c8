"""Calls of `state` that the controller compiles: `saltern run TARGET state.apply SLS pillar=…`, `state.show_*`."""

import json
import subprocess

import pytest
from rig import SALTERN

EXTRA = """
{% set root = grains['root'] %}
extra file:
  file.managed:
    - name: {{ root }}/extra.conf
    - makedirs: true
    - source: salt://extra.conf.j2
    - template: jinja
    - context: {number: {{ pillar['number'] }}, word: {{ pillar.get('word', 'none') }}}
extra tells:
  cmd.run:
    - name: echo {{ pillar.get('word', 'none') }} >> {{ root }}/told-extra
    - onchanges: [file: extra file]
"""
TEMPLATE = "{{ number }} {{ word }} {{ pillar.get('password', '') }}\n"


def with_extra(rig):
    (rig.work / "states" / "extra.sls").write_text(EXTRA)
    (rig.work / "states" / "extra.conf.j2").write_text(TEMPLATE)
    rig.wait_applied(rig.push("an SLS that no top file names"))


def run(rig, *arguments, target="web1", code=0):
    done = rig.saltern("run", target, "--out", "json", *arguments, check=False)
    assert done.returncode == code, done.stdout + done.stderr
    return json.loads(done.stdout)


def results(states):
    return {entry["__id__"]: entry["result"] for entry in states.values()}


def test_an_sls_outside_of_the_highstate(make_rig):
    rig = make_rig(minions={"web1": {}, "web2": {}})
    with_extra(rig)
    before = rig.status()["web1"]
    written = rig.root("web1") / "extra.conf"

    foretold = run(rig, "state.apply", "extra", "test=True")["web1"]
    assert results(foretold) == {"extra file": None, "extra tells": None}
    assert not written.exists()

    done = run(rig, "state.apply", "extra", "pillar={word: hello}", target="web*")
    assert sorted(done) == ["web1", "web2"]
    assert all(results(states) == {"extra file": True, "extra tells": True} for states in done.values())
    assert written.read_text() == "0 hello \n"
    assert (rig.root("web1") / "told-extra").read_text() == "hello\n"
    again = run(rig, "state.sls", "extra", "pillar={word: hello}")["web1"]
    assert not any(entry["changes"] for entry in again.values())

    after = rig.status()["web1"]
    same = ("sync", "health", "drift", "applied_revision", "desired_digest")
    assert {key: after.get(key) for key in same} == {key: before.get(key) for key in same}
    assert [(one["fun"], one["args"], one["outcome"]) for one in rig.history("web1")[:2]] == [
        ("state.sls", 'extra pillar={"word": "***"}', "ok"),
        ("state.apply", 'extra pillar={"word": "***"}', "changed"),
    ]


def test_what_does_not_compile_is_a_list_of_errors(make_rig):
    rig = make_rig(minions={"web1": {}})
    with_extra(rig)
    said = run(rig, "state.apply", "nowhere", code=1)["web1"]
    assert len(said) == 1
    assert "nowhere" in said[0]
    assert [(one["outcome"], one["state"]) for one in rig.history("web1")[:1]] == [("failed", "finished")]


def test_a_password_of_the_call_is_nowhere_in_plain(make_rig):
    rig = make_rig(minions={"web1": {}})
    with_extra(rig)
    given = 'pillar={"password": "hunter2-plain", "word": "hi", "deep": {"api_token": "t0ken-plain"}}'
    states = run(rig, "state.apply", "extra", given)["web1"]
    assert "hunter2-plain" in (rig.root("web1") / "extra.conf").read_text()
    seen = json.dumps([states, rig.history("web1")])
    run_id = rig.history("web1")[0]["run_id"]
    for asked in (
        ["history", run_id],
        ["why", "web1"],
        ["events", f"salt/job/{run_id}/*", "--since", "1h", "--count", "2", "--out", "json"],
    ):
        seen += rig.saltern(*asked, check=False).stdout
    seen += rig.log("controller", 10_000)
    assert "state.apply" in seen
    assert "hunter2-plain" not in seen
    assert "t0ken-plain" not in seen


SLOW = """
{% set root = grains['root'] %}
begins:
  cmd.run:
    - name: echo one >> {{ root }}/steps
waits:
  cmd.run:
    - name: while [ ! -e {{ root }}/go ]; do sleep 0.05; done
ends:
  cmd.run:
    - name: echo {{ pillar['word'] }} >> {{ root }}/steps
"""


@pytest.mark.parametrize("victim", ["controller", "web1"])
def test_a_call_goes_on_after_kill_9(make_rig, victim):
    rig = make_rig(minions={"web1": {}})
    (rig.work / "states" / "slow.sls").write_text(SLOW)
    rig.wait_applied(rig.push("a slow SLS"))
    steps = rig.root("web1") / "steps"
    rig.saltern("run", "web1", "-t", "0.1", "state.apply", "slow", "pillar={word: two}", check=False)
    rig.wait("the first state", steps.exists)
    rig.kill(victim, children=True)
    (rig.root("web1") / "go").touch()
    if victim == "controller":
        rig.start_controller()
    else:
        rig.start_minion("web1")
    rig.wait("the result", lambda: rig.history("web1")[0]["state"] == "finished")
    assert steps.read_text() == "one\ntwo\n", "what was done is not done again"
    run_id = rig.history("web1")[0]["run_id"]
    told = json.loads(rig.saltern("history", run_id, "--out", "json").stdout)
    assert results(told["value"]) == {"begins": True, "waits": True, "ends": True}
    assert [one["run_id"] for one in rig.history("web1")].count(run_id) == 1


def test_what_was_not_compiled_before_the_controller_stopped_is_told(make_rig):
    rig = make_rig(minions={"web1": {}})
    (rig.work / "states" / "endless.sls").write_text(
        "{% set many = range(9999) %}{% for i in many %}{% for j in many %}{% for k in many %}{% endfor %}{% endfor %}"
        "{% endfor %}\n"
    )
    rig.wait_applied(rig.push("an SLS that compiles for ever"))
    rig.saltern("run", "--async", "web1", "state.apply", "endless")
    assert rig.history("web1")[0]["state"] == "requested"
    rig.kill("controller", children=True)
    rig.start_controller()
    ended = rig.history("web1")[0]
    assert (ended["fun"], ended["state"], ended["outcome"]) == ("state.apply", "finished", "error")
    assert "nothing was run" in ended["summary"]


def test_shown_states_need_no_connection(make_rig):
    rig = make_rig(minions={"web1": {}})
    with_extra(rig)
    rig.stop("web1")
    rig.wait("the end of the session", lambda: rig.status()["web1"]["health"] != "Healthy")
    assert run(rig, "state.show_top") == {"web1": {"base": ["app"]}}
    assert run(rig, "state.sls_exists", "extra") == {"web1": True}
    assert run(rig, "state.id_exists", "extra file", "extra") == {"web1": True}
    low = run(rig, "state.show_low_sls", "extra", "pillar={word: hey}")["web1"]
    assert [(chunk["__id__"], chunk["fun"]) for chunk in low] == [("extra file", "managed"), ("extra tells", "run")]
    assert low[0]["context"]["word"] == "hey"


def test_other_functions_and_arguments(make_rig):
    rig = make_rig(minions={"web1": {}})
    (rig.work / "states" / "other_top.sls").write_text("base:\n  '*': [extra]\n")
    with_extra(rig)
    assert list(results(run(rig, "state.sls_id", "extra tells", "extra")["web1"])) == ["extra tells"]
    chosen = run(rig, "state.sls", "extra,app", "exclude=app", "test=True")["web1"]
    assert {entry["__sls__"] for entry in chosen.values()} == {"extra", "base"}
    assert "extra file" in results(run(rig, "state.top", "other_top.sls", "test=True")["web1"])
    with_word = run(rig, "state.highstate", "pillar={number: 7}", "test=True")["web1"]
    assert "+number 7" in json.dumps(with_word)
    refused = rig.saltern("run", "web1", "state.sls", "extra", "pillar=text", check=False)
    assert refused.returncode != 0
    assert "Pillar data must be formatted as a dictionary" in refused.stderr


def call(rig, *arguments, minion="web1"):
    command = [*SALTERN, "call", "-c", str(rig.directory / minion), "--out", "json", *arguments]
    return subprocess.run(command, capture_output=True, text=True, check=False)


def test_saltern_call_asks_the_controller(make_rig):
    rig = make_rig(minions={"web1": {}})
    with_extra(rig)
    foretold = call(rig, "state.apply", "extra", "test=True", "pillar={word: near}")
    assert foretold.returncode == 2, foretold.stdout + foretold.stderr
    assert results(json.loads(foretold.stdout)["local"]) == {"extra file": None, "extra tells": None}
    done = call(rig, "state.apply", "extra", "pillar={word: near}")
    assert done.returncode == 0, done.stdout + done.stderr
    assert (rig.root("web1") / "extra.conf").read_text() == "0 near \n"
    wrong = call(rig, "state.apply", "nowhere")
    assert wrong.returncode == 4
    assert "No matching sls found for 'nowhere'" in wrong.stdout
    other = call(rig, "state.sls", "extra", "saltenv=elsewhere")
    assert other.returncode == 4
    assert "no state of this minion comes from the saltenv 'elsewhere'" in other.stdout

    rig.stop("web1")
    alone = call(rig, "state.apply", "extra")
    assert alone.returncode == 4
    assert "start `saltern minion`" in alone.stdout
    held = call(rig, "state.apply", "app", "test=True")
    assert held.returncode == 0, "what is in the highstate needs nobody"


def test_a_minion_chooses_no_pillar_by_what_it_gives(make_rig):
    rig = make_rig(minions={"web1": {}})
    (rig.work / "pillar" / "numbers.sls").write_text(
        "number: 0\n{% if pillar.get('customer') == 'other' %}treasure: theirs\n{% endif %}\n"
    )
    (rig.work / "states" / "shows.sls").write_text(
        "shown:\n  test.nop:\n    - name: {{ pillar.get('treasure', 'none') }} {{ pillar.get('customer', 'none') }}\n"
    )
    rig.wait_applied(rig.push("a pillar that looks at the pillar"))
    asked = call(rig, "state.show_low_sls", "shows", "pillar={customer: other}")
    assert asked.returncode == 0, asked.stdout + asked.stderr
    assert json.loads(asked.stdout)["local"][0]["name"] == "none other"


def test_a_schedule_runs_an_sls_of_no_highstate(make_rig):
    rig = make_rig(minions={"web1": {}})
    (rig.work / "pillar" / "numbers.sls").write_text(
        "number: 0\nschedule:\n  extra:\n    function: state.sls\n    args: [extra]\n    kwargs: {queue: true}\n"
        "    run_on_start: true\n"
        "    days: 1\n"
    )
    with_extra(rig)
    rig.wait("the scheduled job", (rig.root("web1") / "extra.conf").exists)
