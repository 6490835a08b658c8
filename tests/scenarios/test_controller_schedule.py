"""Schedules on a real controller: runners and functions on minions, once, also across a kill."""

OWN = {
    "hourly": {"function": "test.arg", "args": ["own"], "hours": 1},
    "often": {"function": "test.arg", "seconds": 1},
    "never": {"function": "test.arg", "seconds": 1, "enabled": False},
    "wrong": {"function": "test.ping", "target": "nobody*", "hours": 1},
}
TREE = """
schedule:
  pinged: {function: test.arg, args: [tree], target: 'web*', hours: 1, timezone: Europe/Berlin}
"""


def asked_by(rig, name):
    return [run for run in rig.ask("/history", limit=1000) if run.get("user") == f"schedule {name}"]


def test_jobs_of_the_file_and_of_the_tree_run_and_a_kill_neither_doubles_nor_loses_them(make_rig):
    rig = make_rig(minions={"web1": {}}, schedule=OWN)
    states = rig.work / "states"
    policy = (states / "saltern.yaml").read_text()
    (states / "saltern.yaml").write_text(policy + TREE)
    rig.wait_applied(rig.push("schedule"))
    rig.wait("both", lambda: asked_by(rig, "hourly") and asked_by(rig, "pinged"))
    rig.wait("the interval", lambda: len(asked_by(rig, "often")) >= 2)
    assert not asked_by(rig, "never")
    (run,) = asked_by(rig, "pinged")
    assert (run["minion"], run["kind"]) == ("web1", "call")
    shown = rig.saltern("events", "saltern/schedule/wrong/error", "--since", "1h", "-n", "1", "--out", "json").stdout
    assert "no minion matches" in shown

    before = len(asked_by(rig, "often"))
    rig.kill("controller", children=True)
    rig.start_controller()
    rig.wait("the interval goes on", lambda: len(asked_by(rig, "often")) > before)
    rig.wait("the minion", lambda: rig.status()["web1"]["connected"])
    assert (len(asked_by(rig, "hourly")), len(asked_by(rig, "pinged"))) == (1, 1)

    (states / "saltern.yaml").write_text(policy + TREE.replace("hours: 1", "hours: soon"))
    rig.push("a typing error")
    rig.wait("the refusal", lambda: "schedule: pinged" in rig.log("controller", 1000))
