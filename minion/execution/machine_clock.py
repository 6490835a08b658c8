"""Clock and chance of this machine for a run of states (`RunHooks`). Called where states are run."""

from __future__ import annotations

import random
import time
from datetime import datetime

from highstate.run.ports import RunHooks


def splay(most: int) -> int:
    """A random number of seconds, up to `most`."""
    return random.randint(0, most)  # noqa: S311  (no secret)


WAITING = RunHooks(sleep=time.sleep, draw=splay, local_time=datetime.fromtimestamp)
"""The hooks of a run within another, and of one that nobody watches."""
