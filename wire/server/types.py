"""Types of the server: identities of keys, messages received, refusals, limits.

Shared by the modules of the server and by the controller, which implements `Registry`. Holds no behaviour.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, Protocol, TypeAlias

from wire.messages import KeyRole, ToController

IdentityState: TypeAlias = Literal["accepted", "pending", "rejected"]

RefusalReason: TypeAlias = Literal[
    "malformed",  # cannot be read, or has another number of frames
    "too-large",
    "protocol",  # an older protocol than ours
    "bad-id",  # an id that no minion can have
    "id-mismatch",  # the id of a key other than the sender's
    "not-accepted",  # more than a key request, from a key that is not accepted; or a message for such a key
    "role",  # a message that the role of its key may not send
    "unsealed",  # a sealed session of a minion behind a relay that is broken off, or never came about
    "routing-id",  # a routing id that is too short, or somebody else's
    "superseded",  # a connection of a key that has opened another
    "overflow",  # the peer does not read what it is sent
    "garbage",  # too many refused frames: the connection was ended
    "unroutable",  # a message for a peer that is not there
]


@dataclass(frozen=True, slots=True, kw_only=True)
class Identity:
    """What is known of a key."""

    id: str
    state: IdentityState
    role: KeyRole = "minion"
    salt_fingerprint: str = ""
    """Of the RSA key of a stock minion, as an accepted gateway vouches."""


def is_accepted(identity: Identity | None) -> bool:
    """Whether this is an accepted key's."""
    return identity is not None and identity.state == "accepted"


class Registry(Protocol):
    """Who a key is. Called from the socket thread for each frame, so it must answer from memory."""

    def identity(self, key: str) -> Identity | None:
        """The identity of a public key in Z85; None for a key that never asked."""
        ...


@dataclass(frozen=True, slots=True, kw_only=True)
class Incoming:
    """A message of an authenticated peer. `id` is its accepted id; None when it may only ask for acceptance."""

    key: str
    id: str | None
    message: ToController
    address: str = ""
    """IP address of the peer, or the relay that it is behind; with key requests only."""
    relay: str = ""
    """Id of the relay that it came by; empty: none."""
    size: int = 0
    """Bytes of the message."""
    connection: int = 0
    """Number of the connection that it came by, which no other has; see `Server.disconnect`."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Gone:
    """The peer with this key can no longer be reached."""

    key: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Refusal:
    """A frame or a message that was not let through. `detail` is fit for a log line."""

    reason: RefusalReason
    key: str | None = None
    id: str | None = None
    detail: str = ""
    request: int = 0
    """Number of the question that was refused, of an accepted key."""


@dataclass(frozen=True, slots=True, kw_only=True)
class RelayCounts:
    """A relay that is connected."""

    relay: str
    """Its id."""
    minions: int
    """That it is the way to."""
    frames_in: int
    """That came by this connection."""
    frames_out: int
    waiting_bytes: int
    """Of messages for its minions that are kept back until they, or it, have taken what was sent."""


Delivery: TypeAlias = Incoming | Gone | Refusal


@dataclass(frozen=True, slots=True, kw_only=True)
class Limits:
    """What one peer, or all of them, can cost."""

    sockets: int = 32_000
    backlog: int = 4096
    queue_in: int = 64
    """Messages of a peer that wait to be read; then TCP holds it back."""
    queue_out: int = 1024
    """Messages that wait for a peer to read them; then it is disconnected. So many may be sent in one turn of the loop,
    before libzmq has written any; what waits for long is bounded by `unread_bytes`."""
    batch: int = 256
    """Frames of one delivery."""
    batch_bytes: int = 32 * 1024 * 1024
    """Bytes of memory that the messages of one delivery may take, but for the last."""
    unaccepted_bytes: int = 4096
    """Size of the largest frame of a key that is not accepted."""
    garbage: int = 20
    """Refused frames until a connection is ended."""
    subscriptions: int = 8
    """Subscriptions of a connection to the publish port until it is ended."""
    handshake_seconds: float = 15.0
    silence_seconds: float = 60.0
    """A peer whose machine does not answer for so long is gone."""
