"""The API of people who may use this controller: everything that the command line, scripts and the dashboard do.

One application, served on the unix socket and on the API's port: `permissions` finds out who asks and whether they may,
and questions go to the `ControllerApi` unchanged.
"""

from __future__ import annotations

from functools import cache
from importlib.metadata import PackageNotFoundError, version
from typing import Any, Final

from litestar import Litestar, Router
from litestar.datastructures import State

from controller.access.access import Access
from controller.api import encoding
from controller.api.openapi import document
from controller.api.permissions import PREFIX, guard
from controller.api.resources import (
    access,
    agents,
    controller,
    description,
    enrolment,
    jobs,
    notifications,
    policies,
    rollouts,
    sessions,
    ssh,
)
from controller.config.limits import BorderLimits
from controller.schema.controller_api import ControllerApi
from options.limits import CountRefusal

ROUTES: Final = (
    *controller.ROUTES,
    *access.ROUTES,
    *description.ROUTES,
    *enrolment.ROUTES,
    *jobs.ROUTES,
    *notifications.ROUTES,
    *policies.ROUTES,
    *rollouts.ROUTES,
    *ssh.ROUTES,
    *agents.ROUTES,
)
OPEN_ROUTES: Final = (*sessions.ROUTES, *access.OPEN_ROUTES)
"""Those whose bodies come from who is not known yet."""


def openapi_document() -> dict[str, Any]:
    """What `GET /api/v1/openapi.json` answers."""
    try:
        installed = version("saltern")
    except PackageNotFoundError:  # a checkout that was not installed
        installed = "0"
    return document((*ROUTES, *OPEN_ROUTES), installed)


def api_app(
    service: ControllerApi, access_rules: Access, limits: BorderLimits, session_seconds: float, on_refusal: CountRefusal
) -> Litestar:
    """The application.

    Args:
        service: answers.
        access_rules: say who may.
        limits: of bodies.
        session_seconds: that a session of a browser lives.
        on_refusal: see `options.limits.CountRefusal`.
    """
    few_bytes = limits.api_port.credentials_bytes
    routers = [
        Router(path=PREFIX, route_handlers=ROUTES),
        Router(path=PREFIX, route_handlers=OPEN_ROUTES, request_max_body_size=few_bytes),
    ]
    return Litestar(
        route_handlers=routers,
        guards=[guard],
        state=State(
            {
                "service": service,
                "access": access_rules,
                "session_seconds": session_seconds,
                "openapi": cache(openapi_document),
            },
            deep_copy=False,
        ),
        exception_handlers=encoding.exception_handlers(on_refusal),
        openapi_config=None,
        logging_config=None,
        request_max_body_size=limits.api.body_bytes,
    )
