"""Keys of minions, and the controller's own. Times are seconds since the epoch."""

from __future__ import annotations

from typing import Literal

from controller.schema.structs import ApiStruct


class KeyView(ApiStruct, frozen=True, kw_only=True):
    """A minion's key."""

    minion: str
    state: Literal["pending", "accepted", "rejected"]
    fingerprint: str
    first_seen: float
    changed: float
    conflict: bool = False
    """It asks for an id that another key already has."""
    public_key: str = ""


class KeyRefusals(ApiStruct, frozen=True, kw_only=True):
    """Key requests that limits refused since the controller started."""

    limits: dict[str, int]
    """Name of the limit -> requests."""


class ControllerKey(ApiStruct, frozen=True, kw_only=True):
    """What minions put into `controller_key`."""

    public: str
    fingerprint: str
