"""Connections of urllib to addresses that were checked: a name is resolved once, and what was checked is connected to.

Called by `gitfs.transport.https_proxy` and `gitfs.transport.lfs_server`. A second look-up between check and connection
could say something else (DNS rebinding). Where an http proxy carries the request, the proxy resolves the name.
"""

from __future__ import annotations

import http.client
import socket
import ssl
import urllib.request
from collections.abc import Callable
from functools import partial
from typing import Any

AddressFault = Callable[[str, str], str | None]
"""Why a host (in lower case) may not be asked at an address; None when it may."""


class AddressRefused(OSError):
    """An address that a name leads to may not be asked; the text says why."""


def checked_addresses(host: str, port: int, fault: AddressFault) -> list[tuple[socket.AddressFamily, Any]]:
    """The addresses of a host: families and what `socket.connect` takes.

    Raises:
        AddressRefused: one of them may not be asked.
        OSError: the name is not known.
    """
    found: list[tuple[socket.AddressFamily, Any]] = [
        (family, address) for family, *_, address in socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)
    ]
    for _, address in found:
        if reason := fault(host.lower(), str(address[0])):
            raise AddressRefused(reason)
    return found


def _connected(fault: AddressFault, where: tuple[str, int], timeout: float, *_: Any) -> socket.socket:
    """As `socket.create_connection`, to addresses that were checked."""
    failure = OSError(f"{where[0]} has no address")
    for family, address in checked_addresses(*where, fault):
        connection = socket.socket(family, socket.SOCK_STREAM)
        try:
            connection.settimeout(timeout)
            connection.connect(address)
        except OSError as error:
            connection.close()
            failure = error
        else:
            return connection
    raise failure


class _HttpConnection(http.client.HTTPConnection):
    def __init__(self, host: str, *, fault: AddressFault, **options: Any) -> None:
        super().__init__(host, **options)
        self._create_connection = partial(_connected, fault)


class _HttpsConnection(http.client.HTTPSConnection):
    def __init__(self, host: str, *, fault: AddressFault, **options: Any) -> None:
        super().__init__(host, **options)
        self._create_connection = partial(_connected, fault)


class CheckedHttp(urllib.request.HTTPHandler):
    """http to addresses without a fault."""

    def __init__(self, fault: AddressFault) -> None:
        super().__init__()
        self._fault = fault

    def http_open(self, req: urllib.request.Request) -> http.client.HTTPResponse:
        """See `urllib.request.HTTPHandler`."""
        if _is_carried_by_a_proxy(req):
            return super().http_open(req)
        return self.do_open(partial(_HttpConnection, fault=self._fault), req)


class CheckedHttps(urllib.request.HTTPSHandler):
    """https to addresses without a fault, by this context."""

    def __init__(self, fault: AddressFault, context: ssl.SSLContext) -> None:
        super().__init__(context=context)
        self._fault = fault
        self._checked_context = context

    def https_open(self, req: urllib.request.Request) -> http.client.HTTPResponse:
        """See `urllib.request.HTTPSHandler`."""
        if _is_carried_by_a_proxy(req):
            return super().https_open(req)
        return self.do_open(partial(_HttpsConnection, fault=self._fault), req, context=self._checked_context)


def _is_carried_by_a_proxy(request: urllib.request.Request) -> bool:
    return request.has_proxy() or bool(getattr(request, "_tunnel_host", None))
