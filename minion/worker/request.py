"""What a worker is started with, and how it asks the controller: through the agent, which has the connection."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from minion.config.settings import MinionSettings
from minion.processes import AgentGone, AgentPipe
from minion.spool.journal import RunFolder
from wire.codec import decode_to_minion, encode
from wire.messages import ToMinion

WAKE = b""
"""The frame that asks nothing: the run has sent an event."""


@dataclass(frozen=True, slots=True, kw_only=True)
class WorkerRequest:
    """The run of a worker, and the state of the agent that it needs."""

    folder: RunFolder
    settings: MinionSettings
    grains: Mapping[str, Any]
    on_start: Callable[[str, int, int], None] = lambda key, done, total: None
    """Called when a state begins (`highstate.run.RunHooks.on_start`)."""


class ControllerClient:
    """`minion.spool.files.Controller`: sends questions to the agent, which forwards them."""

    def __init__(self, pipe: AgentPipe) -> None:
        self._pipe = pipe

    def wake(self) -> None:
        """Have the agent look at the events of the run. An agent that is gone, or the next one, finds them anyway."""
        with contextlib.suppress(AgentGone):
            self._pipe.send(WAKE)

    def ask(self, question: Any) -> ToMinion:
        """The answer to one question."""
        self._pipe.send(encode(question))
        return decode_to_minion(self._pipe.receive())
