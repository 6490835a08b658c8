"""Who is there: the keys as the wire asks for them, and the connections of this epoch. In memory only.

The store remembers minions for good; this forgets with the process, which is why a restart asks every minion for a
new `Hello`. `KeyRegistry` is read from the socket thread, everything else lives on the loop.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, get_args

from controller.sessions.pending_keys import PendingKeys
from controller.store import KeyRecord
from options.limits import CountRefusal, uncounted
from wire.limits import StrangerLimits, nobody
from wire.messages import RunProgress
from wire.server.types import Identity, IdentityState, is_accepted


class KeyRegistry:
    """The `wire.Registry`: key -> who that is. The loop changes single entries, which readers see without a lock.

    Args:
        records: all keys of the store.
        limits: how many keys may wait for acceptance.
        on_refusal: see `options.limits.CountRefusal`.
        is_controller: see `PendingKeys`.
    """

    def __init__(
        self,
        records: Iterable[KeyRecord] = (),
        limits: StrangerLimits | None = None,
        on_refusal: CountRefusal = uncounted,
        is_controller: Callable[[str], bool] = nobody,
    ) -> None:
        self._by_key: dict[str, Identity] = {}
        self.pending = PendingKeys(limits or StrangerLimits(), on_refusal, is_controller)
        self.version = 0
        """Another one whenever other keys are accepted."""
        self._accepted: tuple[int, frozenset[str]] = (-1, frozenset())
        """What `accepted` was, and at which version."""
        self._accepted_count = 0
        self.replace(records)

    def replace(self, records: Iterable[KeyRecord]) -> None:
        """Take these keys from now on."""
        self._by_key = {each.public_key: _identity(each) for each in records}
        self.pending.reset(key for key, identity in self._by_key.items() if identity.state == "pending")
        self._accepted_count = sum(map(is_accepted, self._by_key.values()))
        self.version += 1

    def put(self, *records: KeyRecord) -> None:
        """Keys are new, or their states have changed."""
        accepted = False
        for record in records:
            known, now_known = self._by_key.get(record.public_key), _identity(record)
            self._by_key[record.public_key] = now_known
            self._accepted_count += is_accepted(now_known) - is_accepted(known)
            accepted |= is_accepted(now_known) or is_accepted(known)
            if record.state != "pending":
                self.pending.remove(record.public_key)
        if accepted:
            self.version += 1

    def remove(self, *keys: str) -> None:
        """Keys were deleted."""
        gone = sum(is_accepted(self._by_key.pop(key, None)) for key in keys)
        self._accepted_count -= gone
        self.version += bool(gone)
        for key in keys:
            self.pending.remove(key)

    @property
    def accepted(self) -> frozenset[str]:
        """Ids of minions whose key is accepted. Made when it is asked for: of a new fleet, one key follows another."""
        version, found = self._accepted
        if version != self.version:
            version, known = self.version, tuple(self._by_key.values())
            found = frozenset(each.id for each in known if each.state == "accepted" and each.role == "minion")
            self._accepted = version, found
        return found

    def count_accepted(self) -> int:
        """How many keys are accepted. From any thread."""
        return self._accepted_count

    def states(self) -> Mapping[str, int]:
        """State -> how many keys are in it."""
        found = Counter(each.state for each in self._by_key.values())
        return {state: found[state] for state in get_args(IdentityState)}

    def identity(self, key: str) -> Identity | None:
        """See `wire.Registry`."""
        return self._by_key.get(key)


def _identity(record: KeyRecord) -> Identity:
    return Identity(id=record.id, state=record.state, role=record.role, salt_fingerprint=record.salt_fingerprint)


@dataclass(frozen=True, slots=True)
class Progress:
    """How far a run is, as its minion said last."""

    said: RunProgress
    at: float
    """When, in seconds since the epoch."""
    acts: bool
    """Whether the run may change the minion: it is no check and no run with test=True."""


@dataclass(slots=True, kw_only=True)
class Session:
    """A connected minion."""

    minion: str
    key: str
    session: str
    grains: Mapping[str, Any]
    seen: float
    """Seconds since the epoch of its last message."""
    heard: float = 0.0
    """When that came, by the clock that nobody sets (`reactors.clock_steps`)."""
    alive_interval: float = 0.0
    """Seconds between two signs of life, as it was told last."""
    held: str = ""
    """Digest of the document that it says it holds."""
    applied: str = ""
    """What it says that it applied for another controller: see `Hello.applied`."""
    applied_round: int | None = None
    """The round of fetches after which it said so (`RemoteLag`); None: nobody has looked yet."""
    follows: bool = True
    """See `Hello.follows`."""
    relay: str = ""
    """Id of the relay that it is behind; empty: none."""
    agent: str = ""
    """What it says to be; a stock minion at a gateway is `salt 3008.1`."""
    sent_digest: str = ""
    """Digest of the document that was sent to it last; empty for none."""
    sent: set[str] = field(default_factory=set)
    """Run ids that were sent to it."""
    autonomy: str = ""
    """Digest of the rules that it has for the time without a controller, or was sent (`wire.messages.Autonomy`)."""
    confirmed: str = ""
    """Digest of the rules for going back that it has, or was sent (`wire.messages.Confirmed`)."""
    pending_triggers: tuple[str, ...] = ()
    """Keys of chunks that it says still have to act on a change."""
    takes: frozenset[str] = frozenset()
    """See `Hello.takes`."""
    starts: bool = True
    """See `Hello.starts`."""
    start_grains: tuple[str, ...] = ()
    """See `Hello.start_grains`."""
    problems: tuple[str, ...] = ()
    """What it says is wrong with its own configuration."""
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
