"""`saltern migrate agent` of several machines at once: batches, one that fails among them, and whoever asks ends."""

import os
import shutil
import signal
import subprocess
import tempfile
from pathlib import Path

import pytest
from agent_site import AgentSite
from both_kinds import newest_venv
from rig import SALTERN
from stock_minions import salt_venvs

pytestmark = [
    pytest.mark.alone,
    pytest.mark.timeout(900),
    pytest.mark.skipif(not salt_venvs(), reason="SALT_MINION_VENVS names no virtualenv with salt-minion"),
    pytest.mark.skipif(os.geteuid() != 0, reason="services of a machine need root"),
]
MINIONS = ("web1", "web2", "web3")


@pytest.fixture(scope="module")
def site():
    folder = Path(tempfile.mkdtemp(prefix="saltern-"))
    found = AgentSite(folder, newest_venv(), MINIONS, come_seconds=240)
    with found.closing:
        found.start()
        yield found
    shutil.rmtree(folder, ignore_errors=True)


@pytest.mark.parametrize("size", ["x", "0", "-1", "%", "nan"])
def test_what_is_no_size_of_a_batch_is_refused(site, size):
    said = site.migrate("--batch", size, target="web*", code=64)
    assert "a batch is a number of minions" in said
    assert site.steps() == {}


def test_one_that_fails_ends_the_batch_and_the_rest_is_done_when_it_is_put_right(site):
    site.machines["web1"].run("mv /etc/salt/minion /etc/salt/away && rm -rf /etc/salt/minion.d")
    said = site.migrate("--batch", "2", target="web*", code=1)
    assert site.steps() == {"web1": "failed", "web2": "done"}
    assert site.agents() == {"web1": "salt", "web2": "saltern", "web3": "salt"}
    assert "web3: not begun" in said
    assert "there is no configuration of a minion in /etc/salt; put it there" in said
    assert "1 done, 1 not begun, 1 failed" in said
    assert "put right what has failed" in said
    site.machines["web1"].run("mv /etc/salt/away /etc/salt/minion")
    said = site.migrate("--batch", "50%", target="web*")
    assert "web2: done (to saltern-minion)\n    its agent is that of Saltern already" in said
    assert "3 done" in said
    assert site.steps() == dict.fromkeys(MINIONS, "done")
    assert site.agents() == dict.fromkeys(MINIONS, "saltern")
    for machine in site.machines.values():
        assert not machine.runs("salt-minion")
    site.push("second", {"states/web.sls": ("first", "second")})
    assert [(site.out / f"{each}.conf").read_text() for each in MINIONS] == ["web second\n"] * 3


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGKILL])
def test_what_has_begun_goes_on_when_whoever_asked_ends(site, number):
    before = site.agents()
    to = "saltern" if before["web1"] == "salt" else "salt"
    words = ("--to", to)
    asking = site.asking("--batch", "1", *words, target="web*")
    site.wait("one has begun", lambda: site.steps().get("web1") not in ("done", "failed", None))
    asking.send_signal(number)
    said = asking.communicate()[0]
    if number == signal.SIGINT:
        assert asking.returncode == 130
        assert "saltern migrate status" in said
    site.wait("it has ended", lambda: site.steps()["web1"] in ("done", "failed"))
    assert site.steps()["web1"] == "done"
    assert site.agents() == {**before, "web1": to}, "no other was begun"
    said = site.migrate("--batch", "2", *words, target="web*")
    assert site.agents() == dict.fromkeys(MINIONS, to)


def test_who_may_not_ask_the_controller_is_told(site):
    for words in (("migrate", "agent", "web*"), ("migrate", "status"), ("migrate", "shadow")):
        done = subprocess.run(
            ["setpriv", "--reuid=65534", "--regid=65534", "--clear-groups", *SALTERN, *words, "-c", site.rig.config],
            capture_output=True,
            text=True,
            check=False,
        )
        assert done.returncode in (1, 3, 64), words
        assert done.stderr.startswith("saltern: "), done.stderr
        assert "ermission" in done.stderr
