"""What a state that has nothing to do costs beside the bare query that it needs, on real servers and programs.

The bare query is the same statement by the same program or library, or one read of the same file; for programs the
slowest of those that the state itself runs, once. Both are measured in turns. A family whose server or program is not
on this machine is left out, with a line on stderr. `FAMILIES=postgres,redis` measures some alone. Needs root.
"""

from __future__ import annotations

import contextlib
import os
import sys
from collections.abc import Callable, Iterator

import pytest

from tools.bench.figures import Figure
from tools.bench.noops import apis, databases, kernel, programs
from tools.bench.noops.pairs import NoOp, figure_of

Family = Callable[[], contextlib.AbstractContextManager[Iterator[NoOp]]]
"""Starts what the states of a family need; its states are set up as they are asked for, one after the other."""

FAMILIES: dict[str, Family] = {**databases.FAMILIES, **apis.FAMILIES, **kernel.FAMILIES, **programs.FAMILIES}


def measure() -> Iterator[Figure]:
    """A figure for each state."""
    chosen = os.environ.get("FAMILIES", "").replace(",", " ").split() or list(FAMILIES)
    for name in chosen:
        try:
            with FAMILIES[name]() as states:
                for one in states:
                    yield figure_of(one)
        except (pytest.skip.Exception, FileNotFoundError, RuntimeError) as why:
            sys.stderr.write(f"bench noops: {name} is left out: {why}\n")


if __name__ == "__main__":
    sys.exit("run `make bench ONLY=noops`")
