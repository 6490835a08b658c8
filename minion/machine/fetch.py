"""Files from the web: `http://`, `https://` and `ftp://` sources of states.

Called by `LocalMachine.fetch`. TLS is verified against the system's authorities; nothing is ever sent but the request.
What was fetched before is fetched again only when the server has something else (`minion.machine.fetch_cache`).
"""

from __future__ import annotations

import urllib.parse
from collections.abc import Callable

from minion.machine.failure import StateFailed
from minion.machine.fetch_cache import WebCache

SCHEMES = ("http://", "https://", "ftp://")

LARGEST = 2 * 1024 * 1024 * 1024
"""Bytes of one answer that are taken."""

TIMEOUT = 60.0
"""Seconds without a byte."""


def _accept(body: bytes) -> None:
    """Finds nothing wrong."""


def fetch(
    url: str,
    cache: WebCache | None = None,
    *,
    fits: Callable[[bytes], bool] | None = None,
    check: Callable[[bytes], None] = _accept,
    verify: bool = True,
    keep: bool = True,
) -> bytes | None:
    """The body; None for 404 and 410. StateFailed when the server cannot be asked or will not answer.

    What is kept and `fits` (it has the digest that is wanted) is taken without asking. `check` raises what is wrong
    with a body, which is then not kept. Without `verify` anybody may answer for an https server.
    `keep`: whether the body is cached.
    """
    kept = cache.body(url) if cache is not None else None
    if kept is not None and fits is not None and fits(kept):
        check(kept)
        return kept
    conditions = cache.conditions(url) if cache is not None and kept is not None else {}
    if not url.startswith(SCHEMES):
        raise StateFailed(f"{shown(url)} is no URL of {', '.join(SCHEMES)}")
    from minion.machine import url_client  # TLS and HTTP take 2 MiB of an idle agent

    try:
        answer = url_client.get(url, conditions, verify=verify, timeout=TIMEOUT, limit=LARGEST + 1)
    except (OSError, ValueError) as error:
        raise StateFailed(f"{shown(url)} cannot be fetched: {getattr(error, 'reason', error)}") from None
    if answer.status == 304 and kept is not None:
        check(kept)
        return kept
    if answer.status in (404, 410):
        return None
    if answer.failed:
        raise StateFailed(f"{shown(url)}: the server answers {answer.status} {answer.reason}")
    if len(answer.body) > LARGEST:
        raise StateFailed(f"{shown(url)} is larger than {LARGEST} bytes")
    check(answer.body)
    if cache is not None and keep:
        cache.keep(url, answer.body, answer.headers)
    return answer.body


def shown(url: str) -> str:
    """The URL as people may see it: without a password."""
    parts = urllib.parse.urlsplit(url)
    if parts.password is None:
        return url
    return parts._replace(netloc=f"{parts.username}:XXXXX@{parts.netloc.rpartition('@')[2]}").geturl()
