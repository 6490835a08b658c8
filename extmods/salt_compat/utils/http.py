"""`salt.utils.http`: what a server answers. TLS is verified against the system's authorities.

The execution function `http.query` is this one, too.
"""

from __future__ import annotations

import base64
import http.cookiejar
import inspect
import json
import re
import secrets
import ssl
import urllib.error
import urllib.parse
import urllib.request
from collections.abc import Mapping, Sequence
from typing import Any

import yaml

from extmods.timed_answers import timed_handlers

LARGEST = 4 * 1024 * 1024
"""Bytes of an answer that are kept: they go over the wire."""


_CREDENTIAL = re.compile(r"auth|cookie|token|secret|key|password", re.IGNORECASE)
"""Names of headers that give the one who asks away."""


class HttpFailed(ValueError):
    """The question cannot be asked, or the answer cannot be decoded; the text says why."""


def ask(
    url: str,
    method: str = "GET",
    *,
    params: Mapping[str, Any] | None = None,
    data: Any = None,
    header_dict: Mapping[str, Any] | None = None,
    header_list: Sequence[str] | None = None,
    username: str | None = None,
    password: str | None = None,
    decode: bool = False,
    decode_type: str = "auto",
    text: bool = False,
    status: bool = False,
    headers: bool = False,
    timeout: float = 30,
    raise_error: bool = True,
    auth: Sequence[str] = (),
    agent: str = "saltern",
    verify_ssl: bool = True,
    ca_bundle: str | None = None,
    cert: str | Sequence[str] | None = None,
    jar: http.cookiejar.CookieJar | None = None,
    form: tuple[str, str] | None = None,
) -> dict[str, Any]:
    """Ask a server: `body`, and as asked for `text`, `dict` (decoded), `status` and `headers`; or `error`.

    Args:
        auth: name and password, as `username` and `password`.
        cert: a file with a certificate of this client and its key, or one of each.
        jar: cookies that are sent, and kept.
        form: names of a field and of a file: the data are sent as such a file of a form.

    Others are those of Salt's `http.query`. Raises HttpFailed.
    """
    if not url.startswith(("http://", "https://")):
        raise HttpFailed(f"{url} is no http:// or https:// URL")
    if auth:
        username, password = auth
    body, kind = (body_of(data), {}) if form is None else form_of(data, *form)
    headers_sent = {**headers_of(header_dict, header_list, username, password, agent), **kind}
    request = urllib.request.Request(  # noqa: S310  (the scheme is checked)
        with_params(url, params), data=body, headers=headers_sent, method=method.upper()
    )
    handlers = handlers_of(verify_ssl, ca_bundle, cert, jar)
    code, found_headers, body, trouble = answer_to(request, float(timeout), raise_error, handlers)
    shown: dict[str, Any] = {"status": code} if status else {}
    if trouble:
        return {**({"body": body.decode("utf-8", "replace")} if body else {}), **shown, "error": trouble}
    said = body.decode("utf-8", "replace")
    return {
        **({"dict": _decoded(said, decode_type, found_headers)} if decode else {"body": said}),
        **({"text": said} if text else {}),
        **shown,
        **({"headers": found_headers} if headers else {}),
    }


def query(url: str, method: str = "GET", **options: Any) -> dict[str, Any]:
    """Ask over HTTP, as `ask`; options that it does not have are ignored."""
    known = inspect.signature(ask).parameters
    given = {name: value for name, value in options.items() if name in known and value is not None}
    try:
        return ask(url, method, **given)
    except HttpFailed as error:
        return {"error": str(error)}


def answer_to(
    request: urllib.request.Request,
    timeout: float,
    raise_error: bool,
    handlers: Sequence[urllib.request.BaseHandler] = (),
) -> tuple[int, dict[str, str], bytes, str]:
    """Status (0: none), headers and body of the answer (`LARGEST` bytes at most), and what went wrong.

    Args:
        request: to an http:// or https:// URL.
        timeout: seconds.
        raise_error: whether a status from 400 has gone wrong.
        handlers: of `handlers_of`; the system's authorities are trusted without.
    """
    try:
        knows_tls = any(isinstance(each, urllib.request.HTTPSHandler) for each in handlers)
        timed = () if knows_tls else timed_handlers(tls=request.type == "https")
        with urllib.request.build_opener(_Redirects, *timed, *handlers).open(request, timeout=timeout) as answer:
            return answer.status, dict(answer.headers), answer.read(LARGEST), ""
    except urllib.error.HTTPError as error:
        with error:
            trouble = f"HTTP {error.code}: {error.reason}" if raise_error else ""
            return error.code, dict(error.headers), error.read(LARGEST), trouble
    except (urllib.error.URLError, OSError, ValueError) as error:
        return 0, {}, b"", str(getattr(error, "reason", error)) or type(error).__name__


class _Redirects(urllib.request.HTTPRedirectHandler):
    """Follows redirects as urllib does, but never takes a password or token to another host."""

    def redirect_request(
        self, req: urllib.request.Request, fp: Any, code: int, msg: str, headers: Any, newurl: str
    ) -> urllib.request.Request | None:
        """The next request; HTTPError where there must be none."""
        same = urllib.parse.urlsplit(req.full_url)[:2] == urllib.parse.urlsplit(newurl)[:2]
        if not same and any(_CREDENTIAL.search(name) for name in req.headers):
            said = f"a redirect to {urllib.parse.urlsplit(newurl).netloc} is refused: it would take credentials there"
            raise urllib.error.HTTPError(req.full_url, code, said, headers, fp)
        return super().redirect_request(req, fp, code, msg, headers, newurl)


def headers_of(
    given: Mapping[str, Any] | None,
    listed: Sequence[str] | None,
    username: str | None,
    password: str | None,
    agent: str = "saltern",
) -> dict[str, str]:
    """Headers of a request: ours, those given as a mapping and as lines, and the password."""
    headers = {"User-Agent": agent, **{str(key): str(value) for key, value in (given or {}).items()}}
    headers |= {key.strip(): value.strip() for key, _, value in (line.partition(":") for line in listed or ())}
    if username:
        headers["Authorization"] = "Basic " + base64.b64encode(f"{username}:{password or ''}".encode()).decode()
    return headers


def with_params(url: str, params: Mapping[str, Any] | None) -> str:
    """The URL with a query."""
    return f"{url}?{urllib.parse.urlencode(params)}" if params else url


def form_of(data: Any, field: str, filename: str) -> tuple[bytes, dict[str, str]]:
    """The body of a form with one file, and the header that says so."""
    if any(sign in name for name in (field, filename) for sign in '"\r\n'):
        raise HttpFailed("formdata_fieldname and formdata_filename hold no quotes and no ends of lines")
    border = secrets.token_hex(16)
    head = f'Content-Disposition: form-data; name="{field}"; filename="{filename}"\r\n\r\n'
    body = f"--{border}\r\n{head}".encode() + (body_of(data) or b"") + f"\r\n--{border}--\r\n".encode()
    return body, {"Content-Type": f"multipart/form-data; boundary={border}"}


def handlers_of(
    verify_ssl: bool,
    ca_bundle: str | None,
    cert: str | Sequence[str] | None,
    jar: http.cookiejar.CookieJar | None = None,
) -> list[urllib.request.BaseHandler]:
    """What knows of certificates and cookies; nothing where the system's authorities are enough. Raises HttpFailed."""
    handlers: list[urllib.request.BaseHandler] = []
    if not verify_ssl or ca_bundle or cert:
        try:
            context = ssl.create_default_context(cafile=ca_bundle)
            if cert:
                context.load_cert_chain(*([cert] if isinstance(cert, str) else cert))
        except (OSError, TypeError) as error:
            raise HttpFailed(f"ca_bundle, cert: {error}") from error
        if not verify_ssl:
            context.check_hostname, context.verify_mode = False, ssl.CERT_NONE
        handlers += timed_handlers(context)
    if jar is not None:
        handlers.append(urllib.request.HTTPCookieProcessor(jar))
    return handlers


def body_of(data: Any) -> bytes | None:
    """The body that data are sent as: bytes, text, or JSON of anything else."""
    if data is None or isinstance(data, bytes):
        return data
    return data.encode() if isinstance(data, str) else json.dumps(data).encode()


def _decoded(text: str, kind: str, headers: Mapping[str, str]) -> Any:
    if kind == "plain":
        return text
    is_yaml = kind == "yaml" or (kind == "auto" and "yaml" in headers.get("Content-Type", ""))
    try:
        return yaml.safe_load(text) if is_yaml else json.loads(text)
    except (yaml.YAMLError, ValueError) as error:
        raise HttpFailed(f"the answer is no {'YAML' if is_yaml else 'JSON'}: {error}") from error
