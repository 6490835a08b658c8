"""Who asks, as a controller that waits tells it to the one that leads: a header of the request.

Read on the port for controllers alone (`controller.cluster.pool_port`), where whoever connects has shown their key.
"""

from __future__ import annotations

import base64
import binascii

import msgspec

from controller.access.principals import NOBODY, Principal

HEADER = b"x-saltern-asker"


class _Asker(msgspec.Struct, frozen=True, kw_only=True):
    name: str
    groups: tuple[str, ...] = ()
    everything: bool = False
    address: str = ""


def header_of(principal: Principal) -> bytes:
    """The value of the header for a user of this machine, or for whoever asks from an address."""
    asker = _Asker(
        name=principal.name,
        groups=tuple(sorted(principal.groups)),
        everything=principal.everything,
        address=principal.address,
    )
    return base64.b64encode(msgspec.json.encode(asker))


def asker_of(header: bytes) -> Principal:
    """Who asks; nobody when it cannot be read."""
    try:
        asker = msgspec.json.decode(base64.b64decode(header, validate=True), type=_Asker)
    except (msgspec.MsgspecError, binascii.Error, UnicodeDecodeError):
        return NOBODY
    return Principal(
        name=asker.name, groups=frozenset(asker.groups), everything=asker.everything, address=asker.address
    )
