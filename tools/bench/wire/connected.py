"""What many minions that are connected cost a controller that does nothing, and its restart."""

from __future__ import annotations

import time
from collections.abc import Iterator

from tools.bench.figures import Figure
from tools.bench.wire.scene import RAISED, WireScene

IDLE_SECONDS = 30.0
RESTARTS = 3


def connected_figures(scene: WireScene, alone: float) -> Iterator[Figure]:
    """MiB, per cent of a core, and seconds.

    Args:
        scene: with all connected.
        alone: MiB of the controller before the first minion came.
    """
    count = scene.minions
    yield Figure(
        metric=f"wire: memory of the controller with {count} minions (RSS)",
        unit="MiB",
        samples=[scene.resident()],
        reference=alone,
        reference_of="without minions",
        target=600.0,
    )
    yield Figure(metric="wire: the same with all its processes (PSS)", unit="MiB", samples=[scene.memory()])
    before = scene.computing()
    began = time.monotonic()
    scene.take_counts(IDLE_SECONDS)
    share = 100 * (scene.computing() - before) / (time.monotonic() - began)
    yield Figure(
        metric=f"wire: processor time of an idle controller with {count} minions, of a core",
        unit="%",
        samples=[share],
        target=5.0,
    )
    yield Figure(
        metric=f"wire: restart until all {count} are connected and have answered, {RAISED}",
        unit="s",
        samples=[scene.restart() for _ in range(RESTARTS)],
        target=15.0,
    )
