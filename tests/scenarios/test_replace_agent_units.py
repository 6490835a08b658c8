"""`saltern migrate agent` where services are units of systemd.

No systemd runs here: a script stands for `systemctl`, has the real one make and remove links, and starts what units
name. What systemd itself does with a unit (restarts, its limits, its journal) is not tried.
"""

import os
import shutil
import tempfile
from pathlib import Path

import pytest
from agent_site import AgentSite
from both_kinds import newest_venv
from stock_minions import salt_venvs

pytestmark = [
    pytest.mark.alone,
    pytest.mark.timeout(900),
    pytest.mark.skipif(not salt_venvs(), reason="SALT_MINION_VENVS names no virtualenv with salt-minion"),
    pytest.mark.skipif(os.geteuid() != 0, reason="services of a machine need root"),
    pytest.mark.skipif(not shutil.which("systemd-analyze"), reason="no systemd is installed"),
]
UNIT = "/etc/systemd/system/saltern-minion.service"


@pytest.fixture
def site():
    folder = Path(tempfile.mkdtemp(prefix="saltern-"))
    found = AgentSite(folder, newest_venv(), systemd=True)
    with found.closing:
        found.start()
        yield found
    shutil.rmtree(folder, ignore_errors=True)


def test_there_and_back_by_units(site):
    assert "(systemd)" in site.migrate("--test")
    site.machine.run("rm /run/systemctl.calls")
    before = site.machine.memory("salt-minion")
    site.migrate()
    assert site.machine.memory("saltern-minion") < before * 2 / 3
    assert site.agent().startswith("saltern ")
    shipped = Path(__file__).parents[2] / "ops/systemd/saltern-minion.service"
    assert site.machine.run(f"cat {UNIT}") == shipped.read_text()
    assert not site.machine.run(f"systemd-analyze verify --man=no {UNIT} 2>&1")
    assert (site.machine.runs("saltern-minion"), site.machine.starts_at_boot("saltern-minion")) == (True, True)
    assert (site.machine.runs("salt-minion"), site.machine.starts_at_boot("salt-minion")) == (False, False)
    site.migrate("--to", "salt")
    assert site.agent().startswith("salt ")
    assert (site.machine.runs("salt-minion"), site.machine.starts_at_boot("salt-minion")) == (True, True)
    assert (site.machine.runs("saltern-minion"), site.machine.starts_at_boot("saltern-minion")) == (False, False)
    calls = site.machine.run("cat /run/systemctl.calls").splitlines()
    assert [each for each in calls if each.startswith(("daemon-reload", "enable", "disable"))] == [
        "daemon-reload",
        "enable --now saltern-minion.service",
        "disable --now salt-minion.service",
        "daemon-reload",
        "enable --now salt-minion.service",
        "disable --now saltern-minion.service",
    ]
