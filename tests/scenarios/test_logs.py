"""The logs of a controller and a minion, while a push is applied, a run fails and the controller goes away."""

import json
from collections import Counter

import yaml


def test_a_run_has_the_same_id_on_both_sides_and_nothing_is_told_twice(make_rig):
    rig = make_rig(minions={"web1": {"roles": ["web"]}}, before_minions=_as_json, log_format="json")
    rig.wait_applied(rig.push("first"))
    (applied,) = [run for run in rig.history() if run["kind"] == "apply"]
    rig.saltern("run", "web1", "test.fail", check=False)
    rig.saltern("run", "web1", "test.ping")
    rig.stop("controller")
    rig.wait("its end to be told", lambda: _of(_lines(rig, "web1"), "controller_unreachable"))
    rig.start_controller()
    rig.wait("it to be back", lambda: _of(_lines(rig, "web1"), "controller_reached"))
    rig.wait("it to be online", lambda: rig.status()["web1"]["connected"])
    controller, minion = _lines(rig, "controller"), _lines(rig, "web1")

    run_id = applied["run_id"]
    there = [line["event"] for line in minion if line.get("run_id") == run_id]
    here = [line for line in controller if line.get("run_id") == run_id]
    assert there == ["run_started", "run_finished"]
    assert [(line["event"], line["minion"], line["outcome"]) for line in here] == [("run ended", "web1", "changed")]
    assert {line["minion"] for line in minion if line["event"] != "cannot_start"} == {"web1"}

    # A call that failed is told, one that went well is not.
    assert [line["kind"] for line in controller if line["event"] == "run ended"] == ["apply", "call"]

    (gone,) = _of(minion, "controller_unreachable")
    assert gone["level"] == "warning"
    assert "nothing listens" in gone["cause"]
    assert "saltern controller" in gone["do"]
    first_life = controller[: next(at for at, line in enumerate(controller) if line["event"] == "stopping")]
    for lines in (first_life, minion):
        told = Counter(json.dumps({**line, "time": ""}) for line in lines)
        assert [line for line, count in told.items() if count > 1] == []


def _as_json(rig):
    for minion in rig.minions:
        path = rig.directory / minion / "minion"
        path.write_text(yaml.safe_dump({**yaml.safe_load(path.read_text()), "log_format": "json", "log_level": "info"}))


def _lines(rig, name):
    return [json.loads(line) for line in rig.log(name, 100_000).splitlines()]


def _of(lines, event):
    return [line for line in lines if line.get("event") == event]
