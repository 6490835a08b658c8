"""Unmodified salt-minions at a gateway, driven from git: each version of Salt that there is."""

import json
import shutil
import signal
import subprocess
import tempfile
import time
from pathlib import Path

import pytest
from rig import Rig
from stock_minions import StockMinions, salt_venvs

VENVS = salt_venvs()
pytestmark = [
    pytest.mark.timeout(600),
    pytest.mark.skipif(not VENVS, reason="SALT_MINION_VENVS names no virtualenv with salt-minion"),
]
MINIONS = {f"salt{version.partition('.')[0]}": venv for version, venv in VENVS.items()}
SECRET = "correct-horse"

WEB = """
{out}/{{{{ grains.id }}}}.conf:
  file.managed:
    - source: salt://web.conf
    - template: jinja
    - makedirs: True

told:
  cmd.run:
    - name: echo '{{{{ pillar.password }}}}' >> {out}/{{{{ grains.id }}}}.log
    - onchanges:
      - file: {out}/{{{{ grains.id }}}}.conf

{out}/{{{{ grains.id }}}}.other:
  file.managed:
    - contents: first
"""


def _tree(folder, out):
    for path, text in {
        "states/top.sls": "base:\n  '*':\n    - web\n",
        "states/web.sls": WEB.format(out=out),
        "states/web.conf": "password {{ pillar.password }} of {{ grains.id }}\n",
        **{
            f"states/{who}.sls": f"{who}:\n  test.succeed_with_changes:\n  - fire_event: {who}\n"
            for who in ("asked", "called")
        },
        "states/deep/größe.txt": "ünicode\n",
        "pillar/top.sls": "base:\n  '*':\n    - all\n",
        "pillar/all.sls": f"password: {SECRET}\nmine_functions:\n  test.ping: []\n",
    }.items():
        (folder / path).parent.mkdir(parents=True, exist_ok=True)
        (folder / path).write_text(text)


class Site:
    """A controller, a gateway, and a minion of each version of Salt."""

    def __init__(self, folder):
        self.out = folder / "out"
        _tree(folder / "tree", self.out)
        self.rig = Rig(folder / "rig", {}, folder / "tree", forked=True)
        self.rig.up()
        self.head = self.rig.push("first")
        self.stock = StockMinions(self.rig, folder / "stock")
        self.stock.start_gateway()
        for minion, venv in MINIONS.items():
            self.stock.start_minion(venv, minion)

    def run(self, *words, code=0):
        done = self.rig.saltern("run", *words, check=False)
        assert done.returncode == code, done.stdout + done.stderr
        return done.stdout

    def call(self, minion, *words):
        """`salt-call` of the stock minion."""
        program = [
            MINIONS[minion] / "bin/salt-call",
            "-c",
            self.stock.root(minion) / "etc",
            "-l",
            "error",
            "--out",
            "json",
        ]
        done = subprocess.run([*program, *words], capture_output=True, text=True, check=False, timeout=120)
        assert done.returncode == 0, done.stdout + done.stderr
        return done.stdout

    def connected(self, minion):
        return self.rig.status().get(minion, {}).get("connected", False)

    def wait_connected(self, minion, whether=True, patience=90):
        self.stock.wait(f"{minion} connected: {whether}", lambda: self.connected(minion) is whether, patience)


@pytest.fixture(scope="module")
def site():
    folder = Path(tempfile.mkdtemp(prefix="saltern-"))
    found = Site(folder)
    try:
        found.stock.wait("keys wait", lambda: set(MINIONS) <= set(found.rig.keys("pending")))
        for minion in MINIONS:
            found.rig.saltern("key", "accept", minion)
        for minion in MINIONS:
            found.wait_connected(minion)
        found.rig.wait_applied(found.head, list(MINIONS), patience=120)
        yield found
    finally:
        found.stock.__exit__(None, None, None)
        found.rig.stop_all()
        shutil.rmtree(folder, ignore_errors=True)


@pytest.fixture(params=sorted(MINIONS))
def minion(request):
    return request.param


def test_a_push_is_applied_with_the_pillar_of_each(site, minion):
    assert (site.out / f"{minion}.conf").read_text() == f"password {SECRET} of {minion}\n"
    assert (site.out / f"{minion}.log").read_text() == f"{SECRET}\n"


@pytest.mark.parametrize(
    "target",
    [["*"], ["-L", ",".join(sorted(MINIONS))], ["-E", "salt.*"], ["-G", "kernel:Linux"], ["-C", "G@os:* and salt*"]],
)
def test_every_way_to_target(site, target):
    out = site.run(*target, "test.ping")
    assert all(f"{each}:\n    True" in out for each in MINIONS)


def test_what_agent_there_is_is_shown(site, minion):
    [row] = [line for line in site.rig.saltern("minions").stdout.splitlines() if line.startswith(minion)]
    assert f"salt {minion.removeprefix('salt')}." in row


def test_functions_with_arguments_codes_and_errors(site, minion):
    assert "a b" in site.run(minion, "cmd.run", "echo a b")
    assert "kwarg" in site.run(minion, "test.arg", "1", "word=kwarg")
    assert "false" in site.run(minion, "cmd.run", "echo false; exit 3", code=1)
    assert "not available" in site.run(minion, "no.such_function", code=1)


def test_only_what_a_push_changes_is_run(site):
    before = {minion: (site.out / f"{minion}.log").read_text() for minion in MINIONS}
    head = site.rig.push("other", {"states/web.sls": ("contents: first", "contents: second")})
    site.rig.wait_applied(head, list(MINIONS), patience=120)
    for minion in MINIONS:
        assert (site.out / f"{minion}.other").read_text() == "second\n"
        assert (site.out / f"{minion}.log").read_text() == before[minion]
        newest = next(run for run in site.rig.history(minion) if run["kind"] == "apply")
        assert newest["changes"] == 1


def test_states_of_a_call_are_planned_with_test_true(site, minion):
    (site.out / f"{minion}.other").write_text("drifted\n")
    out = site.run(minion, "state.apply", "web", "test=True")
    assert f"{minion}.other" in out
    assert (site.out / f"{minion}.other").read_text() == "drifted\n"
    site.run(minion, "state.apply", "web")
    assert (site.out / f"{minion}.other").read_text() == "second\n"


def test_what_the_minion_asks_by_itself(site, minion):
    assert "nicode" in site.call(minion, "cp.get_file_str", "salt://deep/größe.txt")
    assert "web.conf" in site.call(minion, "cp.list_master")
    assert '"result": true' in site.call(minion, "state.apply", "web")
    assert "is in the correct state" in site.call(minion, "state.highstate")


def test_salt_call_is_no_other_minion(site, minion):
    """It is a process with grains of its own, of which no template may be told that it runs on the minion."""
    known = site.stock.folder / "cache/minions" / minion / "grains.json"
    before = json.loads(known.read_text())
    assert json.loads(site.call(minion, "grains.get", "pid"))["local"] != before["pid"]
    assert json.loads(known.read_text()) == before


def test_what_states_tell_is_told_to_the_controller(site, minion):
    site.run(minion, "state.apply", "asked")
    site.call(minion, "state.apply", "called")

    def told():
        lines = site.rig.saltern("events", "--no-follow", "--out", "json").stdout.splitlines()
        tags = [str(json.loads(line)["tag"]).split("/") for line in lines]
        found = {tag[-1]: tag[2] for tag in tags if tag[:2] == ["salt", "state_result"] and tag[3] == minion}
        return found if {"asked", "called"} <= set(found) else None

    found = site.rig.wait("both", told)
    history = site.rig.saltern("history", minion, "-n", "100", "--out", "json").stdout
    assert found["asked"] in history
    assert found["called"].startswith(f"called-{minion}-")
    run = site.rig.wait(
        "its return", lambda: [one for one in site.rig.history(minion) if one["run_id"] == found["called"]]
    )
    assert (run[0]["fun"], run[0]["state"]) == ("state.apply", "finished")


def test_a_secret_is_in_no_job(site, minion):
    """What is published every minion can read: here those of the others are in the log of this one."""
    said = [line for line in site.stock.log(minion).splitlines() if "PubChannel received" in line]
    assert said
    assert not any(SECRET in line for line in said)


def test_a_killed_minion_is_away_and_comes_back(site, minion):
    site.stock.stop(minion, signal.SIGKILL)
    site.stock.start_minion(MINIONS[minion], minion)
    site.stock.wait("an answer", lambda: "True" in site.rig.saltern("run", minion, "test.ping", check=False).stdout)


def test_a_job_goes_on_while_the_gateway_is_killed(site, minion):
    jid = site.run(minion, "cmd.run", f"sleep 4; echo done > {site.out}/{minion}.slept; echo slept", "--async").split()[
        -1
    ]
    time.sleep(1)
    site.stock.stop("gateway", signal.SIGKILL)
    site.stock.start_gateway()
    site.stock.wait("the job ends", lambda: (site.out / f"{minion}.slept").exists())
    site.stock.wait("its result", lambda: "slept" in site.rig.saltern("history", jid, check=False).stdout, patience=120)


def test_a_deleted_key_lets_nobody_in(site):
    minion = sorted(MINIONS)[0]
    site.rig.saltern("key", "delete", minion, "--yes")
    site.wait_connected(minion, False)
    site.stock.wait("it shows its key again", lambda: minion in site.rig.keys("pending"), patience=120)
    site.rig.saltern("key", "accept", minion)
    site.stock.wait(
        "an answer", lambda: "True" in site.rig.saltern("run", minion, "test.ping", check=False).stdout, 120
    )
