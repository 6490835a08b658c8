"""The Python API of a controller, with the names and results of Salt's.

    from saltern.client import LocalClient

    LocalClient().cmd("web*", "test.ping")   # {"web1": True, "web2": True}

Scripts ask the controller through its API, as the command line does (docs/python-api.md, docs/adr/0021). A name is
imported when it is first used: `Caller` works without the controller's libraries (`saltern[controller]`).
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

from saltern import find_rooms

find_rooms()

if TYPE_CHECKING:
    from extmods.salt_compat.exceptions import (
        AuthorizationError,
        EauthAuthenticationError,
        SaltClientError,
        SaltConfigurationError,
        SaltInvocationError,
    )
    from saltern.client.caller import Caller
    from saltern.client.controller_functions import RunnerClient, WheelClient
    from saltern.client.events import ControllerEvents, get_event
    from saltern.client.local_client import LocalClient
    from saltern.client.opts import client_config, minion_config

__all__ = [
    "AuthorizationError",
    "Caller",
    "ControllerEvents",
    "EauthAuthenticationError",
    "LocalClient",
    "RunnerClient",
    "SaltClientError",
    "SaltConfigurationError",
    "SaltInvocationError",
    "WheelClient",
    "client_config",
    "get_event",
    "minion_config",
]

_MODULES = {
    "AuthorizationError": "extmods.salt_compat.exceptions",
    "Caller": "saltern.client.caller",
    "ControllerEvents": "saltern.client.events",
    "EauthAuthenticationError": "extmods.salt_compat.exceptions",
    "LocalClient": "saltern.client.local_client",
    "RunnerClient": "saltern.client.controller_functions",
    "SaltClientError": "extmods.salt_compat.exceptions",
    "SaltConfigurationError": "extmods.salt_compat.exceptions",
    "SaltInvocationError": "extmods.salt_compat.exceptions",
    "WheelClient": "saltern.client.controller_functions",
    "client_config": "saltern.client.opts",
    "get_event": "saltern.client.events",
    "minion_config": "saltern.client.opts",
}


def __getattr__(name: str) -> Any:
    if name not in _MODULES:
        raise AttributeError(f"module 'saltern.client' has no attribute {name!r}")
    return getattr(importlib.import_module(_MODULES[name]), name)
