"""Requests to servers of data that answer with JSON: by Python's own HTTP client, with a deadline and no redirects.

Called by `elasticsearch` and `influxdb` beside it. A plan that asks is refused in previews (`look_elsewhere`).
"""

from __future__ import annotations

import base64
import json
import re
import ssl
import urllib.error
import urllib.request
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import unquote, urlencode, urlsplit

from extmods.timed_answers import timed_handlers
from highstate.redaction import without
from minion.machine.failure import ContentUnknown, StateFailed

_LARGEST = 64 << 20
"""Bytes of an answer."""
_SHOWN = 300
"""Characters of an error that is no JSON."""
NOT_FOUND = 404


class RestRefused(StateFailed):
    """The server answers with an error. `said` is its body, from JSON where it is such."""

    def __init__(self, what: str, status: int, said: Any, message: str) -> None:
        super().__init__(f"{what} answers with {status}: {message}")
        self.status = status
        self.said = said


@dataclass(frozen=True, slots=True, kw_only=True)
class RestServer:
    """A server, by one or several addresses of which any will do.

    Args:
        what: how errors name it.
        urls: `http://host:port` or `https://…`, tried in this order; a user and a password may stand in them.
        timeout: seconds without a byte.
        verify: whether an https server has to prove who it is.
        ca_certs: the file of the authorities that it may be known to; none: the system's.
        proxies: scheme → URL of a proxy; without any there is none, whatever the environment says.
        to_come: what a run under test=True would bring.
        bringing: state modules that may bring what a question lacks.
    """

    what: str
    urls: Sequence[str]
    user: str = ""
    password: str = field(default="", repr=False)
    timeout: float = 10.0
    verify: bool = True
    ca_certs: str | None = None
    proxies: Mapping[str, str] = field(default_factory=dict)
    to_come: Collection[tuple[str, str]] = ()
    bringing: re.Pattern[str]

    def ask(
        self,
        method: str,
        path: str,
        body: Any = None,
        *,
        query: Mapping[str, str] | None = None,
        content: str = "application/json",
    ) -> Any:
        """The answer, from JSON; null where it is empty. `body`: made to JSON, unless it is bytes.

        Raises:
            RestRefused: an error is the answer.
            StateFailed: there is none.
            ContentUnknown: there is none, and a run under test=True may bring the server.
        """
        data = body if body is None or isinstance(body, bytes) else json.dumps(body, default=str).encode()
        asked = path + (f"?{urlencode(query)}" if query else "")
        why = "it has no address"
        for url in self.urls:
            try:
                return self._from(url, method, asked, data, content)
            except (OSError, ValueError) as error:
                why = f"{_place(url)}: {getattr(error, 'reason', None) or error}"
        raise self.lacking(f"{self.what} does not answer: {why}")

    def lacking(self, text: str) -> Exception:
        """What to raise where something is not there: it may come in a run under test=True."""
        by = next((f"{module} {name}" for module, name in sorted(self.to_come) if self.bringing.fullmatch(module)), "")
        if by:
            return ContentUnknown(f"{text}. An earlier state of this run ({by}) may bring it")
        return StateFailed(text)

    def _from(self, url: str, method: str, path: str, data: bytes | None, content: str) -> Any:
        parts = urlsplit(url)
        headers = {"Accept": "application/json", "User-Agent": "saltern"}
        if data is not None:
            headers["Content-Type"] = content
        user, password = self.user, self.password
        if parts.username:
            user, password = unquote(parts.username), unquote(parts.password or "")
        if user:
            headers["Authorization"] = "Basic " + base64.b64encode(f"{user}:{password}".encode()).decode()
        whole = f"{_place(url)}{parts.path.rstrip('/')}{path}"
        request = urllib.request.Request(whole, data=data, headers=headers, method=method)  # noqa: S310  (checked)
        try:
            with self._opener(tls=parts.scheme == "https").open(request, timeout=self.timeout) as answer:
                found = answer.read(_LARGEST)
        except urllib.error.HTTPError as error:
            with error:
                raise self._refusal(
                    error.code, error.read(_LARGEST), (password, headers.get("Authorization", ""))
                ) from None
        return json.loads(found) if found else None

    def _opener(self, *, tls: bool) -> urllib.request.OpenerDirector:
        """What sends requests. The system's authorities are read where they are needed: that takes 20 ms."""
        proxies = urllib.request.ProxyHandler(dict(self.proxies))
        if not tls:
            return urllib.request.build_opener(proxies, *timed_handlers(tls=False), _SameServer)
        context = ssl.create_default_context(cafile=self.ca_certs)
        if not self.verify:
            context.check_hostname = False
            context.verify_mode = ssl.CERT_NONE
        return urllib.request.build_opener(
            proxies,
            *timed_handlers(context),
            _SameServer,
        )

    def _refusal(self, code: int, content: bytes, secrets: Collection[str]) -> RestRefused:
        try:
            said = json.loads(content)
        except (ValueError, RecursionError):
            said = content[:_SHOWN].decode(errors="replace").strip()
        return RestRefused(self.what, code, said, without(_message(said), secrets))


class _SameServer(urllib.request.HTTPRedirectHandler):
    """A redirect would take the credentials to somebody else."""

    def redirect_request(self, *args: Any, **kwargs: Any) -> None:
        return None


def checked_url(what: str, text: str, *, port: int, tls: bool = False) -> str:
    """The URL of a host as people write it: `host`, `host:port` or a whole one. StateFailed where it is none."""
    url = text if "://" in text else f"{'https' if tls else 'http'}://{text}"
    parts = urlsplit(url)
    try:
        given = parts.port
    except ValueError:
        given = None
        parts = parts._replace(netloc="")
    if parts.scheme not in ("http", "https") or not parts.hostname:
        raise StateFailed(f"{what} has no address of http or https: {_place(url)}")
    return parts._replace(netloc=parts.netloc if given else f"{parts.netloc}:{port}").geturl()


def _place(url: str) -> str:
    """The scheme, host and port: no user and no password."""
    scheme, _, rest = url.partition("://")
    return f"{scheme}://{rest.partition('/')[0].rpartition('@')[2]}"


def _message(said: Any) -> str:
    """The words of an error, of what the servers send."""
    error = said.get("error") if isinstance(said, Mapping) else said
    if isinstance(error, Mapping):
        error = ": ".join(str(error[key]) for key in ("type", "reason") if error.get(key))
    return str(error or "no reason")[:_SHOWN]
