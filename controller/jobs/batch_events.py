"""Events of jobs that are done in batches: `salt/batch/JID/new|progress|complete|halted`, with Salt's data.

Told by reactions and orchestrations that have a `batch`. The data are those of Salt 3008.3's asynchronous batches
(`salt.utils.batch_output`), where the master drives; there is no `salt/batch/JID/start` or `done` in that version.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

from controller.schema.requests import CallQuestion
from reactors.bus import Bus


@dataclass(slots=True, kw_only=True)
class BatchEvents:
    """Tells how far one job in batches is.

    Args:
        bus: where it is told.
        clock: seconds since the epoch.
        jid: of the job, which all batches share.
        question: what is asked.
        user: who asks.
        minions: who is asked, all together.
        size: how many at a time.
        cause: id of the event that the job follows from.
    """

    bus: Bus
    clock: Callable[[], float]
    jid: str
    question: CallQuestion
    user: str
    minions: Sequence[str]
    size: int
    cause: int
    _created: float = field(init=False)
    _left: dict[str, None] = field(init=False)
    """Minions that were not asked yet, in their order."""
    _active: set[str] = field(default_factory=set)
    _completed: int = 0
    _failed: int = 0
    _batches: int = 0
    _ended: bool = False

    def __post_init__(self) -> None:
        self._created = self.clock()
        self._left = dict.fromkeys(self.minions)

    def new(self) -> None:
        """The first batch is about to begin."""
        more = {"batch_size": self.size, "driver": "master", "created": self._created}
        self._tell("new", {"total_minions": len(self.minions), **more})

    def begin(self, minions: Sequence[str]) -> None:
        """These minions are asked now."""
        self._batches += 1
        self._active = set(minions)
        for minion in minions:
            self._left.pop(minion, None)
        data = {"total": len(self.minions), "active": len(self._active), "pending": len(self._left)}
        data |= {"completed": self._completed, "failed": self._failed}
        self._tell("progress", {**data, "iter": self._batches, "last_progress": self.clock()})

    def returned(self, minion: str, *, answered: bool) -> None:
        """A minion has returned, whatever it says, or has not answered in time."""
        if minion in self._active:
            self._active.discard(minion)
            self._completed += answered
            self._failed += not answered

    def complete(self) -> None:
        """All batches are done."""
        self._end("complete", {"total_minions": len(self.minions)})

    def halted(self, reason: str) -> None:
        """No further batch is begun; nothing is told when it is complete already. `reason`: `failhard` or `stop`."""
        abandoned = {"abandoned_active": sorted(self._active), "abandoned_pending": list(self._left)}
        self._end("halted", {"reason": reason, **abandoned})

    def _end(self, step: str, data: dict[str, Any]) -> None:
        if not self._ended:
            self._ended = True
            counts = {"completed": self._completed, "failed": self._failed}
            self._tell(step, {**data, **counts, "duration": self.clock() - self._created})

    def _tell(self, step: str, data: dict[str, Any]) -> None:
        target = self.question.target
        about = {"jid": self.jid, "fun": self.question.fun, "user": self.user}
        about |= {"tgt": target.expression, "tgt_type": target.kind}
        self.bus.publish(f"salt/batch/{self.jid}/{step}", {**about, **data}, cause=self.cause)
