"""What a worker is started with, and how it asks the controller: through the agent, which has the connection."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from minion.config.settings import MinionSettings
from minion.processes import AgentPipe
from minion.spool.journal import RunFolder
from wire.messages import ToMinion, decode_to_minion, encode


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

    def ask(self, question: Any) -> ToMinion:
        """The answer to one question."""
        self._pipe.send(encode(question))
        return decode_to_minion(self._pipe.receive())
