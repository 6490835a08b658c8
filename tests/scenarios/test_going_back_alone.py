"""`apply: confirm` while no controller is there: minions go back by themselves; what people decided holds."""

import json
import re

import pytest
from effort import steps

NUMBER = {"pillar/numbers.sls": ("number: 0\n", "number: 1\n")}
POLICY = "policies:\n- {name: edge, target: 'web*', apply: confirm, confirm: 5s}\n"
WHY = "nobody confirmed it in time"


def number(rig, minion):
    return (rig.root(minion) / "app.conf").read_text().strip()


def talkative(rig):
    """Minions that log what they do."""
    for minion in rig.minions:
        path = rig.directory / minion / "minion"
        path.write_text(path.read_text() + "log_level: info\n")


def fleet(make_rig, *minions, policy=POLICY):
    """Minions that have been told what is confirmed."""
    rig = make_rig({each: {} for each in minions}, talkative)
    before = rig.push("what they have")
    rig.wait_applied(before)
    rig.wait_applied(rig.push("the policy", {"states/saltern.yaml": ("drift:", f"{policy}drift:")}))
    web = [each for each in minions if each.startswith("web")]
    rig.wait("the rules", lambda: all(any((rig.directory / each).rglob("confirmed/*")) for each in web))
    return rig, before


def connected(rig):
    rig.start_controller()
    rig.wait("the minions", lambda: all(each["connected"] for each in rig.status().values()))


def went_back(rig, minion):
    """Runs by which a minion went back by itself, as history has them."""
    return [each for each in rig.history(minion) if each["run_id"].startswith("heal-")]


def waiting(rig):
    return [name for name, each in rig.status().items() if each["unconfirmed"]]


@pytest.mark.timeout(300)
def test_a_change_that_takes_the_controller_away_is_gone_back_from(make_rig):
    """The run ends after the controller has gone: nobody but the minion knows that it has."""
    rig, before = fleet(make_rig, "web1", "db1")
    pid = rig.pid("controller")
    cut = f"cut:\n  cmd.run:\n    - name: kill -9 -{pid}\n    - onchanges:\n      - file: app-config\n"
    only = "{% if grains['id'] == 'web1' %}\n" + cut + "{% endif %}\n"
    rig.push("the firewall", {"states/app.sls": ("app-told:", only + "app-told:"), **NUMBER})
    rig.exit_code("controller", 60)
    rig.stop("controller")
    assert number(rig, "web1") == "number 1"
    rig.wait("web1 to go back", lambda: number(rig, "web1") == "number 0")

    connected(rig)
    rig.wait("the run", lambda: went_back(rig, "web1"))
    [run] = went_back(rig, "web1")
    assert (run["outcome"], run["cause"].startswith(WHY)) == ("changed", True)
    rig.wait("it to be held", lambda: rig.status()["web1"]["sync"] == "Held")
    status = rig.status()["web1"]
    assert status["applied_revision"] == before
    assert status["taken_back"]["why"].startswith(WHY)
    assert number(rig, "web1") == "number 0", "it does not come again by itself"
    told = rig.saltern("events", "saltern/minion/web1/went-back", "--since", "1h", "-n", "1", "--out", "json").stdout
    assert json.loads(told)["data"]["run"] == run["run_id"]
    assert "nobody confirmed it in time" in rig.saltern("status", "web1").stdout
    assert len(went_back(rig, "web1")) == 1


@pytest.mark.timeout(300)
def test_what_is_confirmed_stays_and_what_is_confirmed_meanwhile_is_applied_again(make_rig):
    rig, _ = fleet(make_rig, "web1", "web2")
    rig.wait_applied(rig.push("longer", {"states/saltern.yaml": ("confirm: 5s", "confirm: 15s")}))
    rig.push("number 1", NUMBER)
    rig.wait("both to wait", lambda: waiting(rig) == ["web1", "web2"])
    rig.saltern("confirm", "web1")
    rig.kill("web2", children=True)
    rig.saltern("confirm", "web2")  # web2 does not hear of it
    rig.kill("controller", children=True)
    rig.start_minion("web2")
    rig.wait("web2 to go back", lambda: number(rig, "web2") == "number 0")
    assert number(rig, "web1") == "number 1"
    connected(rig)
    rig.wait("what people said", lambda: number(rig, "web2") == "number 1")
    rig.wait("all to be well", lambda: {each["sync"] for each in rig.status().values()} == {"Synced"})
    assert waiting(rig) == []
    assert (len(went_back(rig, "web1")), len(went_back(rig, "web2"))) == (0, 1)


@pytest.mark.parametrize("ends", steps(["under the next agent", "before the next agent"], 1))
@pytest.mark.timeout(300)
def test_an_agent_that_is_killed_while_it_waits_and_while_it_goes_back(make_rig, ends):
    rig, _ = fleet(make_rig, "web1")
    go, ran = rig.directory / "go", rig.directory / "ran"
    go.touch()
    slow = f"echo $(cat {rig.root('web1')}/app.conf) >> {ran}; while ! test -e {go}; do sleep 0.05; done"
    told = "echo \"$(cat {{ grains['root'] }}/app.conf)\" >> {{ grains['root'] }}/told"
    head = rig.push("slow", {"states/app.sls": (told, slow)})
    rig.wait_applied(head)  # it changes nothing: nothing has to be confirmed
    rig.push("number 1", NUMBER)
    rig.wait("it to wait", lambda: waiting(rig) == ["web1"])
    rig.kill("controller", children=True)
    rig.kill("web1", children=True)
    go.unlink()
    rig.start_minion("web1")
    rig.wait("it to be in the middle", lambda: ran.read_text().splitlines()[-1] == "number 0")
    rig.kill("web1", children=True)
    results = rig.directory / "web1"
    if ends.startswith("under"):
        rig.start_minion("web1")
        rig.wait("the run to be found", lambda: re.search("event=run_found .*run_id=heal-", rig.log("web1", 100_000)))
        go.touch()
    else:
        go.touch()
        rig.wait("the worker to end", lambda: [*results.rglob("heal-*/result")])
        rig.start_minion("web1")
    rig.wait("the end of it", lambda: [*results.rglob("heal-*/result")])
    assert number(rig, "web1") == "number 0"
    connected(rig)
    rig.wait("it to be held", lambda: rig.status()["web1"]["sync"] == "Held")
    assert rig.status()["web1"]["applied_revision"] == head
    assert len(went_back(rig, "web1")) == 1
