"""Between the wire's thread and the loop: hands messages over, and holds the wire back when the loop falls behind.

Peers are served in turn, in slices of `SLICE_SECONDS`, so neither a flood of one minion nor one of all of them keeps
the loop from other work. What is not read stays in the peers' own queues, so a flood costs the flooder its time and us
a bounded memory. A minion whose messages cost more computing than its share waits, and nobody else does; when too
much of it waits, it is disconnected, and sends again what was not acknowledged.
"""

from __future__ import annotations

import asyncio
import contextlib
import threading
import time
from collections import Counter
from collections.abc import Callable, Sequence

from options.limits import CountRefusal, uncounted
from wire.limits import MinionLimits
from wire.messages import RunResult, RunStarted
from wire.server.fair_queue import FairQueue, cost_of
from wire.server.server import Server
from wire.server.types import Delivery, Incoming

HIGH = 20_000
"""Deliveries that wait until no more are read."""
LOW = 2_000
"""Deliveries that still wait when reading goes on."""

SLICE_SECONDS = 0.01
"""How long is computed for messages until other work of the loop has its turn."""

WAIT_SECONDS = 0.1
"""How long a slice may take with its waits for the disk and for a processor that others use."""

SURE = 64
"""Deliveries of a slice that takes longer, if their computing fits: a commit takes its time however few it is for, and
with fewer messages in each, what comes would wait longer and longer."""

GATHER_SECONDS = 0.002
"""From one slice to the next where few messages wait, or as long as the last one took: what is stored together costs
less than message by message."""
CALM_SECONDS = 0.03
"""The same where nobody waits for what has come, starts and results of runs of states, and much comes."""
MUCH = 100
"""Deliveries of a second: of a few minions each result is handled at once, so that a push is seen to be applied."""
FEW = 128
"""Deliveries."""
STEADY = 8
"""Deliveries of a slice after which more are gathered for the next. So many come where a fleet connects, and what each
transaction and each query costs by itself would be most of the work."""
STEADY_WAITS = 3
"""Times as long as the slice before took."""

BEHIND_SECONDS = 0.5
"""From what has come to what is handled, so that the controller counts as behind."""

CALM_KINDS = ("apply", "remediate", "drift")

FEWEST, MOST = 1, 1024
"""Deliveries of a slice."""

FIRST = 8
"""Deliveries of the first slice, whose speed is not known."""

SLICE_BYTES = 4 * 1024 * 1024
"""Bytes of memory that the deliveries of a slice may take, but for the last: a result of 500 states takes about 1 MiB,
and some ms of computing."""

_REMEMBERED = 20_000
"""Minions; then those that owe nothing are forgotten."""


class HandlingBudget:
    """How much computing the messages of a minion may cost: a share of the time for good, and a burst at once.

    What a minion owes is kept by its key, so connecting again changes nothing. Knows no clock. The virtual scheduling
    algorithm: ITU-T recommendation I.371, annex A.

    Args:
        limits: the share and the burst.
    """

    def __init__(self, limits: MinionLimits) -> None:
        self._share = limits.handling_share
        self._burst = limits.handling_burst_seconds / limits.handling_share
        self._paid: dict[str, float] = {}
        """Key -> when all that its messages have cost is paid at `handling_share`."""

    def charge(self, key: str, seconds: float, now: float) -> float:
        """Charge a minion; the seconds until its next message may be handled, 0 when that is now.

        Args:
            key: of the minion.
            seconds: of computing.
            now: the time in seconds, by the same clock at each call.
        """
        if key not in self._paid and len(self._paid) >= _REMEMBERED:
            self._paid = {each: paid for each, paid in self._paid.items() if paid > now}
        self._paid[key] = max(self._paid.get(key, now), now) + seconds / self._share
        return max(0.0, self._paid[key] - self._burst - now)


class Load:
    """How many deliveries came in this second, and in the one before."""

    def __init__(self) -> None:
        self._second = 0
        self._before = self._now = 0

    def add(self, count: int, now: float) -> None:
        """So many more; `now`: in seconds, by the same clock at each call."""
        self._turn(now)
        self._now += count

    def is_much(self, now: float) -> bool:
        """Whether `MUCH` came in one of them."""
        self._turn(now)
        return max(self._now, self._before) >= MUCH

    def _turn(self, now: float) -> None:
        second = int(now)
        if second != self._second:
            self._before = self._now if second == self._second + 1 else 0
            self._second, self._now = second, 0


class Backpressure:
    """Gives messages to the loop.

    Args:
        loop: on which they are handled, those of a peer in their order.
        limits: how many messages of one minion may wait, and how much computing they may cost.
        on_refusal: see `options.limits.CountRefusal`.
    """

    def __init__(
        self,
        loop: asyncio.AbstractEventLoop,
        limits: MinionLimits | None = None,
        on_refusal: CountRefusal = uncounted,
    ) -> None:
        self._loop = loop
        self._limits = limits or MinionLimits()
        self._on_refusal = on_refusal
        self._server: Server | None = None
        self._deliver: Callable[[Sequence[Delivery]], None] | None = None
        self._lock = threading.Lock()
        self._queue = FairQueue(self._limits)
        self._budget = HandlingBudget(self._limits)
        self._scheduled = False
        self._held = False
        self._hurries = False
        """Whether somebody waits for any of what is in the queue."""
        self._timer: asyncio.TimerHandle | None = None
        self._slice = FIRST
        self._gathers = 0.0
        """Seconds after a slice in which the next is gathered."""
        self._ended = float("-inf")
        """When the last slice did, by the monotonic clock."""
        self._load = Load()
        self._caught_up = time.monotonic()

    def attach(self, server: Server, deliver: Callable[[Sequence[Delivery]], None]) -> None:
        """Say what is held back, and who handles a batch (and must not raise). Before the server starts."""
        self._server, self._deliver = server, deliver

    def caught_up(self) -> float:
        """All that had come at this time, by the monotonic clock, is handled, but for what waits for its own share."""
        if self._server is not None and not self._queue:
            self._caught_up = max(self._caught_up, self._server.read_until())
        return self._caught_up

    def lag(self) -> float:
        """Seconds from when what is handled now has come, or more."""
        return max(0.0, time.monotonic() - self.caught_up())

    def waiting(self) -> int:
        """How many messages wait, of minions that are not over their share."""
        return len(self._queue)

    def is_behind(self) -> bool:
        """Whether messages wait for longer than a moment: what would bring more of them can wait, too."""
        return self.lag() > BEHIND_SECONDS

    def put(self, batch: Sequence[Delivery]) -> None:
        """Called from the wire's thread."""
        with self._lock:
            longest = self._queue.put(batch)
            self._disconnect_excess()
            over = [
                name
                for name, count in (("queued_messages", longest), ("queued_bytes", self._queue.memory))
                if count > getattr(self._limits, name)
            ]
            for name in over:
                self._on_refusal(name.replace("_", "-"))
            if not self._held and self._server is not None and (len(self._queue) > HIGH or over):
                self._held = True
                self._server.hold()
            waits = self._scheduled and (self._hurries or all(map(_is_calm, batch)))
            self._hurries = self._hurries or not all(map(_is_calm, batch))
            self._scheduled = self._scheduled or len(self._queue) > 0
        if self._scheduled and not waits:
            with contextlib.suppress(RuntimeError):  # the loop is closed: minions keep what was not acknowledged
                self._loop.call_soon_threadsafe(self._take_soon)

    def _take_soon(self) -> None:
        """Handle a slice: now, or in a moment when the last one has just ended."""
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None
        now = time.monotonic()
        calm = not self._hurries and self._load.is_much(now)
        wait = self._ended + max(CALM_SECONDS if calm else GATHER_SECONDS, self._gathers) - now
        if wait > 0 and len(self._queue) < FEW:
            self._timer = self._loop.call_later(wait, self._take)
        else:
            self._take()

    def _take(self) -> None:
        """Handle one slice; the next comes after whatever else the loop has to do."""
        with self._lock:
            batch = self._queue.take(self._slice, SLICE_BYTES)
            self._hurries = self._hurries and len(self._queue) > 0
            self._timer = None
        began, computed = time.monotonic(), time.thread_time()
        if batch and self._deliver is not None:
            self._deliver(batch)
        computed = time.thread_time() - computed
        self._ended = time.monotonic()
        self._load.add(len(batch), self._ended)
        took = min(self._ended - began, SLICE_SECONDS)
        self._gathers = took * (STEADY_WAITS if len(batch) >= STEADY else 1)
        self._adapt(len(batch), self._ended - began, computed)
        self.caught_up()
        with self._lock:
            self._charge(batch, computed - SLICE_SECONDS)
            self._let_go()
            self._schedule()

    def _schedule(self) -> None:
        self._scheduled = len(self._queue) > 0
        if self._scheduled:
            self._loop.call_soon(self._take)

    def _charge(self, batch: Sequence[Delivery], seconds: float) -> None:
        """Charge the minions of a slice for what it cost; those that are over their share wait."""
        costs = Counter[str]()
        for each in batch if seconds > 0 else ():
            if isinstance(each, Incoming) and each.id is not None:
                costs[each.key] += cost_of(each)
        now = time.monotonic()
        for key, cost in costs.items():
            wait = self._budget.charge(key, seconds * cost / costs.total(), now)
            if wait > 0:
                self._queue.park(key)
                self._loop.call_later(wait, self._unpark, key)
        self._disconnect_excess()

    def _unpark(self, key: str) -> None:
        with self._lock:
            self._queue.unpark(key)
            if not self._scheduled:
                self._schedule()

    def _disconnect_excess(self) -> None:
        """Disconnect minions that hold too much; later they send again what was not acknowledged."""
        for key in self._queue.drop_excess():
            self._on_refusal("handling-share" if self._queue.is_parked(key) else "queued-bytes")
            if self._server is not None:
                self._server.disconnect(key, self._limits.refused_seconds)

    def _adapt(self, count: int, seconds: float, computed: float) -> None:
        """Next time as many as fit into a slice at this speed, and no more than twice as many as now."""
        fitting = min(count * SLICE_SECONDS / max(computed, 1e-6), max(SURE, count * WAIT_SECONDS / max(seconds, 1e-6)))
        self._slice = max(FEWEST, min(MOST, self._slice * 2, int(fitting)))

    def _let_go(self) -> None:
        if not self._held or self._server is None:
            return
        longest, memory = self._limits.queued_messages // 4, self._limits.queued_bytes // 4
        if len(self._queue) < LOW and self._queue.memory <= memory and self._queue.longest() <= longest:
            self._held = False
            self._server.resume()


def _is_calm(delivery: Delivery) -> bool:
    """Whether nobody waits for what comes of a message: a run of states takes seconds, and is looked at later."""
    if not isinstance(delivery, Incoming):
        return False
    message = delivery.message
    return isinstance(message, RunStarted) or (isinstance(message, RunResult) and message.kind in CALM_KINDS)
