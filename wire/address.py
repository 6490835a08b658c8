"""Where a controller listens, and where a minion finds it.

Read by `wire.server.server` and `wire.client`; made by whoever reads the settings. Opens nothing.
"""

from __future__ import annotations

from dataclasses import dataclass

PUBLISH_PORT = 4505
"""Beats to everyone (Salt's `publish_port`)."""

REQUEST_PORT = 4506
"""Everything else (Salt's `ret_port`)."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Address:
    """A controller as a minion knows it; `controller_key` is the controller's public key in Z85.

    Where `relay_key` is not empty, a relay with this public key listens there, and the controller is behind it.
    """

    host: str
    """Name or address; or a folder with a unix socket for each port, where a bridge carries them (`wire.bridge`)."""
    publish_port: int = PUBLISH_PORT
    request_port: int = REQUEST_PORT
    controller_key: str
    relay_key: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Bind:
    """Where a controller listens; port 0 takes any free one, which `Server.ports` then tells."""

    host: str = "127.0.0.1"
    publish_port: int | None = PUBLISH_PORT
    """None: it publishes nothing (a relay)."""
    request_port: int = REQUEST_PORT


@dataclass(frozen=True, slots=True, kw_only=True)
class PortPair:
    """The ports that are really bound."""

    publish: int
    request: int


def endpoint(host: str, port: int) -> str:
    """ZeroMQ's spelling of an address: of TCP, or of a unix socket named by the port where `host` is a folder.

    A bare IPv6 address gets its brackets.
    """
    if host.startswith("/"):
        return f"ipc://{host}/{port}"
    name = f"[{host}]" if ":" in host and not host.startswith("[") else host
    return f"tcp://{name}:{port}"
