"""Docker's client whose answers have an end: in bytes, and in seconds from first to last byte.

Made by `minion.providers.docker.engine`, which imports this where an engine is asked: the SDK takes a tenth of a
second. The SDK bounds neither: its timeout is that of a silence, and it keeps all that comes. What comes piece by
piece (images, files, the progress of a pull, the output of a command) is bounded where the pieces are gathered, by
`gathered`.
"""

from __future__ import annotations

import io
import time
from collections.abc import Iterable, Iterator
from typing import Any, TypeVar, cast

import docker
import requests
import requests.adapters
import urllib3.exceptions
from docker.transport import UnixHTTPAdapter
from docker.transport.unixconn import UnixHTTPConnectionPool
from docker.utils.socket import consume_socket_output
from urllib3.connection import HTTPConnection, HTTPSConnection
from urllib3.connectionpool import HTTPConnectionPool, HTTPSConnectionPool

from extmods.timed_answers import ANSWER_SECONDS, TimedHead

MOST_BYTES = 64 << 20
"""Of an answer that is given whole; the log of a container is the largest."""
MOST_GATHERED = 4 << 30
"""Of all pieces of one; the image that `docker.save` writes is the largest."""
_PART = 64 << 10

_Piece = TypeVar("_Piece")


class EngineAnswerTooLong(requests.RequestException):
    """The answer has more bytes than it may."""


class BoundedClient(docker.APIClient):  # type: ignore[misc]  # the SDK has no hints
    """The SDK's client. An answer without an end raises a `requests.RequestException`, an OSError."""

    def mount(self, prefix: str, adapter: Any) -> None:
        """See `requests.Session`: headers end in time, by each adapter that makes connections of its own here."""
        if isinstance(adapter, UnixHTTPAdapter):
            adapter = _UnixAdapter(f"http+unix://{adapter.socket_path}", adapter.timeout)
        elif type(adapter) is requests.adapters.HTTPAdapter:
            adapter = _TcpAdapter()
        super().mount(prefix, adapter)

    def send(self, request: requests.PreparedRequest, **given: Any) -> requests.Response:
        """See `requests.Session`; an answer that is not asked for piece by piece is read here."""
        if given.get("stream"):
            return cast(requests.Response, super().send(request, **given))
        response: requests.Response = super().send(request, **{**given, "stream": True})
        try:
            content = _read(response.raw)
        except (urllib3.exceptions.HTTPError, OSError) as error:
            response.close()
            if isinstance(error, EngineAnswerTooLong):
                raise
            raise requests.ConnectionError(str(error), request=request) from error
        response.raw = io.BytesIO(content)
        return response

    def _read_from_socket(self, response: Any, stream: bool, tty: bool = True, demux: bool = False) -> Any:
        """What a command says: the SDK's own way, with an end."""
        frames = super()._read_from_socket(response, True, tty=tty, demux=demux)
        if stream:
            return frames
        try:
            return consume_socket_output(gathered(frames), demux=demux)
        finally:
            response.close()


def gathered(pieces: Iterable[_Piece]) -> Iterator[_Piece]:
    """The pieces of an answer, as long as they are not too many bytes together. EngineAnswerTooLong."""
    size = 0
    for piece in pieces:
        size += _size(piece)
        if size > MOST_GATHERED:
            raise EngineAnswerTooLong(f"the answer has more than {MOST_GATHERED} bytes")
        yield piece


def _size(piece: object) -> int:
    if isinstance(piece, bytes):
        return len(piece)
    if isinstance(piece, tuple):  # of a command: what it says, and what it says of errors
        return sum(len(one) for one in piece if one)
    return len(repr(piece))


def _read(raw: Any) -> bytes:
    parts, size, end = [], 0, None
    while part := raw.read1(_PART, decode_content=True):
        end = end or time.monotonic() + ANSWER_SECONDS  # what an engine does before it answers takes what it takes
        size += len(part)
        if size > MOST_BYTES:
            raise EngineAnswerTooLong(f"the answer has more than {MOST_BYTES} bytes")
        if time.monotonic() > end:
            raise TimeoutError("the answer does not end in time")
        parts.append(part)
    return b"".join(parts)


class _UnixPool(UnixHTTPConnectionPool):  # type: ignore[misc]
    def _new_conn(self) -> Any:
        made = super()._new_conn()
        made.response_class = TimedHead
        return made


class _UnixAdapter(UnixHTTPAdapter):  # type: ignore[misc]
    def get_connection(self, url: str, proxies: Any = None) -> Any:
        """See `HTTPAdapter`."""
        with self.pools.lock:
            if url not in self.pools:
                self.pools[url] = _UnixPool(url, self.socket_path, self.timeout, maxsize=self.max_pool_size)
            return self.pools[url]


class _Http(HTTPConnection):
    response_class = TimedHead


class _Https(HTTPSConnection):
    response_class = TimedHead


class _HttpPool(HTTPConnectionPool):
    ConnectionCls = _Http


class _HttpsPool(HTTPSConnectionPool):
    ConnectionCls = _Https


class _TcpAdapter(requests.adapters.HTTPAdapter):
    def init_poolmanager(self, *args: Any, **given: Any) -> None:
        """See `HTTPAdapter`."""
        super().init_poolmanager(*args, **given)
        self.poolmanager.pool_classes_by_scheme = {"http": _HttpPool, "https": _HttpsPool}
