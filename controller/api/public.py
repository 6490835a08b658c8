"""What the network may reach: the hook of the forges, the metrics, the health check. No secret, no command.

The hook's body is a hint about which remote to fetch and never more: what is then fetched comes from the remotes that
are configured.
"""

from __future__ import annotations

import ipaddress
from typing import Any, TypeAlias, cast

from litestar import Litestar, Request, Response, get, post
from litestar.datastructures import State
from litestar.exceptions import HTTPException

from controller.api import encoding
from controller.api.schema import ControllerApi, ServiceError
from controller.forges import webhooks
from controller.observe.metrics import CONTENT_TYPE, Metrics

PublicRequest: TypeAlias = Request[Any, Any, State]

LARGEST_HOOK = 1024 * 1024
"""Bytes; forges cut theirs long before."""


def public_app(service: ControllerApi, metrics: Metrics, hook_secret: str) -> Litestar:
    """The application for http_host:http_port."""
    return Litestar(
        route_handlers=[health, exposition, hook],
        state=State(
            {
                "service": service,
                "metrics": metrics,
                "secret": hook_secret.encode(),
                "deliveries": webhooks.Deliveries(),
            },
            deep_copy=False,
        ),
        exception_handlers={HTTPException: encoding.on_http_error, Exception: encoding.on_service_error},
        openapi_config=None,
        logging_config=None,
        request_max_body_size=LARGEST_HOOK,
    )


@get("/healthz")
async def health() -> str:
    """For a load balancer or systemd: the loop turns."""
    return "ok\n"


@get("/metrics")
async def exposition(request: PublicRequest) -> Response[bytes]:
    """For Prometheus."""
    return Response(_metrics(request).exposition(), media_type=CONTENT_TYPE)


@post("/hook", status_code=202)
async def hook(request: PublicRequest) -> Response[bytes]:
    """Somebody pushed. Answers how many remotes are fetched for it."""
    body = await request.body()
    try:
        _admit(request.app.state.secret, request, body)
    except ServiceError:
        _metrics(request).hooked("refused")
        raise
    deliveries = cast(webhooks.Deliveries, request.app.state.deliveries)
    payload = webhooks.payload_of(body)
    delivery = webhooks.delivery_of(request.headers, payload)
    if delivery in deliveries or webhooks.is_ping(request.headers):
        _metrics(request).hooked("duplicate" if delivery in deliveries else "ping")
        return encoding.answer({"remotes": 0}, 202)
    _metrics(request).hooked("accepted")
    count = await _fetch(cast(ControllerApi, request.app.state.service), request.query_params.get("remote"), payload)
    deliveries.add(delivery)
    return encoding.answer({"remotes": count}, 202)


async def _fetch(service: ControllerApi, named: object, payload: object) -> int:
    """Have the remote fetched that the best hint means, and all of them when no hint means any."""
    for hint in (*([str(named)] if named else []), *webhooks.hints(payload)):
        if count := await service.hook(hint):
            return count
    return await service.hook(None)


def _admit(secret: bytes, request: PublicRequest, body: bytes) -> None:
    """ServiceError unless the caller knows the secret, or none is set and it calls from this machine."""
    if not secret:
        if not _is_local(request):
            raise ServiceError(
                "forbidden", "without hook_secret the hook answers this machine alone", hint="set hook_secret"
            )
        return
    if not webhooks.admits(secret, request.headers, body):
        raise ServiceError(
            "forbidden",
            "no signature (X-Hub-Signature-256 and others), token or password of the request fits hook_secret",
            hint="set the same secret on the forge",
        )


def _is_local(request: PublicRequest) -> bool:
    """A reverse proxy on this machine makes everyone look local, so what it forwards does not count as such."""
    if any(name in request.headers for name in ("x-forwarded-for", "forwarded", "x-real-ip")):
        return False
    try:
        return request.client is not None and ipaddress.ip_address(request.client.host).is_loopback
    except ValueError:
        return False


def _metrics(request: PublicRequest) -> Metrics:
    return cast(Metrics, request.app.state.metrics)
