"""When drift is put right, and when again: pauses between remediations, retries, and what a minion may do by itself.

The rules are the controller's, for minions that it reaches; a minion that reaches no controller follows the same ones,
as far as the controller has told it (`AutonomyRules`). Pure.
"""

from __future__ import annotations

import functools
import hashlib
from typing import Annotated

import msgspec

from reactors.windows import Window

TOUCHED_AT_ONCE = 4
"""Remediations of what others touch before they back off: two writers shall not fight for ever."""

QUIET_SECONDS = 60.0
"""Beside the back-off: after so long without drift of what was touched, the next is the first again."""

MOST_ACTING = 256
"""States in the rules that are known to act each time."""


class RetryPolicy(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """When a run that failed is tried again, as Argo CD's `retry`. Times in seconds."""

    limit: Annotated[int, msgspec.Meta(ge=0)] | None = None
    """How often; None: as long as the document is the same."""
    duration: Annotated[float, msgspec.Meta(ge=1, le=86400)] = 30.0
    """After the first failure."""
    factor: Annotated[float, msgspec.Meta(ge=1, le=10)] = 2.0
    """How much longer after each one more."""
    max_duration: Annotated[float, msgspec.Meta(ge=1, le=7 * 86400)] = 3600.0

    def wait(self, failures: int) -> float | None:
        """Seconds from the last of so many failures in a row to the next attempt; None: there is none."""
        if self.limit is not None and failures > self.limit:
            return None
        return float(min(self.max_duration, self.duration * self.factor ** min(max(failures, 1) - 1, 64)))


class AutonomyRules(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """By which a minion that reaches no controller puts drift right."""

    after: Annotated[float, msgspec.Meta(ge=1)]
    """Seconds for which it must have reached none."""
    windows: Annotated[tuple[Window, ...], msgspec.Meta(max_length=1000)] = ()
    retry: RetryPolicy = RetryPolicy()
    applied: str = ""
    """Digest of a document that counts as applied although no run of the minion says so."""
    acting: Annotated[tuple[str, ...], msgspec.Meta(max_length=MOST_ACTING)] = ()
    """Keys of states that act each time: they are no drift, and are left out."""


@functools.lru_cache(maxsize=1024)
def digest_of_rules(rules: AutonomyRules | None) -> str:
    """By which both sides know which rules the minion has; empty: it has none, and puts nothing right."""
    return "" if rules is None else hashlib.blake2b(msgspec.msgpack.encode(rules), digest_size=16).hexdigest()


def backoff(failures: int) -> float:
    """Seconds to wait after so many remediations in a row: 30 s doubling to an hour."""
    return float(min(3600, 30 * 2 ** min(max(failures, 1) - 1, 10)))


def remediation_pause(remediations: int, *, touched: bool) -> float:
    """Seconds from the last of so many remediations in a row to the next.

    `touched`: of what was seen when somebody touched it.
    """
    free = TOUCHED_AT_ONCE if touched else 1
    return backoff(remediations - free + 1) if remediations > free else 0.0


def touched_rest(remediations: int) -> float:
    """Seconds without drift of what was touched, after which so many remediations in a row are forgotten."""
    more = backoff(remediations - TOUCHED_AT_ONCE) if remediations > TOUCHED_AT_ONCE else 0.0
    return QUIET_SECONDS + more
