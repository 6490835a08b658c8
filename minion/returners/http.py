"""Requests to services: with a deadline, no redirect to elsewhere, and a bounded answer. Used by returners."""

from __future__ import annotations

import base64
import json
import ssl
import urllib.error
import urllib.request
from collections.abc import Mapping
from typing import Any

from minion.returners.errors import EntryRefused, ReturnerError

_MOST_BYTES = 4 * 1024 * 1024
_SHOWN = 300
_NEVER = (400, 413, 422)
"""Answers that say that the body is at fault."""


def request(
    method: str,
    url: str,
    body: bytes | None,
    *,
    content_type: str = "application/json",
    headers: Mapping[str, str] | None = None,
    user: str = "",
    password: str = "",
    timeout: float = 20.0,
    verify: bool = True,
) -> Any:
    """The answer, from JSON where it is such. Raises ReturnerError with what the service said."""
    if not url.startswith(("http://", "https://")):
        raise ReturnerError(f"{url!r} is no address: it must begin with http:// or https://")
    asked = urllib.request.Request(url, body, {"Content-Type": content_type, **(headers or {})}, method=method)  # noqa: S310
    if user:
        word = base64.b64encode(f"{user}:{password}".encode()).decode()
        asked.add_header("Authorization", f"Basic {word}")
    context = ssl.create_default_context() if verify else ssl._create_unverified_context()  # noqa: S323 - asked for
    opener = urllib.request.build_opener(_NoRedirect, urllib.request.HTTPSHandler(context=context))
    try:
        with opener.open(asked, timeout=timeout) as answer:
            text = answer.read(_MOST_BYTES)
    except urllib.error.HTTPError as error:
        said = error.read(_SHOWN).decode(errors="replace")
        kind = EntryRefused if error.code in _NEVER else ReturnerError
        raise kind(f"{_place(url)}: {error.code} {error.reason}: {said}") from error
    except (OSError, ValueError) as error:
        raise ReturnerError(f"{_place(url)}: {error}") from error
    try:
        return json.loads(text)
    except ValueError:
        return text.decode(errors="replace")


class _NoRedirect(urllib.request.HTTPRedirectHandler):
    """What is returned goes to the address that was configured, or nowhere."""

    def redirect_request(self, *args: Any, **kwargs: Any) -> None:
        return None


def _place(url: str) -> str:
    """The scheme and host alone: paths of webhooks are secrets."""
    scheme, _, rest = url.partition("://")
    return f"{scheme}://{rest.partition('/')[0].rpartition('@')[2]}"
