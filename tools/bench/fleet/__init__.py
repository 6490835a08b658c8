"""A fleet: pushes, first compile, restart, drift sweep and no-op reconcile with thousands of minions; 50 real ones.

`MINIONS` says how many a swarm simulates (1,000; a descriptor limit of 20,000 allows about 9,900), `PARTS` which parts
are measured (whole_path,printed_ids,noop,real), `REAL` how many real minions (50), `SWEEP` for how many seconds of a
drift sweep is looked at (60). What depends on the number of minions has the target of 10,000, and says so where there
are fewer. Beside each time stands the processor time of all that worked for it, as other work slows this machine.
"""

from __future__ import annotations

import importlib
import os
from collections.abc import Iterator

from tools.bench.figures import Figure

PARTS = "whole_path,printed_ids,noop,real"


def measure() -> Iterator[Figure]:
    """All figures."""
    minions = int(os.environ.get("MINIONS", "1000"))
    for part in os.environ.get("PARTS", PARTS).split(","):
        yield from importlib.import_module(f"tools.bench.fleet.{part}").figures(minions)
