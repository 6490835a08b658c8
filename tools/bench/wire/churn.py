"""Minions that come, answer, and go again, for a while: whether the controller's memory and descriptors grow."""

from __future__ import annotations

import os
import statistics
import subprocess
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from rig import SALTERN

from tools.bench.figures import Figure
from tools.bench.wire.scene import WireScene

MINIONS = 50
WARM_SHARE = 0.2
"""Of the time, at its beginning, that does not count: caches fill."""
_HOUR = 3600.0


@dataclass(frozen=True, slots=True)
class _Sample:
    at: float
    memory: float
    descriptors: int


def churn_figures(folder: Path) -> Iterator[Figure]:
    """Growth an hour, with `CHURN` seconds of it."""
    seconds = float(os.environ.get("CHURN", "60"))
    with WireScene(folder, MINIONS) as scene:
        samples = list(_samples(scene, folder / "keys", seconds))
    warm = [each for each in samples if each.at >= seconds * WARM_SHARE]
    rounds = f"in {seconds:g} s of {len(samples)} times {MINIONS} minions that come and go"
    yield Figure(
        metric=f"wire: growth of the controller's memory, {rounds}",
        unit="MiB/h",
        samples=[_slope([each.at for each in warm], [each.memory for each in warm])],
        target=float(os.environ.get("CHURN_MIB", "8")) if seconds >= _HOUR / 2 else None,
    )
    yield Figure(
        metric="wire: growth of the controller's descriptors, in the same time",
        unit="/h",
        samples=[_slope([each.at for each in warm], [each.descriptors for each in warm])],
        target=1.0 if seconds >= _HOUR / 2 else None,
    )
    yield Figure(metric="wire: memory of the controller at the end of it", unit="MiB", samples=[samples[-1].memory])


def _samples(scene: WireScene, keys: Path, seconds: float) -> Iterator[_Sample]:
    """One each time that all are gone again."""
    publish, request = scene.rig.wire_ports
    words = ["swarm", "--minions", str(MINIONS), "--publish-port", str(publish), "--master-port", str(request)]
    words += ["--controller-key", scene.rig.controller_key, "--keep-keys", str(keys)]
    began = time.monotonic()
    while (at := time.monotonic() - began) < seconds:
        swarm = subprocess.Popen([*SALTERN, *words], stdout=subprocess.DEVNULL)
        try:
            scene.rig.wait("the minions", lambda: _connected(scene) == MINIONS)
            scene.ping("*", MINIONS)
        finally:
            swarm.terminate()
            swarm.wait(20)
        scene.rig.wait("the minions to be gone", lambda: not _connected(scene))
        yield _Sample(at, scene.resident(), scene.descriptors())


def _connected(scene: WireScene) -> int:
    return sum(each["connected"] for each in scene.rig.status().values())


def _slope(times: Sequence[float], values: Sequence[float]) -> float:
    return statistics.linear_regression(times, values).slope * _HOUR if len(times) > 2 else float("nan")
