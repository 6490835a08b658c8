"""Simulated salt-minions at one gateway, all at once: how long they take, and what each costs the gateway.

They say what salt-minions say, from one thread beside it, and have nothing to do: what is measured is the gateway with
its controller. MACHINES: how many; each has an address of its own.
`come`: from the first key that is shown until all are accepted, with their documents.
`test.ping`: by LocalClient.
`push`: from `git push` until all have applied it.
`back`: from the start of a gateway that was killed until all have shown their keys there and answer.
Its processor time is that of the gateway alone, for each minion.
"""

from __future__ import annotations

import os
import signal
import tempfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import psutil
from rig import Rig
from salt_crowd import SaltCrowd
from stock_minions import StockMinions

from saltern.client import LocalClient
from tools.bench.figures import Figure

MACHINES = int(os.environ.get("MACHINES", "1000"))
TIMES = int(os.environ.get("TIMES", "3"))
PATIENCE = 1800.0
MINIONS = tuple(f"m{number:04}" for number in range(MACHINES))
_MIB = 1024 * 1024
_STATE = "{% for number in range(5) %}\n/nowhere/{{ number }}:\n  file.absent\n{% endfor %}\n"


class _Scene:
    """A controller, a gateway, and the crowd."""

    def __init__(self, rig: Rig, stock: StockMinions, crowd: SaltCrowd) -> None:
        self.rig = rig
        self.stock = stock
        self.crowd = crowd

    def gateway(self) -> psutil.Process:
        """Its process."""
        return psutil.Process(self.stock.pid("gateway"))

    def pss(self) -> float:
        """MiB of the gateway."""
        return self.gateway().memory_full_info().pss / _MIB

    def all_applied(self) -> bool:
        """Whether all have what git says; keys that wait are accepted."""
        if pending := [each for each in self.rig.keys("pending") if each in MINIONS]:
            self.rig.saltern("key", "accept", *pending, "--yes", check=False)
        head, status = self.rig.head(), self.rig.status()
        return len(status) == MACHINES and all(
            each["sync"] == "Synced" and each["applied_revision"] == head for each in status.values()
        )

    def connected(self) -> bool:
        """Whether the controller knows all to be there."""
        return [each["connected"] for each in self.rig.status().values()].count(True) == MACHINES

    def push(self) -> None:
        """Another commit, on all."""
        states = self.rig.work / "states/files.sls"
        states.write_text(states.read_text() + f"/nowhere/{time.time_ns()}: file.absent\n")
        self.rig.git("commit", "-q", "-a", "-m", "more")
        self.rig.push_head()
        self.rig.wait("all to apply it", self.all_applied, patience=PATIENCE)


def measure() -> Iterator[Figure]:
    """All figures."""
    with tempfile.TemporaryDirectory(prefix="saltern-bench-") as name:
        folder = Path(name)
        _tree(folder / "tree")
        with Rig(folder / "rig", {}, folder / "tree", forked=True) as rig:
            rig.up()
            rig.push("first")
            with StockMinions(rig, folder / "stock", log_level="info") as stock:
                stock.start_gateway()
                yield from _of_crowd(_Scene(rig, stock, SaltCrowd(folder, MINIONS, stock.ret_port, wait=10.0)))


def _of_crowd(scene: _Scene) -> Iterator[Figure]:
    empty = scene.pss()
    with scene.crowd, LocalClient(str(scene.rig.config)) as client:

        def ping() -> None:
            answered = client.cmd("*", "test.ping")
            if missing := [each for each in MINIONS if answered.get(each) is not True]:
                raise RuntimeError(f"no answer of {len(missing)}: {[answered.get(each) for each in missing[:3]]}")

        def come() -> None:
            scene.rig.wait("all to come", scene.all_applied, patience=PATIENCE)

        yield from _figures(scene, "come", come, 1)
        yield from _figures(scene, "test.ping", ping, TIMES)
        yield from _figures(scene, "push", scene.push, TIMES)
        each = (scene.pss() - empty) / MACHINES
        yield Figure(metric="memory of the gateway for a minion (PSS)", unit="MiB", samples=[each])

        def back() -> None:
            before = scene.crowd.authenticated.copy()
            scene.stock.start_gateway()
            scene.rig.wait(
                "all to be back",
                lambda: all(scene.crowd.authenticated[each] > before[each] for each in MINIONS) and scene.connected(),
                patience=PATIENCE,
            )
            ping()

        scene.stock.stop("gateway", signal.SIGKILL)
        yield from _figures(scene, "back", back, 1)


def _figures(scene: _Scene, what: str, act: Callable[[], None], times: int) -> Iterator[Figure]:
    took, computed = [], []
    for _ in range(times):
        began = time.perf_counter()
        before = sum(scene.gateway().cpu_times()[:2]) if "gateway" in scene.stock.running() else 0.0
        act()
        took.append(time.perf_counter() - began)
        computed.append((sum(scene.gateway().cpu_times()[:2]) - before) / MACHINES * 1000)
    yield Figure(metric=f"{what}, {MACHINES} minions", unit="s", samples=took)
    yield Figure(metric=f"{what}, processor time of the gateway for a minion", unit="ms", samples=computed)


def _tree(tree: Path) -> None:
    for path, text in {
        "states/top.sls": "base:\n  'm*':\n    - files\n",
        "states/files.sls": _STATE,
        "pillar/top.sls": "base:\n  '*':\n    - some\n",
        "pillar/some.sls": "some: value\n",
    }.items():
        (tree / path).parent.mkdir(parents=True, exist_ok=True)
        (tree / path).write_text(text)
