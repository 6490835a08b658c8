"""Requests to a forge's API within limits: of time, bytes, pages and pace. What the adapters of this folder share.

It keeps answers with an ETag and asks whether they changed, waits as long as the forge's rate limits say, repeats
reading requests that found no answer, and once each request whose credentials were not accepted. No redirect leads to
another server, and no credential comes into an error.
"""

from __future__ import annotations

import asyncio
import ssl
import time
from collections import OrderedDict, deque
from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, TypeVar
from urllib.parse import parse_qs, quote, urljoin, urlsplit

import httpx
import msgspec

from controller.config.forges import ForgeSettings
from controller.config.limits import ForgeLimits
from controller.forges.client import ForgeError, ForgeNotFound, ForgeRefused, ForgeUnavailable
from controller.forges.clients.authorization import Authorization
from controller.forges.clients.rate_limits import wait_of
from options.limits import CountRefusal, uncounted

Parsed = TypeVar("Parsed")

_AGENT = "saltern"
_READS = ("GET", "HEAD")
_NOT_ACCEPTED = (401, 203)
"""Statuses of credentials that are not accepted; 203 is Azure DevOps', with a page to sign in."""
_ATTEMPTS = 3
_PAUSE = 0.5
"""Seconds before the second attempt of a reading request, and twice as many before the third."""
_LONGEST_REDIRECTS = 3
_OFF_THE_LOOP = 256 * 1024
"""Bytes of an answer from which on it is decoded in a thread."""
_MESSAGE_CHARACTERS = 300
_MINUTE = 60.0


@dataclass(frozen=True, slots=True)
class Answer:
    """What a forge answered."""

    status: int
    headers: httpx.Headers
    body: bytes

    async def parsed(self, kind: type[Parsed]) -> Parsed:
        """The body as a type; ForgeUnavailable when it is none (the page of a proxy, say)."""
        try:
            if len(self.body) > _OFF_THE_LOOP:
                return await asyncio.to_thread(msgspec.json.decode, self.body, type=kind)
            return msgspec.json.decode(self.body, type=kind)
        except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError) as error:
            raise ForgeUnavailable(f"the forge's answer is not of its API ({error}); is `api` right?") from None

    def link(self, relation: str) -> str:
        """The address of a related page; empty when there is none (RFC 8288)."""
        links: str = self.headers.get("link", "")
        for entry in links.split(","):
            address, _, parameters = entry.partition(";")
            if f'rel="{relation}"' in parameters:
                return address.strip().removeprefix("<").removesuffix(">")
        return ""


@dataclass(frozen=True, slots=True)
class _Kept:
    etag: str
    answer: Answer


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
        self._client = httpx.AsyncClient(
            verify=ssl.create_default_context(cafile=ca_file or None),
            timeout=2 * limits.call_seconds,  # the deadline of the whole call comes first
            follow_redirects=False,
            limits=httpx.Limits(max_connections=8),
        )
        self._refused = refused
        self._clock = clock
        self._blocked_until = 0.0
        self._sent: deque[float] = deque()
        self._kept: OrderedDict[str, _Kept] = OrderedDict()
        self._kept_bytes = 0

    async def close(self) -> None:
        """End connections."""
        await self._client.aclose()

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

    async def newest_pages(
        self, path: str, most: int, *, project: str = "", **parameters: str | int
    ) -> Sequence[Answer]:
        """The first page and the last ones of a list that is ordered from old to new: `most` pages at most, from 2."""
        first = await self.request("GET", path, project=project, parameters=parameters)
        last = _page_of(first.link("last"))
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
            except _NotAnswered as error:
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
        kept = self._kept.get(str(url)) if method == "GET" else None
        headers = {**self._headers, **credentials, "accept-encoding": "identity"}
        if kept is not None:
            headers["if-none-match"] = kept.etag
        if content is not None:
            headers["content-type"] = "application/json"
        answer = await self._sent_once(method, url, headers, content)
        if kept is not None and answer.status == 304:
            self._kept.move_to_end(str(url))
            return kept.answer
        if method == "GET" and answer.status == 200 and (etag := answer.headers.get("etag")):
            self._keep(str(url), _Kept(etag, answer))
        return answer

    def _keep(self, url: str, kept: _Kept) -> None:
        old = self._kept.pop(url, None)
        self._kept_bytes += len(kept.answer.body) - (len(old.answer.body) if old else 0)
        self._kept[url] = kept
        while self._kept_bytes > self.limits.cached_bytes:
            _, dropped = self._kept.popitem(last=False)
            self._kept_bytes -= len(dropped.answer.body)

    async def _sent_once(
        self, method: str, url: httpx.URL, headers: Mapping[str, str], content: bytes | None
    ) -> Answer:
        await self._pace()
        try:
            async with asyncio.timeout(self.limits.call_seconds):
                request = self._client.build_request(method, url, headers=headers, content=content)
                response = await self._client.send(request, stream=True)
                try:
                    answer = Answer(response.status_code, response.headers, await self._body(response))
                finally:
                    await response.aclose()
        except TimeoutError:
            self._refused("call-seconds")
            raise _NotAnswered(f"did not answer within {self.limits.call_seconds:g} s") from None
        except (httpx.ConnectError, httpx.ConnectTimeout) as error:
            raise _NotAnswered(f"cannot be reached ({error or type(error).__name__})", never_sent=True) from None
        except httpx.HTTPError as error:
            raise _NotAnswered(f"did not answer ({type(error).__name__})") from None
        self._heed(answer)
        return answer

    async def _body(self, response: httpx.Response) -> bytes:
        if response.headers.get("content-encoding", "identity").lower() not in ("", "identity"):
            raise ForgeUnavailable(f"{self.name} packs its answers, though it was asked not to; does a proxy do that?")
        found = bytearray()
        async for chunk in response.aiter_raw():
            found += chunk
            if len(found) > self.limits.answer_bytes:
                self._refused("answer-bytes")
                raise ForgeRefused(
                    f"{self.name} answered with more than {self.limits.answer_bytes} bytes"
                    " (limits: forge: answer_bytes)"
                )
        return bytes(found)

    async def _pace(self) -> None:
        """Wait until another request may be sent; ForgeUnavailable while the forge wants none."""
        now = self._clock()
        if now < self._blocked_until:
            wait = self._blocked_until - now
            raise ForgeUnavailable(f"{self.name} takes no requests for another {wait:.0f} s (rate limit)", wait)
        while self._sent and self._sent[0] <= now - _MINUTE:
            self._sent.popleft()
        if len(self._sent) >= self.limits.requests_per_minute:
            self._refused("requests-per-minute")
            wait = self._sent[0] + _MINUTE - now
            raise ForgeUnavailable(f"{self.name}: requests of this minute are used up for {wait:.0f} s", wait)
        self._sent.append(now)

    def _heed(self, answer: Answer) -> None:
        """Remember how long the forge wants no requests; ForgeUnavailable when it refused this one for that."""
        wait = wait_of(answer.status, answer.headers, answer.body, self._clock())
        if wait is None:
            return
        self._blocked_until = max(self._blocked_until, self._clock() + wait)
        if answer.status >= 400:
            raise ForgeUnavailable(f"{self.name} takes no requests for {wait:.0f} s (rate limit)", wait)

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


def http_of(
    settings: ForgeSettings,
    authorization: Authorization,
    limits: ForgeLimits,
    refused: CountRefusal,
    clock: Callable[[], float],
    *,
    headers: Mapping[str, str] | None = None,
) -> ForgeHttp:
    """The API of the forge of these settings; the arguments are those of `ForgeHttp`."""
    return ForgeHttp(
        settings.name,
        settings.api,
        authorization,
        limits,
        ca_file=settings.ca_file,
        headers=headers,
        refused=refused,
        clock=clock,
    )


def split_project(name: str, project: str) -> str:
    """`owner/name` quoted for a path. ForgeRefused when it has another form."""
    owner, slash, rest = project.partition("/")
    if not slash or not owner or not rest or "/" in rest or {owner, rest} & {".", ".."}:
        raise ForgeRefused(f"{name}: {project!r} is no project of this forge; write it as owner/name")
    return f"{quoted(owner)}/{quoted(rest)}"


def quoted(text: str) -> str:
    """One segment of a path. A dot alone, which would lead elsewhere, is quoted, too."""
    return text.replace(".", "%2E") if text in (".", "..") else quote(text, safe="~")


class _NotAnswered(ForgeError):
    """There was no whole answer."""

    def __init__(self, text: str, *, never_sent: bool = False) -> None:
        super().__init__(text)
        self.never_sent = never_sent
        """The forge cannot have done anything."""


def message_of(body: bytes) -> str:
    """What a forge says of its refusal, on one line; empty when that is no JSON."""
    try:
        found = msgspec.json.decode(body)
    except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError):
        return ""
    for key in ("message", "error", "errors"):
        value = found.get(key) if isinstance(found, Mapping) else None
        value = value[0] if isinstance(value, list) and value else value
        value = value.get("message") if isinstance(value, Mapping) else value
        if isinstance(value, str) and value:
            return " ".join(value.split())[:_MESSAGE_CHARACTERS]
    return ""


def _page_of(address: str) -> int:
    number = parse_qs(urlsplit(address).query).get("page", [""])[0]
    return int(number) if number.isascii() and number.isdigit() and len(number) < 10 else 1


def _host(address: str) -> str:
    return urlsplit(address).netloc.rpartition("@")[2]


def _same_server(one: str, other: str) -> bool:
    first, second = httpx.URL(one), httpx.URL(other)
    return (first.scheme, first.host, first.port) == (second.scheme, second.host, second.port) and not first.userinfo
