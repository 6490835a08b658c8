"""Real salt-minions with and without `zmq_filtering`: who is told of which job, and how soon it is known who is there.

All come from one address, as minions behind one router do; `tests/gateway/test_job_port.py` has several.
"""

import shutil
import signal
import tempfile
from pathlib import Path

import pytest
from rig import Rig
from stock_minions import StockMinions, salt_venvs

VENVS = salt_venvs()
pytestmark = [
    pytest.mark.timeout(600),
    pytest.mark.skipif(not VENVS, reason="SALT_MINION_VENVS names no virtualenv with salt-minion"),
]
MAJORS = {version.partition(".")[0]: venv for version, venv in VENVS.items()}
FILTERING = {f"filtering{major}": venv for major, venv in MAJORS.items()}
PLAIN = {f"plain{major}": venv for major, venv in list(MAJORS.items())[:1]}
ALL = {**FILTERING, **PLAIN}


class Site:
    """A gateway and these minions."""

    def __init__(self, folder):
        for path in ("states/top.sls", "pillar/top.sls"):
            (folder / "tree" / path).parent.mkdir(parents=True, exist_ok=True)
            (folder / "tree" / path).write_text("{}\n")
        self.rig = Rig(folder / "rig", {}, folder / "tree", {"presence_events": True}, forked=True)
        self.rig.up()
        self.rig.push("first")
        self.stock = StockMinions(self.rig, folder / "stock")
        self.stock.start_gateway()
        for minion in ALL:
            self.start(minion)

    def start(self, minion):
        self.stock.start_minion(ALL[minion], minion, {"zmq_filtering": minion in FILTERING})

    def listening(self):
        """Minions that have answered what was said to their own connections."""
        lines = [each for each in self.stock.log("gateway").splitlines() if "event=minion_listens" in each]
        return {line.partition("minion=")[2].split()[0] for line in lines if "address=127" in line}

    def answer(self, *words):
        """Minions that answer a ping."""
        out = self.rig.saltern("run", *words, "test.ping", check=False).stdout
        return {each for each in ALL if f"{each}:\n    True" in out}

    def connected(self):
        return {minion for minion, found in self.rig.status().items() if found["connected"]}

    def seen(self, word):
        """Minions to which a job with this word has come."""
        return {
            minion
            for minion in ALL
            if any(word in line for line in self.stock.log(minion).splitlines() if "PubChannel received" in line)
        }


@pytest.fixture(scope="module")
def site():
    folder = Path(tempfile.mkdtemp(prefix="saltern-"))
    found = Site(folder)
    try:
        found.stock.wait("keys wait", lambda: set(ALL) <= set(found.rig.keys("pending")))
        found.rig.saltern("key", "accept", *ALL)
        found.stock.wait("all listen", lambda: found.listening() == set(ALL), 180)
        yield found
    finally:
        found.stock.__exit__(None, None, None)
        found.rig.stop_all()
        shutil.rmtree(folder, ignore_errors=True)


@pytest.fixture(params=sorted(ALL))
def minion(request):
    return request.param


def test_all_answer(site):
    site.stock.wait("all are there", lambda: site.connected() == set(ALL))
    assert site.answer("*") == set(ALL)


def test_a_job_is_told_to_its_minion_and_to_none_that_filters(site, minion):
    word = f"told-to-{minion}"
    assert word in site.rig.saltern("run", minion, "test.echo", word).stdout
    assert site.answer("*") == set(ALL)  # whatever was said before it has come by now
    assert site.seen(word) - set(PLAIN) == {minion} - set(PLAIN)
    assert minion in site.seen(word)


def test_a_minion_that_ends_is_known_to_be_gone_and_others_stay(site, minion):
    """Far sooner than by its silence, which is asked after when it has lasted for a minute."""
    site.stock.stop(minion, signal.SIGKILL)
    site.stock.wait(f"{minion} is gone", lambda: site.connected() == set(ALL) - {minion}, 50)
    site.start(minion)
    site.stock.wait("an answer", lambda: site.answer(minion) == {minion}, 120)
    site.stock.wait("all are there", lambda: site.connected() == set(ALL))


def test_all_are_there_again_when_the_gateway_is(site):
    site.stock.stop("gateway", signal.SIGKILL)
    site.stock.start_gateway()
    site.stock.wait("all answer", lambda: site.answer("*") == set(ALL), 120)


def test_presence_events_name_stock_minions(site):
    out = site.rig.saltern("events", "salt/presence/change", "--no-follow", "--out", "json", check=False).stdout
    assert all(minion in out for minion in ALL), out[-2000:]
    assert '"lost"' in out
