"""What is said to minions once that which it follows from is stored: a run is recorded before it is asked for.

Used by `Reconciler`, which decides for many minions and stores all of it in one transaction. It decides nothing.
"""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field

import structlog

from controller.sessions.sessions import Session
from controller.store import AppliedRecord, RunRecord, Store
from reactors.bus import Bus
from wire.messages import ToMinion
from wire.server.server import Server

log = structlog.get_logger("saltern.reconcile")


@dataclass(slots=True, kw_only=True)
class _Waiting:
    runs: list[RunRecord] = field(default_factory=list)
    applied: dict[str, AppliedRecord] = field(default_factory=dict)
    """By minion."""
    acts: list[Callable[[], object]] = field(default_factory=list)
    messages: list[tuple[Session, ToMinion, Callable[[], object]]] = field(default_factory=list)
    """Whom it is for, and what is done when it is sent."""


@dataclass(slots=True, kw_only=True)
class MinionOutbox:
    """New runs and messages of the transaction that is open (`together`)."""

    store: Store
    bus: Bus
    server: Server
    count: Callable[[str], object]
    """Counts a message of a kind that is sent."""
    failed: Callable[[str], object]
    """Is told of a minion for which something could not be done after the transaction."""
    _waiting: _Waiting | None = None

    @contextlib.contextmanager
    def together(self) -> Iterator[None]:
        """All that is written inside is stored together, then told; after an error, of the store too, nothing is."""
        if self._waiting is not None:
            yield
            return
        self._waiting = waiting = _Waiting()
        try:
            with self.bus.held(), self.store.transaction():
                yield
                self.store.runs.create_all(waiting.runs)
                self.store.applied.put_all(waiting.applied)
        finally:
            self._waiting = None
        for act in waiting.acts:
            act()
        self._send_all(waiting)

    def create(self, run: RunRecord) -> None:
        """Keep a new run."""
        self._open().runs.append(run)

    def apply(self, record: AppliedRecord) -> None:
        """Note that a minion has applied a document; at once where no transaction is open here."""
        if self._waiting is None:
            self.store.applied.put(record)
        else:
            self._waiting.applied[record.minion] = record

    def then(self, act: Callable[[], object]) -> None:
        """Do this once all is stored, before messages are sent. It must not fail."""
        self._open().acts.append(act)

    def send(self, session: Session, message: ToMinion, sent: Callable[[], object]) -> None:
        """Send a message once all is stored, then call `sent`."""
        self._open().messages.append((session, message, sent))

    def _send_all(self, waiting: _Waiting) -> None:
        """Send what waits; after a message that cannot be sent none to its minion: a run comes after its document."""
        failed = set[str]()
        for session, message, sent in waiting.messages:
            if session.minion in failed:
                continue
            try:
                self.count(type(message).__name__)
                self.server.send(session.key, message)
                sent()
            except Exception:
                log.exception("message cannot be sent; retrying", minion=session.minion, kind=type(message).__name__)
                failed.add(session.minion)
                self.failed(session.minion)

    def _open(self) -> _Waiting:
        assert self._waiting is not None  # noqa: S101 - all that acts is called inside of `together`
        return self._waiting
