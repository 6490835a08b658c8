"""Keys of minions, and the controller's own. Times are seconds since the epoch."""

from __future__ import annotations

from typing import Annotated, Literal

import msgspec

from controller.schema.structs import ApiStruct
from wire.messages import KeyRole


class KeyView(ApiStruct, frozen=True, kw_only=True):
    """The key of a minion, of a relay or of a gateway."""

    minion: str
    state: Literal["pending", "accepted", "rejected"]
    fingerprint: str
    first_seen: float
    changed: float
    conflict: bool = False
    """It asks for an id that another key already has, or for which another waits that came before it."""
    public_key: str = ""
    role: KeyRole = "minion"
    salt_fingerprint: str = ""
    """Of a stock minion: what `salt-call --local key.finger` prints there, as its gateway vouches."""


class KeysQuery(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """`saltern key list`: all of them, unless a limit is given."""

    state: Literal["", "pending", "accepted", "rejected"] = ""
    text: Annotated[str, msgspec.Meta(max_length=200)] = ""
    """Part of the id, in small or capital letters, or of the fingerprint."""
    offset: Annotated[int, msgspec.Meta(ge=0, le=10_000_000)] = 0
    limit: Annotated[int, msgspec.Meta(ge=1, le=1000)] | None = None


class NewKeyQuestion(ApiStruct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """`saltern key add`."""

    minion: str
    """Id of the minion, of the relay or of the gateway."""
    public_key: str
    role: KeyRole = "minion"


class EnrolmentTokenQuestion(ApiStruct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """`saltern key token create`."""

    minions: str = "*"
    """Glob of the ids that it is for."""
    count: int = 1
    """How many keys it accepts."""
    seconds: float = 86400.0
    """Until it expires."""


class EnrolmentTokenView(ApiStruct, frozen=True, kw_only=True):
    """An enrolment token, without the secret."""

    id: str
    minions: str
    uses_left: int
    created: float
    expires: float
    created_by: str


class NewEnrolmentToken(ApiStruct, frozen=True, kw_only=True):
    """A new one: the only time that it is told."""

    token: str
    view: EnrolmentTokenView


class RotatedKey(ApiStruct, frozen=True, kw_only=True):
    """A minion that has a new key."""

    minion: str
    old: str
    """Fingerprint."""
    new: str


class NextController(ApiStruct, frozen=True, kw_only=True):
    """The controller's next key, and who has heard of it."""

    public: str
    fingerprint: str
    told: int
    """Minions that are connected."""
    away: tuple[str, ...]
    """Those that are not, and are told when they come."""


class KeyRefusals(ApiStruct, frozen=True, kw_only=True):
    """Key requests that limits refused since the controller started."""

    limits: dict[str, int]
    """Name of the limit -> requests."""


class ControllerKey(ApiStruct, frozen=True, kw_only=True):
    """What minions put into `controller_key`."""

    public: str
    fingerprint: str
