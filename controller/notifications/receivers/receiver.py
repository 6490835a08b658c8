"""The port to whoever is told: one method. The adapters stand beside it.

Called by `controller.notifications.delivery`. An adapter decides nothing: it says a message in the words of its
service, in which its texts are nothing but text, and says what came of it.
"""

from __future__ import annotations

from typing import Protocol

from controller.notifications.notice import Message


class NotTaken(Exception):
    """A message was not taken; the text says why, and has no secret in it."""


class TryLater(NotTaken):
    """It may be taken later. `after`: seconds that the service wants to be left alone; 0: it did not say."""

    def __init__(self, text: str, after: float = 0.0) -> None:
        super().__init__(text)
        self.after = after


class Rejected(NotTaken):
    """The service will never take it."""


class Receiver(Protocol):
    """Somebody who is told."""

    async def send(self, message: Message) -> None:
        """Tell it; returns when the service has taken the message. Raises NotTaken."""
