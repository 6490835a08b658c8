"""An event of a run is on the bus while the run goes on, once, whoever is killed meanwhile."""

import contextlib
import json
import sqlite3
import subprocess

from rig import SALTERN

from tools.oracle.progress import GOLDEN, TREE, settled

STATES = """
first:
  event.send:
    - name: my/first
    - data: {{step: 1}}
waits:
  cmd.run:
    - name: "for i in $(seq 1200); do test -e {go} && exit 0; sleep 0.1; done; exit 1"
    - fire_event: end
last:
  event.send:
    - name: my/last
"""


@contextlib.contextmanager
def stream(rig, *tags):
    """A function that gives the events that `saltern events` has shown until now."""
    shown = rig.directory / "shown"
    with shown.open("wb") as file:
        command = [*SALTERN, "events", *tags, "--out", "json", "-c", str(rig.config)]
        process = subprocess.Popen(command, stdout=file)
        try:
            yield lambda: [json.loads(line) for line in shown.read_text().splitlines(keepends=True) if line[-1] == "\n"]
        finally:
            process.terminate()
            process.wait()


def stored(rig):
    """Tags of the events of states that the controller has kept, in their order."""
    (path,) = rig.directory.rglob("*.sqlite")
    with contextlib.closing(sqlite3.connect(f"file:{path}?mode=ro", uri=True)) as store:
        tags = [tag for (tag,) in store.execute("SELECT tag FROM events ORDER BY id")]
    return [tag.rpartition("/")[2] for tag in tags if tag.startswith(("my/", "salt/state_result/"))]


def check_ended(rig):
    """Whether the newest run is a check that is over: what it has sent is stored before its result."""
    newest = rig.history("web1")[0]
    return newest["kind"] == "drift" and newest["state"] == "finished"


def test_an_event_is_seen_before_the_run_ends(make_rig):
    rig = make_rig(minions={"web1": {}})
    rig.wait_applied(rig.push("first"))
    go = rig.directory / "go"
    with stream(rig, "my/*") as shown:

        def ready():
            rig.saltern("run", "web1", "event.send", "my/ready")
            return any(event["tag"] == "my/ready" for event in shown())

        rig.wait("the stream to begin", ready)
        (rig.work / "states" / "app.sls").write_text(STATES.format(go=go))
        commit = rig.push("Waits")
        seen = rig.wait("the event", lambda: [event for event in shown() if event["tag"] == "my/first"])
        assert (seen[0]["minion"], seen[0]["data"]["data"]) == ("web1", {"step": 1})
        assert seen[0]["cause"], "it says which run it is of"
        assert rig.history("web1")[0]["state"] == "started"
    rig.kill("web1", children=False)
    rig.kill("controller", children=False)
    rig.start_controller()
    rig.start_minion("web1")
    go.touch()
    rig.wait_applied(commit)
    rig.wait("the check after the push", lambda: check_ended(rig))
    assert [tag for tag in stored(rig) if tag != "ready"] == ["first", "end", "last"]


def test_with_state_events_each_state_is_an_event_as_salt_has_it(make_rig):
    """What is recorded of a real Salt master and minion, by tools/oracle/progress.py."""
    rig = make_rig(minions={"web1": {}})
    rig.stop("web1")
    settings = rig.directory / "web1" / "minion"
    settings.write_text(settings.read_text() + "\nstate_events: true\n")
    rig.start_minion("web1")
    (rig.work / "states" / "progress.sls").write_text((TREE / "progress.sls").read_text())
    rig.wait_applied(rig.push("states"))
    with stream(rig) as shown:

        def ready():
            rig.saltern("run", "web1", "event.send", "my/ready")
            return any(event["tag"] == "my/ready" for event in shown())

        rig.wait("the stream to begin", ready)
        rig.saltern("run", "web1", "state.sls", "progress", check=False)
        done = rig.wait("the return", lambda: [one for one in shown() if one["data"].get("fun") == "state.sls"
                                               and "/ret/" in one["tag"]])  # fmt: skip
        lines = [f"{event['tag']}\t{json.dumps(event['data'])}" for event in shown()]
    jid = done[0]["data"]["jid"]
    ours = settled([line for line in lines if f"/{jid}/" in line], "web1")
    golden = json.loads(GOLDEN.read_text())
    assert [one["tag"] for one in ours] == [one["tag"] for one in golden]
    for one, salts in zip(ours, golden, strict=True):
        assert one["data"] == salts["data"]
        assert {key: one.get(key) for key in salts if key != "_stamp"} == {
            key: value for key, value in salts.items() if key != "_stamp"
        }
    assert not [tag for tag in all_stored(rig) if "/prog/" in tag], "history has the result of the run"


def all_stored(rig):
    (path,) = rig.directory.rglob("*.sqlite")
    with contextlib.closing(sqlite3.connect(f"file:{path}?mode=ro", uri=True)) as store:
        return [tag for (tag,) in store.execute("SELECT tag FROM events ORDER BY id")]


def test_a_minion_on_which_somebody_runs_states_is_progressing(make_rig):
    rig = make_rig(minions={"web1": {}})
    go = rig.directory / "go"
    (rig.work / "states" / "slow.sls").write_text(STATES.format(go=go))
    rig.wait_applied(rig.push("Slow states that top.sls does not name"))
    assert rig.status()["web1"]["health"] == "Healthy"
    rig.saltern("run", "web1", "state.apply", "slow", "--async")
    status = rig.wait("the run", lambda: (found := rig.status()["web1"])["running"] and found)
    assert (status["sync"], status["health"]) == ("Synced", "Progressing")
    assert status["message"].startswith("running: ")
    go.touch()
    rig.wait("its end", lambda: rig.status()["web1"]["health"] == "Healthy")
