"""Answers of HTTP that end: handlers of urllib, and the answer itself for the libraries that are made of http.client.

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


class TooManyBytes(Exception):
    """An answer has more bytes than it may. No OSError: of those clients of HTTP make errors of their own."""


class TimedResponse(http.client.HTTPResponse):
    """An answer that ends.

    Args:
        seconds: from its first byte to its last; a later end raises TimeoutError.
        sock: as in `HTTPResponse`, with all that follows.
        most: bytes as they come, of headers and body; None: any number. More raise TooManyBytes.
    """

    def __init__(self, seconds: float, sock: socket.socket, *args: Any, most: int | None = None, **given: Any) -> None:
        super().__init__(sock, *args, **given)
        self.fp = cast(Any, io.BufferedReader(_Timed(cast(Any, self.fp), sock, seconds, most)))


class _Timed(io.RawIOBase):
    """What a socket gives, until the time is over."""

    def __init__(self, given: io.BufferedReader, sock: socket.socket, seconds: float, most: int | None) -> None:
        self._given, self._read = given, cast(Callable[[Any], int], given.raw.readinto)
        self._sock, self._idle = sock, sock.gettimeout()
        self._end = time.monotonic() + seconds
        self._most, self._came = most, 0

    def readable(self) -> bool:
        """It is."""
        return True

    def readinto(self, buffer: Any) -> int:
        """Read what there is; TimeoutError, TooManyBytes."""
        left = self._end - time.monotonic()
        if left <= 0:
            raise TimeoutError("the answer does not end in time")
        self._sock.settimeout(left if self._idle is None else min(left, self._idle))
        came = self._read(buffer)
        self._came += came or 0
        if self._most is not None and self._came > self._most:
            raise TooManyBytes(f"the answer has more than {self._most} bytes")
        return came

    def close(self) -> None:
        """Close the socket, too."""
        if not self.closed:
            self._given.close()
        super().close()


class TimedHead(http.client.HTTPResponse):
    """An answer whose headers end in time, in `seconds` from their first byte; a later end raises TimeoutError.

    Its body is read as it is: by who bounds it, or, where the connection becomes another one, from the socket itself.
    """

    seconds = ANSWER_SECONDS

    def begin(self) -> None:
        """Read the headers."""
        given = self.fp
        self.fp = cast(Any, _TimedLines(given, self.seconds))
        try:
            super().begin()
        finally:
            if self.fp is not None:
                self.fp = given


class _TimedLines:
    """The lines of a file on a socket, whose own timeout is that of one read."""

    def __init__(self, given: io.BufferedReader, seconds: float) -> None:
        self._given, self._seconds = given, seconds
        self._end = float("inf")
        self.close = given.close

    def readline(self, most: int) -> bytes:
        """The next line, or so many bytes of it; TimeoutError."""
        line = bytearray()
        while len(line) < most and not line.endswith(b"\n"):
            there = self._given.peek()[: most - len(line)]
            if not there:
                break
            if self._end == float("inf"):
                self._end = time.monotonic() + self._seconds
            elif time.monotonic() > self._end:
                raise TimeoutError("the headers do not end in time")
            line += self._given.read(there.find(b"\n") + 1 or len(there))
        return bytes(line)
