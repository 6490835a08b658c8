"""`saltern schedule list|run|enable|disable`, on a real controller and a minion of it, across a kill."""

import json
from datetime import UTC, datetime

OWN = {
    "nightly": {"function": "test.arg", "args": ["own"], "cron": "0 4 * * *", "timezone": "Asia/Tokyo"},
    "off": {"function": "test.arg", "args": ["off"], "hours": 1, "enabled": False},
    "often": {"function": "test.arg", "args": ["often"], "seconds": 1},
    "pinged": {"function": "test.ping", "target": "web*", "when": "2020-01-01T04:00:00"},
    "slow": {"function": "test.sleep", "args": [600], "when": "2020-01-01T04:00:00"},
}


def asked_by(rig, name):
    return [run for run in rig.ask("/history", limit=1000) if run.get("user") == f"schedule {name}"]


def jobs(rig, *target):
    return json.loads(rig.saltern("schedule", "list", *target, "--out", "json").stdout)


def job(rig, name):
    return next(one for one in jobs(rig)["jobs"] if one["job"] == name)


def test_jobs_of_the_controller(make_rig):
    rig = make_rig(minions={"web1": {}}, schedule=OWN)
    rig.wait("the interval", lambda: asked_by(rig, "often"))
    assert [one["job"] for one in jobs(rig)["jobs"]] == sorted(OWN)
    nightly = job(rig, "nightly")
    assert (nightly["when"], nightly["enabled"], nightly["last"]) == ("cron 0 4 * * * Asia/Tokyo", True, None)
    assert datetime.fromtimestamp(nightly["next"], UTC).strftime("%H:%M") == "19:00"
    assert nightly["place"].startswith(str(rig.config))
    assert "nightly" in rig.saltern("schedule", "list").stdout

    begun = json.loads(rig.saltern("schedule", "run", "nightly", "--out", "json").stdout)
    rig.wait("the run", lambda: [run for run in asked_by(rig, "nightly") if run["run_id"] == begun["jid"]])
    assert job(rig, "nightly")["next"] == nightly["next"]
    rig.wait("the minion", lambda: rig.status().get("web1", {}).get("connected"))
    assert "began pinged on web1" in rig.saltern("schedule", "run", "pinged").stdout
    rig.wait("the call", lambda: [run for run in asked_by(rig, "pinged") if run["outcome"] == "ok"])

    rig.saltern("schedule", "run", "slow")
    again = rig.saltern("schedule", "run", "slow", check=False)
    assert (again.returncode, "maxrunning is 1" in again.stderr) == (1, True)
    off = rig.saltern("schedule", "run", "off", check=False)
    assert (off.returncode, "'off' is disabled" in off.stderr) == (1, True)
    rig.saltern("schedule", "run", "off", "--force")
    rig.wait("the forced run", lambda: asked_by(rig, "off"))
    none = rig.saltern("schedule", "run", "nothing", check=False)
    assert "no job 'nothing'" in none.stderr
    assert "saltern schedule list" in none.stderr


def test_what_is_enabled_and_disabled_holds_over_a_kill(make_rig):
    rig = make_rig(minions={}, schedule=OWN)
    rig.wait("the interval", lambda: asked_by(rig, "often"))
    rig.saltern("schedule", "disable", "often")
    rig.saltern("schedule", "enable", "off")
    rig.wait("what was disabled in its file", lambda: asked_by(rig, "off"))
    before = asked_by(rig, "often")
    rig.kill("controller", children=True)
    rig.start_controller()
    found = job(rig, "often")
    assert (found["enabled"], found["next"], found["switch"]["enabled"]) == (False, None, False)
    assert job(rig, "off")["enabled"] is True
    rig.saltern("schedule", "run", "nightly")
    rig.wait("that the schedule is followed", lambda: asked_by(rig, "nightly"))
    assert len(asked_by(rig, "often")) == len(before)

    rig.saltern("schedule", "enable", "often")
    rig.wait("the interval again", lambda: len(asked_by(rig, "often")) > len(before))
    assert job(rig, "often")["switch"] is None

    rig.saltern("schedule", "disable", "--all")
    assert not any(one["enabled"] for one in jobs(rig)["jobs"])
    assert "all jobs are disabled" in rig.saltern("schedule", "list").stderr
    rig.saltern("schedule", "enable", "--all")
    assert (job(rig, "often")["enabled"], job(rig, "off")["enabled"], jobs(rig)["disabled"]) == (True, True, None)
    assert rig.saltern("schedule", "disable", check=False).returncode == 64
    assert rig.saltern("schedule", "enable", "often", "web*", "--all", check=False).returncode == 64


def test_jobs_of_minions(make_rig):
    rig = make_rig(minions={"web1": {}})
    rig.wait("the minion", lambda: rig.status().get("web1", {}).get("connected"))
    rig.saltern("run", "web1", "schedule.add", "check", "function=test.ping", "cron=0 4 * * *")
    assert jobs(rig, "web*")["web1"]["check"]["cron"] == "0 4 * * *"
    assert "test.ping" in rig.saltern("schedule", "list", "web1").stdout
    rig.saltern("schedule", "run", "check", "web1")
    runs = lambda: [run for run in rig.history("web1") if run["run_id"].startswith("scheduled-web1-")]  # noqa: E731
    rig.wait("the run", runs)
    assert "Disabled Job check" in rig.saltern("schedule", "disable", "check", "web1").stdout
    assert jobs(rig, "web1")["web1"]["check"]["enabled"] is False
    rig.saltern("schedule", "enable", "check", "web1")
    assert jobs(rig, "web1")["web1"]["check"]["enabled"] is True
    gone = rig.saltern("schedule", "disable", "nothing", "web1", check=False)
    assert (gone.returncode, "does not exist" in gone.stderr) == (1, True)
    assert rig.saltern("schedule", "list", "nobody*", check=False).returncode == 5
