"""`saltern migrate agent --purge`: the package of a real salt-minion goes, and is needed for the way back."""

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
    pytest.mark.skipif(not (shutil.which("dpkg-deb") and shutil.which("apt-get")), reason="no packages of Debian"),
]


@pytest.fixture
def site():
    folder = Path(tempfile.mkdtemp(prefix="saltern-"))
    found = AgentSite(folder, newest_venv(), package=True)
    with found.closing:
        found.start()
        yield found
    shutil.rmtree(folder, ignore_errors=True)


def test_the_package_leaves_and_has_to_be_installed_before_its_agent_answers_again(site):
    there = "dpkg -s salt-minion 2>/dev/null | grep -c 'ok installed'; ls -d /opt/salt-minion /etc/init.d/salt-minion"
    assert site.machine.run(there).split() == ["1", "/etc/init.d/salt-minion", "/opt/salt-minion"]
    assert "and remove its package" in site.migrate("--test", "--purge")
    site.migrate()
    assert site.machine.run(there, check=False).split() == ["1", "/etc/init.d/salt-minion", "/opt/salt-minion"]
    site.migrate("--purge")
    assert site.machine.run(there, check=False).split() == ["0"]
    assert site.agent().startswith("saltern ")
    assert "already" in site.migrate("--purge")

    assert "install the package salt-minion" in site.migrate("--to", "salt", "--test", code=1)
    said = site.migrate("--to", "salt", code=1)
    assert "there is no service salt-minion any more; install it again, and ask again" in said
    assert site.agent().startswith("saltern ")
    assert site.rig.keys("accepted") == ["web1"]

    site.machine.install_package("salt-minion")
    site.migrate("--to", "salt")
    assert site.agent().startswith("salt ")
    assert site.machine.runs("salt-minion")
    assert not site.machine.runs("saltern-minion")
    site.push("second", {"states/web.sls": ("first", "second")})
    assert (site.out / "web1.conf").read_text() == "web second\n"
