"""`retry`, as Salt writes it, read into numbers.

Called by `highstate.run.attempt` alone. Values that Salt cannot use give its defaults, as Salt does with a warning.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from highstate.types import Value


@dataclass(frozen=True, slots=True, kw_only=True)
class Retry:
    """How often, until which result, how many seconds between, and up to how many more by chance."""

    attempts: int = 2
    until: bool = True
    interval: float = 30
    splay: int = 0

    def said(self) -> str:
        """What a comment adds under test=True."""
        return (
            f"The state would be retried every {self.interval} seconds (with a splay of up to {self.splay} seconds) "
            f"a maximum of {self.attempts} times or until a result of {self.until} is returned"
        )


def retry_of(given: Value) -> Retry:
    """`retry: {attempts, until, interval, splay}`; False for one attempt; the defaults for whatever else."""
    if given is False:
        return Retry(attempts=0)
    if not isinstance(given, Mapping):
        return Retry()
    attempts, interval, splay = (given.get(name) for name in ("attempts", "interval", "splay"))
    until = given.get("until")
    return Retry(
        attempts=attempts if isinstance(attempts, int) else 2,
        until=until if isinstance(until, bool) else True,
        interval=interval if isinstance(interval, int | float) and interval >= 0 else 30,
        splay=splay if isinstance(splay, int) and splay >= 0 else 0,
    )
