"""Where LFS contents come from: the batch API of a server, or the folder of a repository on this machine.

Called by `gitfs.mirror.lfs` alone. Credentials go to the server of the remote and to no other; no secret gets into an
error. A server says where contents are, wherever that is; addresses of this machine or link are asked only where the
remote itself is there.
"""

from __future__ import annotations

import base64
import http.client
import json
import socket
import ssl
import urllib.error
import urllib.request
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import IO, Any, Protocol, TypeAlias
from urllib.parse import urlsplit

from gitfs.config.credentials import reveal
from gitfs.config.settings import RemoteSettings
from gitfs.config.submodule_hosts import fault_of_address
from gitfs.config.urls import host_and_port, redact, same_server
from gitfs.transport.checked_connections import AddressFault, CheckedHttp, CheckedHttps
from gitfs.transport.tls import tls_context

ANSWER_TIMEOUT = 60
BATCH = 100
"""Objects that are asked for at once."""
_TYPE = "application/vnd.git-lfs+json"
_CHUNK = 256 * 1024

_FOR_ALL = ("accept", "range")
"""Headers that go along when another server is asked."""

_BROKEN = (OSError, ValueError, http.client.HTTPException)
_NO_LONGER = (401, 403, 410)
"""Answers to a download whose permission has run out since it was given."""

LfsSource: TypeAlias = Callable[[IO[bytes], int], None]
"""Writes a content into a file until it has so many bytes and no more; goes on from where the file ends."""


class LfsFailed(Exception):
    """Contents that could not be had; the text can be shown."""


class _Answered(LfsFailed):
    """The server answered with an error."""

    def __init__(self, text: str, code: int) -> None:
        super().__init__(text)
        self.code = code


class Transfer(Protocol):
    """One place that contents come from."""

    def sources(self, sizes: Mapping[str, int]) -> Mapping[str, LfsSource]:
        """SHA-256 -> where its content comes from, for each of these; raises LfsFailed."""


class Directory:
    """`lfs/objects` of a repository on this machine, as git-lfs fills it when it pushes there."""

    def __init__(self, repository: Path) -> None:
        inner = repository / ".git"
        self._objects = (inner if inner.is_dir() else repository) / "lfs" / "objects"

    def sources(self, sizes: Mapping[str, int]) -> Mapping[str, LfsSource]:
        """See `Transfer`."""
        return {sha256: self._source(sha256) for sha256 in sizes}

    def _source(self, sha256: str) -> LfsSource:
        path = self._objects / sha256[:2] / sha256[2:4] / sha256

        def copy(target: IO[bytes], size: int) -> None:
            try:
                with path.open("rb") as file:
                    file.seek(target.tell())
                    _copy(file, target, size)
            except OSError as error:
                raise LfsFailed(f"object {sha256[:12]} is not in the remote: {error.strerror}") from None

        return copy


class LfsServer:
    """A server's batch API, beside the repository's own address.

    Args:
        settings: the remote.
        submodule_of: URL of the remote that it is a submodule of.
    """

    def __init__(self, settings: RemoteSettings, submodule_of: str | None = None) -> None:
        self._settings = settings
        self._url = lfs_url(settings.url)
        fault = _fault_for(settings, submodule_of or settings.url)
        try:
            tls = _Https(self._url, tls_context(settings), tls_context(settings, introduced=False), fault)
        except (OSError, LookupError) as error:
            raise LfsFailed(str(error.args[0] if error.args else error)) from None
        handlers: list[urllib.request.BaseHandler] = [tls, CheckedHttp(fault), _Redirects()]
        if settings.proxy:
            handlers.append(urllib.request.ProxyHandler({"http": settings.proxy, "https": settings.proxy}))
        self._opener = urllib.request.build_opener(*handlers)

    def sources(self, sizes: Mapping[str, int]) -> Mapping[str, LfsSource]:
        """See `Transfer`."""
        names, found = list(sizes), dict[str, LfsSource]()
        for start in range(0, len(names), BATCH):
            found |= self._batch({sha256: sizes[sha256] for sha256 in names[start : start + BATCH]})
        return found

    def _batch(self, sizes: Mapping[str, int], *, again: bool = True) -> dict[str, LfsSource]:
        question = {
            "operation": "download",
            "transfers": ["basic"],
            "objects": [{"oid": sha256, "size": size} for sha256, size in sizes.items()],
        }
        request = self._request(f"{self._url}/objects/batch", {"Accept": _TYPE, "Content-Type": _TYPE})
        request.data = json.dumps(question).encode()
        with self._open(request) as answer:
            listed = _listed(answer.read(16 * 1024 * 1024))
        found = {str(each.get("oid")): self._source(each, again=again) for each in listed if each.get("oid") in sizes}
        if missing := next((sha256 for sha256 in sizes if sha256 not in found), None):
            raise LfsFailed(f"the server says nothing of object {missing[:12]}")
        return found

    def _source(self, listed: Mapping[str, Any], *, again: bool) -> LfsSource:
        oid, error = str(listed["oid"]), listed.get("error")
        download = (listed.get("actions") or {}).get("download")
        if isinstance(error, Mapping) or not isinstance(download, Mapping):
            reason = redact(str(error.get("message"))) if isinstance(error, Mapping) else "it cannot be downloaded"
            raise LfsFailed(f"object {oid[:12]}: {reason}")
        headers = {str(key): str(value) for key, value in (download.get("header") or {}).items()}
        url = str(download.get("href"))
        self._request(url, headers)  # an address without a server is reported before anything is received

        def receive(target: IO[bytes], size: int) -> None:
            try:
                self._receive(url, headers, target, size)
            except _Answered as error:
                if error.code not in _NO_LONGER or not again:
                    raise
                # Permissions last for minutes, and what came before this one may have taken longer.
                self._batch({oid: size}, again=False)[oid](target, size)

        return receive

    def _receive(self, url: str, headers: Mapping[str, str], target: IO[bytes], size: int) -> None:
        start = target.tell()
        request = self._request(url, {**headers, "Range": f"bytes={start}-"} if start else headers)
        with self._open(request) as answer:
            if start and answer.status != http.client.PARTIAL_CONTENT:
                target.seek(0)
                target.truncate()
            _copy(answer, target, size)
        if target.tell() < size:
            raise LfsFailed(f"{self._url}: the connection ended after {target.tell()} of {size} bytes")

    def _request(self, url: str, headers: Mapping[str, str]) -> urllib.request.Request:
        if urlsplit(url).scheme not in ("http", "https"):
            raise LfsFailed(f"{redact(url)!r} is no address of a server")
        request = urllib.request.Request(url, headers=dict(headers))  # noqa: S310 - its scheme was looked at
        settings = self._settings
        ours = same_server(self._url, url) and "authorization" not in {each.lower() for each in headers}
        if ours and (settings.user or settings.token):
            try:
                shown = _authorization(settings)
            except LookupError as error:
                raise LfsFailed(str(error.args[0])) from None
            request.add_header("Authorization", shown)
        return request

    @contextmanager
    def _open(self, request: urllib.request.Request) -> Iterator[Any]:
        """The server's answer; whatever goes wrong while it is read becomes LfsFailed."""
        try:
            with self._opener.open(request, timeout=ANSWER_TIMEOUT) as answer:
                yield answer
        except urllib.error.HTTPError as error:
            with error:
                what = {401: "it refused the credentials", 403: "it forbids that", 404: "it has no LFS"}
                text = f"{self._url}: {what.get(error.code, f'it answered {error.code}')}"
            raise _Answered(text, error.code) from None
        except _BROKEN as error:
            raise LfsFailed(f"{self._url}: {redact(str(error) or type(error).__name__)}") from None


def _fault_for(settings: RemoteSettings, parent: str) -> AddressFault:
    """Where a content may lie: an address of this machine or link only where the remote's own name leads to it."""
    own, _ = host_and_port(parent)

    def fault(host: str, address: str) -> str | None:
        found = fault_of_address(host, address, parent, settings.submodule_hosts)
        if found is None or address not in _addresses(own):
            return found
        return None

    return fault


def _addresses(host: str) -> set[str]:
    try:
        return {str(address[0]) for *_, address in socket.getaddrinfo(host, None, type=socket.SOCK_STREAM)}
    except OSError:
        return set()


class _Https(CheckedHttps):
    """TLS that shows the remote's client certificate to the remote's own server, whatever a redirect says."""

    def __init__(self, own: str, introduced: ssl.SSLContext, stranger: ssl.SSLContext, fault: AddressFault) -> None:
        super().__init__(fault, introduced)
        self._own = own
        self._elsewhere = CheckedHttps(fault, stranger)

    def https_open(self, req: urllib.request.Request) -> http.client.HTTPResponse:
        # By the address that is asked for: the request's host is the proxy's where there is one.
        return super().https_open(req) if same_server(self._own, req.full_url) else self._elsewhere.https_open(req)


class _Redirects(urllib.request.HTTPRedirectHandler):
    """Follows redirects; what was meant for one server is not shown to the next."""

    def redirect_request(
        self,
        req: urllib.request.Request,
        fp: IO[bytes],
        code: int,
        msg: str,
        headers: http.client.HTTPMessage,
        newurl: str,
    ) -> urllib.request.Request | None:
        request = super().redirect_request(req, fp, code, msg, headers, newurl)
        if request is not None and not same_server(req.full_url, request.full_url):
            for name in [name for name in request.headers if name.lower() not in _FOR_ALL]:
                request.remove_header(name)
        return request


def lfs_url(remote: str) -> str:
    """Where a remote's batch API is (server-discovery.md): beside its https address, for ssh remotes too."""
    if "://" not in remote:
        host, _, path = remote.rpartition("@")[2].partition(":")
        remote = f"https://{host}/{path.lstrip('/')}"
    parts = urlsplit(remote)
    if parts.scheme not in ("http", "https"):
        parts = parts._replace(scheme="https", netloc=parts.hostname or "")
    path = parts.path.rstrip("/")
    return parts._replace(path=(path if path.endswith(".git") else path + ".git") + "/info/lfs").geturl()


def _listed(answer: bytes) -> list[Mapping[str, Any]]:
    try:
        objects = json.loads(answer)["objects"]
    except (ValueError, KeyError, TypeError, RecursionError):
        raise LfsFailed("the server's answer is no list of objects") from None
    return [each for each in objects if isinstance(each, Mapping)] if isinstance(objects, list) else []


def _copy(source: IO[bytes], target: IO[bytes], size: int) -> None:
    """Copy until the target has `size` bytes; LfsFailed when there is more than there should be."""
    left = size - target.tell()
    while chunk := source.read(min(_CHUNK, left + 1)):
        left -= len(chunk)
        if left < 0:
            raise LfsFailed("an object is longer than its pointer says")
        target.write(chunk)


def _authorization(settings: RemoteSettings) -> str:
    if settings.token:
        return f"Bearer {reveal(settings.token)}"
    pair = f"{settings.user}:{reveal(settings.password)}"
    return "Basic " + base64.b64encode(pair.encode()).decode()
