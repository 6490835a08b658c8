"""Orchestrations on a real controller and minions: steps, their order, failures, what outlives the controller."""

import json

import pytest

DEPLOY = """
ping:
  salt.function:
    - name: test.arg
    - tgt: 'web*'
    - arg: [1, two]
    - kwarg: {three: 3}

databases:
  salt.state:
    - tgt: 'db*'
    - highstate: True
    - require_in:
      - salt: ping

who:
  salt.runner:
    - name: manage.up
    - require:
      - salt: ping

keys:
  salt.wheel:
    - name: key.list_all
    - require:
      - salt: who
"""


def orchestrate(rig, *words, check=True):
    done = rig.saltern("runner", *words, "--out", "json", check=False)
    assert not check or done.returncode == 0, done.stderr + done.stdout
    return done.returncode, json.loads(done.stdout) if done.stdout else done.stderr


def steps(found):
    """(name of the step, result, comment) in their order."""
    [running] = found["data"].values()
    ordered = sorted(running.items(), key=lambda item: item[1]["__run_num__"])
    return [(key.split("_|-")[1], one["result"], one["comment"]) for key, one in ordered]


def write(rig, **sls):
    for name, text in sls.items():
        path = rig.work / "states" / "orch" / f"{name}.sls"
        path.parent.mkdir(exist_ok=True)
        path.write_text(text)
    return rig.push("orchestrations")


@pytest.fixture(scope="module")
def rig(make_shared_rig):
    made = make_shared_rig()
    made.wait_applied(write(made, deploy=DEPLOY))
    return made


def test_steps_run_in_their_order_and_say_what_came_of_them(rig):
    code, found = orchestrate(rig, "state.orchestrate", "orch.deploy")
    assert code == 0
    assert found["retcode"] == 0
    assert found["outputter"] == "highstate"
    assert steps(found) == [
        ("databases", True, "States ran successfully. No changes made to db1."),
        ("ping", True, "Function ran successfully. Function test.arg ran on web1, web2."),
        ("who", True, "Runner function 'manage.up' executed."),
        ("keys", True, "Wheel function 'key.list_all' executed."),
    ]


def test_a_test_run_does_nothing(rig):
    before = [run for run in rig.history() if run["kind"] == "call"]
    code, found = orchestrate(rig, "state.orch", "orch.deploy", "test=True")
    assert code == 0
    assert [(name, result) for name, result, _ in steps(found)] == [
        ("databases", True),
        ("ping", None),
        ("who", None),
        ("keys", None),
    ]
    calls = [run for run in rig.history() if run["kind"] == "call"][: -len(before) or None]
    assert [(run["fun"], run["args"]) for run in calls] == [("state.highstate", "test=true")]


FAILS = """
away:
  salt.function:
    - name: test.ping
    - tgt: '*'

allowed:
  salt.function:
    - name: test.ping
    - tgt: '*'
    - expect_minions: False

nobody:
  salt.state:
    - tgt: 'mail*'
    - sls: web

bad:
  salt.function:
    - name: test.exception
    - tgt: web1
    - arg: [on purpose]

after:
  salt.runner:
    - name: test.arg
    - require:
      - salt: bad

rescue:
  salt.runner:
    - name: test.arg
    - arg: [rescued]
    - onfail:
      - salt: bad

machine:
  cmd.run:
    - name: id

runs_programs:
  salt.runner:
    - name: salt.cmd
    - fun: cmd.run
    - cmd: id

misspelt:
  salt.stat:
    - tgt: web1

wrong:
  salt.function:
    - name: test.ping
    - target: web1
"""


def test_what_fails_is_a_failure_and_says_why(make_rig):
    rig = make_rig()
    rig.wait_applied(write(rig, fails=FAILS))
    rig.stop("web2")
    rig.wait(
        "web2 to be away", lambda: "web2" not in json.loads(rig.saltern("runner", "manage.up", "--out", "json").stdout)
    )
    code, found = orchestrate(rig, "state.orchestrate", "orch.fails", check=False)
    assert code == 1
    assert found["retcode"] == 1
    by_name = {name: (result, comment) for name, result, comment in steps(found)}
    summary = next(run["summary"] for run in rig.history() if run["fun"] == "state.orchestrate")
    assert summary.startswith("away")
    assert "(+" in summary
    assert by_name["away"][0] is False
    assert by_name["away"][1].startswith("Running function test.ping failed on minions: web2")
    assert "Not connected" in by_name["away"][1]
    assert by_name["allowed"] == (True, "Function ran successfully. Function test.ping ran on db1, web1.")
    assert by_name["nobody"] == (False, "No minions returned: no minion matches 'mail*'")
    assert by_name["bad"][0] is False
    assert by_name["after"] == (False, "One or more requisite failed: orch.fails.bad")
    assert by_name["rescue"] == (True, "Runner function 'test.arg' executed.")
    assert "cmd.run would be run on the controller's machine" in by_name["machine"][1]
    assert "salt.cmd runs programs on the controller's machine" in by_name["runs_programs"][1]
    assert "did you mean salt.state" in by_name["misspelt"][1]
    assert "there is no argument target" in by_name["wrong"][1] or "missing tgt" in by_name["wrong"][1]


def test_what_does_not_compile_is_said(rig):
    code, found = orchestrate(rig, "state.orchestrate", "orch.nothing", check=False)
    assert code == 1
    assert found["retcode"] == 1
    [errors] = found["data"].values()
    assert "orch.nothing" in errors[0]


SLOW = """
first:
  salt.function:
    - name: test.sleep
    - tgt: 'web*'
    - arg: [{seconds}]

second:
  salt.runner:
    - name: test.sleep
    - s_time: {seconds}
    - require:
      - salt: first

third:
  salt.function:
    - name: test.arg
    - tgt: db1
    - require:
      - salt: first
"""


def begun(rig, name):
    return rig.saltern("runner", "--async", "state.orchestrate", name).stdout.strip()


def run_of(rig, jid):
    return next(run for run in rig.history() if run["run_id"] == jid)


def calls(rig, fun):
    return [run for run in rig.history() if run["fun"] == fun and run["kind"] == "call"]


def test_a_controller_that_is_killed_goes_on_and_asks_nobody_twice(make_rig):
    rig = make_rig()
    rig.wait_applied(
        write(rig, slow=SLOW.format(seconds=3).replace("- name: test.sleep\n    - s_time: 3", "- name: test.arg"))
    )
    jid = begun(rig, "orch.slow")
    rig.wait("the minions to sleep", lambda: len(calls(rig, "test.sleep")) == 2)
    rig.kill("controller", children=True)
    rig.start_controller()
    rig.wait("the end", lambda: run_of(rig, jid)["state"] == "finished")
    assert run_of(rig, jid)["outcome"] == "ok"
    assert sorted(run["minion"] for run in calls(rig, "test.sleep")) == ["web1", "web2"]
    assert {run["outcome"] for run in calls(rig, "test.sleep")} == {"ok"}
    found = (
        rig.ask("/run", id=jid)
        if False
        else json.loads(rig.saltern("runner", "jobs.lookup_jid", jid, "--out", "json").stdout)
    )
    assert "ran on web1, web2" in json.dumps(found)


def test_a_runner_that_the_controller_did_not_live_to_end_fails_its_step(make_rig):
    rig = make_rig()
    rig.wait_applied(write(rig, slow=SLOW.format(seconds=600).replace("arg: [600]", "arg: [0.1]")))
    jid = begun(rig, "orch.slow")
    rig.wait("the runner", lambda: any(run["fun"] == "test.sleep" and run["kind"] == "runner" for run in rig.history()))
    rig.kill("controller", children=True)
    rig.start_controller()
    rig.wait("the end", lambda: run_of(rig, jid)["state"] == "finished")
    assert run_of(rig, jid)["outcome"] == "failed"
    assert len(calls(rig, "test.sleep")) == 2
    assert [run["minion"] for run in calls(rig, "test.arg")] == ["db1"]


def test_without_the_option_it_is_closed(make_rig):
    rig = make_rig(resume_orchestrations=False)
    rig.wait_applied(write(rig, slow=SLOW.format(seconds=600)))
    jid = begun(rig, "orch.slow")
    rig.wait("the minions to sleep", lambda: len(calls(rig, "test.sleep")) == 2)
    rig.kill("controller", children=True)
    rig.start_controller()
    assert run_of(rig, jid)["summary"] == "the controller ended before this call did"


def test_a_controller_that_is_stopped_goes_on_too(make_rig):
    rig = make_rig()
    rig.wait_applied(
        write(rig, slow=SLOW.format(seconds=2).replace("- name: test.sleep\n    - s_time: 2", "- name: test.arg"))
    )
    jid = begun(rig, "orch.slow")
    rig.wait("the minions to sleep", lambda: len(calls(rig, "test.sleep")) == 2)
    rig.stop("controller")
    rig.start_controller()
    rig.wait("the end", lambda: run_of(rig, jid)["state"] == "finished")
    assert run_of(rig, jid)["outcome"] == "ok"
    assert len(calls(rig, "test.sleep")) == 2


def test_pause_resume_and_soft_kill(make_rig):
    rig = make_rig()
    rig.wait_applied(write(rig, slow=SLOW.format(seconds=3)))
    jid = begun(rig, "orch.slow")
    rig.wait("the first step", lambda: len(calls(rig, "test.sleep")) == 2)
    rig.saltern("runner", "state.pause", jid, "third")
    rig.wait(
        "the second step",
        lambda: any(run["fun"] == "test.sleep" and run["kind"] == "runner" and run["outcome"] for run in rig.history()),
    )
    assert calls(rig, "test.arg") == []
    refused = rig.saltern("runner", "state.pause", jid, "fourth", check=False)
    assert refused.returncode == 1
    assert "its steps are first, second, third" in refused.stderr
    rig.saltern("runner", "state.resume", jid, "third")
    rig.wait("the end", lambda: run_of(rig, jid)["state"] == "finished")
    assert run_of(rig, jid)["outcome"] == "ok"

    jid = begun(rig, "orch.slow")
    rig.wait("the first step", lambda: len(calls(rig, "test.sleep")) == 4)
    rig.saltern("runner", "state.soft_kill", jid)
    rig.wait("the end", lambda: run_of(rig, jid)["state"] == "finished")
    assert run_of(rig, jid)["outcome"] == "failed"
    assert len(calls(rig, "test.arg")) == 1
    gone = rig.saltern("runner", "state.soft_kill", jid, check=False)
    assert f"no orchestration with jid {jid} goes on" in gone.stderr


LATE = """
{%- set turns = namespace(count=0) %}
{%- for one in range(2500) %}{% for other in range(1000) %}{% set turns.count = other %}{% endfor %}{% endfor %}
first:
  salt.function:
    - name: test.arg
    - tgt: db1
"""


def test_what_is_still_being_compiled_is_paused_before_its_first_step(make_rig):
    rig = make_rig()
    rig.wait_applied(write(rig, late=LATE, broken=LATE + "    - ]"))
    jid = begun(rig, "orch.late")
    rig.saltern("runner", "state.pause", jid)
    rig.wait("the pause", lambda: "paused" in rig.saltern("orchestrations", "list").stdout)
    assert calls(rig, "test.arg") == []
    rig.saltern("runner", "state.resume", jid)
    rig.wait("the end", lambda: run_of(rig, jid)["state"] == "finished")
    assert len(calls(rig, "test.arg")) == 1
    ended = rig.saltern("runner", "state.pause", begun(rig, "orch.broken"), check=False)
    assert ended.returncode == 1
    assert "has ended before its first step" in ended.stderr


MANY = """
both:
  salt.parallel_runners:
    - runners:
        one:
          - name: test.arg
          - kwarg:
              a: 1
        state.orchestrate:
          - kwarg:
              mods: orch.inner

batches:
  salt.function:
    - name: test.ping
    - tgt: '*'
    - batch: 1

half:
  salt.function:
    - name: test.ping
    - tgt: '*'
    - subset: 1
    - parallel: True

events:
  salt.wait_for_event:
    - name: 'my/app/*/ready'
    - id_list: [web1, web2]
    - timeout: 60
    - parallel: True

none:
  salt.wait_for_event:
    - name: 'my/app/*/never'
    - id_list: [web1]
    - timeout: 1
"""
INNER = """
inner:
  salt.function:
    - name: test.ping
    - tgt: {{ pillar.get('who', 'db1') }}
"""


def test_batches_subsets_events_and_orchestrations_in_orchestrations(make_rig):
    rig = make_rig()
    rig.wait_applied(write(rig, many=MANY, inner=INNER))
    jid = begun(rig, "orch.many")
    rig.wait("the wait", lambda: len(calls(rig, "test.ping")) >= 5)
    for minion in ("web1", "web2"):
        rig.saltern("run", minion, "event.send", f"my/app/{minion}/ready")
    rig.wait("the end", lambda: run_of(rig, jid)["state"] == "finished")
    found = json.loads(rig.saltern("runner", "jobs.lookup_jid", jid, "--out", "json").stdout)
    text = json.dumps(found)
    assert "All runner functions executed successfully." in text
    assert "Function ran successfully. Function test.ping ran on db1, web1, web2." in text
    assert "All events seen in" in text
    assert "Timeout value reached. Not seen: ['web1']" in text
    code, inner = orchestrate(rig, "state.orchestrate", "orch.inner", "pillar={who: web2}")
    assert code == 0
    assert steps(inner) == [("inner", True, "Function ran successfully. Function test.ping ran on web2.")]


def test_single_steps_and_high_data(rig):
    code, found = orchestrate(rig, "state.orchestrate_single", "fun=salt.wheel", "name=key.list_all")
    assert code == 0
    assert steps(found) == [("key.list_all", True, "Wheel function 'key.list_all' executed.")]
    data = "{stage: {salt.function: [{name: test.ping}, {tgt: 'web*'}]}}"
    code, found = orchestrate(rig, "state.orchestrate_high", data)
    assert code == 0
    assert [one[0] for one in steps(found)] == ["stage"]
    code, shown = orchestrate(rig, "state.orch_show_sls", "orch.deploy")
    [data] = shown.values()
    assert data["ping"]["__sls__"] == "orch.deploy"


STATES = """
files:
  salt.state:
    - tgt: 'web*'
    - sls: site
    - pillar:
        text: {{ pillar.get('text', 'hello') }}

again:
  salt.state:
    - tgt: 'web*'
    - sls:
      - site
    - pillar: {text: {{ pillar.get('text', 'hello') }}}
    - require:
      - salt: files

restart:
  salt.runner:
    - name: test.arg
    - onchanges:
      - salt: files
"""
SITE = """
{path}:
  test.configurable_test_state:
    - changes: {{{{ pillar['text'] == 'hello' }}}}
    - result: {{{{ pillar['text'] != 'bad' }}}}
    - comment: {{{{ pillar['text'] }}}}
"""


def test_sls_that_no_top_file_names_run_with_their_pillar(make_rig):
    rig = make_rig()
    (rig.work / "states" / "site.sls").write_text(SITE.format(path="here"))
    rig.wait_applied(write(rig, states=STATES))
    code, found = orchestrate(rig, "state.orchestrate", "orch.states")
    assert code == 0
    assert steps(found)[0] == ("files", True, "States ran successfully. Updating web1, web2.")
    [running] = found["data"].values()
    ret = next(one for key, one in running.items() if "files" in key)["changes"]
    assert ret["out"] == "highstate"
    assert next(iter(ret["ret"]["web1"].values()))["comment"] == "hello"
    assert steps(found)[2][:2] == ("restart", True)
    code, found = orchestrate(rig, "state.orchestrate", "orch.states", "pillar={text: bad}", check=False)
    assert code == 1
    assert [(name, result) for name, result, _ in steps(found)] == [
        ("files", False),
        ("again", False),
        ("restart", True),
    ]
    assert steps(found)[0][2] == "Run failed on minions: web1, web2"


@pytest.mark.parametrize("moment", ["compile", "sent"])
def test_states_are_run_once_when_the_controller_is_killed(make_rig, moment):
    rig = make_rig()
    (rig.work / "states" / "site.sls").write_text("wait:\n  module.run:\n    - test.sleep:\n      - length: 2\n")
    rig.wait_applied(write(rig, states="files:\n  salt.state:\n    - tgt: '*'\n    - sls: site\n"))
    jid = begun(rig, "orch.states")
    rig.wait("the minions to be asked", lambda: len(calls(rig, "state.sls")) == 3)
    if moment == "sent":
        rig.wait("a minion to begin", lambda: any(run["state"] == "started" for run in calls(rig, "state.sls")))
    rig.kill("controller", children=True)
    rig.start_controller()
    rig.wait("the end", lambda: run_of(rig, jid)["state"] == "finished")
    assert run_of(rig, jid)["outcome"] == "ok", rig.saltern("show", jid).stdout
    ran = [run for run in calls(rig, "state.sls") if run["outcome"] != "error"]
    assert sorted(run["minion"] for run in ran) == ["db1", "web1", "web2"]
    assert {run["outcome"] for run in ran} == {"changed"}
