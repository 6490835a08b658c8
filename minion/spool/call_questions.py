"""Questions of `saltern call` to the controller: through the agent, which has the connection.

    cachedir/questions/PID-NS.ask     a question, packed
    cachedir/questions/PID-NS.answer  its answer; the asker takes both away

The folder is root's alone. `events/wake` tells the agent that there is a question (`minion.spool.minion_events`).
"""

from __future__ import annotations

import os
import time
from pathlib import Path

from minion.machine.durable_files import write_whole
from minion.spool.files import Question
from minion.spool.minion_events import EventQueue
from wire.codec import decode_to_minion, encode
from wire.messages import Refused, ToMinion

FOLDER = "questions"
ASK, ANSWER = ".ask", ".answer"

PATIENCE = 90.0
"""Seconds until an answer is not waited for any more; the agent refuses before, when the controller does not answer."""

_LOOK_SECONDS = 0.02


class AgentQuestions:
    """`minion.spool.files.Controller` of a process that has no connection.

    Args:
        cachedir: of the agent.
        minion_id: its id.
    """

    def __init__(self, cachedir: Path, minion_id: str) -> None:
        self._folder = cachedir / FOLDER
        self._queue = EventQueue(cachedir, minion_id)

    def ask(self, question: Question) -> ToMinion:
        """The answer of the controller, or `Refused` with the reason why there is none."""
        if not self._queue.has_agent():
            return Refused(
                message="no agent runs on this machine that could ask the controller: start `saltern minion`"
            )
        place = self._folder / f"{os.getpid()}-{time.monotonic_ns()}"
        asked, answered = place.with_suffix(ASK), place.with_suffix(ANSWER)
        try:
            self._folder.mkdir(mode=0o700, exist_ok=True)
            answered.unlink(missing_ok=True)
            write_whole(asked, encode(question))
            self._queue.has_agent()  # wakes it
            return self._wait(answered)
        except OSError as error:
            return Refused(message=f"the agent cannot be asked: {error}")
        finally:
            asked.unlink(missing_ok=True)
            answered.unlink(missing_ok=True)

    def _wait(self, answered: Path) -> ToMinion:
        until = time.monotonic() + PATIENCE
        while time.monotonic() < until:
            if answered.exists():
                return decode_to_minion(answered.read_bytes())
            time.sleep(_LOOK_SECONDS)
        return Refused(message="the agent gives no answer")
