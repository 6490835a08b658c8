"""The orchestrations of examples/orchestration do what its page says, on a real controller and minions."""

import json
import shutil
import tempfile
from pathlib import Path

import pytest
import yaml
from rig import Rig

EXAMPLE = Path(__file__).resolve().parents[2] / "examples" / "orchestration"
MINIONS = {"web1": {"side": "blue"}, "web2": {"side": "green"}, "web3": {"side": "blue"}}


@pytest.fixture(scope="module")
def rig():
    folder = Path(tempfile.mkdtemp(prefix="saltern-"))
    options = yaml.safe_load(
        (EXAMPLE / "controller.conf").read_text().replace("/srv/reactor", str(EXAMPLE / "reactor"))
    )
    tree = folder / "tree"
    for name in ("states", "pillar"):
        shutil.copytree(EXAMPLE / name, tree / name)
    with Rig(folder, MINIONS, tree, options, forked=True) as made:
        made.up()
        made.wait_applied(made.push("the example"))
        yield made
    shutil.rmtree(folder, ignore_errors=True)


def versions(rig):
    return {minion: (rig.root(minion) / "app" / "version").read_text().strip() for minion in MINIONS}


def orchestrate(rig, sls, **pillar):
    done = rig.saltern("runner", "state.orchestrate", sls, f"pillar={json.dumps(pillar)}", "--out", "json", check=False)
    [running] = json.loads(done.stdout)["data"].values()
    return done.returncode, {one["__id__"]: one for one in running.values()}


def test_a_canary_goes_on_to_the_others(rig):
    code, steps = orchestrate(rig, "orch.canary", version="2.0")
    assert code == 0, steps
    assert set(versions(rig).values()) == {"2.0"}
    assert steps["rollback"]["comment"] == "State was not run because onfail req did not change"


def test_a_canary_that_fails_is_rolled_back_and_the_others_are_not_touched(rig):
    code, steps = orchestrate(rig, "orch.canary", version="3.0", broken=["3.0"], before="2.5")
    assert code == 1
    assert steps["canary"]["result"] is False
    assert steps["rest"]["comment"] == "One or more requisite failed: orch.canary.canary"
    assert steps["rollback"]["result"] is True
    assert set(versions(rig).values()) == {"2.5"}


def test_the_side_that_nobody_uses_is_deployed_and_then_used(rig):
    code, steps = orchestrate(rig, "orch.blue_green", version="4.0", side="green", root=str(rig.root("web2")))
    assert code == 0, steps
    assert versions(rig)["web2"] == "4.0"
    assert versions(rig)["web1"] != "4.0"
    assert steps["switch"]["result"] is True


def test_a_reactor_begins_the_canary(rig):
    rig.saltern("runner", "event.send", "release/new", 'data={"version": "5.0"}')
    rig.wait("the new version", lambda: set(versions(rig).values()) == {"5.0"})
    rig.wait("the end", lambda: rig.ask("/orchestrations")[0]["state"] == "finished")
    newest = rig.ask("/orchestrations")[0]
    assert newest["outcome"] == "ok"
    assert "orch.canary" in newest["sls"]
