"""Carries git's https where libgit2 has no option for what a remote needs: its own CA, a client certificate, a token.

Called by `gitfs.mirror.transfers` for one fetch at a time. libgit2 speaks plain http to a port of the loopback that
lives as long as the fetch and answers only below a path that nobody can guess; from here on it is TLS to the one server
that the settings name, by the context of this remote alone. Follows no redirect of a remote. Submodules come this way
too: their hosts are connected to at the addresses that were checked, and of their redirects those are followed that
lead where submodules may be fetched from.
"""

from __future__ import annotations

import http.client
import secrets
import ssl
import threading
import urllib.error
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import IO, Any
from urllib.parse import urlsplit

from gitfs.config.credentials import reveal
from gitfs.config.settings import RemoteSettings
from gitfs.config.submodule_hosts import fault_of_address, host_fault
from gitfs.config.urls import canonical, host_and_port, redact, same_server
from gitfs.transport.callbacks import ANSWER_TIMEOUT, ConnectionRefused, TransferCutOff
from gitfs.transport.checked_connections import (
    AddressFault,
    AddressRefused,
    CheckedHttp,
    CheckedHttps,
    checked_addresses,
)
from gitfs.transport.tls import tls_context

_PASSED_ON = ("Accept", "Accept-Encoding", "Authorization", "Content-Encoding", "Content-Type", "Git-Protocol")
_PASSED_BACK = ("Content-Type", "Content-Encoding", "WWW-Authenticate", "Cache-Control")
_LARGEST_QUESTION = 64 * 1024 * 1024
_CHUNK = 256 * 1024
_BROKEN = (OSError, ValueError, http.client.HTTPException)


@dataclass(frozen=True, slots=True)
class Endpoint:
    """How libgit2 gets to a remote."""

    url: str
    proxy: str | bool
    """As pygit2 takes it: a URL, True for what the configuration says, False for none."""


def needs_proxy(settings: RemoteSettings) -> bool:
    """Whether libgit2 alone cannot do what these settings ask for."""
    if settings.url.startswith("https:"):
        return bool(isinstance(settings.ssl_verify, str) or settings.ssl_cert or settings.token)
    return settings.url.startswith("http:") and bool(settings.token)


@contextmanager
def endpoint_of(settings: RemoteSettings, *, submodule_of: str | None = None) -> Iterator[Endpoint]:
    """Where libgit2 connects to for a remote, as long as the block lasts; ConnectionRefused says what went wrong.

    Args:
        settings: the remote.
        submodule_of: URL of the remote that it is a submodule of.
    """
    is_http = settings.url.startswith(("http:", "https:"))
    if not needs_proxy(settings) and not (submodule_of and is_http):
        url = _at_a_checked_address(settings, submodule_of) if submodule_of else settings.url
        yield Endpoint(url, settings.proxy or True)
        return
    try:
        proxy = _ProxyServer(settings, submodule_of)
    except (OSError, LookupError) as error:
        raise ConnectionRefused(str(error.args[0] if error.args else error)) from None
    thread = threading.Thread(target=proxy.serve_forever, kwargs={"poll_interval": 0.01}, name="gitfs-https-proxy")
    thread.start()
    try:
        yield Endpoint(f"http://127.0.0.1:{proxy.server_address[1]}{proxy.path}", False)
    except TransferCutOff:
        raise  # what the proxy found is that its connection was ended
    except Exception:
        if proxy.fault is not None:
            raise proxy.fault from None
        raise
    finally:
        proxy.shutdown()
        thread.join()
        proxy.server_close()


def _at_a_checked_address(settings: RemoteSettings, parent: str) -> str:
    """The URL of a submodule with an address in place of the name, where the scheme (git://) allows that.

    ssh knows its servers by name (`known_hosts`), and says nothing to one whose key is not there.
    """
    parts = urlsplit(settings.url)
    host = parts.hostname or ""
    if parts.scheme != "git" or host == host_and_port(parent)[0]:
        return settings.url
    try:
        _, (address, *_) = checked_addresses(host, parts.port or 9418, _fault_for(settings, parent))[0]
    except OSError as error:
        raise _fault(settings, error) from None
    port = f":{parts.port}" if parts.port else ""
    return parts._replace(netloc=(f"[{address}]" if ":" in address else address) + port).geturl()


def _fault_for(settings: RemoteSettings, parent: str) -> AddressFault:
    return lambda host, address: fault_of_address(host, address, parent, settings.submodule_hosts)


class _ProxyServer(ThreadingHTTPServer):
    daemon_threads = True

    def __init__(self, settings: RemoteSettings, submodule_of: str | None) -> None:
        self.settings = settings
        self.remote = settings.url.rstrip("/")
        self.path = f"/{secrets.token_urlsafe(32)}/{urlsplit(self.remote).path.rpartition('/')[2]}"
        self.token = reveal(settings.token)
        self.fault: ConnectionRefused | None = None
        fault = _fault_for(settings, submodule_of or settings.url)
        handlers: list[urllib.request.BaseHandler] = [
            _SubmoduleRedirects(self) if submodule_of else _NoRedirect(),
            CheckedHttp(fault),
            CheckedHttps(fault, tls_context(settings)),
        ]
        if settings.proxy:
            handlers.append(urllib.request.ProxyHandler({"http": settings.proxy, "https": settings.proxy}))
        self.opener = urllib.request.build_opener(*handlers)
        super().__init__(("127.0.0.1", 0), _Handler)

    def handle_error(self, request: Any, client_address: Any) -> None:
        """Says nothing: libgit2 hangs up when it has heard enough."""


class _NoRedirect(urllib.request.HTTPRedirectHandler):
    def redirect_request(self, *_: Any) -> None:
        return None


class _SubmoduleRedirects(urllib.request.HTTPRedirectHandler):
    """Follows a redirect to where submodules may be fetched from, and asks there from then on."""

    def __init__(self, server: _ProxyServer) -> None:
        self._server = server

    def redirect_request(
        self,
        req: urllib.request.Request,
        fp: IO[bytes],
        code: int,
        msg: str,
        headers: http.client.HTTPMessage,
        newurl: str,
    ) -> urllib.request.Request | None:
        settings, (moved, found, _) = self._server.settings, newurl.partition("/info/refs")
        is_downgrade = settings.url.startswith("https:") and not newurl.startswith("https:")
        if not found or is_downgrade or host_fault(newurl, settings.url, settings.submodule_hosts):
            return None
        is_introduced = bool(settings.user or settings.token or settings.ssl_cert)
        if is_introduced and not same_server(newurl, settings.url):
            return None  # what follows would show the other server what is for this one
        self._server.remote = moved
        return super().redirect_request(req, fp, code, msg, headers, newurl)


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    disable_nagle_algorithm = True
    server: _ProxyServer

    def do_GET(self) -> None:
        self._carry(None)

    def do_POST(self) -> None:
        self._carry(self._question())

    def log_message(self, *_: Any) -> None:
        pass

    def _carry(self, question: bytes | None) -> None:
        path, mark, query = self.path.partition("?")
        if not secrets.compare_digest(path[: len(self.server.path)].encode(), self.server.path.encode()):
            self._answer(404)
            return
        request = urllib.request.Request(  # noqa: S310 - the settings' own address
            self.server.remote + path[len(self.server.path) :] + mark + query, data=question
        )
        for name in _PASSED_ON:
            if (value := self.headers.get(name)) is not None:
                request.add_header(name, value)
        if self.server.token:
            request.add_unredirected_header("Authorization", f"Bearer {self.server.token}")
        request.add_header("User-Agent", self.headers.get("User-Agent", "git/2.0"))
        try:
            with self.server.opener.open(request, timeout=ANSWER_TIMEOUT) as answer:
                self._pass_back(answer)
        except urllib.error.HTTPError as error:
            with error:
                self._not_well(error)
        except _BROKEN as error:
            self.server.fault = _fault(self.server.settings, error)
            self.close_connection = True
            self._answer(502)

    def _not_well(self, error: urllib.error.HTTPError) -> None:
        if 300 <= error.code < 400:
            where = canonical(error.headers.get("Location") or "")
            self.server.fault = ConnectionRefused(f"it redirects to {where}, which is not followed; set that URL")
        elif error.code in (401, 403) and self.server.token:
            self.server.fault = ConnectionRefused("the remote refused the token")
        headers = {name: value for name in _PASSED_BACK if (value := error.headers.get(name))}
        self._answer(error.code, headers)

    def _pass_back(self, answer: http.client.HTTPResponse) -> None:
        self.send_response(answer.status)
        for name in _PASSED_BACK:
            if value := answer.headers.get(name):
                self.send_header(name, value)
        self.send_header("Transfer-Encoding", "chunked")
        self.end_headers()
        while data := answer.read1(_CHUNK):
            self.wfile.write(b"%x\r\n%b\r\n" % (len(data), data))
        self.wfile.write(b"0\r\n\r\n")

    def _answer(self, status: int, headers: dict[str, str] | None = None) -> None:
        self.send_response(status)
        for name, value in (headers or {}).items():
            self.send_header(name, value)
        self.send_header("Content-Length", "0")
        self.end_headers()

    def _question(self) -> bytes:
        if "chunked" not in self.headers.get("Transfer-Encoding", ""):
            return self.rfile.read(min(int(self.headers.get("Content-Length") or 0), _LARGEST_QUESTION))
        parts: list[bytes] = []
        while size := int(self.rfile.readline(64).partition(b";")[0], 16):
            if size + sum(map(len, parts)) > _LARGEST_QUESTION:
                raise ValueError("a question that is too long")
            parts.append(self.rfile.read(size))
            self.rfile.readline(8)
        self.rfile.readline(8)
        return b"".join(parts)


def _fault(settings: RemoteSettings, error: Exception) -> ConnectionRefused:
    reason = error.reason if isinstance(error, urllib.error.URLError) else error
    host = urlsplit(settings.url).hostname
    if isinstance(reason, AddressRefused):
        return ConnectionRefused(str(reason))
    if isinstance(reason, ssl.SSLCertVerificationError):
        return ConnectionRefused(
            f"{host} was not recognised: its certificate is not trusted ({reason.verify_message}); "
            "name your CA with `ssl_verify: /path/of/ca.pem`"
        )
    hint = "" if settings.ssl_cert else "; if it asks for a client certificate, set `ssl_cert` and `ssl_key`"
    if isinstance(reason, ssl.SSLError):
        return ConnectionRefused(f"TLS with {host} failed: {reason.reason}{hint}", retryable=True)
    if isinstance(reason, ConnectionError):  # what is left of TLS's own word when it has closed already
        return ConnectionRefused(f"{host} closed or refused the connection: {_words(reason)}{hint}", retryable=True)
    return ConnectionRefused(f"{host} cannot be reached: {_words(reason)}", retryable=True)


def _words(reason: object) -> str:
    if isinstance(reason, OSError) and reason.strerror:
        return reason.strerror
    return redact(str(reason)) or type(reason).__name__
