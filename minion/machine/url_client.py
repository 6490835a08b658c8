"""One GET of a URL, by Python's own HTTP and FTP clients.

Called by `minion.machine.fetch`, which decides what an answer means. Imported when something is fetched.
"""

from __future__ import annotations

import base64
import ssl
import urllib.error
import urllib.parse
import urllib.request
from collections.abc import Mapping
from dataclasses import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class UrlResponse:
    """What the server said."""

    status: int
    """Of HTTP; 0 from an FTP server."""
    failed: bool = False
    """Whether the status is none of success."""
    reason: str = ""
    headers: Mapping[str, str]
    """With names in lower case."""
    body: bytes = b""
    """Empty where it failed."""


def get(url: str, headers: Mapping[str, str], *, verify: bool, timeout: float, limit: int) -> UrlResponse:
    """The answer, with at most `limit` bytes of its body. OSError or ValueError when there is none.

    A user and password of the URL are sent; without `verify` anybody may answer for an https server. `timeout`:
    seconds without a byte.
    """
    context = None
    if not verify and url.startswith("https://"):
        context = ssl._create_unverified_context()  # noqa: S323  (the author asks for it: verify_ssl)
    try:
        # The caller has checked the scheme.
        with urllib.request.urlopen(_request(url, headers), timeout=timeout, context=context) as answer:  # noqa: S310
            names = {key.lower(): value for key, value in answer.headers.items()}
            return UrlResponse(status=answer.status or 0, headers=names, body=answer.read(limit))
    except urllib.error.HTTPError as error:
        with error:
            names = {key.lower(): value for key, value in error.headers.items()}
            return UrlResponse(status=error.code, failed=True, reason=str(error.reason), headers=names)


def _request(url: str, headers: Mapping[str, str]) -> urllib.request.Request:
    given = {"User-Agent": "saltern", **headers}
    parts = urllib.parse.urlsplit(url)
    if parts.username and parts.scheme != "ftp":
        pair = f"{urllib.parse.unquote(parts.username)}:{urllib.parse.unquote(parts.password or '')}"
        given["Authorization"] = "Basic " + base64.b64encode(pair.encode()).decode()
        url = parts._replace(netloc=parts.netloc.rpartition("@")[2]).geturl()
    return urllib.request.Request(url, headers=given)  # noqa: S310  (the scheme is checked)
