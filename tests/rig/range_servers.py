"""A range server as they are: HTTP, a host a line, and a header for what it cannot expand."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any
from urllib.parse import unquote, urlsplit


class RangeService(ThreadingHTTPServer):
    """Expands what `ranges` has; what it has been asked is in `asked`."""

    daemon_threads = True

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), _Asked)
        self.ranges: dict[str, list[str]] = {}
        self.asked: list[str] = []
        self.body: bytes | None = None
        """Sent whatever is asked for."""
        self.status = 200
        self.pause = 0.0
        """Seconds between two bytes of an answer."""
        self.ends = threading.Event()

    @property
    def address(self) -> str:
        return f"127.0.0.1:{self.server_port}"


class _Asked(BaseHTTPRequestHandler):
    server: RangeService

    def do_GET(self) -> None:
        split = urlsplit(self.path)
        assert split.path == "/range/list"
        expression = unquote(split.query)
        self.server.asked.append(expression)
        self.send_response(self.server.status)
        hosts = self.server.ranges.get(expression)
        if hosts is None and self.server.body is None:
            self.send_header("RangeException", f"NOCLUSTER: {expression}")
        self.end_headers()
        body = "".join(f"{host}\n" for host in hosts or ()).encode() if self.server.body is None else self.server.body
        try:
            for byte in body if self.server.pause else ():
                self.wfile.write(bytes([byte]))
                self.wfile.flush()
                if self.server.ends.wait(self.server.pause):
                    return
            if not self.server.pause:
                self.wfile.write(body)
        except OSError:
            return  # the asker has enough

    def log_message(self, *_: Any) -> None:
        """Nothing."""


@contextmanager
def range_service() -> Iterator[RangeService]:
    """One that answers until the end."""
    with RangeService() as service:
        thread = threading.Thread(target=service.serve_forever, kwargs={"poll_interval": 0.05})
        thread.start()
        try:
            yield service
        finally:
            service.ends.set()
            service.shutdown()
            thread.join()
