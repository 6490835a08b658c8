"""The machine of the controller, as templates of reactors see it."""

from __future__ import annotations

import socket


def controller_id() -> str:
    """Its id: as that of Salt's master."""
    return f"{socket.gethostname()}_master"
