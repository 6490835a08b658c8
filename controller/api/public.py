"""What the network may reach: the hook of the forges, the metrics, the health check. No secret, no command.

The hook's body is a hint about which remote to fetch and never more: what is then fetched comes from the remotes that
are configured.
"""

from __future__ import annotations

import hashlib
import hmac
import ipaddress
from collections.abc import Iterator, Mapping
from typing import Any, TypeAlias, cast

import msgspec
from litestar import Litestar, Request, Response, get, post
from litestar.datastructures import State
from litestar.exceptions import HTTPException

from controller.api import encoding
from controller.metrics import CONTENT_TYPE, Metrics
from controller.views import Service, ServiceError

AnyRequest: TypeAlias = Request[Any, Any, State]

LARGEST_HOOK = 1024 * 1024
"""Bytes; forges cut theirs long before."""

_URLS = ("clone_url", "git_http_url", "http_url", "git_ssh_url", "ssh_url", "git_url", "html_url", "url", "full_name")
"""Where GitHub, GitLab, Gitea and Forgejo name the repository that was pushed to."""


def public_app(service: Service, metrics: Metrics, hook_secret: str) -> Litestar:
    """The application for http_host:http_port."""
    return Litestar(
        route_handlers=[health, exposition, hook],
        state=State({"service": service, "metrics": metrics, "secret": hook_secret.encode()}, deep_copy=False),
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
async def exposition(request: AnyRequest) -> Response[bytes]:
    """For Prometheus."""
    return Response(_metrics(request).exposition(), media_type=CONTENT_TYPE)


@post("/hook", status_code=202)
async def hook(request: AnyRequest) -> Response[bytes]:
    """Somebody pushed. Answers how many remotes are fetched for it."""
    body = await request.body()
    try:
        _admit(request.app.state.secret, request, body)
    except ServiceError:
        _metrics(request).hooked("refused")
        raise
    _metrics(request).hooked("accepted")
    service = cast(Service, request.app.state.service)
    for hint in _hints(request, body):
        if count := await service.hook(hint):
            return encoding.answer({"remotes": count}, 202)
    return encoding.answer({"remotes": await service.hook(None)}, 202)


def _admit(secret: bytes, request: AnyRequest, body: bytes) -> None:
    """ServiceError unless the caller knows the secret, or none is set and it calls from this machine."""
    if not secret:
        if not _is_local(request):
            raise ServiceError(
                "forbidden", "without hook_secret the hook answers this machine alone", hint="set hook_secret"
            )
        return
    headers = request.headers
    signature = headers.get("x-hub-signature-256", "").removeprefix("sha256=") or headers.get("x-gitea-signature", "")
    good = hmac.new(secret, body, hashlib.sha256).hexdigest()
    token = headers.get("x-gitlab-token", "")
    signed = hmac.compare_digest(signature.encode(), good.encode())
    if not (signed or hmac.compare_digest(token.encode(), secret)):
        raise ServiceError(
            "forbidden",
            "neither X-Hub-Signature-256 nor X-Gitlab-Token fits hook_secret",
            hint="set the same secret on the forge",
        )


def _is_local(request: AnyRequest) -> bool:
    """A reverse proxy on this machine makes everyone look local, so what it forwards does not count as such."""
    if any(name in request.headers for name in ("x-forwarded-for", "forwarded", "x-real-ip")):
        return False
    try:
        return request.client is not None and ipaddress.ip_address(request.client.host).is_loopback
    except ValueError:
        return False


def _hints(request: AnyRequest, body: bytes) -> Iterator[str]:
    """Names and urls of the remote, best first; nothing when the body says none."""
    if remote := request.query_params.get("remote"):
        yield str(remote)
    try:
        payload = msgspec.json.decode(body)
    except (msgspec.MsgspecError, RecursionError, UnicodeDecodeError):
        return
    for place in ("repository", "project"):
        found = payload.get(place) if isinstance(payload, Mapping) else None
        if isinstance(found, Mapping):
            yield from (found[key] for key in _URLS if isinstance(found.get(key), str) and found[key])


def _metrics(request: AnyRequest) -> Metrics:
    return cast(Metrics, request.app.state.metrics)
