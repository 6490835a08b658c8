"""Runners and wheels from the command line: values, exit codes, history, events, what outlives its asker."""

import json
import signal
import subprocess

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


def test_a_runner_goes_on_when_nobody_waits_for_it_any_more(make_rig):
    rig = make_rig(minions={})
    asked = subprocess.Popen(
        [*SALTERN, "runner", "-c", str(rig.config), "test.sleep", "2"], stdout=subprocess.PIPE, stderr=subprocess.PIPE
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
