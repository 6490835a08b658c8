"""Returners of this minion, for the agent: when to deliver what waits for them, and which of them fail.

Part of the agent, which polls `readers` and calls `tick` at every turn. A child delivers to one returner, tells when to
begin again, and ends: while nothing can be delivered there is no process. What waits is on disk, see
`minion.spool.returns`.
"""

from __future__ import annotations

import logging
from collections.abc import Callable
from pathlib import Path

from minion.config.groups import ReturnOptions
from minion.processes import Child
from minion.spool.journal import Request
from minion.spool.returns import keep_return, returners_of, spool_file
from minion.worker.delivery_end import END, SECONDS, DeliveryEnd
from wire.messages import Call, RunResult

log = logging.getLogger(__name__)

AT_ONCE = 4
"""Returners that are delivered to at a time."""
FIRST_WAIT = 1.0
LONGEST_WAIT = 300.0
"""Seconds until a returner whose child ended by itself is tried again; twice as many each time."""
_FAILING = 3
"""Failures in a row of which is told."""
_LOOK = ""
"""Stands for the look who waits at all."""


class ReturnerKeeper:
    """When each returner is delivered to. Times are monotonic seconds."""

    def __init__(self, cachedir: Path, minion: str, options: ReturnOptions, deliver: Callable[[str], Child]) -> None:
        """`deliver`: starts a child that delivers to a returner, or without a name tells for whom something waits."""
        self._cachedir, self._minion, self._options = cachedir, minion, options
        self._deliver = deliver
        self._due: dict[str, float] = {_LOOK: 0.0} if spool_file(cachedir).exists() else {}
        self._children: dict[str, Child] = {}
        self._again: set[str] = set()
        """Returners for which something came while a child delivered to them."""
        self._crashes: dict[str, int] = {}
        self._dropped: dict[str, int] = {}
        self._problems: dict[str, str] = {}

    @property
    def problems(self) -> tuple[str, ...]:
        """What is wrong, for the controller."""
        return tuple(self._problems[name] for name in sorted(self._problems))

    @property
    def due_at(self) -> float:
        """When `tick` has something to do."""
        if len(self._children) >= AT_ONCE:
            return float("inf")
        return min((at for name, at in self._due.items() if name not in self._children), default=float("inf"))

    def readers(self) -> list[int]:
        """Sockets of the children."""
        return [child.fd for child in self._children.values()]

    def answered(self, request: Request, result: RunResult) -> None:
        """A result that no worker made: it is on disk for its returners when this returns."""
        if isinstance(request, Call) and returners_of(request, self._options):
            keep_return(self._cachedir, self._minion, self._options, request, result, 1)

    def returned(self, request: Request) -> None:
        """A call has ended, and what it returned waits. A returner that fails keeps its time."""
        for name in returners_of(request, self._options):
            self._due.setdefault(name, 0.0)
            if name in self._children:
                self._again.add(name)

    def tick(self, now: float) -> None:
        """Begin the deliveries that are due."""
        for name, at in list(self._due.items()):
            if at <= now and name not in self._children and len(self._children) < AT_ONCE:
                try:
                    self._children[name] = self._deliver(name)
                except OSError as error:
                    log.error("event=returner_not_started returner=%s error=%s", name, error)
                    self._due[name] = now + LONGEST_WAIT

    def receive(self, fd: int, now: float) -> bool:
        """A child's socket is readable; whether `problems` has changed."""
        name = next(name for name, child in self._children.items() if child.fd == fd)
        frames, ended = self._children[name].receive()
        before = self.problems
        for frame in frames:
            self._told(name, END.decode(frame), now)
        if ended:
            code = self._children.pop(name).reap()
            if code:
                self._crashed(name, code, now)
            elif name in self._again:
                self._due.setdefault(name, now)
            self._again.discard(name)
        return self.problems != before

    def stop(self) -> None:
        """End the children; what they had not delivered is delivered by the next agent."""
        for child in self._children.values():
            child.kill()
            child.reap()
        self._children.clear()

    def _told(self, name: str, end: DeliveryEnd, now: float) -> None:
        self._crashes.pop(name, None)
        self._due.pop(name, None)
        for waiting in end.waiting:
            self._due.setdefault(waiting, now)
        if end.wait >= 0:
            self._due[name] = now + end.wait
        self._judge(name, end)

    def _judge(self, name: str, end: DeliveryEnd) -> None:
        shown = name or "the spool of returners"
        if end.dropped > self._dropped.get(name, 0):
            log.warning("event=returns_dropped returner=%s dropped=%s error=%s", name, end.dropped, end.error)
        self._dropped[name] = end.dropped
        if end.failures >= _FAILING:
            if name not in self._problems:
                log.warning("event=returner_fails returner=%s error=%s", name, end.error)
            self._problems[name] = f"returner {shown} fails, what it has to get waits on disk: {end.error}"
        elif end.failures == 0 and self._problems.pop(name, None) is not None:
            log.warning("event=returner_recovered returner=%s", name)

    def _crashed(self, name: str, code: int, now: float) -> None:
        """A child that was ended, by its deadline or by what the returner did to it."""
        count = self._crashes[name] = self._crashes.get(name, 0) + 1
        why = f"one delivery took more than {SECONDS} s" if code == -14 else f"its process ended with {code}"
        log.error("event=returner_ended returner=%s reason=%r", name, why)
        self._due[name] = now + min(LONGEST_WAIT, FIRST_WAIT * 2 ** min(count - 1, 20))
        self._judge(name, DeliveryEnd(failures=count, dropped=self._dropped.get(name, 0), error=why))
