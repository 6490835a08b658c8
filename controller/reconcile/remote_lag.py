"""Whether this controller may lag behind another one: a minion has applied for that one what is not known here.

Asked by `Reconciler`, which then decides nothing for the minion until each remote was fetched after the minion had said
so: else a controller that has not fetched yet would bring the machine back to an older commit. `SourceReconciler` tells
what was fetched. Must fetch nothing itself. Fetches are counted, since a wall clock may be set.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

from controller.sessions.sessions import Session
from wire.messages import APPLIES_NOW

FETCH_SECONDS = 5.0
"""Between two notices to fetch: however many minions ask, remotes are fetched at this pace."""


@dataclass(slots=True, kw_only=True)
class RemoteLag:
    """Since when the live trees have what the remotes have."""

    remotes: Sequence[str] = ()
    """Names of all."""
    fetch: Callable[[], object] = lambda: None
    """Has all of them fetched soon."""
    monotonic: Callable[[], float] = time.monotonic
    _begun: int = 0
    """Rounds of fetches that have begun."""
    _live: dict[str, int] = field(default_factory=dict)
    """Remote -> the newest round whose outcome is live."""
    _asked_at: float = float("-inf")
    _waiting: set[str] = field(default_factory=set)
    """Minions for which nothing is decided until then."""

    def unfetched(self, session: Session | None, known: Sequence[str]) -> tuple[str, ...]:
        """The remotes that have to be fetched before anything is decided for a minion; none where it has said
        nothing of other controllers that is not known here.

        Args:
            session: its connection.
            known: digests of its documents here.
        """
        if session is None or session.applied in ("", APPLIES_NOW, *known):
            return ()
        if session.applied_round is None:
            session.applied_round = self._begun
        heard = session.applied_round
        return tuple(name for name in self.remotes if self._live.get(name, 0) <= heard)

    def wait(self, minion: str) -> float:
        """Have the remotes fetched for a minion; 0, or seconds until it has to be asked again."""
        self._waiting.add(minion)
        now = self.monotonic()
        if now < self._asked_at + FETCH_SECONDS:
            return self._asked_at + FETCH_SECONDS - now
        self._asked_at = now
        self.fetch()
        return 0.0

    def begin(self) -> int:
        """Fetches begin: the number of their round."""
        self._begun += 1
        return self._begun

    def fetched(self, remote: str, number: int) -> frozenset[str]:
        """What a remote gave in this round is live and compiled; the minions to look at again."""
        self._live[remote] = max(number, self._live.get(remote, 0))
        waiting, self._waiting = frozenset(self._waiting), set()
        return waiting
