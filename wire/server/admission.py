"""Admission of frames: pure checks, one frame at a time.

Called by `wire.server.reception`. Knows no socket; the key has been authenticated by then, and no frame is
believed when it names its sender.
"""

from __future__ import annotations

from typing import Final

from wire.codec import MAX_FROM_RELAY, MAX_TO_CONTROLLER, decode_to_controller, question_number
from wire.errors import MalformedMessage, OverLimit
from wire.keys import valid_minion_id
from wire.limits import WireLimits
from wire.messages import PROTOCOL, Bye, FromRelay, Hello, KeyRequest, KeyRole, ToController
from wire.server.types import Identity, Incoming, Limits, Refusal, RefusalReason

ANSWERS: Final[dict[RefusalReason, str]] = {
    "malformed": "the message cannot be read",
    "too-large": "the message is too large",
    "protocol": f"this controller speaks protocol {PROTOCOL}: upgrade the minion",
    "bad-id": "no minion can have this id: letters, digits and _ . - @ : are allowed",
    "id-mismatch": "this is not the id of your key",
    "role": "a key of this role may not send this",
    "not-accepted": "your key is not accepted",
    "overflow": "the controller has too many peers that are not accepted; try again later",
}
"""Text of the answer. It must tell an unaccepted key nothing that it does not know."""


def admit(
    frame: bytes | bytearray | memoryview,
    *,
    key: str,
    identity: Identity | None,
    limits: Limits,
    borders: WireLimits,
    connection: int = 0,
) -> Incoming | Refusal:
    """The message in the frame, if the owner of the key may send it; `connection`: see `Incoming`."""
    accepted = identity.id if identity is not None and identity.state == "accepted" else None
    known = identity.id if identity is not None else None
    # The size is looked at first: decoding a large frame is work that a key must not cause before it is accepted.
    most = MAX_FROM_RELAY if identity is not None and identity.role == "relay" else MAX_TO_CONTROLLER
    limit = most if accepted is not None else limits.unaccepted_bytes
    if len(frame) > limit:
        return Refusal(reason="too-large", key=key, id=known, detail=f"{len(frame)} bytes, and {limit} is the most")
    refused: list[str] = []
    try:
        message = decode_to_controller(frame, borders.minion, refused.append, most=limit)
    except OverLimit as error:
        borders.minion_refused(error.limit)
        request = question_number(frame) if accepted is not None else 0
        return Refusal(reason="too-large", key=key, id=known, detail=str(error), request=request)
    except MalformedMessage as error:
        request = question_number(frame) if accepted is not None else 0
        return Refusal(reason="malformed", key=key, id=known, detail=str(error)[:200], request=request)
    for name in refused:
        borders.minion_refused(name)
    size = 0 if refused else len(frame)  # of a refused result nothing is kept
    role = identity.role if identity is not None else None
    refusal = _check(message, key=key, known=known, accepted=accepted) or _check_role(message, key, known, role)
    return refusal or Incoming(key=key, id=accepted, message=message, size=size, connection=connection)


def _check(message: ToController, *, key: str, known: str | None, accepted: str | None) -> Refusal | None:
    if accepted is None and not isinstance(message, KeyRequest):
        kind = type(message).__name__
        return Refusal(reason="not-accepted", key=key, id=known, detail=f"sent {kind} before its key was accepted")
    if isinstance(message, KeyRequest | Hello):
        if message.protocol < PROTOCOL:
            detail = f"speaks protocol {message.protocol}, and {PROTOCOL} is the least"
            return Refusal(reason="protocol", key=key, id=known, detail=detail)
        if not valid_minion_id(message.id):
            return Refusal(reason="bad-id", key=key, id=known, detail=f"calls itself {message.id[:80]!r}")
        if known is not None and message.id != known:
            detail = f"calls itself {message.id!r}, and its key is {known!r}'s"
            return Refusal(reason="id-mismatch", key=key, id=known, detail=detail)
    return None


def _check_role(message: ToController, key: str, known: str | None, role: KeyRole | None) -> Refusal | None:
    """A relay carries frames and does nothing else; a minion carries none. A gateway only asks to be accepted."""
    if isinstance(message, KeyRequest):
        allowed = role in (None, message.role)
    elif role == "relay":
        allowed = isinstance(message, FromRelay | Bye)
    elif role == "gateway":
        allowed = isinstance(message, Bye)
    else:
        allowed = not isinstance(message, FromRelay)
    if allowed:
        return None
    detail = f"sent {type(message).__name__}, and its key is of the role {role}"
    return Refusal(reason="role", key=key, id=known, detail=detail)
