"""A beacon that runs: when it is due, how it is looked at, and what of what it found is said.

Three ways: a look in this process, a look in a child that may wait and is ended at its deadline, and a watch that is
woken. A beacon of the tree has a child of its own for as long as it is configured: its module keeps what it likes.
"""

from __future__ import annotations

import logging
import math
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple, Protocol

import msgspec

from minion.beacons.beacon import BeaconFailed, BeaconKind, Found, Memory, Options, Watch, World, described
from minion.beacons.configured import ConfiguredBeacon
from minion.beacons.ensuring import Ensuring, Step
from minion.beacons.registry import kind_of
from minion.beacons.tree_process import TreeProcess
from minion.processes import AgentPipe, Child, fork

log = logging.getLogger(__name__)

WATCHED_AGAIN = 1.0
"""Seconds between looks of a watch that waits for something that wakes nobody, or that could not begin."""

FAILED_AGAIN = 30.0
"""Seconds until a watch is begun again that failed."""

MOST_HELD = 10_000
"""Events of a beacon that are held back while states run."""

UMASK = 0o022

LoadFunctions = Callable[[str], Mapping[str, Callable[..., Any]]]


class BeaconOutcome(NamedTuple):
    """What came of waking a beacon."""

    found: Found
    failed_anew: bool = False
    """Whether it has failed, and for another reason than the last time."""
    steps: Sequence[Step] = ()


class Looker(Protocol):
    """One of the three ways."""

    def readers(self, now: float) -> Sequence[int]:
        """Descriptors to poll."""

    def due_at(self, now: float) -> float:
        """When `due` has something to do, in monotonic seconds."""

    def woken(self, now: float) -> Found | None:
        """A descriptor is readable. None: nothing is known yet. Raises BeaconFailed."""

    def due(self, now: float) -> Found | None:
        """It is due. As `woken`."""

    def close(self) -> None:
        """Let go of everything."""


@dataclass(slots=True)
class InProcess:
    """A look that takes no time to speak of."""

    look: Callable[[Memory], Found]
    interval: float
    next: float
    memory: dict[str, Any] = field(default_factory=dict)

    def readers(self, now: float) -> Sequence[int]:
        """See `Looker`."""
        return ()

    def due_at(self, now: float) -> float:
        """See `Looker`."""
        return self.next

    def woken(self, now: float) -> Found | None:
        """See `Looker`."""
        return None

    def due(self, now: float) -> Found | None:
        """See `Looker`."""
        self.next = aligned(now, self.interval)
        return self.look(self.memory)

    def close(self) -> None:
        """See `Looker`."""


@dataclass(slots=True)
class InChild:
    """A look that may wait: a child for each, ended at the deadline."""

    look: Callable[[Memory], Found]
    interval: float
    next: float
    seconds: float
    quick: Callable[[Memory], Found | None]
    memory: dict[str, Any] = field(default_factory=dict)
    child: Child | None = None
    frames: list[bytes] = field(default_factory=list)
    deadline: float = math.inf

    def readers(self, now: float) -> Sequence[int]:
        """See `Looker`."""
        return () if self.child is None else (self.child.fd,)

    def due_at(self, now: float) -> float:
        """See `Looker`."""
        return self.next if self.child is None else self.deadline

    def due(self, now: float) -> Found | None:
        """See `Looker`."""
        if self.child is None:
            self.next = aligned(now, self.interval)
            if (found := self.quick(self.memory)) is not None:
                return found
            self.deadline = now + self.seconds
            self.child = fork(self._look, umask=UMASK)
            return None
        self._end()
        raise BeaconFailed(f"a look took more than {self.seconds:g} s and was ended")

    def woken(self, now: float) -> Found | None:
        """See `Looker`."""
        if self.child is None:
            return None
        frames, ended = self.child.receive()
        self.frames += frames
        if not ended:
            return None
        code = self.child.reap()
        answers, self.frames, self.child = self.frames, [], None
        if not answers:
            raise BeaconFailed(f"a look ended with exit code {code}")
        found, memory, error = msgspec.msgpack.decode(answers[0])
        if error:
            raise BeaconFailed(error)
        self.memory = memory
        return list(found)

    def close(self) -> None:
        """See `Looker`."""
        self._end()

    def _end(self) -> None:
        if self.child is not None:
            self.child.kill()
            self.child.reap()
            self.child, self.frames = None, []

    def _look(self, pipe: AgentPipe) -> None:
        try:
            answer: tuple[Found, Memory, str] = (self.look(self.memory), self.memory, "")
        except Exception as error:
            answer = ([], {}, described(error))
        pipe.send(msgspec.msgpack.encode(answer, enc_hook=str))


@dataclass(slots=True)
class Watching:
    """A watch, which is begun again when it fails."""

    begin: Callable[[], Watch]
    interval: float
    watch: Watch | None = None
    next: float = 0.0

    def readers(self, now: float) -> Sequence[int]:
        """See `Looker`."""
        return () if self.watch is None or now < self.next else self.watch.readers()

    def due_at(self, now: float) -> float:
        """See `Looker`."""
        if self.watch is None or now < self.next:
            return self.next
        return self.next + WATCHED_AGAIN if self.watch.waits else math.inf

    def woken(self, now: float) -> Found | None:
        """See `Looker`."""
        if self.watch is None:
            self.watch = self._begun(now)
        found = self.watch.look()
        self.next = now + self.interval
        return found

    def due(self, now: float) -> Found | None:
        """See `Looker`."""
        if self.watch is not None and not self.watch.waits and self.interval:
            self.next = now  # from now on the kernel wakes it again
            return None
        return self.woken(now)

    def close(self) -> None:
        """See `Looker`."""
        if self.watch is not None:
            self.watch.close()

    def _begun(self, now: float) -> Watch:
        try:
            return self.begin()
        except (BeaconFailed, OSError):
            self.next = now + FAILED_AGAIN
            raise


class ActiveBeacon:
    """One beacon."""

    def __init__(self, beacon: ConfiguredBeacon, kind: BeaconKind, looker: Looker, *, running: bool) -> None:
        self.beacon = beacon
        self._kind = kind
        self._looker = looker
        self._running = running and beacon.skipped_in_runs
        self._held: Found = []
        self._seen: frozenset[str] | None = None
        self._over = False
        self._tries_told = 0
        self.error = ""
        """Why the last look came to nothing."""
        self.ensuring = Ensuring(beacon.ensure) if beacon.ensure is not None else None

    def readers(self, now: float) -> Sequence[int]:
        """Descriptors to poll."""
        return () if self._over else self._looker.readers(now)

    def due_at(self, now: float) -> float:
        """When `due` has something to do."""
        if self._over:
            return math.inf
        held = now if self._held and not self._running else math.inf
        return min(held, self._looker.due_at(now))

    def woken(self, now: float) -> BeaconOutcome:
        """A descriptor is readable."""
        return self._outcome(self._looker.woken, now)

    def due(self, now: float) -> BeaconOutcome:
        """It is due."""
        if self._held and not self._running:
            held, self._held = self._held, []
            return BeaconOutcome(held)
        return self._outcome(self._looker.due, now)

    def state_run(self, *, running: bool, changed: Sequence[str]) -> None:
        """States run, or have ended and changed these paths."""
        if not self.beacon.skipped_in_runs:
            return
        if self._kind.watch is None:
            self._running = running
            return
        if not running and self._running:
            try:
                self._held += self._looker.woken(time.monotonic()) or []
            except (BeaconFailed, OSError) as error:
                self.error = described(error)
            self._held = [one for one in self._held if not made_by_run(str(one.get("path", "")), changed)]
        self._running = running

    def tries_told(self) -> int:
        """How often healing was tried when the last step was taken."""
        return self._tries_told

    def close(self) -> None:
        """Let go of everything."""
        self._looker.close()

    def _outcome(self, look: Callable[[float], Found | None], now: float) -> BeaconOutcome:
        if self._running and self._kind.watch is None:
            look = self._look_later
        try:
            found = look(now)
        except Exception as error:
            why, before = described(error), self.error
            self.error = why
            return BeaconOutcome([], failed_anew=why != before)
        if found is None:
            return BeaconOutcome([])
        self.error = ""
        self._over = self.beacon.run_once
        tries = self.ensuring.tries if self.ensuring is not None else 0
        steps = [] if self.ensuring is None else self.ensuring.observe(now, bad=self._is_bad(found))
        self._tries_told = max(tries, self.ensuring.tries if self.ensuring is not None else 0)
        found = self._news(found)
        if self._running:
            self._held = (self._held + found)[-MOST_HELD:]
            return BeaconOutcome([], steps=steps)
        return BeaconOutcome(found, steps=steps)

    def _look_later(self, now: float) -> Found | None:
        """While states run, it is not looked: only the time of the next look passes."""
        if isinstance(self._looker, InProcess | InChild):
            self._looker.next = aligned(now, self._looker.interval)
        return None

    def _is_bad(self, found: Found) -> bool:
        """Whether the condition is bad: what was found is not always that, and with `onchangeonly` it is said once."""
        if self._kind.bad is None:
            return bool(found)
        return self._kind.bad(self.beacon.options, getattr(self._looker, "memory", {}))

    def _news(self, found: Found) -> Found:
        """With `onchangeonly`, what was not found the last time."""
        if self._kind.own_changes or not self.beacon.options.get("onchangeonly", False):
            return found
        named = {_identity(one): one for one in found}
        first, before = self._seen is None, self._seen or frozenset()
        self._seen = frozenset(named)
        if first and not self.beacon.options.get("emitatstartup", True):
            return []
        return [one for name, one in named.items() if name not in before]


def activate(
    beacon: ConfiguredBeacon, world: World, functions: LoadFunctions | None, *, running: bool, now: float
) -> ActiveBeacon:
    """Begin a beacon. `functions`: loads its module, where it is one of the tree."""
    kind = BeaconKind() if functions is not None else kind_of(beacon.module)
    if kind is None:
        raise ValueError(beacon.module)  # the configuration was checked
    return ActiveBeacon(beacon, kind, _looker(beacon, kind, world, functions, now), running=running)


def _looker(
    beacon: ConfiguredBeacon, kind: BeaconKind, world: World, functions: LoadFunctions | None, now: float
) -> Looker:
    interval = beacon.interval or kind.interval
    first = now if beacon.interval is None or kind.own_changes else aligned(now, interval)
    if functions is not None:
        return TreeProcess(beacon, functions, interval=interval, first=first)
    options = dict(beacon.options)
    if kind.watch is not None:
        begin = kind.watch
        return Watching(lambda: begin(options, world), beacon.interval or 0.0, next=now)
    look = kind.look
    if look is None:
        raise ValueError(beacon.module)
    once: Callable[[Memory], Found] = lambda memory: look(options, memory, world)  # noqa: E731
    if kind.slow:
        quick = kind.quick or _never
        return InChild(once, interval, first, kind.seconds, lambda memory: quick(options, memory, world))
    return InProcess(once, interval, first)


def _never(options: Options, memory: Memory, world: World) -> None:
    """Nothing is known without waiting."""


def aligned(now: float, interval: float) -> float:
    """When it is due next: together with others, so that fewer wakes do."""
    grid = 1.0 if interval >= 1.0 else 0.1
    return math.floor((now + interval) / grid + 0.5) * grid


def _identity(value: Any) -> str:
    """What is found, without the numbers, which differ from look to look."""
    return repr(_without_numbers(value))


def _without_numbers(value: Any) -> Any:
    if isinstance(value, Mapping):
        return {key: _without_numbers(each) for key, each in value.items()}
    if isinstance(value, list | tuple):
        return [_without_numbers(each) for each in value]
    return None if isinstance(value, int | float) and not isinstance(value, bool) else value


def made_by_run(path: str, changed: Sequence[str]) -> bool:
    """Whether a path is one that a run changed, below one, or a file that stood in for one while it was written."""
    folder, _, name = path.rpartition("/")
    for one in changed:
        its_folder, _, its_name = one.rstrip("/").rpartition("/")
        if path in (one, its_folder) or path.startswith(f"{one.rstrip('/')}/"):
            return True
        if folder == its_folder and its_name in name and name.startswith("."):
            return True
    return False
