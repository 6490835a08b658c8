"""`saltern migrate agent`: a real salt-minion, a service of its machine, is replaced by our minion, and back."""

import os
import shutil
import tempfile
from pathlib import Path

import pytest
from agent_site import AgentSite
from stock_minions import salt_venvs

VENVS = salt_venvs()
pytestmark = [
    pytest.mark.alone,
    pytest.mark.timeout(600),
    pytest.mark.skipif(not VENVS, reason="SALT_MINION_VENVS names no virtualenv with salt-minion"),
    pytest.mark.skipif(os.geteuid() != 0, reason="services of a machine need root"),
]


@pytest.fixture(params=sorted(VENVS), scope="module")
def site(request):
    folder = Path(tempfile.mkdtemp(prefix="saltern-"))
    found = AgentSite(folder, VENVS[request.param])
    with found.closing:
        found.start()
        yield found
    shutil.rmtree(folder, ignore_errors=True)


def test_there_and_back(site):
    preview = site.migrate("--test")
    assert "stop the service salt-minion for good" in preview
    assert not site.machine.run("ls -A /opt; ls -d /etc/saltern /var/cache/saltern*", check=False)
    out = site.migrate()
    assert "done" in out
    assert site.agent().startswith("saltern ")
    assert site.rig.keys("accepted") == ["web1"]
    assert not site.machine.runs("salt-minion")
    assert not site.machine.starts_at_boot("salt-minion")
    assert site.machine.runs("saltern-minion")
    assert site.machine.starts_at_boot("saltern-minion")
    said = site.rig.saltern("run", "web1", "grains.item", "role", "rack").stdout
    assert "web" in said
    assert "r7" in said
    assert "True" in site.rig.saltern("run", "web1", "mine.get", "web1", "test.ping").stdout
    site.push("second", {"states/web.sls": ("first", "second")})
    assert (site.out / "web1.conf").read_text() == "web second\n"
    back = site.migrate("--to", "salt")
    assert "done" in back
    assert site.agent().startswith("salt ")
    assert site.rig.keys("accepted") == ["web1"]
    assert site.machine.runs("salt-minion")
    assert not site.machine.runs("saltern-minion")
    assert not site.machine.starts_at_boot("saltern-minion")
    site.push("third", {"states/web.sls": ("second", "third")})
    assert (site.out / "web1.conf").read_text() == "web third\n"
    assert "migrate.agent" in site.rig.saltern("history", "web1").stdout


@pytest.mark.parametrize(
    ("step", "victim"),
    [
        ("installing", "controller"),
        ("installing", "gateway"),
        ("installing", "salt-minion"),
        ("retiring", "controller"),
        ("retiring", "saltern-minion"),
    ],
)
def test_whoever_is_killed_one_agent_answers(site, step, victim):
    asking = site.begin()
    site.wait(f"it is {step}", lambda: site.step() == step)
    if step == "installing":
        site.wait("the machine works", lambda: site.rig.history("web1")[0]["fun"] == "migrate.agent")
    site.kill(victim)
    asking.join()
    site.settle("saltern")
    assert not site.machine.runs("salt-minion")
    assert site.machine.runs("saltern-minion")
    asking = site.begin("--to", "salt")
    site.wait("it has begun", lambda: site.step() not in ("done", "failed"))
    if victim in ("controller", "gateway"):
        site.kill(victim)
    asking.join()
    site.settle("salt")
    assert site.machine.runs("salt-minion")
    assert not site.machine.runs("saltern-minion")


def test_a_new_agent_that_does_not_reach_the_controller_is_stopped(site):
    out = site.migrate("--controller", "192.0.2.1", code=1)
    assert "shows no key" in out
    assert site.agent().startswith("salt ")
    assert not site.machine.runs("saltern-minion")
    assert not site.machine.starts_at_boot("saltern-minion")


def test_a_salt_minion_that_is_dead_is_told_and_waited_for_no_longer_than_it_may_be_away(site):
    asking = site.begin()
    site.wait("the machine works", lambda: site.rig.history("web1")[0]["fun"] == "migrate.agent")
    site.machine.kill("salt-minion")
    site.wait("it is told", lambda: "salt-minion is not connected" in site.rig.saltern("migrate", "status").stdout)
    said = site.rig.saltern("migrate", "status").stdout
    assert "start the service salt-minion there" in said
    asking.join()
    [row] = site.rig.ask("/agents/replacements")
    assert row["step"] == "failed"
    assert "has not been connected for 120 s" in row["why"]
    assert "start its service" in row["hint"]
    assert site.rig.keys("accepted") == ["web1"]
    site.machine.run("/etc/init.d/salt-minion start >/dev/null 2>&1")
    site.wait("it is back", lambda: site.agent().startswith("salt "))
    site.migrate()
    site.migrate("--to", "salt")
