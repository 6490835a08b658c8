"""schedule.* and the states over it, where no agent runs: what they say is Salt's, and the saved file is Salt's."""

from __future__ import annotations

from datetime import datetime
from pathlib import Path

import pytest
import yaml

from minion.execution import Context, Modules
from reactors.scheduled_jobs import jobs_of


@pytest.fixture
def modules(tmp_path: Path) -> Modules:
    pillar = {"schedule": {"theirs": {"function": "test.ping", "hours": 1}}}
    return Modules(
        Context(
            minion_id="web1",
            make_pillar=lambda: pillar,
            cachedir=str(tmp_path / "cache"),
            config_dir=str(tmp_path / "etc"),
        )
    )


def saved(tmp_path: Path) -> dict:
    return yaml.safe_load((tmp_path / "etc/minion.d/_schedule.conf").read_text())["schedule"]


def state(modules: Modules, fun: str, name: str, **arguments: object) -> tuple:
    ran = modules.call("state.single", [f"schedule.{fun}", name], arguments)
    (entry,) = ran.values()
    return entry["result"], entry["changes"], entry["comment"]


def test_a_job_is_kept_as_salt_keeps_it(modules, tmp_path):
    kwargs = {"function": "cmd.run", "job_args": ["date"], "job_kwargs": {"cwd": "/"}, "seconds": 3600}
    assert modules.call("schedule.add", ["j"], kwargs) == {
        "comment": "Added job: j to schedule.", "result": True, "changes": {"j": "added"},
    }  # fmt: skip
    assert saved(tmp_path) == {
        "j": {
            "function": "cmd.run", "args": ["date"], "kwargs": {"cwd": "/"}, "seconds": 3600, "maxrunning": 1,
            "name": "j", "enabled": True, "jid_include": True,
        }
    }  # fmt: skip
    again = modules.call("schedule.add", ["j"], kwargs)
    assert again == {"comment": "Job j already exists in schedule.", "result": False, "changes": {}}
    listed = yaml.safe_load(modules.call("schedule.list"))["schedule"]
    assert {name: one["saved"] for name, one in listed.items()} == {"theirs": False, "j": True}
    assert modules.call("schedule.is_enabled", ["j"])["seconds"] == 3600
    assert modules.call("schedule.is_enabled", ["nope"]) == {}
    assert modules.call("schedule.is_enabled") is True


def test_it_is_changed_and_removed(modules, tmp_path):
    modules.call("schedule.add", ["j"], {"function": "test.ping", "seconds": 60})
    same = modules.call("schedule.modify", ["j"], {"seconds": 60})
    assert (same["comment"], same["changes"]) == ("Job j in correct state", {})
    changed = modules.call("schedule.modify", ["j"], {"cron": "0 3 * * *"})
    assert changed["comment"] == "Modified job: j in schedule."
    assert changed["changes"]["j"]["old"]["seconds"] == 60
    assert saved(tmp_path)["j"]["cron"] == "0 3 * * *"
    assert "seconds" not in saved(tmp_path)["j"]
    assert modules.call("schedule.disable_job", ["j"])["comment"] == "Disabled Job j in schedule."
    assert saved(tmp_path)["j"]["enabled"] is False
    assert modules.call("schedule.disable")["changes"] == {"schedule": "disabled"}
    assert saved(tmp_path)["enabled"] is False
    assert modules.call("schedule.delete", ["j"])["comment"] == "Deleted Job j from schedule."
    assert modules.call("schedule.delete", ["j"])["comment"] == "Job j does not exist."
    modules.call("schedule.add", ["a"], {"function": "test.ping", "days": 1})
    assert modules.call("schedule.purge")["changes"] == {"a": "removed"}
    assert saved(tmp_path) == {"enabled": False}
    assert modules.call("schedule.purge", (), {"test": True})["comment"] == []


@pytest.mark.parametrize(
    ("kwargs", "said"),
    [
        ({"function": "test.ping", "seconds": 1, "cron": "* * * * *"}, 'Unable to use "seconds"'),
        ({"function": "test.ping", "when": "5pm", "cron": "* * * * *"}, 'Unable to use "when" and "cron"'),
        ({"function": "test.ping", "job_args": "x", "seconds": 1}, "job_args is not a list"),
        ({"function": "test.ping", "job_kwargs": [], "seconds": 1}, "job_kwargs is not a dict"),
        ({"function": "test.ping", "cron": "61 * * * *"}, "cannot be followed: cron '61 * * * *'"),
        ({"function": "test.ping", "when": "noonish"}, "'noonish' is no time"),
        ({"function": "test.ping", "seconds": 1, "range": {"start": "8am", "end": "8am"}}, "later than its start"),
        ({"function": "test.ping"}, "it says no time"),
        ({"seconds": 1}, "function is required"),
    ],
)
def test_what_cannot_be_followed_is_refused(modules, tmp_path, kwargs, said):
    answer = modules.call("schedule.add", ["j"], kwargs)
    assert answer["result"] is False
    assert said in answer["comment"]
    assert not (tmp_path / "etc").exists()


def test_what_needs_an_agent_says_so(modules):
    modules.call("schedule.add", ["j"], {"function": "test.ping", "days": 1})
    for fun in ("run_job", "reload"):
        answer = modules.call(f"schedule.{fun}", ["j"] if fun == "run_job" else [])
        assert answer["result"] is False
        assert "no agent runs here" in answer["comment"]
    assert modules.call("schedule.show_next_fire_time", ["j"]) == {"result": True, "next_fire_time": None}


def test_states(modules, tmp_path):
    job = {"function": "test.ping", "cron": "0 3 * * *"}
    assert state(modules, "present", "j", test=True, **job) == (
        None, {"j": "added"}, "Job: j would be added to schedule.",
    )  # fmt: skip
    assert not (tmp_path / "etc").exists()
    assert state(modules, "present", "j", **job) == (True, {"j": "added"}, "Adding new job j to schedule")
    assert state(modules, "present", "j", **job) == (True, {}, "Job j in correct state")
    result, changes, comment = state(modules, "present", "j", function="test.ping", hours=2)
    assert (result, comment, changes["j"]["new"]["hours"]) == (True, "Modifying job j in schedule", 2)
    assert state(modules, "disabled", "j") == (True, {"j": "disabled"}, "Disabled job j from schedule")
    assert state(modules, "disabled", "j") == (True, {}, "Disabled job j from schedule")
    assert state(modules, "enabled", "j") == (True, {"j": "enabled"}, "Enabled job j from schedule")
    assert state(modules, "absent", "j") == (True, {"j": "removed"}, "Removed job j from schedule")
    assert state(modules, "absent", "j") == (True, {}, "Job j not present in schedule")
    assert state(modules, "absent", "theirs")[0] is False
    assert state(modules, "present", "k", function="test.ping", when="x")[0] is False


def due(item: dict, now: datetime, chance: float = 0.0) -> datetime | None:
    jobs, refused = jobs_of({"j": {"function": "test.ping", **item}})
    assert not refused
    at = jobs["j"].due(previous=now.timestamp(), now=now.timestamp(), chance=chance)
    return None if at is None else datetime.fromtimestamp(at)


NOW = datetime(2026, 11, 21, 15, 0)  # a Saturday


@pytest.mark.parametrize(
    ("item", "chance", "wanted"),
    [
        ({"minutes": 1, "seconds": 30}, 0, datetime(2026, 11, 21, 15, 1, 30)),
        ({"days": 1}, 0, datetime(2026, 11, 22, 15, 0)),
        ({"seconds": 60, "splay": 30}, 0.5, datetime(2026, 11, 21, 15, 1, 15)),
        ({"seconds": 60, "splay": {"start": 10, "end": 20}}, 0.5, datetime(2026, 11, 21, 15, 1, 15)),
        ({"when": "5:00pm"}, 0, datetime(2026, 11, 21, 17, 0)),
        ({"when": "14:00"}, 0, datetime(2026, 11, 22, 14, 0)),
        ({"when": ["Monday 1:00pm", "Sunday 9:00am"]}, 0, datetime(2026, 11, 22, 9, 0)),
        ({"when": "11/21/2026 4:30pm"}, 0, datetime(2026, 11, 21, 16, 30)),
        ({"when": "2026-11-20"}, 0, None),
        ({"once": "2026-11-21T18:00:00"}, 0, datetime(2026, 11, 21, 18, 0)),
        ({"once": "21.11.2026 19", "once_fmt": "%d.%m.%Y %H"}, 0, datetime(2026, 11, 21, 19, 0)),
        ({"once": "2026-11-20T18:00:00"}, 0, None),
        ({"cron": "30 4 * * *"}, 0, datetime(2026, 11, 22, 4, 30)),
    ],
)
def test_when_it_is_due(item, chance, wanted):
    assert due(item, NOW, chance) == wanted


@pytest.mark.parametrize(
    ("item", "why"),
    [
        ({"range": {"start": "2:00pm", "end": "4:00pm"}}, ""),
        ({"range": {"start": "4:00pm", "end": "5:00pm"}}, "not_in_range"),
        ({"range": {"start": "2:00pm", "end": "4:00pm", "invert": True}}, "not_in_range"),
        ({"skip_during_range": {"start": "2:00pm", "end": "4:00pm"}}, "in_skip_range"),
        ({"until": "2026-11-20"}, "until_passed"),
        ({"until": "2026-11-22"}, ""),
        ({"after": "2026-11-22"}, "after_not_passed"),
    ],
)
def test_whether_it_may_run(item, why):
    jobs, _ = jobs_of({"j": {"function": "test.ping", "seconds": 5, **item}})
    assert jobs["j"].refusal(NOW.timestamp()) == why


def test_settings_are_about_all_jobs():
    jobs, refused = jobs_of({"enabled": False, "splay": 7, "j": {"function": "test.ping", "seconds": 5}, "bad": 3})
    assert (jobs["j"].enabled, jobs["j"].splay) == (False, (0.0, 7.0))
    assert refused == {"bad": "a job is a mapping, not 3"}
