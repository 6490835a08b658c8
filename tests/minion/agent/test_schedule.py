"""The schedule of an agent process: configured jobs, jobs of the pillar, and those that functions add."""

from __future__ import annotations

import json
import re
from datetime import datetime
from zoneinfo import ZoneInfo

import pytest
import yaml

from minion.agent.schedule import ScheduleTimer
from wire.messages import Call, Hello, RunResult


def lines(path):
    return path.read_text().splitlines() if path.exists() else []


def call(controller, run_id, fun, *args, outcome="ok", **kwargs):
    controller.send(Call(run_id=run_id, fun=fun, args=args, kwargs=kwargs))
    result = controller.result(run_id)
    assert result.outcome == outcome, result.error
    return result.value


def told(controller):
    return [result for result in controller.all(RunResult) if result.run_id.startswith("scheduled-")]


@pytest.fixture
def online(controller, agents):
    agent = agents().start()
    controller.next(Hello)
    return agent


def test_configured_jobs_run_and_are_told(controller, agents, tmp_path):
    job = {"function": "cmd.run", "args": [f"echo ran >> {tmp_path}/ran; echo said"], "seconds": 1}
    agent = agents(schedule={"often": job}).start()
    controller.wait(lambda: len(lines(tmp_path / "ran")) >= 3, "three runs")
    controller.wait(lambda: len(told(controller)) >= 2, "two results")
    assert {(result.kind, result.outcome, result.value) for result in told(controller)} == {("call", "ok", "said")}
    assert len({result.run_id for result in told(controller)}) >= 2
    assert re.search("event=scheduled_job .*job=often fun=cmd.run", agent.logged())


def test_a_bad_job_hides_no_other(controller, agents, tmp_path):
    good = {"function": "file.touch", "args": [f"{tmp_path}/good"], "hours": 1}
    bad = {"function": "test.ping", "when": "some day"}
    agent = agents(schedule={"a": bad, "b": "none", "good": good}).start()
    controller.wait(lambda: (tmp_path / "good").exists(), "the good job")
    assert 'event=scheduled_job_refused minion=web1 job=a error="' in agent.logged()
    assert "'some day' is no time" in agent.logged()
    assert "event=scheduled_job_refused minion=web1 job=b" in agent.logged()


def test_a_job_runs_once_at_a_time(controller, agents, tmp_path):
    wait = f"echo $$ >> {tmp_path}/ran; while [ ! -e {tmp_path}/go ]; do sleep 0.05; done"
    agent = agents(schedule={"slow": {"function": "cmd.run", "args": [wait], "seconds": 1}}).start()
    controller.wait(lambda: re.search("job_skipped .*job=slow why=maxrunning", agent.logged()), "a skipped run")
    assert len(lines(tmp_path / "ran")) == 1
    (tmp_path / "go").touch()
    controller.wait(lambda: len(lines(tmp_path / "ran")) >= 2, "the next run")


def test_results_may_stay_on_the_minion(controller, agents, tmp_path):
    job = {"function": "cmd.run", "args": [f"echo ran >> {tmp_path}/ran"], "seconds": 1, "return_job": False}
    agent = agents(schedule={"quiet": job}).start()
    controller.wait(lambda: len(lines(tmp_path / "ran")) >= 2, "two runs")
    assert not told(controller)
    controller.wait(lambda: len(list(agent.cachedir.glob("runs/*"))) <= 1, "folders of ended runs to go")


def test_jobs_of_the_pillar_follow_the_document(controller, online, desired_state, tmp_path):
    job = {"function": "cmd.run", "args": [f"echo ran >> {tmp_path}/ran"], "seconds": 1}
    controller.desire(desired_state(("test", "nop", "x"), pillar={"schedule": {"often": job}}))
    controller.wait(lambda: lines(tmp_path / "ran"), "a run")
    assert "often" in yaml.safe_load(call(controller, "c1", "schedule.list", where="pillar"))["schedule"]
    assert yaml.safe_load(call(controller, "c2", "schedule.list", where="opts"))["schedule"] == {}
    assert call(controller, "c3", "schedule.delete", "often", outcome="failed")["result"] is False
    controller.desire(desired_state(("test", "nop", "y"), pillar={}))
    controller.wait(lambda: call_due(online) == {}, "the job to be gone")


def call_due(agent):
    return json.loads((agent.cachedir / "schedule.due.json").read_text())["due"]


def test_functions_change_the_schedule_in_force(controller, online, tmp_path):
    said = call(controller, "c1", "schedule.add", "j", function="file.touch", job_args=[f"{tmp_path}/ran"], hours=1)
    assert said == {"comment": "Added job: j to schedule.", "result": True, "changes": {"j": "added"}}
    controller.wait(lambda: (tmp_path / "ran").exists(), "a job with an interval begins with a run")
    kept = yaml.safe_load((online.config_dir / "minion.d" / "_schedule.conf").read_text())["schedule"]
    assert kept["j"]["function"] == "file.touch"
    assert call(controller, "c2", "schedule.show_next_fire_time", "j")["next_fire_time"]
    assert call(controller, "c3", "schedule.job_status", "j")["hours"] == 1

    assert call(controller, "c4", "schedule.disable_job", "j")["changes"] == {"j": "disabled"}
    controller.wait(lambda: call_due(online) == {}, "the job not to be due")
    assert call(controller, "c5", "schedule.run_job", "j")["comment"] == "Job j is disabled."
    (tmp_path / "ran").unlink()
    assert call(controller, "c6", "schedule.run_job", "j", force=True)["comment"] == "Scheduling Job j on minion."
    controller.wait(lambda: (tmp_path / "ran").exists(), "the run that was asked for")
    assert call(controller, "c7", "schedule.delete", "j")["result"] is True
    assert call(controller, "c8", "schedule.list", return_yaml=False) == {}


def test_the_saved_schedule_outlives_the_agent(controller, online, tmp_path):
    far = {"function": "test.ping", "cron": "0 0 1 1 *"}
    call(controller, "c1", "schedule.add", "kept", **far)
    call(controller, "c2", "schedule.add", "lost", persist=False, **far)
    assert set(call(controller, "c3", "schedule.list", return_yaml=False)) == {"kept", "lost"}
    assert online.stop() == 0
    online.start()
    controller.wait(lambda: len(controller.all(Hello)) == 2, "the agent to be back")
    assert set(call(controller, "c4", "schedule.list", return_yaml=False)) == {"kept"}
    assert call(controller, "c5", "schedule.disable")["changes"] == {"schedule": "disabled"}
    assert call(controller, "c6", "schedule.is_enabled") is False


def test_a_job_is_left_out_at_one_time_and_done_at_another(tmp_path):
    """By the clock of the test, in the zone of the job."""
    noon = datetime(2026, 11, 24, 12, tzinfo=ZoneInfo("Asia/Tokyo")).timestamp()
    job = {"function": "test.ping", "cron": "0 12 * * *", "timezone": "Asia/Tokyo", "splay": 9}
    timer = ScheduleTimer(tmp_path, "web1", {"j": job})
    kept = {"schedule": {"j": job}, "skipped": {"j": [noon]}, "added": {"j": [noon + 300]}}
    (tmp_path / "schedule.json").write_text(json.dumps(kept))
    timer.look({}, noon - 3600)
    found = []
    for _ in range(4):
        due = timer.due_at
        found.append((round(due - noon) // 60, [each.fun for each in timer.take_due(due + 2, (), 0)]))
    assert found == [(0, []), (5, ["test.ping"]), (24 * 60, ["test.ping"]), (48 * 60, ["test.ping"])]
    told = json.loads((tmp_path / "schedule.due.json").read_text())
    assert told["skipped"]["j"][1] == "skip_explicit"
    assert told["last"]["j"] > noon + 24 * 3600


def test_functions_postpone_a_job(controller, agents):
    job = {"function": "test.ping", "once": "2096-01-01T12:00:00", "timezone": "Asia/Tokyo"}
    agents(schedule={"j": job}).start()
    controller.next(Hello)
    said = call(controller, "c1", "schedule.postpone_job", "j", "2096-01-01T12:00:00", "2095-12-31T12:00:00")
    assert said == {"comment": "Postponed Job j in schedule.", "result": True}
    wanted = datetime(2095, 12, 31, 12, tzinfo=ZoneInfo("Asia/Tokyo")).astimezone().strftime("%Y-%m-%dT%H:%M:%S")
    asked = iter(range(1000))
    controller.wait(
        lambda: call(controller, f"n{next(asked)}", "schedule.show_next_fire_time", "j")["next_fire_time"] == wanted,
        "the new time",
    )
    bad = call(controller, "c3", "schedule.postpone_job", "j", "noon", "2096-01-02T12:00:00", outcome="failed")
    assert bad["comment"] == "Date string could not be parsed."
    none = call(controller, "c4", "schedule.postpone_job", "none", "noon", "noon", outcome="failed")
    assert none["comment"] == "Job none does not exist."


def test_without_jid_include_any_number_goes_on(controller, agents, tmp_path):
    wait = f"echo $$ >> {tmp_path}/ran; while [ ! -e {tmp_path}/go ]; do sleep 0.05; done"
    job = {"function": "cmd.run", "args": [wait], "seconds": 1, "jid_include": False}
    agents(schedule={"many": job}).start()
    controller.wait(lambda: len(lines(tmp_path / "ran")) >= 2, "two at a time")
    (tmp_path / "go").touch()


def test_a_function_may_run_in_place_of_what_is_skipped(controller, agents, tmp_path):
    job = {"function": "file.touch", "args": [f"{tmp_path}/made"], "seconds": 1}
    schedule = {"skip_function": "file.remove", "skip_during_range": {"start": "0:00", "end": "23:59:59"}, "j": job}
    (tmp_path / "made").touch()
    agent = agents(schedule=schedule).start()
    controller.wait(lambda: not (tmp_path / "made").exists(), "the other function")
    assert "job=j why=in_skip_range" in agent.logged()


def test_options_that_change_nothing_are_told(controller, agents):
    job = {"function": "test.ping", "hours": 1, "enabeld": False}
    agent = agents(schedule={"j": job}).start()
    wanted = "event=scheduled_job_options_ignored minion=web1 job=j options=enabeld"
    controller.wait(lambda: wanted in agent.logged(), "the warning")


def test_when_names_times_of_pillar_and_grains(controller, agents, desired_state, tmp_path):
    job = {"function": "test.ping", "when": ["tea", "lunch", "2030-01-02T03:04:05"]}
    grains = {"whens": {"tea": "2031-01-01 17:00", "lunch": "2029-06-01 12:00"}}
    agent = agents(grains=grains, schedule={"a": job, "b": {"function": "test.ping", "when": "nap"}}).start()
    controller.next(Hello)
    controller.wait(lambda: "event=scheduled_job_refused minion=web1 job=b" in agent.logged(), "the refusal")

    def due(name):
        return call(controller, f"c{len(controller.seen)}", "schedule.show_next_fire_time", name)["next_fire_time"]

    assert due("a").startswith("2029-06-01")
    controller.desire(
        desired_state(("test", "nop", "x"), pillar={"whens": {"tea": "2028-03-04 17:00", "nap": "14:00"}})
    )
    controller.wait(lambda: due("a").startswith("2028-03-04"), "the pillar's time, which is above the grain's")
    assert due("b")
    assert call(controller, "add", "schedule.add", "c", function="test.ping", when="nap")["result"] is True
    refused = call(controller, "no", "schedule.add", "d", function="test.ping", when="naap", outcome="failed")
    assert "'naap' is no time" in refused["comment"]
