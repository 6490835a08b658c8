"""The range server of the option `range_server`: which hosts a range such as `%web` means.

Called by `controller.jobs.targets` before a target with ranges is compared with minions. Whatever goes wrong is an
error, and the target then reaches nobody: it never returns a part of an answer. What it answers is compared with ids
of accepted minions alone; it names no others.

One GET a range: `/range/list?EXPRESSION`, answered by a host a line, or by a header `RangeException`.
Source: https://github.com/ytoolshed/range (its client for Python, `seco.range`, is what Salt asks).
"""

from __future__ import annotations

import asyncio
import re
import ssl
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING
from urllib.parse import quote

from controller.config.limits import RangeLimits
from controller.schema.errors import ServiceError
from options.limits import CountRefusal, uncounted

if TYPE_CHECKING:
    import httpx

_HOST = re.compile(r"[^\s<>\"',;{}()]{1,255}")
"""A line of an answer; others say that no range server answers."""
_SHOWN = 300
_NOBODY = "nobody was asked to do anything"


@dataclass(slots=True, kw_only=True)
class RangeServer:
    """Asks it, within limits.

    Args:
        address: HOST:PORT, or with `https://` before it; empty: there is none.
        limits: of its answers.
        on_refusal: hears which limit was exceeded.
    """

    address: str
    limits: RangeLimits = field(default_factory=RangeLimits)
    on_refusal: CountRefusal = uncounted
    _going: int = 0
    _trusted: ssl.SSLContext | None = None

    async def hosts(self, ranges: Sequence[str]) -> dict[str, frozenset[str]]:
        """The hosts of each range. ServiceError where the server cannot be asked, or answers anything else."""
        self._check(ranges)
        self._going += 1
        try:
            async with asyncio.timeout(self.limits.seconds):
                return await self._ask(ranges)
        except TimeoutError:
            self.on_refusal("seconds")
            raise self._failed(f"gives no whole answer in {self.limits.seconds:g} s") from None
        finally:
            self._going -= 1

    def _check(self, ranges: Sequence[str]) -> None:
        if not self.address:
            raise ServiceError(
                "bad-request",
                f"a range needs a range server, and none is configured; {_NOBODY}",
                hint="set range_server: HOST:PORT in the controller's configuration, or name the minions with -L or -N",
            )
        longest, most = self.limits.expression_characters, self.limits.ranges
        if any(len(one) > longest for one in ranges):
            self._refuse("expression-characters", f"a range is longer than {longest} characters: name it on the server")
        if len(ranges) > most:
            self._refuse("ranges", f"a target with {len(ranges)} ranges: {most} are asked for at most")
        if self._going >= self.limits.at_once:
            self._refuse("at-once", f"{self._going} targets wait for the range server already: try again later")

    def _refuse(self, limit: str, message: str) -> None:
        self.on_refusal(limit)
        raise ServiceError(
            "bad-request", f"{message}; {_NOBODY}", hint=f"the limit is range: {limit.replace('-', '_')}"
        )

    async def _ask(self, ranges: Sequence[str]) -> dict[str, frozenset[str]]:
        import httpx  # 12 MiB, and few controllers have a range server

        scheme, _, host = self.address.rpartition("://")
        verify = await self._trust() if scheme == "https" else False
        try:
            # The deadline is that of the whole target: a server that sends a byte a second is not waited for.
            async with httpx.AsyncClient(verify=verify, timeout=None) as client:  # noqa: S113
                url = f"{scheme or 'http'}://{host}/range/list?"
                return {one: await self._hosts(client, one, url + quote(one, safe="")) for one in ranges}
        except (httpx.HTTPError, httpx.InvalidURL) as error:
            raise self._failed(f"cannot be asked: {str(error) or type(error).__name__}") from error

    async def _trust(self) -> ssl.SSLContext:
        if self._trusted is None:
            self._trusted = await asyncio.to_thread(ssl.create_default_context)
        return self._trusted

    async def _hosts(self, client: httpx.AsyncClient, expression: str, url: str) -> frozenset[str]:
        async with client.stream("GET", url) as answer:
            if (said := answer.headers.get("RangeException")) is not None:
                raise self._failed(f"cannot expand {expression!r}: {said}")
            if answer.status_code != 200:
                raise self._failed(f"answers {answer.status_code} to {expression!r}")
            body = bytearray()
            async for part in answer.aiter_bytes(64 * 1024):
                body += part
                if len(body) > self.limits.answer_bytes:
                    self.on_refusal("answer-bytes")
                    raise self._failed(f"answers {expression!r} with more than {self.limits.answer_bytes} bytes")
        return await asyncio.to_thread(self._read, expression, bytes(body))

    def _read(self, expression: str, body: bytes) -> frozenset[str]:
        """In a thread: how many lines there are is the server's choice."""
        try:
            lines = [line for each in body.decode().split("\n") if (line := each.strip())]
        except UnicodeDecodeError:
            lines = [""]
        if len(lines) > self.limits.hosts:
            self.on_refusal("hosts")
            raise self._failed(f"answers {expression!r} with more than {self.limits.hosts} hosts")
        if not all(map(_HOST.fullmatch, lines)):
            raise self._failed(f"does not answer {expression!r} with a host a line, as a range server does")
        return frozenset(lines)

    def _failed(self, what: str) -> ServiceError:
        shown = "".join(char if char.isprintable() else "?" for char in what[:_SHOWN])
        return ServiceError(
            "conflict",
            f"the range server {self.address} {shown}; {_NOBODY}",
            hint=f"curl -si 'http://{self.address}/range/list?%25NAME' shows what it says; -L and -N need none"
            if "://" not in self.address
            else "look at the server; -L and -N need none",
        )
