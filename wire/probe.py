"""What is found at a controller's address by somebody who does not come in: name, port, and what listens there.

Called in a child of the agent, since each step may wait. Sends the first bytes of a greeting and reads one; a
controller counts that as a connection by which nothing came. Source of the greeting: rfc.zeromq.org/spec/23.
"""

from __future__ import annotations

import contextlib
import errno
import os
import socket
from collections.abc import Callable
from typing import Literal, TypeAlias

GREETING_BYTES = 64
_GREETING = b"\xff" + bytes(7) + b"\x01\x7f\x03"
"""Up to the version: the peer then sends all of its own. Had it our mechanism, and another itself, it would hang up."""

ProbeOutcome: TypeAlias = Literal["unresolved", "refused", "silent", "unreachable", "foreign", "plain", "curve"]
"""foreign: something that does not speak ZeroMQ, or says nothing; plain: ZeroMQ without CURVE, as a Salt master;
curve: ZeroMQ with CURVE, as a controller."""


def probe(
    host: str, port: int, seconds: float, on_resolved: Callable[[], None] = lambda: None
) -> tuple[ProbeOutcome, str]:
    """What is at the address, and the system's words where it gave an error.

    Args:
        host: name or IP address.
        port: of TCP.
        seconds: that a connection, and then its first bytes, may take; resolving takes as long as the system lets it.
        on_resolved: is called when the name has an address.
    """
    try:
        addresses = socket.getaddrinfo(host.strip("[]"), port, type=socket.SOCK_STREAM)
    except (OSError, UnicodeError) as error:
        return "unresolved", getattr(error, "strerror", None) or str(error)
    on_resolved()
    try:
        with socket.create_connection((str(addresses[0][4][0]), port), timeout=seconds) as connection:
            return _greet(connection), ""
    except TimeoutError:
        return "silent", ""
    except OSError as error:
        found: ProbeOutcome = "refused" if error.errno == errno.ECONNREFUSED else "unreachable"
        return found, os.strerror(error.errno) if error.errno else str(error)


def _greet(connection: socket.socket) -> ProbeOutcome:
    greeting = b""
    with contextlib.suppress(OSError):
        connection.sendall(_GREETING)
        while len(greeting) < GREETING_BYTES and (part := connection.recv(GREETING_BYTES - len(greeting))):
            greeting += part
    if greeting[:1] != b"\xff" or greeting[9:10] != b"\x7f":
        return "foreign"
    return "curve" if greeting[12:32].rstrip(b"\0") == b"CURVE" else "plain"
