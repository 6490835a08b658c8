"""Requests to a forge's API as the clients make them: paths, pages, values, errors of the port.

Reading requests that found no answer are repeated, and once each request whose credentials were not accepted. No
redirect leads to another server, and no credential comes into an error.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from typing import Any
from urllib.parse import urljoin, urlsplit

import httpx
import msgspec

from controller.forges.api.answers import Answer, Parsed, message_of, page_of
from controller.forges.api.authorization import Authorization
from controller.forges.api.connection import ForgeConnection, NotAnswered
from controller.forges.api.kept_answers import KeptAnswers
from controller.forges.api.rate_limits import wait_of
from controller.forges.client import ForgeNotFound, ForgeRefused, ForgeUnavailable
from controller.forges.limits import ForgeLimits
from options.limits import CountRefusal, uncounted

_AGENT = "saltern"
_READS = ("GET", "HEAD")
_NOT_ACCEPTED = (401, 203)
"""Statuses of credentials that are not accepted; 203 is Azure DevOps', with a page to sign in."""
_ATTEMPTS = 3
_PAUSE = 0.5
"""Seconds before the second attempt of a reading request, and twice as many before the third."""
_LONGEST_REDIRECTS = 3


class ForgeHttp:
    """The API of one forge. Not shared between threads."""

    def __init__(
        self,
        name: str,
        api: str,
        authorization: Authorization,
        limits: ForgeLimits,
        *,
        ca_file: str = "",
        headers: Mapping[str, str] | None = None,
        refused: CountRefusal = uncounted,
        clock: Callable[[], float] = time.time,
    ) -> None:
        """Nothing is connected yet.

        Args:
            name: of the forge, for errors.
            api: address of its API.
            authorization: what makes a request ours.
            limits: of the border.
            ca_file: certificates of authorities; empty: those of the system.
            headers: that go with every request.
            refused: hears the name of a limit that something exceeds.
            clock: seconds since the epoch.
        """
        self.name = name
        self.api = api
        self.limits = limits
        self._authorization = authorization
        self._headers = {"user-agent": _AGENT, "accept": "application/json", **(headers or {})}
        self._connection = ForgeConnection(name, api, limits, ca_file=ca_file, refused=refused, clock=clock)
        self._kept = KeptAnswers(limits.cached_bytes)
        self._refused = refused
        self._clock = clock

    async def close(self) -> None:
        """End connections."""
        await self._connection.close()

    async def get(self, path: str, kind: type[Parsed], *, project: str = "", **parameters: str | int) -> Parsed:
        """What is at a path of the API, as a type."""
        answer = await self.request("GET", path, project=project, parameters=parameters)
        return await answer.parsed(kind)

    async def send(self, method: str, path: str, body: Any, *, project: str = "") -> Answer:
        """Send values as JSON."""
        return await self.request(method, path, project=project, body=body)

    async def pages(
        self, path: str, parameters: Mapping[str, str | int], *, project: str = ""
    ) -> AsyncIterator[Answer]:
        """The pages of a list by the links of each to the next; of more than there may be, the first."""
        address: str = path
        given: Mapping[str, str | int] = parameters
        for _ in range(self.limits.pages):
            answer = await self.request("GET", address, project=project, parameters=given)
            yield answer
            address, given = answer.link("next"), {}
            if not address:
                return
        self._refused("pages")

    async def entries(
        self, path: str, parameters: Mapping[str, str | int], kind: type[Parsed], most: int, *, project: str = ""
    ) -> Sequence[Parsed]:
        """The first entries of a list over its pages, as a type; `most` of them."""
        found: list[Parsed] = []
        async for page in self.pages(path, parameters, project=project):
            found += await page.parsed(list[kind])  # type: ignore[valid-type]
            if len(found) >= most:
                break
        return found[:most]

    async def newest_pages(
        self, path: str, most: int, *, project: str = "", **parameters: str | int
    ) -> Sequence[Answer]:
        """The first page and the last ones of a list that is ordered from old to new: `most` pages at most, from 2."""
        first = await self.request("GET", path, project=project, parameters=parameters)
        last = page_of(first.link("last"))
        if last > most:
            self._refused("comments")
        found = [first]
        for number in range(max(2, last - most + 2), last + 1):
            found.append(await self.request("GET", path, project=project, parameters={**parameters, "page": number}))
        return found

    async def request(
        self,
        method: str,
        path: str,
        *,
        project: str = "",
        parameters: Mapping[str, str | int] | None = None,
        body: Any = None,
        accept: tuple[int, ...] = (),
    ) -> Answer:
        """One request, repeated where that is safe and may help.

        Args:
            method: of HTTP.
            path: below the API's address, or an address of the same server (of a next page).
            project: whose access is used.
            parameters: of the query.
            body: values that are sent as JSON.
            accept: statuses from 400 that are no error.

        Raises:
            ForgeUnavailable: it may work later.
            ForgeRefused: it will not work until somebody changes something.
        """
        url = httpx.URL(self._address(path), params=dict(parameters)) if parameters else httpx.URL(self._address(path))
        content = None if body is None else msgspec.json.encode(body)
        for attempt in range(1, _ATTEMPTS + 1):
            try:
                answer = await self._authorized(method, url, project, content)
                if answer.status < 500 or answer.status in accept:
                    return self._judged(answer, method, url, accept)
                failure = self._unavailable(method, url, f"answered {answer.status}", answer)
            except NotAnswered as error:
                failure = self._unavailable(method, url, str(error))
                if method not in _READS and not error.never_sent:
                    raise failure from None
            if attempt == _ATTEMPTS or failure.retry_after or (method not in _READS):
                raise failure
            await asyncio.sleep(_PAUSE * attempt)
        raise AssertionError("unreachable")

    def _address(self, path: str) -> str:
        if "://" not in path:
            return self.api + path
        if not _same_server(path, self.api):
            raise ForgeRefused(f"{self.name} leads to another server than {_host(self.api)}; nothing is asked there")
        return path

    async def _authorized(self, method: str, url: httpx.URL, project: str, content: bytes | None) -> Answer:
        """The answer to a request with our credentials; with new ones when these are not accepted any more."""
        answer = await self._redirected(method, url, await self._authorization.headers(project), content)
        if answer.status not in _NOT_ACCEPTED:
            return answer
        await self._authorization.renew(project)
        return await self._redirected(method, url, await self._authorization.headers(project), content)

    async def _redirected(
        self, method: str, url: httpx.URL, credentials: Mapping[str, str], content: bytes | None
    ) -> Answer:
        for _ in range(_LONGEST_REDIRECTS + 1):
            answer = await self._conditional(method, url, credentials, content)
            if answer.status not in (301, 302, 307, 308) or "location" not in answer.headers:
                return answer
            if method not in _READS and answer.status in (301, 302):
                break
            target = urljoin(str(url), answer.headers["location"])
            if not _same_server(target, self.api):
                raise ForgeRefused(
                    f"{self.name} redirects to {_host(target)}, where our token does not go; set `api` to that address"
                )
            url = httpx.URL(target)
        raise ForgeRefused(f"{self.name} redirects {method} {url.path}; has the project moved?")

    async def _conditional(
        self, method: str, url: httpx.URL, credentials: Mapping[str, str], content: bytes | None
    ) -> Answer:
        headers = {**self._headers, **credentials, "accept-encoding": "identity"}
        if content is not None:
            headers["content-type"] = "application/json"
        if method != "GET":
            return await self._connection.exchange(method, url, headers, content)
        address = str(url)
        answer = await self._connection.exchange(method, url, headers | self._kept.condition(address), content)
        return self._kept.settled(address, answer)

    def _judged(self, answer: Answer, method: str, url: httpx.URL, accept: tuple[int, ...]) -> Answer:
        if answer.status in accept or (answer.status < 400 and answer.status not in _NOT_ACCEPTED):
            return answer
        said = f"{self.name}: {method} {url.path}: {answer.status} {message_of(answer.body)}".rstrip()
        match answer.status:
            case 401 | 203:
                raise ForgeRefused(f"{said}: the forge does not accept our token; is it expired or taken back?")
            case 404 | 410:
                raise ForgeNotFound(f"{said}: it is not there, or our token may not see it")
            case 408 | 409 | 423 | 425:
                raise ForgeUnavailable(said)
        raise ForgeRefused(said)

    def _unavailable(self, method: str, url: httpx.URL, what: str, answer: Answer | None = None) -> ForgeUnavailable:
        after = wait_of(429, answer.headers, b"", self._clock()) if answer and "retry-after" in answer.headers else None
        return ForgeUnavailable(f"{self.name} {what} ({method} {url.path})", after or 0.0)


def _host(address: str) -> str:
    return urlsplit(address).netloc.rpartition("@")[2]


def _same_server(one: str, other: str) -> bool:
    first, second = httpx.URL(one), httpx.URL(other)
    return (first.scheme, first.host, first.port) == (second.scheme, second.host, second.port) and not first.userinfo
