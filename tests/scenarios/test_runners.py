"""Runners and wheels from the command line: values, exit codes, history, events, what outlives its asker."""

import json
import re
import signal
import subprocess
from pathlib import Path

from rig import SALTERN


def runner(rig, *words, check=True):
    return rig.saltern("runner", *words, check=check)


def value(rig, *words):
    return json.loads(runner(rig, *words, "--out", "json").stdout)


def test_a_runner_returns_its_value_and_is_in_the_history(make_rig):
    rig = make_rig(minions={})
    assert value(rig, "test.arg", "a", "2", "b=[1, x]") == {"args": ["a", 2], "kwargs": {"b": [1, "x"]}}
    assert runner(rig, "test.metasyntactic", "locality=uk").stdout == "- wibble\n- wobble\n- wubble\n- flob\n"
    newest, before = json.loads(rig.saltern("history", "--out", "json").stdout)[:2]
    assert (before["kind"], before["fun"], before["args"], before["outcome"]) == (
        "runner",
        "test.arg",
        "a 2 b='[1, \"x\"]'".replace("'", ""),
        "ok",
    )
    assert newest["fun"] == "test.metasyntactic"
    assert newest["user"]
    shown = rig.saltern("history", newest["run_id"]).stdout
    assert shown.endswith("- wibble\n- wobble\n- wubble\n- flob\n")


def test_what_fails_ends_with_1_and_says_why(make_rig):
    rig = make_rig(minions={})
    failed = runner(rig, "error.error", "name=ValueError", "message=on purpose", check=False)
    assert failed.returncode == 1
    assert "on purpose" in failed.stderr
    unknown = runner(rig, "test.args", check=False)
    assert unknown.returncode == 1
    assert "'test.args' is not available. Did you mean test.arg" in unknown.stderr
    bad = runner(rig, "test.sleep", "length=3", check=False)
    assert bad.returncode == 1
    assert "there is no argument length" in bad.stderr
    assert "Usage: test.sleep(s_time=10)" in bad.stderr
    assert "It is not built: there is no salt-ssh" in runner(rig, "ssh.cmd", check=False).stderr


def test_what_the_controller_refuses_to_ask_of_minions_is_the_result_of_the_runner(make_rig):
    rig = make_rig(minions={"web1": {}})
    refused = runner(rig, "salt.execute", "web1", "state.sls", check=False)
    assert refused.returncode == 1
    assert "state.sls needs the name of an SLS" in refused.stderr
    assert "Exception" not in refused.stderr
    assert rig.history()[0]["outcome"] == "failed"
    assert rig.history()[0]["summary"].startswith("state.sls needs the name of an SLS")


def test_a_runner_goes_on_when_nobody_waits_for_it_any_more(make_rig):
    rig = make_rig(minions={})
    asked = subprocess.Popen(
        [*SALTERN, "runner", "-c", str(rig.config), "test.sleep", "4"], stdout=subprocess.PIPE, stderr=subprocess.PIPE
    )
    rig.wait("it to begin", lambda: rig.history() and rig.history()[0]["fun"] == "test.sleep")
    asked.send_signal(signal.SIGINT)
    _, said = asked.communicate()
    jid = rig.history()[0]["run_id"]
    assert asked.returncode == 130
    assert f"it goes on; its result: saltern history {jid}" in said.decode()
    rig.wait("its end", lambda: rig.history()[0]["outcome"] == "ok")

    late = runner(rig, "-t", "0.2", "test.sleep", "1", check=False)
    assert late.returncode == 1
    assert "did not end within 0.2 s; it goes on" in late.stderr
    jid = runner(rig, "--async", "test.sleep", "0.1").stdout.strip()
    rig.wait("its end", lambda: rig.history()[0]["outcome"] == "ok")
    assert rig.history()[0]["run_id"] == jid


def test_what_a_controller_did_not_live_to_end_is_closed_by_the_next(make_rig):
    rig = make_rig(minions={})
    runner(rig, "--async", "test.sleep", "600")
    rig.kill("controller", children=True)
    rig.start_controller()
    assert [(run["outcome"], run["summary"]) for run in rig.history()] == [
        ("failed", "the controller ended before this call did")
    ]


def test_documentation_lists_functions(make_rig):
    rig = make_rig(minions={})
    said = runner(rig, "-d", "test").stdout
    assert "test.sleep:\n    test.sleep(s_time=10)\n\n    Wait for so many seconds.\n" in said
    assert "error.error" not in said
    assert "error.error" in rig.saltern("wheel", "-d").stdout


def test_jobs_are_looked_up_as_in_salt(make_rig):
    rig = make_rig(minions={"web1": {}, "web2": {}})
    rig.saltern("run", "*", "test.arg", "a", "b=2")
    jobs = value(rig, "jobs.list_jobs", "search_function=test.arg")
    (jid, job), *others = jobs.items()
    assert not others, "the minions of one call are one job"
    assert (job["Function"], job["Arguments"]) == ("test.arg", ["a", {"__kwarg__": True, "b": 2}])
    assert (job["Target"], job["Target-type"]) == ("*", "glob")
    returned = {"args": ["a"], "kwargs": {"b": 2}}
    assert value(rig, "jobs.lookup_jid", jid) == {"web1": returned, "web2": returned}
    found = value(rig, "jobs.list_job", jid)
    assert found["Minions"] == ["web1", "web2"]
    assert found["Result"]["web1"] == {"return": returned, "retcode": 0, "success": True}
    assert value(rig, "jobs.exit_success", jid) == {"web1": True, "web2": True}
    assert list(value(rig, "jobs.last_run", "function=test.*")) == [jid]
    assert value(rig, "jobs.active") == {}
    assert value(rig, "jobs.list_jobs", "start_time=2126-01-01") == {}
    own = value(rig, "jobs.list_jobs", "search_function=runner.jobs.list_job")
    (jid,) = own
    (data,) = value(rig, "jobs.lookup_jid", jid).values()
    assert (data["fun"], data["success"], data["return"]["Function"]) == ("runner.jobs.list_job", True, "test.arg")
    asked = runner(rig, "jobs.list_job", "20200101000000000000", "--out", "json", check=False)
    unknown = json.loads(asked.stdout)
    assert (asked.returncode, unknown["StartTime"], unknown["Result"]) == (1, "2020, Jan 01 00:00:00.000000", {})


def test_what_runners_know_of_minions(make_rig):
    rig = make_rig(minions={"web1": {"roles": ["web"]}, "web2": {}})
    assert value(rig, "manage.up") == ["web1", "web2"]
    rig.stop("web2")
    rig.wait("it to be gone", lambda: value(rig, "manage.status") == {"up": ["web1"], "down": ["web2"]})
    assert value(rig, "manage.down") == ["web2"]
    assert value(rig, "manage.present") == ["web1"]
    assert value(rig, "manage.not_present") == ["web2"]
    assert value(rig, "cache.grains", "web1")["web1"]["roles"] == ["web"]
    versions = value(rig, "manage.versions")
    assert list(versions["Up to date"]) == ["web1"]
    assert versions["Minion offline"] == {"web2": False}
    assert value(rig, "salt.execute", "*", "test.arg", "arg=[1]", "kwarg={a: 2}") == {
        "web1": {"args": [1], "kwargs": {"a": 2}}
    }
    assert value(rig, "survey.hash", "web1", "test.echo", "x") == [{"pool": ["web1"], "result": "x"}]
    assert value(rig, "match.compound_matches", "G@roles:web and web*", "web1") == {"res": "web1"}
    assert value(rig, "manage.down", "removekeys=True") == ["web2"]
    assert rig.keys("accepted") == ["web1"]
    nobody = runner(rig, "salt.execute", "nobody", "test.ping", "--out", "json")
    assert (nobody.stdout, nobody.stderr) == ("{}\n", "no minion matches 'nobody' (glob)\n")


def test_queues_are_kept_and_processed_by_events(make_rig):
    rig = make_rig(minions={})
    for items in ("a", "[b, {c: 1}]"):
        assert value(rig, "queue.insert", "q", items) is True
    assert "is in the queue 'q' already" in runner(rig, "queue.insert", "q", "a", check=False).stderr
    rig.kill("controller", children=True)
    rig.start_controller()
    assert value(rig, "queue.list_items", "q") == ["a", "b", {"c": 1}]
    assert value(rig, "queue.list_queues") == ["q"]
    assert value(rig, "queue.pop", "q") == ["a"]
    assert value(rig, "queue.delete", "q", "b") is True
    waiting = subprocess.Popen(
        [*SALTERN, "runner", "-c", str(rig.config), "state.event", "salt/queue/*", "count=1"],
        stdout=subprocess.PIPE,
        text=True,
    )
    rig.wait("it to listen", lambda: value(rig, "jobs.master")[0]["fun"] == "runner.state.event")
    assert value(rig, "queue.process_queue", "q", "all") == {"items": [{"c": 1}], "backend": "sqlite", "queue": "q"}
    tag, data = waiting.communicate()[0].strip().split("\t")
    assert tag == "salt/queue/q/process"
    assert json.loads(data)["items"] == [{"c": 1}]
    assert value(rig, "queue.list_length", "q") == 0


def test_state_event_ends_with_its_reader(make_rig):
    rig = make_rig(minions={})
    asked = subprocess.Popen([*SALTERN, "runner", "-c", str(rig.config), "state.event"], stdout=subprocess.DEVNULL)
    rig.wait("it to listen", lambda: [one["fun"] for one in value(rig, "jobs.master")][:1] == ["runner.state.event"])
    asked.send_signal(signal.SIGKILL)
    asked.wait()
    rig.wait("it to end", lambda: "runner.state.event" not in [one["fun"] for one in value(rig, "jobs.master")])


def test_trees_are_shown_from_the_live_revision(make_rig):
    rig = make_rig(minions={})
    (rig.work / "states" / "bin").mkdir()
    (rig.work / "states" / "bin" / "raw").write_bytes(b"\0\1")
    (rig.work / "states" / "bin" / "link").symlink_to("raw")
    rig.push("first")
    rig.wait("the tree to be live", lambda: rig.remotes()[0]["commit"])
    rig.wait(
        "it to be shown",
        lambda: runner(rig, "fileserver.envs", "--out", "json", check=False).stdout == '[\n  "base"\n]\n',
    )
    assert "top.sls" in value(rig, "fileserver.file_list")
    assert value(rig, "fileserver.dir_list") == ["bin"]
    assert value(rig, "fileserver.symlink_list") == {"bin/link": "raw"}
    assert value(rig, "fileserver.update") is True

    def wheel(*words):
        return json.loads(rig.saltern("wheel", *words, "--out", "json").stdout)

    assert wheel("file_roots.find", "bin/raw") == [{"salt://bin/raw": "bin"}]
    assert wheel("file_roots.read", "bin/raw") == []
    assert wheel("file_roots.read", "nope") == []
    assert wheel("file_roots.read", "top.sls") == [{"salt://top.sls": (rig.work / "states/top.sls").read_text()}]
    assert wheel("file_roots.list_roots")["base"][0]["salt://"]["bin"] == {"link": "f", "raw": "f"}
    assert "push a commit" in rig.saltern("wheel", "file_roots.write", check=False).stderr


def test_wheels_change_keys_as_saltern_key_does(make_rig):
    rig = make_rig(minions={"web1": {}, "db1": {}})

    def wheel(*words):
        return json.loads(rig.saltern("wheel", *words, "--out", "json").stdout)

    assert wheel("key.list_all") == {
        "minions": ["db1", "web1"],
        "minions_pre": [],
        "minions_rejected": [],
        "minions_denied": [],
        "local": ["controller.pub"],
    }
    assert wheel("key.reject", "web*") == {}
    assert wheel("key.reject", "web*", "include_accepted=True") == {"minions_rejected": ["web1"]}
    assert wheel("key.accept", "*", "include_rejected=True") == {"minions": ["web1"]}
    assert wheel("key.reject_dict", "{minions: [db1]}", "include_accepted=True") == {"minions_rejected": ["db1"]}
    assert wheel("key.list", "rejected") == {"minions_rejected": ["db1"]}
    assert list(wheel("key.finger", "*")) == ["minions_rejected", "minions"]
    assert wheel("key.print", "web1")["minions"]["web1"]
    assert wheel("key.delete", "db1") == {}
    assert "db1" not in rig.keys("rejected")
    assert wheel("minions.connected") in ([], ["web1"])
    made = [entry for entry in rig.history() if entry["kind"] == "wheel"]
    assert made[0]["user"]
    assert {"key.delete", "key.accept"} <= {entry["fun"] for entry in made}


def test_options_are_shown_without_secrets(make_rig):
    rig = make_rig(minions={}, hook_secret="hunter2", ext_pillar=[{"http": {"url": "http://u:pw@x/"}}])
    shown = rig.saltern("wheel", "config.values", "--out", "json").stdout
    assert "hunter2" not in shown
    assert "u:pw" not in shown
    values = json.loads(shown)
    assert values["hook_secret"] == "***"
    assert values["interface"] == "127.0.0.1"
    assert value(rig, "config.get", "limits:runner:at_once") == 100


OWN = """
import time

import salt.utils.args


def __virtual__():
    return "fleet"


def ping(tgt, pause=0):
    '''Who answers.'''
    __jid_event__.fire_event({"message": "asking " + tgt}, "progress")
    print("printed")
    found = __salt__["salt.execute"](tgt, "test.ping", tgt_type="glob")
    return {"up": __salt__["manage.up"](), "found": found, "interface": __opts__["interface"], "jid": __jid__}


def both():
    return __salt__["fleet.plain"]() + [__salt__["salt.cmd"]("test.echo", "here")]


def plain():
    return [1]


def bad():
    raise RuntimeError("on purpose")


def unknown():
    return __salt__["no.such"]()


def refused():
    return __salt__["salt.execute"]("*", "test.ping", tgt_type="odd")


def writes():
    open("/tmp/saltern-runner-was-here", "w")


def forever():
    while True:
        time.sleep(1)


def huge():
    return "x" * 40_000_000


def endless_print():
    for number in range(100000):
        print("line of some length", number)
    return True


def exits():
    import os

    os._exit(3)
"""


def test_a_runner_of_the_tree_is_salts(make_rig):
    rig = make_rig(minions={"web1": {}}, limits={"runner": {"seconds": 6, "output_bytes": 2000}})
    (rig.work / "states" / "_runners").mkdir()
    (rig.work / "states" / "_runners" / "ours.py").write_text(OWN)
    rig.push("a runner")
    rig.wait("it to be there", lambda: runner(rig, "fleet.plain", check=False).returncode == 0)
    asked = runner(rig, "fleet.ping", "web*", "--out", "yaml")
    assert asked.stderr == "asking web*\n"
    assert asked.stdout.startswith("printed\nup:\n- web1\nfound:\n  web1: true\ninterface: 127.0.0.1\njid: '2")
    assert value(rig, "fleet.both") == [1, "here"]
    for fun, said in {
        "bad": "RuntimeError: on purpose (_runners/ours.py, line",
        "unknown": "KeyError: 'no.such'",
        "refused": "there is no tgt_type 'odd'",
        "nope": "has no function nope",
        "huge": "has more than 16777216 bytes",
        "exits": "the process of fleet.exits ended without a value",
        "forever": "fleet.forever was ended: it took more than 6 s",
        "writes": "PermissionError",
    }.items():
        failed = runner(rig, f"fleet.{fun}", check=False)
        assert failed.returncode == 1, fun
        assert said in failed.stderr, fun
    assert len(runner(rig, "fleet.endless_print").stdout) < 2100
    assert "Who answers." in runner(rig, "-d", "fleet").stdout


def test_python_of_the_tree_that_is_switched_off_is_not_run(make_rig):
    rig = make_rig(minions={}, allow_py_renderer=False)
    (rig.work / "states" / "_runners").mkdir()
    (rig.work / "states" / "_runners" / "ours.py").write_text("def plain():\n    return 1\n")
    rig.push("a runner")
    rig.wait("it to be known", lambda: "switched off" in runner(rig, "ours.plain", check=False).stderr)


def test_an_execution_function_runs_on_the_controllers_machine(make_rig):
    rig = make_rig(minions={})
    assert value(rig, "salt.cmd", "cmd.run", "echo $((1 + 1))") == "2"
    assert value(rig, "salt.cmd", "test.arg", "1", "a=b") == {"args": [1], "kwargs": {"a": "b"}}
    assert "is not available" in runner(rig, "salt.cmd", "no.such", check=False).stderr


def test_the_example_of_the_page_runs(make_rig):
    page = (Path(__file__).parents[2] / "docs" / "runners.md").read_text()
    example = re.search(r"```python\n(# states/_runners/fleet.py\n.*?)```", page, re.DOTALL)
    rig = make_rig(minions={"web1": {}})
    (rig.work / "states" / "_runners").mkdir()
    (rig.work / "states" / "_runners" / "fleet.py").write_text(example[1])
    rig.push("the example")
    rig.wait("it to be there", lambda: runner(rig, "fleet.answering", "web*", check=False).returncode == 0)
    assert value(rig, "fleet.answering", "web*") == {"answering": ["web1"], "down": []}


def test_a_runner_of_the_administrator_is_not_sandboxed(make_rig, tmp_path):
    (tmp_path / "runners").mkdir()
    (tmp_path / "runners" / "mine_too.py").write_text(
        "def touch(path):\n    open(path, 'w').close()\n    return __salt__['test.arg'](path)['args']\n"
    )
    rig = make_rig(minions={}, extension_modules=str(tmp_path))
    assert value(rig, "mine_too.touch", str(tmp_path / "made")) == [str(tmp_path / "made")]
    assert (tmp_path / "made").exists()
