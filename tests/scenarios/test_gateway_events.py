"""Events, beacons, reactors and schedules over minions of this project and stock minions."""

import json
import shutil
import tempfile
from pathlib import Path

import pytest
from both_kinds import BothKinds
from rig import Rig
from stock_minions import salt_venvs

pytestmark = [
    pytest.mark.timeout(600),
    pytest.mark.skipif(not salt_venvs(), reason="SALT_MINION_VENVS names no virtualenv with salt-minion"),
]
TREE = Path(__file__).parent / "tree"
OWN, STOCK = "own1", "stock1"
BOTH = (OWN, STOCK)
ANSWER = """
{% set other = 'stock1' if data['id'] == 'own1' else 'own1' %}
answer:
  local.state.apply:
    - tgt: {{ other }}
    - args:
      - mods: answer
      - pillar:
          from: {{ data['id'] }}
"""
ANSWERED = """
{{ grains.root }}/answered:
  file.append:
    - text: {{ salt['pillar.get']('from', 'nobody') }}
"""
STARTED = "told: {local.test.arg: [{tgt: '*'}, {args: [{of: {{ data['id'] }}}]}]}\n"
POLICY = "drift: {interval: 30m}\n"
OF_TREE = f"beacons:\n- target: {STOCK}\n  beacons:\n    status: [{{interval: 1}}, {{loadavg: [all]}}]\n"


@pytest.fixture(scope="module")
def site():
    folder = Path(tempfile.mkdtemp(prefix="saltern-"))
    with Rig(folder, {OWN: {}}, TREE, forked=True) as rig:
        reactors = folder / "reactors"
        reactors.mkdir()
        (reactors / "answer.sls").write_text(ANSWER)
        (reactors / "started.sls").write_text(STARTED)
        every = {"function": "test.arg", "args": ["by schedule"], "target": "*", "seconds": 2}
        rig.configure(
            reactor=[
                {"salt/beacon/*/memusage/": [str(reactors / "answer.sls")]},
                {"asked/*": [str(reactors / "answer.sls")]},
                {"salt/minion/*/start": [str(reactors / "started.sls")]},
            ],
            schedule={"often": every},
        )
        rig.up()
        both = BothKinds(rig, {STOCK: {}})
        try:
            both.wait_applied(both.write({"states/answer.sls": ANSWERED}))
            yield both
        finally:
            both.stop()
    shutil.rmtree(folder, ignore_errors=True)


def answered(site, minion):
    path = site.root(minion) / "answered"
    return path.read_text().split() if path.exists() else []


def sent(site, tag):
    return {one["minion"]: one for one in site.events(tag)}


def test_events_of_both_are_answered_by_states_on_the_other(site):
    for minion, other in (BOTH, BOTH[::-1]):
        site.json("run", minion, "event.send", f"asked/{minion}", '{"größe": [1, "ü"], "none": null}')
        site.wait(f"{other} to be told", lambda other=other, minion=minion: minion in answered(site, other))
    events = sent(site, "asked/*")
    assert set(events) == set(BOTH)
    for minion in BOTH:
        data = events[minion]["data"]
        assert (data["id"], data["tag"]) == (minion, f"asked/{minion}")
        said = {name: value for name, value in data["data"].items() if not name.startswith("__pub_")}
        assert said == {"größe": [1, "ü"], "none": None}
    assert set(events[OWN]["data"]) == set(events[STOCK]["data"])
    reactions = [one for one in site.rig.ask("/reactions", limit=100) if one["tag"].startswith("asked/")]
    assert {(one["tag"], one["outcome"]) for one in reactions} == {(f"asked/{each}", "ok") for each in BOTH}


def test_an_event_of_a_state_comes_from_both(site):
    tell = "tell:\n  event.send:\n    - name: told/by/states\n    - data: {a: 1}\n"
    site.write({"states/tell.sls": tell})
    site.wait("the tree", lambda: site.rig.head() in str(site.rig.remotes()))
    site.json("run", "*", "state.apply", "tell")
    events = site.wait("both", lambda: len(found := sent(site, "told/by/states")) == 2 and found)
    assert {one["data"]["data"]["a"] for one in events.values()} == {1}
    assert {one["data"]["id"] for one in events.values()} == set(BOTH)


def test_a_beacon_of_each_has_the_other_answer(site):
    """The stock minion's stands in its own configuration, ours in saltern.yaml."""
    for minion in BOTH:
        (site.root(minion) / "answered").unlink(missing_ok=True)
    ours = f"beacons:\n- target: {OWN}\n  beacons:\n    memusage: [{{percent: 0}}, {{interval: 2}}]\n"
    site.wait_applied(site.write({"states/saltern.yaml": f"{POLICY}{ours}"}, "a beacon"), OWN)
    site.wait("the stock minion's answer", lambda: OWN in answered(site, STOCK))
    site.wait_applied(site.write({"states/saltern.yaml": POLICY}, "no beacon"), OWN)
    site.json("run", STOCK, "beacons.add", "memusage", json.dumps([{"percent": 0}, {"interval": 2}]))
    site.wait("our minion's answer", lambda: STOCK in answered(site, OWN))
    site.json("run", STOCK, "beacons.delete", "memusage")
    events = sent(site, "salt/beacon/*/memusage/")
    assert set(events) == set(BOTH)
    shapes = {minion: set(one["data"]) for minion, one in events.items()}
    assert shapes[OWN] == shapes[STOCK]
    assert {one["data"]["id"] for one in events.values()} == set(BOTH)


def test_a_beacon_of_the_tree_goes_to_a_stock_minion_with_its_pillar(site):
    head = site.write({"states/saltern.yaml": f"{POLICY}{OF_TREE}"}, "a beacon of the tree")
    site.wait_applied(head, STOCK)
    site.wait("its pillar", lambda: "beacons" in site.json("run", STOCK, "pillar.ls")[STOCK])
    event = site.wait("its event", lambda: sent(site, f"salt/beacon/{STOCK}/status/*").get(STOCK))
    assert "loadavg" in str(event["data"])
    site.write({"states/saltern.yaml": POLICY}, "no beacon")


def test_jobs_of_the_controllers_schedule_go_to_both(site):
    def asked():
        runs = [one for one in site.rig.ask("/history", limit=1000) if one.get("user") == "schedule often"]
        return {one["minion"] for one in runs if one["outcome"] == "ok"}

    site.wait("both", lambda: asked() == set(BOTH))


def test_the_start_of_each_is_an_event_that_reactors_answer(site):
    def started():
        runs = [one for one in site.rig.ask("/history", limit=1000) if one.get("user") == "Reactor"]
        return len([one for one in runs if STOCK in str(one["args"]) and one["fun"] == "test.arg"])

    before = started()
    site.stock.stop(STOCK)
    site.wait_connected(STOCK, False)
    site.start(STOCK)
    site.wait_connected(STOCK)
    site.wait("the reaction", lambda: started() > before)
    starts = sent(site, "salt/minion/*/start")
    assert set(starts) == set(BOTH)
    assert set(starts[OWN]["data"]) == set(starts[STOCK]["data"])


def test_what_a_stock_minions_own_schedule_did_is_in_no_job_and_breaks_nothing(site):
    job = ("function=test.arg", "seconds=1", "job_args=['own schedule']")
    site.json("run", STOCK, "schedule.add", "own", *job)
    site.wait("it to have run", lambda: "own schedule" in site.stock.log(STOCK))
    assert site.json("run", "*", "test.ping") == dict.fromkeys(BOTH, True)
    site.json("run", STOCK, "schedule.delete", "own")
