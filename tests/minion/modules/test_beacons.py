"""The execution module `beacons` and the states `beacon`, with Salt's comments."""

from __future__ import annotations

import yaml

from wire.messages import Call, Hello, KeepAlive

LOAD = [{"averages": {"1m": [0.0, 2.0]}}, {"interval": 30}]


def caller(controller):
    numbers = iter(range(1000))

    def call(fun, *args, **kwargs):
        run_id = f"c{next(numbers)}"
        controller.send(Call(run_id=run_id, fun=f"beacons.{fun}", args=args, kwargs=kwargs))
        result = controller.result(run_id)
        assert result.outcome in ("ok", "failed"), result.error
        return result.value

    return call


def listed(call):
    return call("list", return_yaml=False)


def test_beacons_are_changed_while_the_agent_runs_and_saved(controller, agents):
    agent = agents(beacons={"load": LOAD}).start()
    controller.next(Hello)
    call = caller(controller)
    assert listed(call) == {"load": LOAD}
    assert yaml.safe_load(call("list")) == {"beacons": {"load": LOAD}}
    percent = [{"percent": 0}, {"interval": 0.2}]
    assert call("add", "memusage", percent, test=True) == {
        "result": True,
        "comment": "Beacon: memusage would be added.",
    }
    assert call("add", "memusage", percent) == {"result": True, "comment": "Added beacon: memusage."}
    head = "salt/beacon/web1/memusage/"
    controller.wait(lambda: [tag for tag, _ in controller.own_events if tag == head])
    assert call("add", "memusage", percent)["comment"] == "Beacon memusage is already configured."
    refused = call("add", "swapusage", [])
    assert refused["result"] is False
    assert refused["comment"].startswith("Beacon swapusage configuration invalid, not adding.\npercent is missing")
    assert call("modify", "memusage", percent)["comment"] == "Job memusage in correct state"
    assert call("modify", "memusage", [{"percent": 1}])["changes"]["diff"]
    assert call("disable_beacon", "memusage")["comment"] == "Disabled beacon memusage on minion."
    assert listed(call)["memusage"] == [{"percent": 1}, {"enabled": False}]
    assert call("disable")["comment"] == "Disabled beacons on minion."
    assert listed(call)["enabled"] is False
    assert call("enable")["result"] is True
    assert call("enable_beacon", "nothing")["result"] is False
    saved = agent.config_dir / "minion.d/beacons.conf"
    assert call("save") == {"result": True, "comment": f"Beacons saved to {saved}."}
    assert set(yaml.safe_load(saved.read_text())["beacons"]) == {"load", "memusage", "enabled"}
    assert call("delete", "memusage")["comment"] == "Deleted beacon: memusage."
    assert call("reset")["result"] is True
    assert listed(call) == {}
    agent.kill()
    agent.start()
    controller.wait(lambda: len(controller.all(Hello)) == 2)
    assert set(listed(call)) == {"load", "memusage", "enabled"}, "the saved ones"


def test_beacons_of_the_pillar_are_not_changed(controller, agents, desired_state):
    agents(beacons={"load": LOAD}).start()
    controller.next(Hello)
    controller.desire(desired_state(pillar={"beacons": {"memusage": [{"percent": 99}]}}))
    call = caller(controller)
    controller.wait(lambda: controller.all(KeepAlive))
    assert set(listed(call)) == {"load", "memusage"}
    assert call("list", return_yaml=False, include_pillar=False) == {"load": LOAD}
    for fun, *args in (
        ("delete", "memusage"),
        ("modify", "memusage", [{"percent": 1}]),
        ("disable_beacon", "memusage"),
    ):
        said = call(fun, *args)
        assert said["result"] is False
        assert "it is configured in pillar" in said["comment"]


def test_what_there_is_and_what_is_valid(controller, agents, tmp_path):
    folder = tmp_path / "beacons"
    folder.mkdir()
    (folder / "mine.py").write_text("def beacon(config):\n    return []\n")
    agents(beacons_dirs=[str(folder)]).start()
    controller.next(Hello)
    call = caller(controller)
    assert {"inotify", "load", "mine"} <= set(call("list_available", return_yaml=False))
    assert call("validate_beacon", "load", LOAD) == {"result": True, "comment": "Valid beacon configuration"}
    assert call("validate_beacon", "lod", LOAD)["comment"] == "there is no beacon lod; did you mean load?"


def test_states_of_beacons(controller, agents, desired_state):
    agents().start()
    controller.next(Hello)
    present = ("beacon", "present", "memusage", {"percent": "63%", "save": True})
    controller.desire(desired_state(present))
    controller.run("test", test=True)
    [predicted] = controller.result("test").states.values()
    assert (predicted["result"], predicted["comment"]) == (
        None,
        "Beacon: memusage would be added.\nBeacon memusage would be saved",
    )
    controller.run("r1")
    [done] = controller.result("r1").states.values()
    assert (done["result"], done["comment"]) == (True, "Adding memusage to beacons\nBeacon memusage saved")
    controller.run("r2")
    [again] = controller.result("r2").states.values()
    assert (again["changes"], again["comment"]) == ({}, "Job memusage in correct state")
    controller.desire(desired_state(("beacon", "disabled", "memusage"), ("beacon", "absent", "nothing")))
    controller.run("r3")
    states = list(controller.result("r3").states.values())
    assert [one["comment"] for one in states] == ["Disabled beacon memusage.", "nothing not configured in beacons"]
    controller.desire(desired_state(("beacon", "present", "lod", {"a": 1})))
    controller.run("r4")
    [refused] = controller.result("r4").states.values()
    assert refused["result"] is False
    assert "there is no beacon lod" in refused["comment"]
