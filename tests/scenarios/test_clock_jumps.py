"""The clock of a machine is set by hours: connections, jobs, schedules and drift checks go on as if it was not."""

import json
import shutil
import tempfile
import time
from pathlib import Path

import pytest
import yaml
from effort import steps
from rig import Failed
from set_clock import SetClockRig

TREE = Path(__file__).parent / "tree"
HOURS = 3600.0
JUMPS = [-2 * HOURS, 2 * HOURS, 400 * 24 * HOURS]
NAMES = ("db1", "web1")


@pytest.fixture
def rig():
    """Two minions with a job a second, whose controller ends sessions that are silent for 5 s."""
    folder = Path(tempfile.mkdtemp(prefix="saltern-"))
    options = {"alive_interval": 1, "minion_timeout": 5, "run_timeout": 60}
    made = SetClockRig(folder / "1", {name: {"roles": [name[:-1]]} for name in NAMES}, TREE, options)

    def scheduled(rig):
        for name in NAMES:
            path = rig.directory / name / "minion"
            job = {"function": "cmd.run", "args": [f"echo >> {folder}/tick.{name}"], "seconds": 1, "return_job": False}
            given = yaml.safe_load(path.read_text()) | {"schedule": {"tick": job}, "alive_interval": 1}
            path.write_text(yaml.safe_dump(given))

    try:
        made.up(scheduled)
        made.wait_applied(made.push("first"))
        yield made
    finally:
        made.stop_all()
        shutil.rmtree(folder, ignore_errors=True)


def ticks(rig, name):
    path = rig.directory.parent / f"tick.{name}"
    return len(path.read_text().splitlines()) if path.exists() else 0


def gone(rig):
    return rig.log("controller", 10_000).count("minion disconnected")


def goes_on(rig, who):
    """What holds after a clock was set."""
    rig.wait("ping", lambda: len(json.loads(rig.saltern("run", "*", "test.ping", "--out", "json").stdout)) == 2)
    before = {name: ticks(rig, name) for name in NAMES}
    rig.wait(
        f"jobs each second after the clock of the {who} was set",
        lambda: all(ticks(rig, name) >= before[name] + 3 for name in NAMES),
        patience=15,
    )


@pytest.mark.timeout(300)
@pytest.mark.parametrize("jump", steps(JUMPS, 2))
def test_the_clock_of_the_controller_is_set(rig, jump):
    jid = json.loads(rig.saltern("run", "*", "cmd.run", "sleep 6", "--async", "--out", "json").stdout)["jid"]
    token = json.loads(rig.saltern("key", "token", "create", "--expires", "3h", "--out", "json").stdout)["token"]
    assert token
    before = gone(rig)
    rig.set_clock("controller", jump)
    began = time.monotonic()
    goes_on(rig, "controller")
    shown = lambda: json.loads(rig.saltern("jobs", "show", jid, "--out", "json", check=False).stdout)  # noqa: E731
    rig.wait("the job to end", lambda: all(each["state"] == "finished" for each in shown()["minions"]), patience=20)
    assert {(each["outcome"], each["summary"]) for each in shown()["minions"]} == {("ok", "")}
    assert time.monotonic() - began >= 5
    pushed = rig.push("second", {"pillar/numbers.sls": ("number: 0", "number: 1")})
    rig.wait_applied(pushed)
    time.sleep(2 * 5)
    assert gone(rig) == before, "nobody was taken for silent"
    assert all(each["connected"] for each in rig.status().values())
    rig.stop("web1")
    rig.wait("it to be gone", lambda: not rig.status()["web1"]["connected"], patience=15)


@pytest.mark.timeout(300)
@pytest.mark.parametrize("jump", steps(JUMPS[:2], 1))
def test_an_apply_goes_on_while_the_clock_of_the_controller_is_set(rig, jump):
    go_on = rig.directory / "go-on"
    app = rig.work / "states/app.sls"
    app.write_text(app.read_text() + f"\nwaits:\n  cmd.run:\n    - name: until test -e {go_on}; do sleep 0.1; done\n")
    pushed = rig.push("a command that waits")
    rig.wait("runs", lambda: sum(not run["outcome"] for run in rig.history()) == 2)
    rig.set_clock("controller", jump)
    time.sleep(8)
    assert {run["outcome"] for run in rig.history() if run["state"] != "finished"} == {""}, "no run was given up"
    go_on.touch()
    rig.wait_applied(pushed)
    assert not [run for run in rig.history() if run["outcome"] == "lost"]


@pytest.mark.timeout(300)
@pytest.mark.parametrize("jump", steps(JUMPS, 2))
def test_the_clock_of_the_minions_is_set(rig, jump):
    rig.wait("jobs", lambda: all(ticks(rig, name) > 2 for name in NAMES))
    jid = json.loads(rig.saltern("run", "*", "cmd.run", "sleep 4", "--async", "--out", "json").stdout)["jid"]
    before = {name: ticks(rig, name) for name in NAMES}
    rig.set_clock("minions", jump)
    goes_on(rig, "minions")
    assert all(ticks(rig, name) < before[name] + 60 for name in NAMES), "what was missed is not done again and again"
    shown = lambda: json.loads(rig.saltern("jobs", "show", jid, "--out", "json", check=False).stdout)  # noqa: E731
    rig.wait("the job to end", lambda: all(each["state"] == "finished" for each in shown()["minions"]), patience=20)
    assert {(each["outcome"], each["summary"]) for each in shown()["minions"]} == {("ok", "")}
    with pytest.raises(Failed):
        rig.wait("a minion to go", lambda: not all(each["connected"] for each in rig.status().values()), patience=8)
