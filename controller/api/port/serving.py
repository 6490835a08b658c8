"""Puts the API on its port. Called by `controller.api.serving`."""

from __future__ import annotations

import asyncio
import contextlib
import socket
import ssl
from collections.abc import AsyncIterator

from litestar.types import ASGIApp

from controller.access.rates import network_of
from controller.api.deadline import deadline_protocol
from controller.api.listening import CannotListen, serving, tcp_socket
from controller.api.port.certificate import Certificate
from controller.api.port.handshakes import HandshakeKind, TlsAccepting
from controller.config.api import ApiSettings
from controller.config.api_files import BadCertificate
from controller.config.limits import ApiPortLimits
from options.limits import CountRefusal


@contextlib.asynccontextmanager
async def serve_port(
    app: ASGIApp, settings: ApiSettings, limits: ApiPortLimits, on_refusal: CountRefusal
) -> AsyncIterator[tuple[str, int]]:
    """Serve an application on the API's port while the body runs; gives host and port.

    Args:
        app: what answers.
        settings: where, and with which certificate.
        limits: of connections.
        on_refusal: see `options.limits.CountRefusal`.

    Raises:
        CannotListen: the port is taken, or the certificate cannot be used.
    """
    certificate = _certificate(settings)

    def tls() -> ssl.SSLContext | None:
        return None if certificate is None else certificate.context

    def kind_of(_: str) -> HandshakeKind:
        return "handshakes", limits.handshakes

    protocol = deadline_protocol(
        limits.connections, limits.request_seconds, on_refusal, limits.address_connections, network_of
    )
    with tcp_socket(settings.host, settings.port, "api: host", "api: port") as listener:
        listener.setblocking(False)
        async with serving(app, (), protocol) as make_protocol:
            accepting = TlsAccepting(
                make_protocol=make_protocol,
                tls=tls,
                seconds=limits.handshake_seconds,
                kind_of=kind_of,
                on_refusal=on_refusal,
                of_network=limits.address_handshakes,
            )
            tasks = [asyncio.create_task(accepting.run(listener), name="api port")]
            if certificate is not None:
                tasks.append(asyncio.create_task(certificate.follow(), name="api certificate"))
            try:
                yield _address(listener)
            finally:
                for task in tasks:
                    task.cancel()
                await asyncio.gather(*tasks, return_exceptions=True)


def _certificate(settings: ApiSettings) -> Certificate | None:
    if settings.tls is None:
        return None
    try:
        return Certificate(settings.tls)
    except BadCertificate as error:
        raise CannotListen(f"api: {error}") from None


def _address(listener: socket.socket) -> tuple[str, int]:
    host, port = listener.getsockname()[:2]
    return str(host), int(port)
