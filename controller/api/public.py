"""What the network may reach: the hook of the forges, the metrics, the health check, reports by signed links, and
with a token the events. No command.

The hook's body is a hint about which remote to fetch and which pull request to look at, and never more: what is then
fetched comes from the remotes that are configured, and what is true of a pull request is asked of its forge.
"""

from __future__ import annotations

import asyncio
import ipaddress
import math
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from typing import Any, TypeAlias, cast

from litestar import Litestar, Request, Response, get, post
from litestar.datastructures import State
from litestar.response import Stream

from controller.api import encoding
from controller.api.event_stream import RemoteReaders
from controller.config.limits import WebhookLimits
from controller.forges import webhooks
from controller.observe.metrics import CONTENT_TYPE, OPENMETRICS_TYPE, Metrics
from controller.schema.controller_api import ControllerApi
from controller.schema.errors import ServiceError

PublicRequest: TypeAlias = Request[Any, Any, State]


_PAGE_HEADERS = {
    "cache-control": "private, max-age=300",
    "referrer-policy": "no-referrer",
    "x-content-type-options": "nosniff",
    "x-robots-tag": "noindex",
}
EXPOSITION_SECONDS = 1.0
"""Age at which the metrics are read again."""


HintPull: TypeAlias = Callable[[str, int], bool]
"""Is told the project and number of a pull request that something happened to; whether anybody wants to know."""


def public_app(
    service: ControllerApi,
    metrics: Metrics,
    hook_secret: str,
    limits: WebhookLimits,
    hint_pull: HintPull,
    events_token: str = "",
) -> Litestar:
    """The application for http_host:http_port."""
    on_refusal = partial(metrics.limit_refused, "webhook")
    return Litestar(
        route_handlers=[health, leader, exposition, hook, report_page, events],
        state=State(
            {
                "service": service,
                "metrics": metrics,
                "secret": hook_secret.encode(),
                "hint_pull": hint_pull,
                "readers": RemoteReaders(events_token, limits.event_readers, on_refusal),
                "deliveries": webhooks.Deliveries(),
                "exposition": CachedExposition(metrics, time.monotonic),
                "hashing": ThreadPoolExecutor(max_workers=1, thread_name_prefix="webhook"),
            },
            deep_copy=False,
        ),
        exception_handlers=encoding.exception_handlers(on_refusal),
        openapi_config=None,
        logging_config=None,
        request_max_body_size=limits.body_bytes,
    )


def set_secrets(app: Litestar, hook_secret: str, events_token: str) -> None:
    """Have the hook and the events ask for others from now on."""
    app.state.secret = hook_secret.encode()
    cast(RemoteReaders, app.state.readers).set_token(events_token)


class CachedExposition:
    """The metrics as text, made once a second at most of each format: everybody who reaches the port may ask.

    Args:
        metrics: of the controller.
        clock: seconds.
    """

    def __init__(self, metrics: Metrics, clock: Callable[[], float]) -> None:
        self._metrics = metrics
        self._clock = clock
        self._made: dict[str, tuple[float, bytes]] = {}
        """Media type -> when it was made, and the text."""

    def text(self, accepted: str = "") -> tuple[bytes, str]:
        """What Prometheus reads, and its media type: OpenMetrics where that is `accepted` (the header)."""
        media_type = OPENMETRICS_TYPE if "application/openmetrics-text" in accepted else CONTENT_TYPE
        now = self._clock()
        made, text = self._made.get(media_type, (-math.inf, b""))
        if now - made >= EXPOSITION_SECONDS:
            of_type = self._metrics.exposition if media_type == CONTENT_TYPE else self._metrics.with_exemplars
            text = of_type()
            self._made[media_type] = now, text
        return text, media_type


@get("/healthz")
async def health() -> str:
    """For a load balancer or systemd: the loop turns."""
    return "ok\n"


@get("/leader")
async def leader() -> str:
    """For a load balancer before several controllers: one that waits answers 503 (`controller.cluster.standby`)."""
    return "leads\n"


@get("/metrics")
async def exposition(request: PublicRequest) -> Response[bytes]:
    """For Prometheus."""
    cached = cast(CachedExposition, request.app.state.exposition)
    text, media_type = cached.text(request.headers.get("accept", ""))
    return Response(text, media_type=media_type)


@get("/previews/{report_id:str}")
async def report_page(request: PublicRequest) -> Response[bytes]:
    """The report of a preview, for who has its signed address."""
    query = request.query_params
    service = cast(ControllerApi, request.app.state.service)
    page = await service.report_page(
        request.path_params["report_id"],
        query.get("expires", ""),
        query.get("signature", ""),
        query.get("format", "html"),
    )
    return Response(
        page.content, media_type=page.media_type, headers={**_PAGE_HEADERS, "content-security-policy": page.policy}
    )


@get("/events")
async def events(request: PublicRequest) -> Stream:
    """Server-Sent Events, for who has `events_token`."""
    service = cast(ControllerApi, request.app.state.service)
    return await cast(RemoteReaders, request.app.state.readers).events(request, service)


@post("/hook", status_code=202)
async def hook(request: PublicRequest) -> Response[bytes]:
    """Somebody pushed, or did something to a pull request. Answers how many remotes are fetched for it."""
    body = await request.body()
    try:
        await _authenticate(request.app.state, request, body)
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
    pull = webhooks.pull_of(request.headers, payload)
    if pull is not None:
        cast(HintPull, request.app.state.hint_pull)(pull.project, pull.number)
    count = await _fetch(cast(ControllerApi, request.app.state.service), request.query_params.get("remote"), payload)
    deliveries.add(delivery)
    return encoding.answer({"remotes": count}, 202)


async def _fetch(service: ControllerApi, named: object, payload: object) -> int:
    """Fetch the remote of the first repository that is configured, and all remotes when none is."""
    for repository in (*([str(named)] if named else []), *webhooks.repositories(payload)):
        if count := await service.hook(repository):
            return count
    return await service.hook(None)


async def _authenticate(state: State, request: PublicRequest, body: bytes) -> None:
    """ServiceError unless the caller knows the secret, or none is set and it calls from this machine.

    Signatures are computed in a thread: how much there is to hash is up to the caller.
    """
    secret: bytes = state.secret
    if not secret:
        if not _is_local(request):
            raise ServiceError(
                "forbidden", "without hook_secret the hook answers this machine alone", hint="set hook_secret"
            )
        return
    headers = dict(request.headers)
    verified = asyncio.get_running_loop().run_in_executor(state.hashing, webhooks.verify, secret, headers, body)
    if not await verified:
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
