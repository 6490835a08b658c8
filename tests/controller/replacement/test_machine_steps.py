"""What machines answer to the steps of a replacement, who may say anything, and what a step is sent as."""

import json
import subprocess
import sys

import pytest

from controller.replacement.machine_steps import (
    BUNDLE,
    MARK,
    MachineStepFailed,
    desired_of_step,
    report_of,
    told_by,
)
from controller.replacement.replacement import plan_of, refusal_of
from highstate.desired import Desired
from wire.messages import RunResult

LOOKED = {
    "python": [3, 11],
    "magic": "a70d0d0a",
    "machine": "x86_64",
    "libc": "glibc",
    "root": True,
    "venv": True,
    "manager": "systemd",
    "services": {"salt-minion": True, "saltern-minion": False},
    "configured": True,
    "grains": True,
    "program": "",
    "free": 1 << 40,
}


def result(value, **more):
    return RunResult(run_id="r", kind="call", generation=0, digest="", outcome="ok", value=value, **more)


def said(text, result_of=True):
    return {"cmd_|-agent look_|-x_|-run": {"result": result_of, "comment": "ran", "changes": {"stdout": text}}}


def test_the_line_behind_the_mark_counts():
    assert told_by(result(said(f'a profile\n{MARK}{{"public": "k"}}'))) == {"public": "k"}


@pytest.mark.parametrize(
    ("value", "why"),
    [
        (said(f'{MARK}{{"why": "no room", "hint": "make some"}}'), "no room"),
        (said(f"{MARK}[1]"), "what is no answer"),
        (said(f"{MARK}{'[' * 100_000}"), "what is no answer"),
        (said("nothing", False), "ran"),
        ({"file_|-a_|-a_|-managed": {"result": False, "comment": "disk full", "changes": {}}}, "disk full"),
        ({"cmd_|-a_|-a_|-run": {"result": False, "changes": {"stderr": "there is no Python"}}}, "no Python"),
        ({"cmd_|-a_|-a_|-run": 7}, "the minion returned"),
        (["a list"], "the minion returned"),
        (None, "the minion returned"),
    ],
)
def test_everything_else_is_a_failure(value, why):
    with pytest.raises(MachineStepFailed, match=why):
        told_by(result(value))


@pytest.mark.parametrize(
    "wrong",
    [
        {"python": [2, 7]},
        {"python": ["3", "11"]},
        {"machine": "../../etc"},
        {"libc": "a b"},
        {"free": "much"},
        {"services": {}},
        {"root": 1},
    ],
)
def test_a_report_has_one_shape(wrong):
    assert report_of(LOOKED).python.version == (3, 11)
    with pytest.raises(MachineStepFailed, match="does not say"):
        report_of({**LOOKED, **wrong})


@pytest.mark.parametrize(
    ("wrong", "why"),
    [
        ({"root": False}, "not root"),
        ({"manager": ""}, "neither systemd nor init scripts"),
        ({"services": {"salt-minion": False, "saltern-minion": False}}, "no service"),
        ({"configured": False}, "no configuration"),
        ({"venv": False}, "no module venv"),
        ({"free": 1 << 20}, "1 MiB are free"),
    ],
)
def test_a_machine_on_which_it_cannot_be_done_is_refused(wrong, why):
    assert refusal_of(report_of(LOOKED), "saltern") is None
    found, hint = refusal_of(report_of({**LOOKED, **wrong}), "saltern")
    assert why in found
    assert hint


def test_the_plan_says_each_step():
    plan = plan_of(report_of(LOOKED), "saltern", {"master": "192.0.2.1"}, purge=True)
    assert "install /opt/saltern for Python 3.11" in plan[0]
    assert "192.0.2.1" in plan[1]
    assert plan[-1] == "stop the service salt-minion for good, and remove its package"
    assert "saltern-minion" in plan_of(report_of(LOOKED), "salt", {}, purge=False)[-1]


def test_a_step_is_a_document_that_a_salt_minion_can_run():
    desired = desired_of_step({"step": "install"}, "ab" * 32)
    assert desired.files == {"base": {BUNDLE: "ab" * 32}}
    assert Desired.from_document(desired.as_document()).chunks.keys() == desired.chunks.keys()
    first, second = desired.chunks.values()
    assert (first.state, second.state) == ("file", "cmd")
    assert "\\n" not in second.arguments["stdin"], "Salt makes a line break of it"


def test_what_is_sent_looks_at_this_machine():
    desired = desired_of_step({"step": "look", "salt": "/nowhere", "prefix": "/opt/saltern"}, "")
    [chunk] = desired.chunks.values()
    done = subprocess.run(
        ["/bin/sh", "-c", chunk.name], input=chunk.arguments["stdin"], capture_output=True, text=True, check=True
    )
    found = json.loads(done.stdout.removeprefix(MARK))
    assert report_of(found).python.machine
    assert found["python"] >= [3, 11]
    assert not found["configured"]
    assert sys.version_info >= (3, 11)
