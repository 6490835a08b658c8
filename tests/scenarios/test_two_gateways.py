"""A stock minion with two gateways, by turns and at once: one of them speaks for it, and nothing is done twice."""

import contextlib
import json
import random
import shutil
import signal
import socket
import tempfile
import time
from pathlib import Path

import pytest
from rig import Rig
from stock_minions import StockMinions, salt_venvs

VENVS = salt_venvs()
pytestmark = [
    pytest.mark.alone,
    pytest.mark.timeout(600),
    pytest.mark.skipif(not VENVS, reason="SALT_MINION_VENVS names no virtualenv with salt-minion"),
]
MINION = "web1"
FIRST, SECOND = "127.0.0.2", "127.0.0.3"
WEB = """
{out}.marker:
  file.managed:
    - contents: one

told:
  cmd.run:
    - name: cat {out}.marker >> {out}
    - onchanges:
      - file: {out}.marker
"""
SCHEDULE = {"j": {"function": "test.arg", "args": ["scheduled"], "seconds": 3600, "run_on_start": True}}
KINDS = {
    "at once": {"master_type": "str"},
    "by turns": {"master_type": "failover", "master_alive_interval": 3, "retry_dns": 0},
}


def ports_of_both():
    """Two ports that are free on both addresses: beyond those that the system gives to connections."""
    found = []
    for port in range(random.randrange(20_000, 28_000), 30_000):
        with socket.socket() as first, socket.socket() as second, contextlib.suppress(OSError):
            first.bind((FIRST, port))
            second.bind((SECOND, port))
            found.append(port)
        if len(found) == 2:
            return found
    raise AssertionError("no ports are free")


class Site:
    """A controller, two gateways with one key, and a minion."""

    def __init__(self, folder, kind):
        self.out = folder / "out"
        for path, text in {
            "states/top.sls": "base:\n  '*':\n    - web\n",
            "states/web.sls": WEB.format(out=self.out),
        }.items():
            (folder / "tree" / path).parent.mkdir(parents=True, exist_ok=True)
            (folder / "tree" / path).write_text(text)
        self.rig = Rig(folder / "rig", {}, folder / "tree", forked=True)
        self.rig.up()
        self.head = self.rig.push("first")
        ret_port, publish_port = ports_of_both()
        common = {"ret_port": ret_port, "publish_port": publish_port}
        self.first = StockMinions(
            self.rig,
            folder / "first",
            {**common, "interface": FIRST, "gateways": ["this", f"{SECOND}:{ret_port}"]},
        )
        self.second = StockMinions(
            self.rig,
            folder / "second",
            {**common, "interface": SECOND, "gateways": [f"{FIRST}:{ret_port}", "this"]},
        )
        self.first.start_gateway()
        (folder / "second/pki").mkdir(mode=0o700)
        shutil.copy(folder / "first/pki/master.pem", folder / "second/pki/master.pem")
        self.second.start_gateway()
        [self.venv] = list(VENVS.values())[-1:]
        self._more = {"master": [FIRST, SECOND], "schedule": SCHEDULE, **KINDS[kind]}
        self.start()

    def start(self):
        """Start the minion."""
        self.first.start_minion(self.venv, MINION, self._more)

    def run(self, *words):
        return self.rig.saltern("run", *words, check=False).stdout

    def answers(self, patience=60.0):
        self.first.wait("an answer", lambda: "True" in self.run(MINION, "test.ping"), patience)

    def speaks(self, gateway):
        said = [line for line in gateway.log("gateway").splitlines() if "event=gateway_" in line and MINION in line]
        return sum("gateway_speaks" in line for line in said)

    def settled(self, seconds=4.0, patience=60.0):
        """How often each has begun to speak, once that has been so for a while: both meet the minion at about once."""
        until, since, seen = time.monotonic() + patience, time.monotonic(), (0, 0)
        while not any(seen) or time.monotonic() - since < seconds:
            assert time.monotonic() < until, self.told()
            now = self.speaks(self.first), self.speaks(self.second)
            since, seen = (since, seen) if now == seen else (time.monotonic(), now)
            time.sleep(0.1)
        return seen

    def starts(self):
        """How often its start was told."""
        told = self.rig.saltern("events", "--no-follow", f"salt/minion/{MINION}/start", "--out", "json").stdout
        return len(told.splitlines())

    def told(self):
        """For whoever reads why it failed."""
        runs = [
            {name: run[name] for name in ("run_id", "kind", "cause", "outcome", "summary", "created", "finished")}
            for run in self.rig.history(MINION)
        ]
        said = [
            line
            for gateway in (self.first, self.second)
            for line in gateway.log("gateway").splitlines()
            if "event=gateway_" in line or "controllers.session" in line or "event=started" in line
        ]
        return "\n".join(map(str, [*runs, *said]))

    def push(self, before, after):
        head = self.rig.push(after, {"states/web.sls": (f"contents: {before}", f"contents: {after}")})
        self.rig.wait_applied(head, [MINION], patience=120)


@pytest.fixture(params=sorted(KINDS))
def site(request):
    folder = Path(tempfile.mkdtemp(prefix="saltern-"))
    found = Site(folder, request.param)
    try:
        found.first.wait("its key waits", lambda: MINION in found.rig.keys("pending"))
        found.rig.saltern("key", "accept", MINION)
        found.rig.wait_applied(found.head, [MINION], patience=120)
        yield found
    finally:
        found.first.__exit__(None, None, None)
        found.second.__exit__(None, None, None)
        found.rig.stop_all()
        shutil.rmtree(folder, ignore_errors=True)


def test_one_speaks_for_the_minion_and_the_other_takes_over(site):
    assert site.out.read_text() == "one\n"
    settled = len(site.rig.history(MINION))
    site.answers()
    site.first.wait(
        "its schedule is in the history",
        lambda: [run for run in site.rig.history(MINION) if run["run_id"].startswith("scheduled-")],
    )
    before = site.settled()
    time.sleep(6)  # as long as several looks of the second: nothing may change hands
    assert (site.speaks(site.first), site.speaks(site.second)) == before, site.told()
    scheduled = [run for run in site.rig.history(MINION) if run["run_id"].startswith("scheduled-")]
    assert len(scheduled) == 1
    assert len([run for run in site.rig.history(MINION) if run["kind"] == "apply"]) == 1
    assert settled

    site.first.stop("gateway", signal.SIGKILL)
    site.answers(90)
    assert site.speaks(site.second) > before[1]
    site.push("one", "two")
    assert site.out.read_text() == "one\ntwo\n", site.told()

    site.first.start_gateway()
    time.sleep(3)
    site.answers()
    site.push("two", "three")
    assert site.out.read_text() == "one\ntwo\nthree\n", site.told()


def test_what_the_minion_asks_of_the_one_that_does_not_speak_is_passed_on(site):
    """`salt-call` of a minion with two masters takes one of them."""
    for gateway in (FIRST, SECOND):
        config = site.first.root(MINION) / f"etc-{gateway}"
        config.mkdir()
        settings = json.loads((site.first.root(MINION) / "etc/minion").read_text())
        (config / "minion").write_text(json.dumps({**settings, "master": gateway, "master_type": "str"}))
        said = site.first.call(site.venv, MINION, "-c", str(config), "state.show_sls", "web")
        assert "told" in said
        site.first.call(site.venv, MINION, "-c", str(config), "test.arg", gateway)
        site.first.wait(
            "it is in the history",
            lambda at=gateway: [run for run in site.rig.history(MINION) if at in run["cause"]],
        )
    called = [run for run in site.rig.history(MINION) if run["run_id"].startswith("called-")]
    assert len([run for run in called if "test.arg" in run["cause"]]) == 2


def test_each_start_is_told_once(site):
    site.first.wait("its start", site.starts)
    time.sleep(3)
    before = site.starts()
    for _ in range(2):
        site.first.stop(MINION)
        site.start()
        site.first.wait("its next start", lambda known=before: site.starts() > known)
        time.sleep(5)  # longer than a gateway looks for one that has gone
        assert site.starts() == before + 1, site.told()
        before += 1
