"""Beacons from the configuration of an agent process to a real wire server."""

from __future__ import annotations

import time

from wire.messages import Hello, KeepAlive


def events(controller, head=""):
    return [(tag, data) for tag, data in controller.own_events if tag.startswith(f"salt/beacon/web1/{head}")]


def test_a_file_that_changes_is_an_event_at_once(controller, agents, tmp_path):
    watched = tmp_path / "watched"
    watched.mkdir()
    agents(beacons={"inotify": [{"files": {str(watched): {"mask": ["create", "modify"]}}}]}).start()
    controller.next(Hello)
    wait_for_watch(controller, watched)
    (watched / "a").write_text("x")

    def of_a():
        return [one for one in events(controller) if one[1]["path"] == f"{watched}/a"]

    controller.wait(lambda: len(of_a()) == 2)
    tag = f"salt/beacon/web1/inotify/{watched}"
    changes = ("IN_CREATE", "IN_MODIFY")
    assert of_a() == [(tag, {"id": "web1", "path": f"{watched}/a", "change": change}) for change in changes]


def wait_for_watch(controller, watched):
    """The process of the beacons is there once an event of the watched folder comes."""

    def tried():
        (watched / f"try{time.monotonic_ns()}").touch()
        return events(controller)

    controller.wait(tried)


def test_looks_are_made_again_and_again(controller, agents):
    averages = {"1m": [-2.0, -1.0]}
    agents(beacons={"load": [{"averages": averages}], "memusage": [{"percent": "0%"}, {"interval": 0.2}]}).start()
    controller.wait(lambda: len(events(controller, "load/")) >= 2 and len(events(controller, "memusage/")) >= 2)
    _, load = events(controller, "load/")[0]
    assert set(load) == {"id", "1m", "5m", "15m"}
    _, memory = events(controller, "memusage/")[0]
    assert 0 <= memory["memusage"] <= 100


def test_what_is_wrong_is_told_with_its_place_and_costs_no_other(controller, agents):
    agent = agents(beacons={"lod": [], "load": {"averages": {}}, "memusage": [{"percent": "0%"}]}).start()
    alive = controller.wait(lambda: [one for one in controller.all(KeepAlive) if len(one.problems) == 2])[0]
    place = f"{agent.config_dir}/minion:1"
    assert f"{place}: beacon lod: there is no beacon lod; did you mean load?" in alive.problems
    assert any(one.startswith(f"{place}: beacon load: must be a list") for one in alive.problems)
    assert "event=beacon_problem" in agent.logged()
    controller.wait(lambda: events(controller, "memusage/"))


def test_beacons_of_the_pillar_come_and_go_with_it(controller, agents, desired_state):
    agents().start()
    controller.next(Hello)
    controller.desire(desired_state(pillar={"beacons": {"memusage": [{"percent": 0}, {"interval": 0.2}], "x": 1}}))
    controller.wait(lambda: events(controller, "memusage/"))
    alive = controller.wait(lambda: [one for one in controller.all(KeepAlive) if one.problems])[0]
    assert alive.problems == ("pillar, beacons: beacon x: must be a list of options, not 1",)
    controller.desire(desired_state(pillar={}))
    controller.wait(lambda: controller.all(KeepAlive)[-1].problems == ())


def test_a_log_is_followed_across_rotation(controller, agents, tmp_path):
    log = tmp_path / "app.log"
    log.write_text("bad: from before\n")
    tags = {"app/bad": {"regex": "bad: .*"}}
    agents(beacons={"log": [{"file": str(log)}, {"tags": tags}]}).start()
    controller.next(Hello)

    def say(text):
        with log.open("a") as file:
            file.write(f"{text}\n")

    def tried():
        say("bad: try")
        return events(controller)

    controller.wait(tried)
    say("it was bad: not from the beginning")
    say("bad: one")
    log.rename(tmp_path / "app.log.1")
    log.write_text("bad: two\n")
    controller.wait(lambda: "bad: two" in [data["raw"] for _, data in events(controller)])
    raws = [data["raw"] for _, data in events(controller) if data["raw"] != "bad: try"]
    assert raws == ["bad: one", "bad: two"]
    assert events(controller)[-1] == (
        "salt/beacon/web1/log/app/bad",
        {"id": "web1", "match": "yes", "raw": "bad: two", "error": ""},
    )


def test_changes_of_a_run_are_not_told_and_those_of_others_are(controller, agents, desired_state, tmp_path):
    watched = tmp_path / "watched"
    watched.mkdir()
    go = tmp_path / "go"
    files = {str(watched): {"mask": ["create", "modify", "moved_to"]}}
    agents(beacons={"inotify": [{"files": files}, {"disable_during_state_run": True}]}).start()
    controller.next(Hello)
    wait_for_watch(controller, watched)
    controller.desire(
        desired_state(
            ("file", "managed", f"{watched}/ours", {"contents": "x"}),
            ("cmd", "run", f"for i in $(seq 500); do test -e {go} && exit 0; sleep 0.1; done; exit 1"),
        )
    )
    controller.run("r1")
    controller.wait(lambda: (watched / "ours").exists())
    (watched / "theirs").write_text("x")
    go.touch()
    controller.result("r1")
    controller.wait(lambda: f"{watched}/theirs" in [data["path"] for _, data in events(controller)])
    (watched / "after").write_text("x")
    controller.wait(lambda: f"{watched}/after" in [data["path"] for _, data in events(controller)])
    paths = {data["path"] for _, data in events(controller)}
    assert f"{watched}/ours" not in paths
    assert not any(".ours" in path for path in paths)


def test_the_process_of_the_beacons_is_begun_again(controller, agents):
    agent = agents(beacons={"memusage": [{"percent": 0}, {"interval": 0.2}]}).start()
    controller.wait(lambda: events(controller))
    agent.kill()
    agent.start()
    count = len(events(controller))
    controller.wait(lambda: len(events(controller)) > count + 1)
