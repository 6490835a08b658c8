"""`python -m saltern.run_module controller.returners.deliver`: delivers to one returner until its input ends.

The first line of its input says what it does; each further one, that something waits.
"""

from __future__ import annotations

import json
import os
import select
import signal
import sys
from functools import partial
from pathlib import Path

from minion.returners.delivery import deliver_built_in, deliver_next
from minion.returners.spool import Spool

_IDLE = 60.0
"""Seconds until it looks, woken or not."""


def main() -> int:
    """Deliver until the controller has gone."""
    line = b""
    while not line.endswith(b"\n"):
        if not (part := os.read(0, 1)):
            return 0
        line += part
    job = json.loads(line)
    spool, deliver = Spool(Path(job["spool"])), partial(deliver_built_in, job["opts"])
    signal.signal(signal.SIGALRM, signal.SIG_DFL)  # what hangs is ended, in whatever library it is
    while True:
        signal.setitimer(signal.ITIMER_REAL, job["seconds"])
        try:
            wait = deliver_next(spool, job["returner"], deliver)
        except OSError as error:
            print(f"returner {job['returner']}: {error}", file=sys.stderr)  # noqa: T201 - the controller's log
            wait = 1.0
        signal.setitimer(signal.ITIMER_REAL, 0)
        if not _rest(wait):
            return 0


def _rest(wait: float) -> bool:
    """Wait until something may be delivered; False when the controller has gone."""
    poll = _IDLE if wait < 0 else wait
    if wait <= 0:
        readable, _, _ = select.select([0], [], [], poll)
        return not readable or bool(os.read(0, 4096))
    # A returner that failed is left alone so long, however much comes meanwhile.
    ended = select.poll()
    ended.register(0, select.POLLHUP)
    events = ended.poll(poll * 1000)
    return not any(event & select.POLLHUP for _, event in events)


if __name__ == "__main__":
    sys.exit(main())
