"""Sends what messages are answered with.

Used by the handlers of messages. A reply that tells of something stored waits until that is committed.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import partial

import msgspec

from controller.messages.context import MessageContext
from controller.sessions.sessions import Session
from controller.sessions.signs_of_life import SignsOfLife
from wire.messages import SETS_INTERVAL, AliveInterval, HelloAck, ToMinion
from wire.server.server import Server


@dataclass(frozen=True, slots=True, kw_only=True)
class Replies:
    """Replies to minions, counted."""

    context: MessageContext
    server: Server
    greeting: HelloAck
    """What every session begins with."""
    signs_of_life: SignsOfLife = field(default_factory=SignsOfLife)

    def send(self, key: str, message: ToMinion) -> None:
        """Send this once the batch is committed."""
        self.context.metrics.sent(type(message).__name__)
        self.context.after_commit.add(partial(self.server.send, key, message))

    def send_all(self, messages: Sequence[tuple[str, ToMinion]]) -> None:
        """Send these, of one kind, to the keys beside them once the batch is committed."""
        if messages:
            self.context.metrics.sent(type(messages[0][1]).__name__, len(messages))
            self.context.after_commit.add(partial(self.server.send_all, messages))

    def send_now(self, key: str, message: ToMinion) -> None:
        """Send what tells of nothing stored. May be called from a thread."""
        self.context.metrics.sent(type(message).__name__)
        self.server.send(key, message)

    def greet(self, session: Session) -> None:
        """Answer a Hello."""
        session.alive_interval = self.signs_of_life.interval_for(len(self.context.sessions))
        now = max(0.0, self.context.clock())
        greeting = msgspec.structs.replace(self.greeting, time=now, alive_interval=session.alive_interval)
        self.send(session.key, greeting)

    def pace(self, session: Session) -> None:
        """Tell a minion how often to give signs of life when that has become another time since it was told."""
        connected = len(self.context.sessions)
        if SETS_INTERVAL in session.takes and self.signs_of_life.is_other(session, connected):
            session.alive_interval = self.signs_of_life.interval_for(connected)
            self.send(session.key, AliveInterval(seconds=session.alive_interval))

    def ask_for_hello(self, key: str, connection: int) -> None:
        """End a connection that has no session: a minion says Hello on each new one, and on no other.

        One that it has opened since is left: its Hello is on its way, behind what the one before had sent.
        """
        self.context.after_commit.add(partial(self.server.disconnect, key, connection=connection))
