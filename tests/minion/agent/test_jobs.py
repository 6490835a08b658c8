"""saltutil.running, find_job, signal_job, term_job and kill_job against the jobs of an agent process."""

from __future__ import annotations

from pathlib import Path

import pytest

from minion.agent.runs import PARALLEL_CALLS
from wire.messages import Call, Hello


@pytest.fixture
def online(controller, agents):
    agent = agents().start()
    controller.next(Hello)
    return agent


@pytest.fixture
def ask(controller):
    numbers = iter(range(1000))

    def once(fun, *args, **kwargs):
        run_id = f"ask{next(numbers)}"
        controller.send(Call(run_id=run_id, fun=fun, args=args, kwargs=kwargs))
        result = controller.result(run_id)
        assert result.outcome == "ok", result.error
        return result.value

    return once


@pytest.fixture
def sleeper(controller, online, tmp_path):
    """A call that runs a command, and the command's process."""
    controller.send(Call(run_id="job1", fun="cmd.run", args=(f"echo $$ > {tmp_path}/pid; exec sleep 300",)))
    place = tmp_path / "pid"
    controller.wait(lambda: place.exists() and place.read_text().strip(), "the command")
    return Path("/proc", place.read_text().strip())


def test_what_goes_on_is_told(sleeper, ask):
    (job,) = ask("saltutil.running")
    assert (job["jid"], job["fun"], job["run"]) == ("job1", "cmd.run", False)
    assert job["arg"][0].endswith("exec sleep 300")
    assert Path("/proc", str(job["pid"])).exists()
    assert ask("saltutil.find_job", "job1") == job
    assert ask("saltutil.find_job", "other") == {}
    assert ask("saltutil.is_running", "cmd.*") == [job]
    assert ask("saltutil.is_running", "state.*") == []


@pytest.mark.parametrize(
    ("fun", "more", "number", "error", "value"),
    [
        ("term_job", (), 15, "the call was ended by SIGTERM", ""),  # the function returned what the command had printed
        ("kill_job", (), 9, "the run was ended by saltutil.kill_job", None),
        ("signal_job", (2,), 2, "", None),
    ],
)
def test_a_job_ends_with_its_commands(controller, sleeper, ask, fun, more, number, error, value):
    (job,) = ask("saltutil.running")
    assert ask(f"saltutil.{fun}", "job1", *more) == f"Signal {number} sent to job job1 at pid {job['pid']}"
    result = controller.result("job1")
    assert result.error.startswith(error)
    assert (result.outcome, result.value) == ("error", value) or not error
    controller.wait(lambda: not sleeper.exists(), "the command to be ended")
    assert ask("saltutil.running") == []
    assert ask(f"saltutil.{fun}", "job1", *more) == ""


def test_all_jobs_but_the_one_that_asks(controller, sleeper, ask):
    (said,) = ask("saltutil.kill_all_jobs")
    assert "sent to job job1" in said
    controller.wait(lambda: not sleeper.exists(), "the command to be ended")


def test_a_signal_that_is_none(controller, sleeper):
    controller.send(Call(run_id="bad", fun="saltutil.signal_job", args=("job1", "SIGNONE")))
    assert "'SIGNONE' is no signal" in controller.result("bad").error
    assert sleeper.exists()


def test_a_run_that_waits_is_not_the_one_that_goes_on(controller, online, ask, desired_state, tmp_path):
    wait = f"touch {tmp_path}/in; while [ ! -e {tmp_path}/go ]; do sleep 0.05; done"
    controller.desire(desired_state(("cmd", "run", wait)))
    controller.run("r1")
    controller.wait(lambda: (tmp_path / "in").exists())
    controller.run("r2")
    controller.wait(lambda: len(list(online.cachedir.glob("runs/r*"))) == 2)
    assert [(job["jid"], job["run"]) for job in ask("saltutil.running")] == [("r1", True)]
    assert ask("saltutil.kill_job", "r2") == "Job r2 waited for its turn, and is not run"
    assert (controller.result("r2").outcome, controller.result("r2").ending) == ("error", "cancelled")
    (tmp_path / "go").touch()
    assert controller.result("r1").outcome == "changed"


def test_a_call_that_waits_for_others_is_ended_before_it_begins(controller, online, ask, tmp_path):
    for number in range(PARALLEL_CALLS):
        controller.send(Call(run_id=f"busy{number}", fun="cmd.run", args=(f"touch {tmp_path}/{number}; sleep 300",)))
    controller.wait(lambda: len(list(tmp_path.glob("[0-9]"))) == PARALLEL_CALLS, "all that run at a time")
    controller.send(Call(run_id="next", job="whole", fun="cmd.run", args=(f"touch {tmp_path}/ran",)))
    controller.wait(lambda: (online.cachedir / "runs/next/request").exists())
    assert ask("saltutil.find_job", "whole") == {}
    assert ask("saltutil.kill_job", "whole") == "Job whole waited for its turn, and is not run"
    assert controller.result("next").ending == "cancelled"
    controller.send(Call(run_id="last", fun="cmd.run", args=(f"touch {tmp_path}/ran",)))
    controller.wait(lambda: (online.cachedir / "runs/last/request").exists())
    said = ask("saltutil.kill_all_jobs")
    assert said[0] == "Job last waited for its turn, and is not run"
    assert len(said) == PARALLEL_CALLS + 1
    assert controller.result("last").ending == "cancelled"
    for number in range(PARALLEL_CALLS):
        assert controller.result(f"busy{number}").ending == "cancelled"
    assert not (tmp_path / "ran").exists()
