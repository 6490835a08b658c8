"""The execution module `state`: runs and shows highstates.

Where a lowstate comes from is the compiler's: the controller's document that this minion holds, or the trees of
`file_roots` and `pillar_roots`. Results are Salt's running dictionaries.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from minion.execution.context import Context
from minion.modules.state.apply import FUNCTIONS as APPLY
from minion.modules.state.given import FUNCTIONS as GIVEN
from minion.modules.state.requests import FUNCTIONS as REQUESTS
from minion.modules.state.show import FUNCTIONS as SHOW


def running(context: Context, concurrent: bool = False) -> list[str]:
    """The other runs of states that go on or wait, in words; none for a run that is `concurrent`."""
    from pathlib import Path

    from minion.spool.state_queue import StateQueue

    if concurrent or not context.cachedir:
        return []
    return [one.said() for one in StateQueue(Path(context.cachedir), "state.running").others()]


def pending(context: Context) -> list[str]:
    """The states that still have to act on a change of an earlier run; the next run has them do it."""
    from pathlib import Path

    from highstate.types import state_title
    from minion.spool.triggers import TriggerFile

    return sorted(map(state_title, TriggerFile(Path(context.cachedir)).pending_triggers())) if context.cachedir else []


FUNCTIONS: Mapping[str, Any] = {
    **APPLY,
    **GIVEN,
    **REQUESTS,
    **SHOW,
    "pending": pending,
    "running": running,
}
