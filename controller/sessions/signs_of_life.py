"""How often minions say that they are there, and when one of which nothing is heard counts as gone.

A connection that ends is noticed at once, and a machine that vanished by TCP's keepalive: signs of life find the minion
whose machine answers while its agent does not. So a large fleet may give them less often than a small one.
"""

from __future__ import annotations

from dataclasses import dataclass

from controller.sessions.sessions import Session

WORTH_TELLING = 1.5
"""By which factor the interval of a session has to be another before its minion is told."""


@dataclass(frozen=True, slots=True, kw_only=True)
class SignsOfLife:
    """The rules.

    Args:
        interval: seconds between two signs of a minion in a fleet that is small enough.
        timeout: seconds without a word after which such a minion is gone.
        rate: signs in a second of the whole fleet, from which on minions give them less often.
    """

    interval: float = 15.0
    timeout: float = 45.0
    rate: float = 200.0

    def interval_for(self, connected: int) -> float:
        """Seconds between two signs of a minion where so many are connected."""
        return max(self.interval, connected / self.rate)

    def is_other(self, session: Session, connected: int) -> bool:
        """Whether the interval that a minion was told has become wrong."""
        wanted = self.interval_for(connected)
        return not 1 / WORTH_TELLING <= session.alive_interval / wanted <= WORTH_TELLING

    def gone_at(self, session: Session) -> float:
        """When a session is over unless something is heard, by the clock of `Session.heard`."""
        return session.heard + self.timeout + max(0.0, session.alive_interval - self.interval)
