"""Files from the web: `http://`, `https://` and `ftp://` sources of states.

Called by `LocalMachine.fetch`. TLS is verified against the system's authorities; nothing is ever sent but the request.
What was fetched before is fetched again only when the server has something else (`minion.machine.fetch_cache`).
"""

from __future__ import annotations

import base64
import urllib.error
import urllib.parse
import urllib.request
from collections.abc import Callable, Mapping
from contextlib import AbstractContextManager
from http.client import HTTPResponse
from typing import cast

from minion.machine.fetch_cache import WebCache
from minion.machine.plan import StateFailed

SCHEMES = ("http://", "https://", "ftp://")

LARGEST = 2 * 1024 * 1024 * 1024
"""Bytes of one answer that are taken."""

TIMEOUT = 60.0
"""Seconds without a byte."""


def fetch(
    url: str, cache: WebCache | None = None, *, fits: Callable[[bytes], bool] | None = None, verify: bool = True
) -> bytes | None:
    """The body; None for 404 and 410. StateFailed when the server cannot be asked or will not answer.

    What is kept and `fits` (it has the digest that is wanted) is taken without asking. Without `verify` anybody may
    answer for an https server.
    """
    kept = cache.body(url) if cache is not None else None
    if kept is not None and fits is not None and fits(kept):
        return kept
    conditions = cache.conditions(url) if cache is not None and kept is not None else {}
    try:
        with _opened(url, conditions, verify) as answer:
            data: bytes = answer.read(LARGEST + 1)
            headers = {key.lower(): value for key, value in answer.headers.items()}
    except urllib.error.HTTPError as error:
        with error:
            if error.code == 304 and kept is not None:
                return kept
            if error.code in (404, 410):
                return None
            raise StateFailed(f"{shown(url)}: the server answers {error.code} {error.reason}") from None
    except (urllib.error.URLError, OSError, ValueError) as error:
        raise StateFailed(f"{shown(url)} cannot be fetched: {getattr(error, 'reason', error)}") from None
    if len(data) > LARGEST:
        raise StateFailed(f"{shown(url)} is larger than {LARGEST} bytes")
    if cache is not None:
        cache.keep(url, data, headers)
    return data


def _opened(url: str, conditions: Mapping[str, str], verify: bool) -> AbstractContextManager[HTTPResponse]:
    request = _request(url)
    for header, value in conditions.items():
        request.add_header(header, value)
    context = None
    if not verify and url.startswith("https://"):
        import ssl

        context = ssl._create_unverified_context()  # noqa: S323  (the author asks for it: verify_ssl)
    opened = urllib.request.urlopen(request, timeout=TIMEOUT, context=context)  # noqa: S310  (the scheme is checked)
    return cast("AbstractContextManager[HTTPResponse]", opened)


def shown(url: str) -> str:
    """The URL as people may see it: without a password."""
    parts = urllib.parse.urlsplit(url)
    if parts.password is None:
        return url
    return parts._replace(netloc=f"{parts.username}:XXXXX@{parts.netloc.rpartition('@')[2]}").geturl()


def _request(url: str) -> urllib.request.Request:
    if not url.startswith(SCHEMES):
        raise StateFailed(f"{shown(url)} is no URL of {', '.join(SCHEMES)}")
    parts = urllib.parse.urlsplit(url)
    headers = {"User-Agent": "saltern"}
    if parts.username and parts.scheme != "ftp":
        pair = f"{urllib.parse.unquote(parts.username)}:{urllib.parse.unquote(parts.password or '')}"
        headers["Authorization"] = "Basic " + base64.b64encode(pair.encode()).decode()
        url = parts._replace(netloc=parts.netloc.rpartition("@")[2]).geturl()
    return urllib.request.Request(url, headers=headers)  # noqa: S310  (the scheme is checked)
