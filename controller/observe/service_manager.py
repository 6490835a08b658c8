"""Tells systemd how the process is: ready, and what it does. See sd_notify(3); without systemd nothing happens."""

from __future__ import annotations

import contextlib
import os
import socket


def tell_service_manager(*lines: str) -> None:
    """Send assignments, like `READY=1` or `STATUS=waits`."""
    address = os.environ.get("NOTIFY_SOCKET", "")
    if not address.startswith(("/", "@")):
        return
    name = "\0" + address[1:] if address.startswith("@") else address
    with contextlib.suppress(OSError), socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as sender:
        sender.sendto("\n".join(lines).encode(), name)
