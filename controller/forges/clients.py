"""The client of a forge as it is configured. Called by the composition root and by `saltern forge`."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping

from controller.forges.api.adapter import ClientParts
from controller.forges.api.authorization import Authorization
from controller.forges.api.http import ForgeHttp
from controller.forges.client import ForgeClient
from controller.forges.limits import ForgeLimits
from controller.forges.registry import forge_of
from controller.forges.settings import ForgeSettings
from options.limits import CountRefusal, uncounted


def client_of(
    settings: ForgeSettings,
    limits: ForgeLimits,
    *,
    refused: CountRefusal = uncounted,
    clock: Callable[[], float] = time.time,
) -> ForgeClient:
    """The client of a forge, not connected yet.

    Args:
        settings: of the forge, with secrets that can be revealed.
        limits: of the border.
        refused: hears the names of limits that something exceeds.
        clock: seconds since the epoch.
    """

    def connect(authorization: Authorization, headers: Mapping[str, str]) -> ForgeHttp:
        return ForgeHttp(
            settings.name,
            settings.api,
            authorization,
            limits,
            ca_file=settings.ca_file,
            headers=headers,
            refused=refused,
            clock=clock,
        )

    parts = ClientParts(settings=settings, limits=limits, refused=refused, clock=clock, connect=connect)
    return forge_of(settings.kind).client(parts)
