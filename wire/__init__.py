"""Messages, framing, keys and authenticated ZeroMQ sockets. Knows no SLS.

The names below are loaded when they are first asked for, so that a minion never loads the server. Differences of
documents are `wire.patch`: its `diff` and `apply` would say little under their bare names.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

from wire import messages

if TYPE_CHECKING:
    from wire import patch
    from wire.address import Address, Bind, Ports
    from wire.client import Connected, Connection, ConnectionEvent, Disconnected, HandshakeFailed, Timing
    from wire.errors import BadKey, CannotBind, CannotConnect, MalformedMessage, PatchMismatch, WireError
    from wire.keys import KeyPair, fingerprint, load_or_create, valid_minion_id
    from wire.server import Server
    from wire.server_types import Bounds, Delivery, Gone, Identity, Incoming, Refusal, Registry

_HOMES = {
    "wire.address": ("Address", "Bind", "Ports"),
    "wire.client": ("Connected", "Connection", "ConnectionEvent", "Disconnected", "HandshakeFailed", "Timing"),
    "wire.errors": ("BadKey", "CannotBind", "CannotConnect", "MalformedMessage", "PatchMismatch", "WireError"),
    "wire.keys": ("KeyPair", "fingerprint", "load_or_create", "valid_minion_id"),
    "wire.server": ("Server",),
    "wire.server_types": ("Bounds", "Delivery", "Gone", "Identity", "Incoming", "Refusal", "Registry"),
}
_HOME_OF = {name: home for home, names in _HOMES.items() for name in names}

__all__ = [
    "Address",
    "BadKey",
    "Bind",
    "Bounds",
    "CannotBind",
    "CannotConnect",
    "Connected",
    "Connection",
    "ConnectionEvent",
    "Delivery",
    "Disconnected",
    "Gone",
    "HandshakeFailed",
    "Identity",
    "Incoming",
    "KeyPair",
    "MalformedMessage",
    "PatchMismatch",
    "Ports",
    "Refusal",
    "Registry",
    "Server",
    "Timing",
    "WireError",
    "fingerprint",
    "load_or_create",
    "messages",
    "patch",
    "valid_minion_id",
]


def __getattr__(name: str) -> Any:
    if name == "patch":
        return import_module("wire.patch")
    if name not in _HOME_OF:
        raise AttributeError(f"module 'wire' has no name {name!r}")
    return getattr(import_module(_HOME_OF[name]), name)
