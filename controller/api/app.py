"""The API of people who may use this controller: everything that the command line, scripts and the dashboard do.

One application, served on the unix socket and on the API's port: `permissions` finds out who asks and whether they may,
and questions go to the `ControllerApi` unchanged.
"""

from __future__ import annotations

from litestar import Litestar, Router
from litestar.datastructures import State

from controller.access.access import Access
from controller.api import encoding
from controller.api.permissions import PREFIX, guard
from controller.api.resources import access, controller, enrolment, jobs, notifications, policies, rollouts, sessions
from controller.config.limits import BorderLimits
from controller.schema.controller_api import ControllerApi
from options.limits import CountRefusal


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
        Router(
            path=PREFIX,
            route_handlers=[
                *controller.ROUTES,
                *access.ROUTES,
                *enrolment.ROUTES,
                *jobs.ROUTES,
                *notifications.ROUTES,
                *policies.ROUTES,
                *rollouts.ROUTES,
            ],
        ),
        Router(path=PREFIX, route_handlers=[*sessions.ROUTES, *access.OPEN_ROUTES], request_max_body_size=few_bytes),
    ]
    return Litestar(
        route_handlers=routers,
        guards=[guard],
        state=State(
            {"service": service, "access": access_rules, "session_seconds": session_seconds},
            deep_copy=False,
        ),
        exception_handlers=encoding.exception_handlers(on_refusal),
        openapi_config=None,
        logging_config=None,
        request_max_body_size=limits.api.body_bytes,
    )
