"""The workers of a Dask cluster as a controller knows them: who may be used, who compiles what, and why others do not.

Filled by `dask_cluster` with what the scheduler tells, read by lanes from their threads and by who asks for the status.
It has no connection, and imports nothing of Dask.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from typing import Literal, TypeAlias

from cachetools import LRUCache

SILENT_SECONDS = 15.0
"""Without a heartbeat, after which a worker is taken for frozen. Dask sends one each 0.5 s, of 1,000 each 6 s."""
_MOST_KNOWN = 500_000
"""Content addresses that are remembered as given to one worker."""
_MOST_GONE = 50
"""Workers that are still shown when they are gone."""

ClusterWorkerState: TypeAlias = Literal["asked", "ready", "silent", "suspended", "refused", "gone"]


@dataclass(frozen=True, slots=True, kw_only=True)
class SeenWorker:
    """What the scheduler says of a worker."""

    name: str
    threads: int
    last_seen: float
    """Time of its last heartbeat, by the clock of the scheduler: it is compared with itself alone."""


@dataclass(slots=True)
class WorkerMemory:
    """What a worker was given."""

    store: str = ""
    contents: set[str] = field(default_factory=set)
    codes: set[bytes] = field(default_factory=set)

    def given(self, store: str, contents: Mapping[str, bytes], codes: set[bytes]) -> None:
        """It has these now; with another `store` it has nothing else."""
        if store != self.store or len(self.contents) > _MOST_KNOWN:
            self.store, self.contents, self.codes = store, set(), set()
        self.contents |= contents.keys()
        self.codes |= codes


@dataclass(frozen=True, slots=True, kw_only=True)
class WorkerStanding:
    """A worker at one moment."""

    address: str
    name: str
    state: ClusterWorkerState
    processes: int
    minions: int
    """That it has compiled for this controller."""
    since: float
    """Unix time at which it came into this state."""
    reason: str = ""
    """Why it is not used."""


@dataclass(slots=True)
class _Worker:
    """One that the scheduler names."""

    seen: SeenWorker
    heard: float
    """When its heartbeat was another one, by this machine's monotonic clock."""
    since: float
    state: Literal["asked", "ready", "silent", "refused"] = "asked"
    reason: str = ""
    ask_again: float = float("inf")
    """When one that is refused may be asked again."""
    suspended_until: float = 0.0
    suspended_since: float = 0.0
    suspended_reason: str = ""
    memory: WorkerMemory = field(default_factory=WorkerMemory)
    minions: int = 0

    def can_be_used(self, now: float) -> bool:
        return self.state == "ready" and self.suspended_until <= now


@dataclass(frozen=True, slots=True)
class WorkerChanges:
    """What a look has found."""

    new: tuple[str, ...] = ()
    """To be asked who they are."""
    gone: tuple[str, ...] = ()
    silent: tuple[str, ...] = ()
    woken: tuple[str, ...] = ()
    """That were silent, and are not any more."""


class WorkerTable:
    """All methods may be called from any thread.

    Args:
        monotonic: seconds, for what lasts.
        clock: Unix time, for what is shown.
    """

    def __init__(self, monotonic: Callable[[], float] = time.monotonic, clock: Callable[[], float] = time.time) -> None:
        self._monotonic = monotonic
        self._clock = clock
        self._lock = threading.Lock()
        self._workers: dict[str, _Worker] = {}
        self._gone: LRUCache[str, WorkerStanding] = LRUCache(_MOST_GONE)
        self._bound: dict[int, str] = {}
        """Lane -> worker."""

    # --- what is known of them ---

    def see(self, seen: Mapping[str, SeenWorker]) -> WorkerChanges:
        """These are there now."""
        now = self._monotonic()
        with self._lock:
            gone = tuple(address for address in self._workers if address not in seen)
            for address in gone:
                self._gone[address] = self._left(address, self._workers.pop(address))
            new = []
            silent: list[str] = []
            woken: list[str] = []
            for address, each in seen.items():
                known = self._workers.get(address)
                if known is None:
                    self._gone.pop(address, None)
                    self._workers[address] = _Worker(each, now, self._clock())
                    new.append(address)
                elif known.state == "refused" and known.ask_again <= now:
                    known.state, known.ask_again, known.since = "asked", float("inf"), self._clock()
                    new.append(address)
                else:
                    self._listen(address, known, each, now, silent, woken)
        return WorkerChanges(tuple(new), gone, tuple(silent), tuple(woken))

    def _listen(
        self, address: str, known: _Worker, seen: SeenWorker, now: float, silent: list[str], woken: list[str]
    ) -> None:
        """Compare a worker's heartbeat with its last one. Called under the lock."""
        if seen.last_seen != known.seen.last_seen:
            known.heard, known.seen = now, seen
            if known.state == "silent":
                known.state, known.since = "ready", self._clock()
                woken.append(address)
        elif known.state == "ready" and now - known.heard > SILENT_SECONDS:
            known.state, known.since = "silent", self._clock()
            silent.append(address)

    def _left(self, address: str, worker: _Worker) -> WorkerStanding:
        now = self._clock()
        return replace(self._standing(address, worker), state="gone", since=now, reason="the scheduler has lost it")

    def answered(self, address: str) -> bool:
        """It has said that it runs this program; False where it is gone meanwhile."""
        with self._lock:
            if (worker := self._workers.get(address)) is None:
                return False
            worker.state, worker.since, worker.heard = "ready", self._clock(), self._monotonic()
            return True

    def refuse(self, address: str, reason: str, again: float = float("inf")) -> bool:
        """It is not used, for so many seconds; False where it is gone meanwhile."""
        with self._lock:
            if (worker := self._workers.get(address)) is None:
                return False
            worker.state, worker.reason, worker.since = "refused", reason, self._clock()
            worker.ask_again = self._monotonic() + again
            return True

    def suspend(self, address: str, seconds: float, reason: str) -> None:
        """Leave a worker alone for a while."""
        until = self._monotonic() + seconds
        with self._lock:
            worker = self._workers.get(address)
            if worker is not None and until > worker.suspended_until:
                if worker.suspended_until <= self._monotonic():
                    worker.suspended_since = self._clock()
                worker.suspended_until, worker.suspended_reason = until, reason

    # --- their use ---

    def lanes(self) -> int:
        """How many processes can compile at the same time: threads of workers that can be used."""
        now = self._monotonic()
        with self._lock:
            return sum(each.seen.threads for each in self._workers.values() if each.can_be_used(now))

    def place(self, lane: int) -> str | None:
        """The worker of a lane: the same as before, if it is there and has not more lanes than others; None: there is
        none."""
        now = self._monotonic()
        with self._lock:
            ready = {address: each for address, each in self._workers.items() if each.can_be_used(now)}
            total = sum(each.seen.threads for each in ready.values())
            load = dict.fromkeys(ready, 0)
            for other, address in list(self._bound.items()):
                if address not in ready or other >= total:
                    del self._bound[other]
                elif other != lane:
                    load[address] += 1
            if not ready:
                return None
            free = {address: load[address] - each.seen.threads for address, each in ready.items()}
            best = min(free, key=lambda address: free[address])
            current = self._bound.get(lane)
            chosen = current if current is not None and (free[current] < 0 or free[best] >= 0) else best
            self._bound[lane] = chosen
            return chosen

    def is_there(self, address: str) -> bool:
        """Whether an answer of a worker can be waited for: it is known, and its heart beats."""
        worker = self._workers.get(address)
        return worker is not None and worker.state == "ready"

    def ready(self) -> list[str]:
        """Addresses of workers that answer."""
        with self._lock:
            return [address for address, each in self._workers.items() if each.state == "ready"]

    def memory(self, address: str) -> WorkerMemory:
        """What a worker was given."""
        with self._lock:
            worker = self._workers.get(address)
            return WorkerMemory() if worker is None else worker.memory

    def compiled(self, address: str) -> None:
        """It has compiled a minion."""
        with self._lock:
            if (worker := self._workers.get(address)) is not None:
                worker.minions += 1
            elif (left := self._gone.get(address)) is not None:  # its last answers are taken after its end
                self._gone[address] = replace(left, minions=left.minions + 1)

    # --- what is told ---

    def counts(self) -> dict[str, int]:
        """State -> number, of those that the scheduler names: ready, silent and refused."""
        with self._lock:
            states = [each.state for each in self._workers.values()]
        return {state: states.count(state) for state in ("ready", "silent", "refused")}

    def standings(self) -> list[WorkerStanding]:
        """All, by name; then those that are gone, the last of them."""
        with self._lock:
            there = [self._standing(address, each) for address, each in self._workers.items()]
            gone = list(self._gone.values())
        return sorted(there, key=_by_name) + sorted(gone, key=_by_name)

    def _standing(self, address: str, worker: _Worker) -> WorkerStanding:
        state: ClusterWorkerState = worker.state
        since, reason = worker.since, worker.reason if worker.state == "refused" else ""
        if state == "silent":
            reason = f"the scheduler has had no heartbeat of it for {self._monotonic() - worker.heard:.0f} s"
        elif state == "ready" and worker.suspended_until > self._monotonic():
            state, since, reason = "suspended", worker.suspended_since, worker.suspended_reason
        return WorkerStanding(
            address=address,
            name=worker.seen.name,
            state=state,
            processes=worker.seen.threads,
            minions=worker.minions,
            since=since,
            reason=reason,
        )


def _by_name(worker: WorkerStanding) -> tuple[str, str]:
    return worker.name, worker.address
