"""giftless, the Git LFS server, with faults on demand. Runs in an environment that has it, not in ours.

    python giftless_server.py PORT FOLDER KEY

Called by tests/gitfs. The word in `FOLDER/fault` says what goes wrong with each download until it is removed: `error`
(500), `cut` (the connection ends in the middle), `other` (another content of the same length), `expired` (permissions
to download have run out when they are given; `expired-once`: only the next). Each download is a line of
`FOLDER/downloads`.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import Any

from giftless.app import init_app
from giftless.auth import authentication
from werkzeug.middleware.proxy_fix import ProxyFix
from werkzeug.serving import WSGIRequestHandler, run_simple

port, folder, key = int(sys.argv[1]), Path(sys.argv[2]), sys.argv[3]
JWT = {"factory": "giftless.auth.jwt:factory", "options": {"algorithm": "HS256", "private_key": key}}
STORAGE = {"storage_options": {"path": str(folder / "objects")}}


MOST = 5000
"""Bytes of a content that come before a cut."""


class Http11(WSGIRequestHandler):
    """Contents have no length here, so that only chunks show where one ends."""

    protocol_version = "HTTP/1.1"
    disable_nagle_algorithm = True  # its small answers would wait 40 ms for the acknowledgement of the one before


def application() -> Any:
    """giftless with its contents in the folder, behind a proxy."""
    app = init_app(
        additional_config={
            "LEGACY_ENDPOINTS": False,
            "AUTH_PROVIDERS": [JWT],
            "PRE_AUTHORIZED_ACTION_PROVIDER": JWT,
            "TRANSFER_ADAPTERS": {"basic": {"options": STORAGE}},
        }
    )
    with app.app_context():
        authentication.init_authenticators()
    return ProxyFix(faulty(app.wsgi_app), x_proto=1, x_host=1)


def faulty(inner: Callable[..., Iterable[bytes]]) -> Callable[..., Iterable[bytes]]:
    """`inner` with the fault that is asked for."""

    def answer(environ: dict[str, Any], start: Callable[..., Any]) -> Iterable[bytes]:
        fault = fault_now()
        if environ["REQUEST_METHOD"] != "GET":
            permissions: Any = authentication.preauth_handler
            permissions.default_lifetime = -60 if fault.startswith("expired") else 60
            if fault == "expired-once":
                (folder / "fault").unlink()
            return inner(environ, start)
        # As with a store of its own behind the server, which knows nobody and looks at the permission alone.
        environ.pop("HTTP_AUTHORIZATION", None)
        with (folder / "downloads").open("a") as log:
            log.write(environ["PATH_INFO"].rpartition("/")[2] + "\n")
        if fault == "error":
            start("500 Internal Server Error", [("Content-Length", "0")])
            return []
        body = inner(environ, start)
        return cut(body) if fault == "cut" else other(body) if fault == "other" else body

    return answer


def cut(body: Iterable[bytes]) -> Iterator[bytes]:
    """The first bytes; then, where there are more, the connection ends."""
    part = next(iter(body))
    yield part[:MOST]
    if len(part) > MOST:
        raise ConnectionAbortedError


def other(body: Iterable[bytes]) -> Iterator[bytes]:
    """As many bytes, but not these."""
    return (bytes(len(part)) for part in body)


def fault_now() -> str:
    """What is to go wrong."""
    path = folder / "fault"
    return path.read_text().strip() if path.exists() else ""


if __name__ == "__main__":
    run_simple("127.0.0.1", port, application(), threaded=True, request_handler=Http11)
