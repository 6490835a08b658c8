"""Handlers of urllib whose answers end in time.

`timeout` alone bounds the seconds without a byte: a server that sends one now and then would hold a run for days.
"""

from __future__ import annotations

import http.client
import io
import socket
import ssl
import time
import urllib.request
from collections.abc import Callable
from functools import partial
from typing import Any, cast

ANSWER_SECONDS = 300.0
"""That an answer may take from its first byte to its last, headers and body; with 4 MiB, 14 kB a second."""


def timed_handlers(
    context: ssl.SSLContext | None = None, seconds: float = ANSWER_SECONDS, *, tls: bool = True
) -> tuple[urllib.request.BaseHandler, ...]:
    """Handlers of http:// and, with `tls`, of https:// for an opener. A later end raises TimeoutError, an OSError."""
    return (_TimedHttp(seconds), _TimedHttps(seconds, context)) if tls else (_TimedHttp(seconds),)


class _TimedHttp(urllib.request.HTTPHandler):
    def __init__(self, seconds: float) -> None:
        super().__init__()
        self._seconds = seconds

    def http_open(self, req: urllib.request.Request) -> http.client.HTTPResponse:
        """The answer to a request."""
        return self.do_open(_connections(http.client.HTTPConnection, self._seconds), req)


class _TimedHttps(urllib.request.HTTPSHandler):
    def __init__(self, seconds: float, context: ssl.SSLContext | None) -> None:
        super().__init__(context=context)
        self._given = context
        self._seconds = seconds

    def https_open(self, req: urllib.request.Request) -> http.client.HTTPResponse:
        """The answer to a request."""
        return self.do_open(_connections(http.client.HTTPSConnection, self._seconds), req, context=self._given)


def _connections(kind: type[http.client.HTTPConnection], seconds: float) -> Any:
    def made(host: str, **given: Any) -> http.client.HTTPConnection:
        connection = kind(host, **given)
        connection.response_class = cast(Any, partial(TimedResponse, seconds))
        return connection

    return made


class TimedResponse(http.client.HTTPResponse):
    """An answer that ends in time. `seconds`: from its first byte to its last; a later end raises TimeoutError."""

    def __init__(self, seconds: float, sock: socket.socket, *args: Any, **given: Any) -> None:
        super().__init__(sock, *args, **given)
        self.fp = cast(Any, io.BufferedReader(_Timed(cast(Any, self.fp), sock, seconds)))


class _Timed(io.RawIOBase):
    """What a socket gives, until the time is over."""

    def __init__(self, given: io.BufferedReader, sock: socket.socket, seconds: float) -> None:
        self._given, self._read = given, cast(Callable[[Any], int], given.raw.readinto)
        self._sock, self._idle = sock, sock.gettimeout()
        self._end = time.monotonic() + seconds

    def readable(self) -> bool:
        """It is."""
        return True

    def readinto(self, buffer: Any) -> int:
        """Read what there is; TimeoutError."""
        left = self._end - time.monotonic()
        if left <= 0:
            raise TimeoutError("the answer does not end in time")
        self._sock.settimeout(left if self._idle is None else min(left, self._idle))
        return self._read(buffer)

    def close(self) -> None:
        """Close the socket, too."""
        if not self.closed:
            self._given.close()
        super().close()
