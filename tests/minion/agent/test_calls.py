"""Execution functions through an agent process."""

from __future__ import annotations

import re
import sys
import time
from pathlib import Path

import pytest

from wire.messages import Call, CheckCalls, Grains, Held, Hello, RunResult, RunStarted


@pytest.fixture
def online(controller, agents):
    agent = agents().start()
    controller.next(Hello)
    return agent


def call(controller, run_id, fun, *args, timeout=0.0, **kwargs):
    controller.send(Call(run_id=run_id, fun=fun, args=args, kwargs=kwargs, timeout=timeout))


def test_answers(controller, online):
    call(controller, "c1", "test.ping")
    result = controller.result("c1")
    assert (result.kind, result.outcome, result.value) == ("call", "ok", True)


def test_errors_are_told(controller, online):
    call(controller, "c1", "test.pong")
    call(controller, "c2", "test.ping", "surplus")
    assert "'test.pong' is not available" in controller.result("c1").error
    assert controller.result("c1").outcome == "error"
    assert "Passed invalid arguments to test.ping" in controller.result("c2").error


def test_what_failed_is_told_as_failed(controller, online, desired_state, tmp_path):
    controller.desire(desired_state(("test", "succeed_without_changes", "a"), ("test", "fail_without_changes", "b")))
    for number, (fun, *args) in enumerate(
        [("cmd.run", "echo out; exit 3"), ("state.apply",), ("cmd.run", "exit 3", {"ignore_retcode": True})]
    ):
        kwargs = args.pop() if args and isinstance(args[-1], dict) else {}
        call(controller, f"c{number}", fun, *args, **kwargs)
    found = [controller.result(f"c{number}") for number in range(3)]
    assert [(one.outcome, one.error) for one in found] == [
        ("failed", "exit code 3"),
        ("failed", "1 of 2 states failed"),
        ("ok", ""),
    ]
    assert found[0].value == "out"


def test_runs_in_parallel_up_to_a_bound(controller, online, tmp_path):
    script = f"mkdir -p {tmp_path}/in; touch {tmp_path}/in/$$; while [ ! -e {tmp_path}/go ]; do sleep 0.05; done"
    for number in range(10):
        call(controller, f"c{number}", "cmd.run", script)
    controller.wait(lambda: (tmp_path / "in").exists() and len(list((tmp_path / "in").iterdir())) == 8)
    (tmp_path / "go").touch()
    for number in range(10):
        assert controller.result(f"c{number}").outcome == "ok"


def test_takes_no_longer_than_its_timeout(controller, online, tmp_path):
    call(controller, "c1", "cmd.run", f"echo $$ > {tmp_path}/pid; exec sleep 300", timeout=0.5)
    result = controller.result("c1")
    assert (result.outcome, result.error) == ("error", "timed out after 0.5 s")
    command = Path("/proc", (tmp_path / "pid").read_text().strip())
    controller.wait(lambda: not command.exists(), "the command to be ended")
    call(controller, "c2", "test.ping")
    assert controller.result("c2").value is True


def test_a_timeout_ends_an_orphan_too(controller, online, tmp_path):
    call(controller, "c1", "cmd.run", f"echo ran >> {tmp_path}/ran; sleep 300", timeout=3)
    controller.wait(lambda: (tmp_path / "ran").exists())
    online.kill()
    online.start()
    assert "timed out after 3 s" in controller.result("c1").error
    controller.wait(lambda: not online.workers())
    assert (tmp_path / "ran").read_text() == "ran\n"


def test_a_limit_lets_a_package_manager_finish(controller, online, tmp_path):
    """dpkg cut off in the middle leaves a package that has to be repaired by hand."""
    dpkg = tmp_path / "dpkg"
    dpkg.write_text(f"#!/bin/sh\nsh -c 'touch {tmp_path}/unpacking; sleep 4'\necho configured > {tmp_path}/done\n")
    dpkg.chmod(0o755)
    call(controller, "c1", "cmd.run", f"{dpkg}; sleep 300; touch {tmp_path}/more", timeout=1)
    result = controller.result("c1")
    assert (result.outcome, result.error) == ("error", "timed out after 1 s")
    assert (tmp_path / "done").read_text() == "configured\n"
    controller.wait(lambda: not online.workers())
    assert not (tmp_path / "more").exists()


def test_a_limit_ends_a_run_of_states_after_the_state_in_progress(controller, online, desired_state, tmp_path):
    slow = f"touch {tmp_path}/in; sleep 2; touch {tmp_path}/first"
    controller.desire(desired_state(("cmd", "run", slow), ("cmd", "run", f"touch {tmp_path}/second")))
    call(controller, "c1", "state.apply", timeout=1)
    result = controller.result("c1")
    assert (result.outcome, result.error) == ("error", "timed out after 1 s")
    assert (tmp_path / "first").exists()
    assert not (tmp_path / "second").exists()
    assert [state["result"] for state in result.value.values()] == [True, False]


def test_a_worker_that_dies_is_told(controller, online, tmp_path):
    call(controller, "c1", "cmd.run", "kill -9 $PPID")
    assert "the worker was ended by signal 9 (SIGKILL)" in controller.result("c1").error


def test_a_call_is_never_begun_twice(controller, online, tmp_path):
    """Agent and worker are killed while it runs: what came of it is not known, and that is the result."""
    call(controller, "c1", "cmd.run", f"echo ran >> {tmp_path}/ran; sleep 300")
    controller.wait(lambda: (tmp_path / "ran").exists())
    online.kill()
    online.end()
    online.start()
    assert "whether it finished is not known" in controller.result("c1").error
    call(controller, "c1", "cmd.run", f"echo ran >> {tmp_path}/ran")
    controller.wait(lambda: len(controller.all(RunResult, run_id="c1")) == 2)
    assert (tmp_path / "ran").read_text() == "ran\n"


def test_an_orphan_call_is_waited_for(controller, online, tmp_path):
    call(
        controller, "c1", "cmd.run", f"touch {tmp_path}/in; while [ ! -e {tmp_path}/go ]; do sleep 0.05; done; echo ok"
    )
    controller.wait(lambda: (tmp_path / "in").exists())
    online.kill()
    online.start()
    controller.wait(lambda: re.search("event=run_found .*run_id=c1", online.logged()))
    (tmp_path / "go").touch()
    assert controller.result("c1").value == "ok"


def test_states_of_a_call_wait_for_a_run(controller, online, desired_state, tmp_path):
    wait = f"touch {tmp_path}/in; while [ ! -e {tmp_path}/go ]; do sleep 0.05; done"
    controller.desire(desired_state(("cmd", "run", wait), pillar={"a": {"b": 1}}))
    controller.run("r1")
    controller.wait(lambda: (tmp_path / "in").exists())
    call(controller, "c0", "state.apply")
    assert controller.result("c0").error.startswith('The function "state.apply" is running as PID ')
    assert controller.result("c0").error.endswith("with jid r1")
    assert controller.result("c0").ending == "refused"
    call(controller, "c1", "state.apply", queue=True)
    call(controller, "c2", "pillar.get", "a:b")
    assert controller.result("c2").value == 1
    assert not controller.all(RunResult, run_id="c1")
    (tmp_path / "go").touch()
    assert [state["result"] for state in controller.result("c1").value.values()] == [True]
    assert [result.run_id for result in controller.all(RunResult)] == ["c0", "c2", "r1", "c1"]


def test_says_what_became_of_calls(controller, online, tmp_path):
    call(controller, "c1", "cmd.run", f"touch {tmp_path}/in; while [ ! -e {tmp_path}/go ]; do sleep 0.05; done")
    call(controller, "c2", "test.ping")
    assert controller.result("c2").outcome == "ok"
    controller.next(RunStarted, run_id="c1")
    assert (tmp_path / "in").exists()
    assert not controller.all(RunStarted, run_id="c2"), "its result was all"
    started = len(controller.all(RunStarted, run_id="c1"))
    controller.send(CheckCalls(run_ids=("c1", "c2", "c3")))
    lost = controller.result("c3")
    assert (lost.outcome, lost.ending) == ("error", "unreachable")
    controller.wait(lambda: len(controller.all(RunStarted, run_id="c1")) == started + 1)
    controller.wait(lambda: len(controller.all(RunResult, run_id="c2")) == 2)
    (tmp_path / "go").touch()
    assert controller.result("c1").outcome == "ok"
    call(controller, "c4", "test.ping")
    assert controller.result("c4").outcome == "ok"
    assert len(controller.all(RunResult, run_id="c3")) == 1


def test_grains_are_known(controller, online):
    hello = controller.all(Hello)[0]
    assert hello.grains["id"] == "web1"
    call(controller, "c1", "grains.get", "id")
    assert controller.result("c1").value == "web1"


@pytest.mark.alone
def test_a_call_is_quick(controller, online, capsys):
    took = []
    for number in range(5):
        start = time.monotonic()
        call(controller, f"c{number}", "test.ping")
        assert controller.result(f"c{number}").value is True
        took.append((time.monotonic() - start) * 1000)
    with capsys.disabled():
        sys.stdout.write(f"\ntest.ping: {sorted(took)[2]:.0f} ms, median of 5\n")


def test_grains_that_are_set_are_sent(controller, online):
    call(controller, "c1", "grains.setval", "role", "web")
    assert controller.result("c1").value == {"role": "web"}
    controller.wait(lambda: any(sent.grains.get("role") == "web" for sent in controller.all(Grains)), "the new grain")
    call(controller, "c2", "grains.get", "role")
    assert controller.result("c2").value == "web"


def test_tests_of_states_are_read_from_the_tree_of_the_controller(controller, online, desired_state):
    controller.files["web/init.sls"] = b"x:\n  test.nop: []\n"
    controller.files["web/saltcheck-tests/init.tst"] = (
        b"up: {module_and_function: test.ping, assertion: assertTrue}\n"
        b"setup: {module_and_function: saltcheck.state_apply, args: [web]}\n"
        b"down: {module_and_function: test.false, assertion: assertTrue}\n"
    )
    controller.desire(desired_state(("test", "nop", "x")))
    controller.next(Held)
    for number, fun in enumerate(("run_highstate_tests", "run_state_tests")):
        args = ("web",) if fun == "run_state_tests" else ()
        controller.send(Call(run_id=f"c{number}", fun=f"saltcheck.{fun}", args=args))
        result = controller.result(f"c{number}")
        tests, counts = result.value
        assert {name: test["status"] for name, test in tests["web"].items()} == {
            "up": "Pass",
            "setup": "Pass",
            "down": "Fail: False not True",
        }
        assert (counts["TEST RESULTS"]["Failed"], result.outcome, result.error) == (1, "failed", "exit code 1")
    controller.send(Call(run_id="r", fun="saltcheck.report_highstate_tests"))
    assert controller.result("r").value["TEST REPORT RESULTS"]["States with tests"] == ["web"]
