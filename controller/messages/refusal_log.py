"""What of the refusals of the wire stands in the log: some of each reason in a minute, since strangers cause them.

Used by `MessageHandlers`. The metrics count all of them.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field

import structlog

from wire.server.types import Refusal, RefusalReason

log = structlog.get_logger("saltern.messages")

_MINUTE = 60.0


@dataclass(slots=True)
class _Minute:
    began: float
    count: int = 0


@dataclass(slots=True, kw_only=True)
class RefusalLog:
    """Logs refusals.

    Args:
        most: of one reason in a minute.
        clock: the one that nobody sets.
    """

    most: int
    clock: Callable[[], float]
    _minutes: dict[RefusalReason, _Minute] = field(default_factory=dict)

    def refused(self, refusal: Refusal) -> None:
        """Log one, or count it."""
        now = self.clock()
        minute = self._minutes.get(refusal.reason)
        if minute is None or now - minute.began >= _MINUTE:
            if minute is not None and minute.count > self.most:
                log.warning("more peers were refused", reason=refusal.reason, count=minute.count - self.most)
            minute = self._minutes[refusal.reason] = _Minute(now)
        minute.count += 1
        if minute.count <= self.most:
            last = {"note": "more of this minute are counted alone"} if minute.count == self.most else {}
            detail = {"reason": refusal.reason, "minion": refusal.id, "detail": refusal.detail}
            log.warning("wire refused a peer", **detail, **last)
