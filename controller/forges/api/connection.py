"""One request to a forge and its answer, within limits of time, bytes and pace. TLS and the way there.

An https address is reached through the proxy of the environment (`HTTPS_PROXY`, `NO_PROXY`), which sees no more than
the host; the http address of this machine never is, because the token would pass it in the clear.
"""

from __future__ import annotations

import asyncio
import ssl
from collections import deque
from collections.abc import Callable, Mapping
from urllib.parse import urlsplit

import httpx

from controller.forges.api.answers import Answer
from controller.forges.api.rate_limits import wait_of
from controller.forges.client import ForgeError, ForgeRefused, ForgeUnavailable
from controller.forges.limits import ForgeLimits
from options.limits import CountRefusal

_MINUTE = 60.0


class NotAnswered(ForgeError):
    """There was no whole answer."""

    def __init__(self, text: str, *, never_sent: bool = False) -> None:
        super().__init__(text)
        self.never_sent = never_sent
        """The forge cannot have done anything."""


def _trusting(ca_file: str) -> ssl.SSLContext:
    """The authorities of a file, or those of the system, which take 20 ms to read."""
    return ssl.create_default_context(cafile=ca_file or None)


class ForgeConnection:
    """The way to one forge. Not shared between threads."""

    def __init__(
        self,
        name: str,
        api: str,
        limits: ForgeLimits,
        *,
        ca_file: str,
        refused: CountRefusal,
        clock: Callable[[], float],
    ) -> None:
        """Nothing is connected yet; the arguments are those of `ForgeHttp`."""
        self._name = name
        self._limits = limits
        self._refused = refused
        self._clock = clock
        self._blocked_until = 0.0
        self._sent: deque[float] = deque()
        encrypted = urlsplit(api).scheme == "https"
        self._client = httpx.AsyncClient(
            verify=_trusting(ca_file) if encrypted else ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT),
            timeout=2 * limits.call_seconds,  # the deadline of the whole call comes first
            follow_redirects=False,
            limits=httpx.Limits(max_connections=8),
            trust_env=encrypted,
        )

    async def close(self) -> None:
        """End connections."""
        await self._client.aclose()

    async def exchange(self, method: str, url: httpx.URL, headers: Mapping[str, str], content: bytes | None) -> Answer:
        """The answer to a request.

        Raises:
            NotAnswered: there is none.
            ForgeUnavailable: the forge wants no requests now.
            ForgeRefused: its certificate is not trusted, or it answers too much.
        """
        self._pace()
        try:
            async with asyncio.timeout(self._limits.call_seconds):
                request = self._client.build_request(method, url, headers=headers, content=content)
                response = await self._client.send(request, stream=True)
                try:
                    answer = Answer(response.status_code, response.headers, await self._body(response))
                finally:
                    await response.aclose()
        except TimeoutError:
            self._refused("call-seconds")
            raise NotAnswered(f"did not answer within {self._limits.call_seconds:g} s") from None
        except httpx.ProxyError as error:
            raise NotAnswered(
                f"cannot be reached through the proxy of HTTPS_PROXY ({error})", never_sent=True
            ) from None
        except (httpx.ConnectError, httpx.ConnectTimeout) as error:
            if (why := _certificate_problem(error)) is not None:
                raise ForgeRefused(f"{self._name}: {why}") from None
            raise NotAnswered(f"cannot be reached ({error or type(error).__name__})", never_sent=True) from None
        except httpx.HTTPError as error:
            raise NotAnswered(f"did not answer ({type(error).__name__})") from None
        self._heed(answer)
        return answer

    async def _body(self, response: httpx.Response) -> bytes:
        if response.headers.get("content-encoding", "identity").lower() not in ("", "identity"):
            raise ForgeUnavailable(f"{self._name} packs its answers, though it was asked not to; does a proxy do that?")
        found = bytearray()
        async for chunk in response.aiter_raw():
            found += chunk
            if len(found) > self._limits.answer_bytes:
                self._refused("answer-bytes")
                raise ForgeRefused(
                    f"{self._name} answered with more than {self._limits.answer_bytes} bytes"
                    " (limits: forge: answer_bytes)"
                )
        return bytes(found)

    def _pace(self) -> None:
        """Count a request that is sent now; ForgeUnavailable while the forge wants none."""
        now = self._clock()
        if now < self._blocked_until:
            wait = self._blocked_until - now
            raise ForgeUnavailable(f"{self._name} takes no requests for another {wait:.0f} s (rate limit)", wait)
        while self._sent and self._sent[0] <= now - _MINUTE:
            self._sent.popleft()
        if len(self._sent) >= self._limits.requests_per_minute:
            self._refused("requests-per-minute")
            wait = self._sent[0] + _MINUTE - now
            raise ForgeUnavailable(f"{self._name}: requests of this minute are used up for {wait:.0f} s", wait)
        self._sent.append(now)

    def _heed(self, answer: Answer) -> None:
        """Remember how long the forge wants no requests; ForgeUnavailable when it refused this one for that."""
        wait = wait_of(answer.status, answer.headers, answer.body, self._clock())
        if wait is None:
            return
        self._blocked_until = max(self._blocked_until, self._clock() + wait)
        if answer.status >= 400:
            raise ForgeUnavailable(f"{self._name} takes no requests for {wait:.0f} s (rate limit)", wait)


def _certificate_problem(error: BaseException | None) -> str | None:
    """Why the server's certificate is not trusted, and what to do; None when that is not what went wrong."""
    while error is not None:
        if isinstance(error, ssl.SSLCertVerificationError):
            why = error.verify_message.rstrip(".")
            return f"its certificate is not trusted ({why}); is `api` right, and does `ca_file` name its authority?"
        error = error.__cause__ or error.__context__
    return None
