"""Who is there: the keys as the wire asks for them, and the connections of this epoch. In memory only.

The store remembers minions for good; this forgets with the process, which is why a restart asks every minion for a
new `Hello`. `KeyRegistry` is read from the socket thread, everything else lives on the loop.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

from controller.store import KeyRecord
from wire.messages import RunProgress
from wire.server.types import Identity


class KeyRegistry:
    """The `wire.Registry`: key -> who that is. Replaced whole on each change, so that readers need no lock."""

    def __init__(self, records: Iterable[KeyRecord] = ()) -> None:
        self._by_key: Mapping[str, Identity] = {}
        self.version = 0
        """Another one with every change."""
        self.replace(records)

    def replace(self, records: Iterable[KeyRecord]) -> None:
        """Take these keys from now on."""
        self.version += 1
        self._by_key = {each.public_key: Identity(id=each.id, state=each.state) for each in records}

    def identity(self, key: str) -> Identity | None:
        """See `wire.Registry`."""
        return self._by_key.get(key)


@dataclass(frozen=True, slots=True)
class Progress:
    """How far a run is, as its minion said last."""

    said: RunProgress
    at: float
    """When, in seconds since the epoch."""


@dataclass(slots=True, kw_only=True)
class Session:
    """A connected minion."""

    minion: str
    key: str
    session: str
    grains: Mapping[str, Any]
    seen: float
    """Seconds since the epoch of its last message."""
    held: str = ""
    """Digest of the document that it says it holds."""
    offered: int = 0
    """Generation that was sent to it, 0 for none."""
    sent: set[str] = field(default_factory=set)
    """Run ids that were sent to it."""
    pending_triggers: tuple[str, ...] = ()
    """Keys of chunks that it says still have to act on a change."""
    progress: dict[str, Progress] = field(default_factory=dict)
    """By run id."""


class Sessions:
    """The sessions, by minion id and by key."""

    def __init__(self) -> None:
        self._sessions: dict[str, Session] = {}
        self.version = 0
        """Another one whenever somebody comes or goes."""
        self._minion_of: dict[str, str] = {}

    def __iter__(self) -> Iterator[Session]:
        return iter(tuple(self._sessions.values()))

    def __len__(self) -> int:
        return len(self._sessions)

    def session(self, minion: str) -> Session | None:
        """The connection of a minion, None when it has none."""
        return self._sessions.get(minion)

    def connect(self, session: Session) -> None:
        """A minion said Hello: this connection replaces the one before, and what was sent there may be lost."""
        self.disconnect(session.minion)
        self.version += 1
        self._sessions[session.minion] = session
        self._minion_of[session.key] = session.minion

    def disconnect(self, minion: str) -> Session | None:
        """Forget a connection; what it was, None when there was none."""
        session = self._sessions.pop(minion, None)
        if session is not None:
            self.version += 1
            self._minion_of.pop(session.key, None)
        return session

    def lost(self, key: str) -> Session | None:
        """The peer with this key is gone."""
        minion = self._minion_of.get(key)
        return self.disconnect(minion) if minion else None

    def inactive(self, since: float) -> list[Session]:
        """Sessions of which nothing was heard since a time (seconds since the epoch)."""
        return [session for session in self._sessions.values() if session.seen < since]
