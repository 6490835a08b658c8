"""Stock salt-minions under a real salt-master, then the same ones, which go on running, under the gateway.

The gateway has the master's key and its ports, so the minions come to it by themselves. All is measured from outside:
`push`: from `git push` until all minions have applied it. The master's file roots are a clone, which is pulled at once
  after the push; then Salt's LocalClient, in a process that has it loaded, applies the states on all minions.
`pillar`: from a request to its answer on a connection that is there, for a peer that is no salt-minion, once neither
  side has anything else to do.
`test.ping`: by each side's LocalClient, loaded; and by its command line (`salt`, `saltern run`), with its start.

Salt is that of the virtualenv SALT_VENV; without one it is installed into .cache/oracle once. MACHINES: how many.
"""

from __future__ import annotations

import json
import os
import shutil
import statistics
import subprocess
import tempfile
import time
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path

import psutil
from rig import SALTERN, Rig
from salt_master import SaltMaster
from salt_peer import SaltPeer
from stock_minions import StockMinions

from saltern.client import LocalClient
from tools.bench.figures import Figure
from tools.oracle.__main__ import salt_venv

MACHINES = int(os.environ.get("MACHINES", "50"))
TIMES = int(os.environ.get("TIMES", "3"))
PILLARS = 15
QUIET_SECONDS = 3.0
QUIET_PERCENT = 30.0
"""Of all processors together, for so long: salt-minions have something to do now and then."""
QUIET_AT_LAST = 180.0
"""Seconds after which it is measured anyway."""
PATIENCE = 900.0
PEER = "peer"
MINIONS = tuple(f"m{number:03}" for number in range(MACHINES))
SIDE = Path(__file__).with_name("salt_client_side.py")
_GRAINS = {"os": "Debian", "kernel": "Linux", "saltversion": "3008.1"}
_STATE = """
{% for number in range(5) %}
{{ pillar.out }}/{{ grains.id }}/{{ number }}:
  file.managed:
    - contents: "{{ pillar['role' ~ number].name }} {{ pillar.release }}"
    - makedirs: True
{% endfor %}
"""
_ROLE = "role{number}:\n  name: role {number} of {{{{ grains.id }}}}\n  ports: {{{{ range({number} + 3) | list }}}}\n"


class _Sides:
    """A master and a gateway with the same key and ports, and the minions of both."""

    def __init__(self, folder: Path, rig: Rig) -> None:
        self.venv = salt_venv(None)
        self.folder = folder
        self.rig = rig
        self.stock = StockMinions(rig, folder / "stock", log_level="info")
        self.peer = SaltPeer(folder, PEER, self.stock.ret_port)
        self.release = 0

    def push(self) -> None:
        """Another release."""
        self.release += 1
        (self.rig.work / "pillar/release.sls").write_text(f"release: {self.release}\nout: {self.folder}/out\n")
        self.rig.git("commit", "-q", "-a", "-m", f"release {self.release}")
        self.rig.push_head()

    def check_applied(self) -> None:
        """All have what was pushed last."""
        for minion in MINIONS:
            text = (self.folder / "out" / minion / "4").read_text()
            if not text.strip().endswith(f" {self.release}"):
                raise RuntimeError(f"{minion} has {text!r}, not release {self.release}")

    def pillars(self) -> list[float]:
        """Seconds of requests for a pillar. The minions, which have come or were pushed to, are let finish first."""
        until = time.monotonic() + QUIET_AT_LAST
        while psutil.cpu_percent(QUIET_SECONDS) > QUIET_PERCENT and time.monotonic() < until:
            pass
        self.peer.keeps = True
        samples = []
        for _ in range(PILLARS):
            frame = self.peer.frame("_pillar", grains=_GRAINS, ver="2", saltenv="base")
            began = time.perf_counter()
            answer = self.peer.raw(frame)
            samples.append(time.perf_counter() - began)
            if not isinstance(answer, dict) or b"pillar" not in answer:
                raise RuntimeError(f"no pillar: {str(answer)[:200]}")
        self.peer.keeps = False
        return samples


def measure() -> Iterator[Figure]:
    """All figures; those of the master are the references."""
    with tempfile.TemporaryDirectory(prefix="saltern-bench-") as name:
        folder = Path(name)
        _tree(folder / "tree", folder / "out")
        with Rig(folder / "rig", {}, folder / "tree", forked=True) as rig:
            rig.up()
            rig.push("first")
            sides = _Sides(folder, rig)
            with sides.stock, sides.peer:
                salts = _under_a_master(sides)
                yield from _figures(_under_the_gateway(sides), salts)
                pss = psutil.Process(sides.stock.pid("gateway")).memory_full_info().pss / 1024 / 1024
                yield Figure(metric=f"gateway of {MACHINES} minions (PSS)", unit="MiB", samples=[pss], target=80.0)


def _figures(ours: Mapping[str, list[float]], salts: Mapping[str, list[float]]) -> Iterator[Figure]:
    names = {
        "push": (f"git push to applied on {MACHINES} stock minions", 1.0),
        "ping": (f"test.ping to {MACHINES} stock minions, LocalClient", 1.0),
        "line": (f"test.ping to {MACHINES} stock minions, command line", 1.0),
        "pillar": ("pillar of a stock minion", 1 / 20),
    }
    for what, (metric, share) in names.items():
        salt = statistics.median(salts[what])
        yield Figure(
            metric=metric,
            unit="s",
            samples=ours[what],
            reference=salt,
            reference_of="salt-master",
            target=salt * share,
        )


def _under_a_master(sides: _Sides) -> dict[str, list[float]]:
    stock, folder = sides.stock, sides.folder
    roots = folder / "roots"
    sides.rig.git("clone", "-q", str(sides.rig.remote), str(roots), cwd=folder)
    with SaltMaster(sides.venv, folder / "master", roots, (stock.publish_port, stock.ret_port)) as master:
        for minion in MINIONS:
            stock.start_minion(sides.venv, minion)
        with _Client(sides.venv, master.config / "master") as client:
            stock.wait("all to answer", lambda: client.ask("ping") is not None, PATIENCE)
            client.ask("apply")

            def push() -> None:
                sides.push()
                sides.rig.git("pull", "-q", cwd=roots)
                client.ask("apply")

            line = [sides.venv / "bin/salt", "-c", master.config, "m*", "test.ping", "--out", "json", "--static"]
            found = {
                "ping": _timed(lambda: client.ask("ping")),
                "line": _timed(lambda: subprocess.run(line, check=True, capture_output=True)),
                "push": _timed(push, sides.check_applied),
            }
        stock.wait("the peer", lambda: isinstance(sides.peer.authenticate(), dict))
        found["pillar"] = sides.pillars()
        (folder / "stock/pki").mkdir(exist_ok=True)
        shutil.copy(master.key, folder / "stock/pki/master.pem")
    return found


def _under_the_gateway(sides: _Sides) -> dict[str, list[float]]:
    stock, rig, everybody = sides.stock, sides.rig, {*MINIONS, PEER}
    stock.start_gateway()
    sides.peer.authenticate()
    stock.wait("all to come", lambda: everybody <= {*rig.keys("pending")}, PATIENCE)
    rig.saltern("key", "accept", *sorted(everybody), "--yes")

    def line() -> None:
        words = [*SALTERN, "run", "m*", "test.ping", "--out", "json", "--static", "-c", rig.config]
        all_answered(json.loads(subprocess.run(words, check=True, capture_output=True).stdout))

    def all_answered(out: Mapping[str, object]) -> None:
        if [minion for minion in MINIONS if out.get(minion) is not True]:
            raise RuntimeError(f"not all answered: {str(out)[:1000]}")

    rig.wait_applied(rig.head(), MINIONS, patience=PATIENCE)

    def push() -> None:
        sides.push()
        rig.wait_applied(rig.head(), MINIONS, patience=PATIENCE)

    line()
    with LocalClient(str(rig.config)) as client:
        ping = _timed(lambda: all_answered(client.cmd("m*", "test.ping")))
    found = {"ping": ping, "line": _timed(line), "push": _timed(push, sides.check_applied)}
    stock.wait("the peer", lambda: isinstance(sides.peer.authenticate(), dict))
    return {**found, "pillar": sides.pillars()}


def _timed(act: Callable[[], object], check: Callable[[], None] = lambda: None) -> list[float]:
    samples = []
    for _ in range(TIMES):
        began = time.perf_counter()
        act()
        samples.append(time.perf_counter() - began)
        check()
    return samples


class _Client:
    """Salt's LocalClient in a process of its own, which has it loaded."""

    def __init__(self, venv: Path, config: Path) -> None:
        self._process = subprocess.Popen(
            [venv / "bin/python", SIDE, config, str(MACHINES)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )

    def __enter__(self) -> _Client:
        return self

    def __exit__(self, *details: object) -> None:
        self._process.kill()
        self._process.communicate()

    def ask(self, what: str) -> str | None:
        """Have something done; None where not all minions have answered."""
        if self._process.stdin is None or self._process.stdout is None:
            raise RuntimeError("no pipes")
        self._process.stdin.write(f"{what}\n")
        self._process.stdin.flush()
        answer = self._process.stdout.readline().strip()
        if answer not in ("all", "some"):
            raise RuntimeError(f"LocalClient: {answer}")
        return answer if answer == "all" else None


def _tree(tree: Path, out: Path) -> None:
    roles = {f"pillar/role{number}.sls": _ROLE.format(number=number) for number in range(5)}
    for path, text in {
        "states/top.sls": "base:\n  'm*':\n    - files\n",
        "states/files.sls": _STATE,
        "pillar/top.sls": "base:\n  '*':\n    - release\n" + "".join(f"    - role{number}\n" for number in range(5)),
        "pillar/release.sls": f"release: 0\nout: {out}\n",
        **roles,
    }.items():
        (tree / path).parent.mkdir(parents=True, exist_ok=True)
        (tree / path).write_text(text)
