"""The machine of the controller, as templates of reactors see it."""

from __future__ import annotations

import socket
from collections.abc import Mapping
from typing import Any


def controller_id() -> str:
    """Its id: as that of Salt's master."""
    return f"{socket.gethostname()}_master"


def own_grains() -> Mapping[str, Any]:
    """Grains of the controller's machine, for templates. Called in a thread, once."""
    from minion.grains.collect import collect

    return collect()
