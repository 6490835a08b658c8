"""Ten thousand minions on the wire: pings beside a bare echo, enrolment, memory, restart, stored results, churn.

`MINIONS` says how many a swarm simulates (1,000), `CHURN` for how many seconds minions come and go (60), `SALT_VENV`
where Salt is that is measured beside. A descriptor limit of 20,000 (`ulimit -Hn`) lets a controller have about 9,900.
"""

from __future__ import annotations

import os
import tempfile
from collections.abc import Iterator
from pathlib import Path

from tools.bench.figures import Figure
from tools.bench.wire.churn import churn_figures
from tools.bench.wire.connected import connected_figures
from tools.bench.wire.pings import ping_figures
from tools.bench.wire.salt_ping import measure_salt
from tools.bench.wire.scene import RAISED, WireScene
from tools.bench.wire.stored_results import stored_figures


def measure() -> Iterator[Figure]:
    """All figures."""
    minions = int(os.environ.get("MINIONS", "1000"))
    salt = measure_salt()
    with tempfile.TemporaryDirectory(prefix="saltern-bench-") as folder, WireScene(Path(folder), minions) as scene:
        alone = scene.resident()
        yield Figure(
            metric=f"wire: {minions} new keys enrolled and connected, {RAISED}",
            unit="s",
            samples=[scene.connect_swarm()],
            target=max(6.0, 60.0 * minions / 10_000),
        )
        yield from ping_figures(scene, salt)
        yield from connected_figures(scene, alone)
    yield from stored_figures()
    with tempfile.TemporaryDirectory(prefix="saltern-bench-") as folder:
        yield from churn_figures(Path(folder))
