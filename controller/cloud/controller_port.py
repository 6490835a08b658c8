"""What the making of machines asks of the controller."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Protocol


@dataclass(frozen=True, slots=True, kw_only=True)
class CloudHome:
    """What minions are told of the controller."""

    public_key: str


class CloudController(Protocol):
    """A controller, over its API. It may be called from several threads."""

    def home(self) -> CloudHome:
        """What its minions are told."""

    def accept(self, minion: str, public_key: str) -> None:
        """Accept a key before its minion comes."""

    def has_key(self, minion: str) -> bool:
        """Whether there is a key of this id, in whatever state."""

    def forget(self, minion: str) -> None:
        """Delete the keys of a minion, where it has any."""

    def is_connected(self, minion: str) -> bool:
        """Whether the minion is there."""

    def fire(self, tag: str, data: Mapping[str, Any]) -> None:
        """Publish an event."""
