"""One request to a receiver and its answer, within limits of time and bytes. Redirects are not followed.

An answer is never shown whole, and an address never but for its host: what follows is the secret of many webhooks.
"""

from __future__ import annotations

import asyncio
import email.utils
import ssl
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from urllib.parse import urlsplit

import httpx

from controller.config.limits import NotificationLimits
from controller.notifications.receivers.plain_text import one_line
from controller.notifications.receivers.receiver import Rejected, TryLater
from options.limits import CountRefusal, uncounted

LONGEST_WAIT = 3600.0
"""Seconds that a service may want to be left alone."""
_HOPELESS = (400, 413, 422)
"""The service has read the message, and will not take it. Other refusals end when somebody changes something."""
_SHOWN = 200


@dataclass(frozen=True, slots=True, kw_only=True)
class HttpCaller:
    """Makes requests to one receiver. A connection a request: they are seldom."""

    limits: NotificationLimits = field(default_factory=NotificationLimits)
    ca_file: str = ""
    """Certificates of the authorities that its certificate is checked with; empty: those of the system."""
    refused: CountRefusal = uncounted

    async def send(
        self, method: str, url: str, body: bytes, headers: Mapping[str, str], secrets: Sequence[str] = ()
    ) -> bytes:
        """Make a request.

        Args:
            method: of HTTP.
            url: of the receiver.
            body: of the request.
            headers: of the request.
            secrets: that are shown in no error, beside the address.

        Returns:
            The body of the answer, where the request was done.

        Raises:
            NotTaken: it was not.
        """
        host = urlsplit(url).hostname or "?"
        try:
            async with asyncio.timeout(self.limits.call_seconds):
                status, given, answer = await self._exchange(method, url, body, headers)
        except TimeoutError:
            self.refused("call-seconds")
            raise TryLater(f"{host} did not answer within {self.limits.call_seconds:g} s") from None
        except (httpx.HTTPError, httpx.InvalidURL, OSError, ValueError) as error:
            raise TryLater(f"{host} cannot be reached: {_why(error)}") from None
        if 200 <= status < 300:
            return answer
        text = f"{host} answered {status}" + _excerpt(answer, (url, *secrets))
        if 300 <= status < 400:
            raise TryLater(f"{host} answered {status}: redirects are not followed; configure where it leads")
        if status in _HOPELESS:
            raise Rejected(text)
        raise TryLater(text, retry_after(given, time.time()))

    async def _exchange(
        self, method: str, url: str, body: bytes, headers: Mapping[str, str]
    ) -> tuple[int, httpx.Headers, bytes]:
        encrypted = urlsplit(url).scheme == "https"
        verify = ssl.create_default_context(cafile=self.ca_file or None) if encrypted else False
        async with (
            httpx.AsyncClient(
                verify=verify, timeout=2 * self.limits.call_seconds, follow_redirects=False, trust_env=encrypted
            ) as client,
            client.stream(
                method, url, content=body, headers={"accept-encoding": "identity", "user-agent": "saltern", **headers}
            ) as response,
        ):
            found = bytearray()
            async for chunk in response.aiter_raw():
                found += chunk
                if len(found) > self.limits.answer_bytes:
                    self.refused("answer-bytes")
                    break  # what came first says enough
            return response.status_code, response.headers, bytes(found[: self.limits.answer_bytes])


def retry_after(headers: Mapping[str, str], now: float) -> float:
    """Seconds that the service wants to be left alone, an hour at most; 0: it does not say.

    https://www.rfc-editor.org/rfc/rfc9110#field.retry-after: seconds or a date.
    """
    text = headers.get("retry-after", "").strip()
    try:
        wait = float(text)
    except ValueError:
        try:
            wait = email.utils.parsedate_to_datetime(text).timestamp() - now
        except (ValueError, TypeError, OverflowError):
            return 0.0
    return min(max(wait, 0.0), LONGEST_WAIT) if wait == wait else 0.0  # not a number


def _why(error: Exception) -> str:
    if isinstance(error, httpx.ConnectError | OSError):
        return one_line(str(error) or type(error).__name__, _SHOWN)
    return type(error).__name__  # its text may have the address


def _excerpt(answer: bytes, secrets: Sequence[str]) -> str:
    text = answer[: 4 * _SHOWN].decode(errors="replace")
    for secret in secrets:
        for part in (secret, urlsplit(secret).path.strip("/")):
            text = text.replace(part, "***") if len(part) > 3 else text
    shown = one_line(text, _SHOWN)
    return f": {shown}" if shown else ""
