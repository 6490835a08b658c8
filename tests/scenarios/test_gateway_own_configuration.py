"""What stands in an unmodified salt-minion's own configuration, through the gateway: what it runs at its start, engines
and beacons."""

import json
import shutil
import tempfile
from pathlib import Path

import pytest
from gateway_site import gateway_site
from stock_minions import salt_venvs

VENVS = salt_venvs()
pytestmark = [
    pytest.mark.alone,
    pytest.mark.timeout(600),
    pytest.mark.skipif(not VENVS, reason="SALT_MINION_VENVS names no virtualenv with salt-minion"),
]
MINION = "web1"
TOP = "base:\n  '*':\n    - web\n"
STARTUPS = {
    "sls": ({"startup_states": "sls", "sls_list": ["begun", "begun.more"]}, "state.sls", {"begun", "more"}),
    "highstate": ({"startup_states": "highstate"}, "state.highstate", {"web"}),
    "top": ({"startup_states": "top", "top_file": "other.sls"}, "state.top", {"begun"}),
}


@pytest.fixture(scope="module", params=sorted(VENVS))
def site(request):
    folder = Path(tempfile.mkdtemp(prefix="saltern-"))
    ran = lambda name: f"{folder}/{name}:\n  file.append:\n    - text: {{{{ grains.id }}}}\n"  # noqa: E731
    tree = {
        "states/top.sls": TOP,
        "states/other.sls": "base:\n  '*':\n    - begun\n",
        "states/web.sls": ran("web"),
        "states/begun/init.sls": ran("begun"),
        "states/begun/more.sls": ran("more"),
    }
    with gateway_site(folder, tree) as (rig, stock):
        venv = VENVS[request.param]
        stock.start_minion(venv, MINION, {"start_event_grains": ["os", "saltversion"]})
        stock.wait("its key waits", lambda: MINION in rig.keys("pending"))
        rig.saltern("key", "accept", MINION, "--yes")
        rig.wait_applied(rig.head(), [MINION], patience=120)

        def again(**more):
            stock.stop(MINION)
            stock.start_minion(venv, MINION, more)

        yield rig, stock, folder, again
    shutil.rmtree(folder, ignore_errors=True)


def starts(rig):
    """What the events of its starts have told of its grains, oldest first."""
    lines = rig.saltern("events", "--no-follow", f"salt/minion/{MINION}/start", "--out", "json").stdout.splitlines()
    return [json.loads(line)["data"].get("grains") for line in lines]


def test_the_event_of_each_start_has_the_grains_that_it_shall(site):
    rig, stock, _, again = site
    version = next(row["agent"] for row in rig.ask("/minions/presence") if row["minion"] == MINION).split()[-1]
    grains = {
        "os": json.loads(rig.saltern("run", MINION, "grains.get", "os", "--static", "--out", "json").stdout)[MINION]
    }
    assert stock.wait("its start", lambda: starts(rig)) == [{**grains, "saltversion": version}]
    again(start_event_grains=["os", "saltversion"])
    stock.wait("its next start", lambda: starts(rig)[1:])
    assert starts(rig) == [{**grains, "saltversion": version}] * 2


def called(rig, fun):
    runs = [run for run in rig.history(MINION) if run["run_id"].startswith("called-")]
    return [run for run in runs if run["fun"] == fun and run["state"] == "finished"]


@pytest.mark.parametrize("kind", STARTUPS)
def test_startup_states_run_at_each_start_and_are_in_the_history(site, kind):
    rig, stock, folder, again = site
    options, fun, files = STARTUPS[kind]
    for name in ("web", "begun", "more"):
        (folder / name).unlink(missing_ok=True)
    before = len(called(rig, fun))
    again(**options)
    [run, *_] = stock.wait("the run in the history", lambda: called(rig, fun)[: len(called(rig, fun)) - before])
    assert {name for name in ("web", "begun", "more") if (folder / name).exists()} == files
    assert run["outcome"] == "changed", run
    shown = json.loads(rig.saltern("show", run["run_id"], "--out", "json").stdout)
    assert {state["name"] for state in shown["value"].values()} == {str(folder / name) for name in files}
    assert rig.saltern("run", MINION, "test.ping").stdout.split()[-1] == "True"


def test_engines_and_beacons_of_its_configuration_send_their_events(site):
    rig, stock, folder, again = site
    script = folder / "told.json"
    script.write_text(json.dumps({"tag": "told/by/engine", "data": {"größe": 5}}))
    again(
        engines=[{"script": {"cmd": f"cat {script}", "output": "json", "interval": 2}}],
        beacons={"memusage": [{"percent": 0}, {"interval": 2}]},
    )

    def events(tag):
        words = ("events", tag, "--since", "1h", "--no-follow", "--out", "json")
        return [json.loads(line) for line in rig.saltern(*words).stdout.splitlines()]

    [event, *_] = stock.wait("an event of the engine", lambda: events("told/by/engine"))
    assert event["minion"] == MINION
    assert event["data"]["data"]["größe"] == 5
    [event, *_] = stock.wait("an event of the beacon", lambda: events(f"salt/beacon/{MINION}/memusage/"))
    assert event["data"]["id"] == MINION
