"""The application at `/salt`: rest_cherrypy's addresses and shapes. Mounted on the API's port by the composition root.

What it asks goes through `controller.api` and the rules of access, as what `/api/v1` asks.

Source: salt/netapi/rest_cherrypy/app.py.
"""

from __future__ import annotations

import time
from concurrent.futures import ThreadPoolExecutor
from typing import Any, Final

from litestar import Litestar, Request, Response, Router
from litestar.datastructures import State
from litestar.exceptions import HTTPException

from controller.access.access import Access
from controller.api import encoding
from controller.config.limits import BorderLimits
from controller.salt_api import credentials, lowdata, streams
from controller.salt_api.bodies import NotAcceptable
from controller.salt_api.clients import LowClients, TookTooLong
from controller.schema.controller_api import ControllerApi
from controller.schema.errors import ServiceError
from options.limits import CountRefusal

_HTTP_406, _HTTP_413, _HTTP_504 = 406, 413, 504
_STATUS: Final = {"forbidden": 401}
"""Where Salt's status is another one than that of `/api/v1`: it does not tell who is not known from who may not."""


def salt_api_app(
    service: ControllerApi, access: Access, limits: BorderLimits, on_refusal: CountRefusal, hook_secret: str = ""
) -> Litestar:
    """The application.

    Args:
        service: answers.
        access: says who may.
        limits: of bodies and requests.
        on_refusal: see `options.limits.CountRefusal`.
        hook_secret: with which `/hook` is signed that shows no token; empty: each shows one.
    """
    few, own = limits.api_port.credentials_bytes, limits.salt_api
    routers = [
        Router(path=credentials.PREFIX, route_handlers=[*lowdata.ROUTES, *streams.ROUTES]),
        Router(path=credentials.PREFIX, route_handlers=[*lowdata.OPEN_ROUTES], request_max_body_size=few),
    ]
    stats = streams.Stats(began=time.time())
    state = {
        "service": service,
        "access": access,
        "limits": own,
        "clients": LowClients(service=service, access=access, limits=own, on_refusal=on_refusal),
        "secret": hook_secret.encode(),
        "hashing": ThreadPoolExecutor(max_workers=1, thread_name_prefix="salt-api hook"),
        "stats": stats,
    }
    return Litestar(
        route_handlers=routers,
        guards=[credentials.guard],
        middleware=[streams.counting(stats)],
        state=State(state, deep_copy=False),
        exception_handlers=_exception_handlers(on_refusal),
        openapi_config=None,
        logging_config=None,
        request_max_body_size=own.body_bytes,
    )


def set_hook_secret(app: Litestar, hook_secret: str) -> None:
    """Have `/hook` ask for another one from now on."""
    app.state.secret = hook_secret.encode()


def _exception_handlers(on_refusal: CountRefusal) -> dict[Any, Any]:
    def of_framework(request: Request[Any, Any, Any], error: HTTPException) -> Response[bytes]:
        if error.status_code == _HTTP_413:
            on_refusal("body-bytes")
        return _told(error.status_code, error.detail)

    return {
        HTTPException: of_framework,
        NotAcceptable: lambda _, error: _told(_HTTP_406, str(error)),
        TookTooLong: lambda _, error: _told(_HTTP_504, str(error)),
        Exception: _of_service,
    }


def _of_service(_: Request[Any, Any, Any], error: Exception) -> Response[bytes]:
    refused = encoding.refusal(error)
    view = encoding.error_view(error) if isinstance(error, ServiceError) else None
    code = refused.status_code or 500
    status = _STATUS.get(view.error, code) if view is not None else code
    text = "; ".join(filter(None, (view.message, view.hint))) if view is not None else "An unexpected error occurred"
    told = _told(status, text)
    if retry := refused.headers.get("retry-after"):
        told.headers["retry-after"] = retry
    return told


def _told(status: int, text: str) -> Response[bytes]:
    """An error: tools of salt-api look at its status, people at its text."""
    return encoding.answer({"status": status, "return": text}, status)
