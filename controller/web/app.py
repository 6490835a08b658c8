"""Serves the pages of the dashboard: one shell, and the scripts and the style that it loads.

Nothing of the fleet is in what is served here: the scripts ask `/api/v1` with the session of the browser, and put what
they get into the page as text. The Content-Security-Policy allows scripts and styles of this origin alone, and no
script can make markup out of text (Trusted Types). Mounted at `/` of the API's port by the composition root.
"""

from __future__ import annotations

import gzip
import hashlib
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from http import HTTPStatus
from pathlib import Path
from typing import Final

from litestar.enums import ScopeType
from litestar.types import ASGIApp, HTTPScope, Receive, Scope, Send

_STATIC: Final = Path(__file__).parent / "static"
_TYPES: Final[Mapping[str, bytes]] = {
    ".html": b"text/html; charset=utf-8",
    ".css": b"text/css; charset=utf-8",
    ".js": b"text/javascript; charset=utf-8",
    ".svg": b"image/svg+xml",
}
CONTENT_SECURITY_POLICY: Final = "; ".join(
    (
        "default-src 'none'",
        "script-src 'self'",
        "style-src 'self'",
        "img-src 'self'",
        "connect-src 'self'",
        "base-uri 'none'",
        "form-action 'none'",
        "frame-ancestors 'none'",
        "require-trusted-types-for 'script'",
        "trusted-types 'none'",
    )
)
_HEADERS: Final = (
    (b"content-security-policy", CONTENT_SECURITY_POLICY.encode()),
    (b"cross-origin-opener-policy", b"same-origin"),
    (b"cross-origin-resource-policy", b"same-origin"),
    (b"permissions-policy", b"camera=(), geolocation=(), microphone=()"),
    (b"vary", b"accept-encoding"),
)
_FOREVER: Final = b"public, max-age=31536000, immutable"
_ANEW: Final = b"no-cache"

PAGES: Final = frozenset(
    (
        "",
        "audit",
        "diff",
        "events",
        "jobs",
        "keys",
        "minions",
        "pulls",
        "reactions",
        "revisions",
        "rollouts",
        "runs",
        "search",
    )
)
"""First parts of the paths that the scripts know; another one is shown by them, too, with the status 404."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Asset:
    """A file that is served."""

    media_type: bytes
    body: bytes
    packed: bytes
    """The same with gzip."""


@cache
def assets() -> Mapping[str, Asset]:
    """Name of a file -> the file, read once. Only those of the types above are served."""
    found = {}
    for path in sorted(_STATIC.rglob("*")):
        if path.is_file() and path.suffix in _TYPES:
            body = path.read_bytes()
            name = path.relative_to(_STATIC).as_posix()
            found[name] = _asset(_TYPES[path.suffix], body)
    return found


@cache
def version() -> str:
    """Of all files together: part of their addresses, so that browsers may keep them for good."""
    digest = hashlib.sha256()
    for name, asset in assets().items():
        digest.update(f"{name}\0{len(asset.body)}\0".encode() + asset.body)
    return digest.hexdigest()[:12]


@cache
def shell() -> Asset:
    """The page that loads the rest; the same for every path."""
    page = assets()["index.html"]
    scripts = sorted(name for name in assets() if name.endswith(".js"))
    preload = "".join(f'<link rel="modulepreload" href="/assets/{version()}/{name}">\n' for name in scripts)
    body = page.body.replace(b"<!-- preload -->\n", preload.encode()).replace(b"VERSION", version().encode())
    return _asset(page.media_type, body)


def web_app() -> ASGIApp:
    """The application: answers GET and HEAD of `/assets/VERSION/NAME`, and the shell for every other path."""
    shell()

    async def app(scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != ScopeType.HTTP:
            return
        path, method = scope["path"], scope["method"]
        status, asset, kept = HTTPStatus.OK, shell(), _ANEW
        if path.startswith("/assets/"):
            _, _, given, name = [*path.split("/", 3), "", ""][:4]
            status, asset, kept = _found(given, name)
        elif path.split("/", 2)[1] not in PAGES:
            status = HTTPStatus.NOT_FOUND
        if method not in ("GET", "HEAD"):
            status, asset = HTTPStatus.METHOD_NOT_ALLOWED, _asset(b"text/plain", b"GET is all that is answered here\n")
        await _answer(scope, send, status, asset, kept)

    return app


def _found(given: str, name: str) -> tuple[HTTPStatus, Asset, bytes]:
    """A file. A page that was loaded before an upgrade gets the new one, which nobody keeps."""
    asset = assets().get(name)
    if asset is None or name == "index.html":
        return HTTPStatus.NOT_FOUND, _asset(b"text/plain", b"there is no such file\n"), _ANEW
    return HTTPStatus.OK, asset, _FOREVER if given == version() else _ANEW


async def _answer(scope: HTTPScope, send: Send, status: HTTPStatus, asset: Asset, kept: bytes) -> None:
    accepted = next((value for name, value in scope["headers"] if name == b"accept-encoding"), b"")
    body, encoding = asset.body, []
    if b"gzip" in accepted and len(asset.packed) < len(asset.body):
        body, encoding = asset.packed, [(b"content-encoding", b"gzip")]
    headers = [
        (b"content-type", asset.media_type),
        (b"content-length", str(len(body)).encode()),
        (b"cache-control", kept),
        *encoding,
        *_HEADERS,
    ]
    if status == HTTPStatus.METHOD_NOT_ALLOWED:
        headers.append((b"allow", b"GET, HEAD"))
    await send({"type": "http.response.start", "status": status.value, "headers": headers})
    sent = b"" if scope["method"] == "HEAD" else body
    await send({"type": "http.response.body", "body": sent, "more_body": False})


def _asset(media_type: bytes, body: bytes) -> Asset:
    return Asset(media_type=media_type, body=body, packed=gzip.compress(body, mtime=0))
