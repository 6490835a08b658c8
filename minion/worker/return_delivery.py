"""Delivers what waits for one returner of this minion: what a child of the agent does for it.

It ends once nothing waits or the returner has failed, and tells the agent when to begin again, so that an idle minion
has no process for a returner.
"""

from __future__ import annotations

import signal
import sys
from collections.abc import Callable, Sequence
from pathlib import Path

from minion.execution.context import Context
from minion.returners.delivery import deliver_next
from minion.returners.errors import EntryRefused
from minion.returners.spool import Waiting
from minion.spool.returns import open_spool, spool_file
from minion.worker.delivery_end import SECONDS, DeliveryEnd
from minion.worker.returners import returner_of

_UNREADABLE_AGAIN = 10.0
"""Seconds until a spool is opened again that cannot be read."""


def waiting_returners(cachedir: Path) -> DeliveryEnd:
    """For whom something waits."""
    try:
        return DeliveryEnd(waiting=tuple(open_spool(cachedir).waiting()) if spool_file(cachedir).exists() else ())
    except OSError as error:
        return DeliveryEnd(wait=_UNREADABLE_AGAIN, error=str(error))


def deliver_waiting(context: Context, returner: str) -> DeliveryEnd:
    """Deliver all that waits for a returner, until one delivery fails. A delivery that hangs ends this process."""
    signal.signal(signal.SIGALRM, signal.SIG_DFL)
    try:
        spool = open_spool(Path(context.cachedir))
        wait = 0.0
        while wait == 0.0:
            signal.setitimer(signal.ITIMER_REAL, SECONDS)
            wait = deliver_next(spool, returner, _handing_over(context, returner))
        signal.setitimer(signal.ITIMER_REAL, 0)
        state = next((one for one in spool.states() if one.returner == returner), None)
    except OSError as error:
        return DeliveryEnd(wait=_UNREADABLE_AGAIN, error=str(error))
    if state is None:
        return DeliveryEnd(wait=wait)
    return DeliveryEnd(wait=wait, failures=state.failures, dropped=state.dropped, error=state.error)


def _handing_over(context: Context, returner: str) -> Callable[[Sequence[Waiting]], None]:
    def hand_over(entries: Sequence[Waiting]) -> None:
        for entry in entries:
            if entry.kind != "return":
                raise EntryRefused(f"a minion returns, and sends no {entry.kind}")
            returner_of(context, returner, sys.stderr)(dict(entry.body))

    return hand_over
