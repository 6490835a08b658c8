"""Files from the web: `http://`, `https://` and `ftp://` sources of states.

Called by `LocalMachine.fetch`. TLS is verified against the system's authorities; nothing is ever sent but the request.
It caches nothing: a state that knows the digest of what it wants asks only when the file on the machine is another.
"""

from __future__ import annotations

import base64
import urllib.error
import urllib.parse
import urllib.request

from minion.states.plan import StateFailed

SCHEMES = ("http://", "https://", "ftp://")

LARGEST = 2 * 1024 * 1024 * 1024
"""Bytes of one answer that are taken."""

TIMEOUT = 60.0
"""Seconds without a byte."""


def fetch(url: str) -> bytes | None:
    """The body; None for 404 and 410. StateFailed when the server cannot be asked or will not answer."""
    request = _request(url)
    try:
        with urllib.request.urlopen(request, timeout=TIMEOUT) as answer:  # noqa: S310  (the scheme is checked)
            data: bytes = answer.read(LARGEST + 1)
    except urllib.error.HTTPError as error:
        with error:
            if error.code in (404, 410):
                return None
            raise StateFailed(f"{shown(url)}: the server answers {error.code} {error.reason}") from None
    except (urllib.error.URLError, OSError, ValueError) as error:
        raise StateFailed(f"{shown(url)} cannot be fetched: {getattr(error, 'reason', error)}") from None
    if len(data) > LARGEST:
        raise StateFailed(f"{shown(url)} is larger than {LARGEST} bytes")
    return data


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
