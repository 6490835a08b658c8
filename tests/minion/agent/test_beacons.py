"""Beacons from the configuration of an agent process to a real wire server."""

from __future__ import annotations

import time

from wire.messages import Hello, KeepAlive, RunResult


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


COUNTER = """
import time
__virtualname__ = "counter"

def __virtual__():
    return __virtualname__

def validate(config):
    if not isinstance(config, list) or not any("from" in item for item in config):
        return False, "from is missing"
    return True, "fine"

def beacon(config):
    options = {}
    for item in config:
        options.update(item)
    if options.get("hang"):
        time.sleep(3600)
    if options.get("fail"):
        raise ValueError("no luck")
    number = __context__["number"] = __context__.get("number", options["from"] - 1) + 1
    return [{"tag": "counted", "number": number, "os": __grains__["id"], "echo": __salt__["test.echo"]("x")}]
"""


def test_beacons_of_the_tree_run_beside_the_others(controller, agents, tmp_path):
    folder = tmp_path / "beacons"
    folder.mkdir()
    (folder / "mine.py").write_text(COUNTER)
    (folder / "broken.py").write_text("import no_such_module\n")
    configured = {
        "counter": [{"from": 5}, {"interval": 0.2}],
        "hangs": [{"beacon_module": "counter"}, {"from": 1}, {"hang": True}, {"interval": 0.2}],
        "fails": [{"beacon_module": "counter"}, {"from": 1}, {"fail": True}],
        "refused": [{"beacon_module": "counter"}],
        "broken": [],
        "memusage": [{"percent": 0}, {"interval": 0.2}],
    }
    agents(beacons_dirs=[str(folder)], beacons=configured).start()
    controller.wait(lambda: len(events(controller, "counter/counted")) >= 3)
    found = [data for _, data in events(controller, "counter/counted")][:3]
    assert found == [{"id": "web1", "number": number, "os": "web1", "echo": "x"} for number in (5, 6, 7)]
    controller.wait(lambda: events(controller, "memusage/"))
    alive = controller.wait(lambda: [one for one in controller.all(KeepAlive) if len(one.problems) == 3])[0]
    names = sorted(one.partition("beacon ")[2].partition(":")[0] for one in alive.problems)
    assert names == ["broken", "fails", "refused"]
    assert any("ModuleNotFoundError" in one for one in alive.problems)
    assert any("from is missing" in one for one in alive.problems)
    assert ("salt/beacon/web1/fails/", {"id": "web1", "error": "ValueError: no luck"}) in events(controller, "fails/")


def ensured(controller):
    head = "saltern/ensure/web1/"
    return [(tag.removeprefix(head), data) for tag, data in controller.own_events if tag.startswith(head)]


def test_a_bad_condition_is_healed_until_it_holds_again(controller, agents, desired_state, tmp_path):
    """The state makes the file only once it may: until then healing does not help, and that is told."""
    folder = tmp_path / "beacons"
    folder.mkdir()
    wanted, may = tmp_path / "wanted", tmp_path / "may"
    look = f"[] if os.path.exists({str(wanted)!r}) else [{{'missing': True}}]"
    (folder / "missing.py").write_text(f"import os\n\ndef beacon(config):\n    return {look}\n")
    healing = {"sls": "web", "tries": 2, "backoff": 1}
    agents(beacons_dirs=[str(folder)], beacons={"missing": [{"interval": 0.2}, {"ensure": healing}]}).start()
    controller.next(Hello)
    controller.desire(desired_state(("file", "touch", str(wanted), {"onlyif": [f"test -e {may}"]})))
    controller.wait(lambda: "missing/escalated" in dict(ensured(controller)))
    names = [name for name, _ in ensured(controller)]
    assert names[:3] == ["missing/healing", "missing/healing", "missing/escalated"]
    assert ensured(controller)[2][1]["tries"] >= 2
    may.touch()
    controller.wait(lambda: "missing/resolved" in dict(ensured(controller)))
    assert wanted.exists()
    calls = [one for one in controller.all(RunResult) if one.kind == "call"]
    assert calls
    assert all(one.run_id.startswith("scheduled-web1-") for one in calls)
