"""An adapter of requests whose answers have an end: in bytes, once unpacked, and in seconds from first to last byte.

Used by `minion.providers.vault.api`. requests bounds neither: its timeout is that of a silence, and it keeps all that
comes, a gzip of zeros unpacked. Redirects are bounded one by one.
"""

from __future__ import annotations

import io
from functools import partial
from typing import Any, cast

import requests
import requests.adapters
import urllib3.exceptions
from urllib3.connection import HTTPConnection, HTTPSConnection
from urllib3.connectionpool import HTTPConnectionPool, HTTPSConnectionPool

from extmods.timed_answers import TimedResponse

MOST_BYTES = 4 << 20
"""Four of the largest secrets that Vault keeps by default."""
ANSWER_SECONDS = 60.0
_PART = 64 << 10
"""Bytes that are unpacked at once."""


class AnswerTooLong(requests.RequestException):
    """The answer has more bytes than it may."""


class _Http(HTTPConnection):
    response_class = cast(Any, partial(TimedResponse, ANSWER_SECONDS))


class _Https(HTTPSConnection):
    response_class = cast(Any, partial(TimedResponse, ANSWER_SECONDS))


class _HttpPool(HTTPConnectionPool):
    ConnectionCls = _Http


class _HttpsPool(HTTPSConnectionPool):
    ConnectionCls = _Https


_POOLS = {"http": _HttpPool, "https": _HttpsPool}


class BoundedAdapter(requests.adapters.HTTPAdapter):
    """Reads each answer to its end, or raises a RequestException."""

    def init_poolmanager(self, *args: Any, **given: Any) -> None:
        """See `HTTPAdapter`."""
        super().init_poolmanager(*args, **given)
        self.poolmanager.pool_classes_by_scheme = _POOLS

    def proxy_manager_for(self, proxy: str, **given: Any) -> Any:
        """See `HTTPAdapter`."""
        manager = super().proxy_manager_for(proxy, **given)
        manager.pool_classes_by_scheme = _POOLS
        return manager

    def send(self, request: requests.PreparedRequest, *args: Any, **given: Any) -> requests.Response:
        """See `HTTPAdapter`."""
        response = super().send(request, *args, **{**given, "stream": True})
        try:
            content = self._read(response.raw)
        except AnswerTooLong:  # an OSError, as all of requests'
            response.close()
            raise
        except (urllib3.exceptions.HTTPError, OSError) as error:
            response.close()
            raise requests.ConnectionError(type(error).__name__, request=request) from error
        response.raw = io.BytesIO(content)
        return response

    @staticmethod
    def _read(raw: Any) -> bytes:
        parts, size = [], 0
        while part := raw.read(_PART, decode_content=True):
            size += len(part)
            if size > MOST_BYTES:
                raise AnswerTooLong(f"the answer has more than {MOST_BYTES} bytes")
            parts.append(part)
        return b"".join(parts)
