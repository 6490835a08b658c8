"""Who speaks for a stock minion where there are several gateways: one of them at a time.

Gateways of one fleet share `master.pem`, so that each of them is the same minion for the controller, which knows the
newest connection of a key and ends the one before. So a gateway connects for a minion only while the minion is there
and no gateway that comes before it in `gateways` speaks for it; until then it passes on what the minion asks.
"""

from __future__ import annotations

import hashlib
import time
from collections import Counter, OrderedDict
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, Protocol

from gateway.protocol.packing import pack

CLAIMED_SECONDS = 15.0
"""That a gateway which begins to speak, or has lost the connection, has until others may."""
SAME_SECONDS = 60.0
"""Within which what comes by two gateways is one thing."""
_MOST_SAME = 2_000
_OF_REQUEST = frozenset(("nonce", "ts", "tok", "sig"))


@dataclass(frozen=True, slots=True, kw_only=True)
class Claim:
    """Another gateway speaks for the minion."""

    gateway: int
    """Its place in the order."""
    state: str
    """What the controller says there of the key."""


class EarlierGateways(Protocol):
    """Those that come before this one (`gateway.gateways_before`)."""

    async def claims(self, wanted: Mapping[str, str]) -> Mapping[str, Claim]:
        """For which of these minions, with the fingerprints of their keys, one of them speaks."""

    async def ask(self, claim: Claim, minion: str, key: str, cmd: str, load: Mapping[str, Any]) -> Any:
        """The answer of the one that speaks for a minion. Raises NoAnswer."""


class GatewayStanding:
    """Of one minion.

    Args:
        alone: whether there is no other gateway: then this one always speaks.
        speak: connects to the controller, or ends the connection.
        settled: says whether the controller has answered there.
    """

    def __init__(self, *, alone: bool, speak: Callable[[bool], None], settled: Callable[[], bool]) -> None:
        self.alone = alone
        self.claim: Claim | None = None
        self._speak = speak
        self._settled = settled
        self._speaks = alone
        self._claimed_until = -float("inf")
        self._shown = -float("inf")
        speak(alone)

    @property
    def speaks(self) -> bool:
        """Whether this gateway speaks for it."""
        return self._speaks

    def claims(self, here: bool) -> bool:
        """Whether this gateway speaks for it, which another one asks that comes behind.

        Args:
            here: whether the minion is there.
        """
        now = time.monotonic()
        return self._speaks and (now < self._claimed_until or (here and self._settled()))

    def shown(self) -> None:
        """The minion has shown its key."""
        self._shown = time.monotonic()

    def is_shown(self, seconds: float) -> bool:
        """Whether it has, within so many seconds."""
        return time.monotonic() - self._shown < seconds

    def decide(self, claim: Claim | None) -> None:
        """The minion is there; `claim`: of the gateways that come before this one."""
        if self.alone:
            return
        self.claim = claim
        if self._speaks is not (claim is None):
            self._speaks = claim is None
            self._claimed_until = time.monotonic() + CLAIMED_SECONDS if self._speaks else -float("inf")
            self._speak(self._speaks)

    def lost(self) -> None:
        """The connection is over, perhaps since another gateway has one: the minion has to be heard first."""
        if self._speaks and not self.alone:
            self._speaks = False
            self._speak(False)


class SaidTwice:
    """What a minion that has several masters says to each of them, once.

    A thing that is said N times by one way and M times by another was said as often as the larger of the two.
    """

    def __init__(self) -> None:
        self._counts: OrderedDict[str, tuple[float, Counter[bool], int]] = OrderedDict()

    def is_new(self, cmd: str, load: Mapping[str, Any], *, passed_on: bool) -> bool:
        """Whether this was not said by the other way.

        Args:
            cmd: of the request.
            load: what is said.
            passed_on: whether another gateway has passed it on.
        """
        now = time.monotonic()
        told = {name: value for name, value in sorted(load.items()) if name not in _OF_REQUEST}
        key = hashlib.sha256(cmd.encode() + pack(told)).hexdigest()
        at, counts, taken = self._counts.pop(key, (now, Counter[bool](), 0))
        if now - at > SAME_SECONDS:
            counts, taken = Counter[bool](), 0
        counts[passed_on] += 1
        new = counts[passed_on] > taken
        self._counts[key] = now, counts, taken + new
        while len(self._counts) > _MOST_SAME:
            self._counts.popitem(last=False)
        return new
