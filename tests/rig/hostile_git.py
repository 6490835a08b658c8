"""Hostile git servers, written by hand: smart http that answers what a test wants. Listens on the loopback.

The protocol is git's (gitprotocol-http, gitprotocol-pack).
"""

from __future__ import annotations

import contextlib
import threading
from collections.abc import Callable, Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

Behaviour = Callable[["HostileHandler"], None]
"""What a server does with a request."""


class HostileHandler(BaseHTTPRequestHandler):
    """One request, answered as the server's behaviour says."""

    protocol_version = "HTTP/1.1"
    disable_nagle_algorithm = True  # its small answers would wait 40 ms for the acknowledgement of the one before
    server: HostileServer

    def do_GET(self) -> None:
        """See `_answer`."""
        self._answer()

    def do_POST(self) -> None:
        """See `_answer`."""
        self._answer()

    def log_message(self, *_: Any) -> None:
        """Says nothing."""

    def _answer(self) -> None:
        self.server.seen.append(self.path)
        self.close_connection = True
        with contextlib.suppress(OSError):
            self.server.behaviour(self)

    def begin_refs(self) -> None:
        """The head of a list of refs; what follows is `send`ed."""
        self.send_response(200)
        self.send_header("Content-Type", "application/x-git-upload-pack-advertisement")
        self.send_header("Transfer-Encoding", "chunked")
        self.end_headers()
        self.send(pkt_line(b"# service=git-upload-pack\n") + b"0000")

    def send(self, data: bytes) -> None:
        """Part of an answer; empty at its end."""
        self.wfile.write(b"%x\r\n%b\r\n" % (len(data), data))


class HostileServer(ThreadingHTTPServer):
    """A server with one behaviour."""

    daemon_threads = True

    def __init__(self, behaviour: Behaviour, port: int = 0) -> None:
        super().__init__(("127.0.0.1", port), HostileHandler)
        self.behaviour = behaviour
        self.seen: list[str] = []
        """Paths that were asked for."""
        self.go_on = threading.Event()
        """Set when the server ends: handlers that hang end then."""

    @property
    def url(self) -> str:
        """Of a repository in it."""
        return f"http://127.0.0.1:{self.server_address[1]}/x.git"

    def handle_error(self, request: Any, client_address: Any) -> None:
        """Says nothing."""


@contextlib.contextmanager
def hostile(behaviour: Behaviour, port: int = 0) -> Iterator[HostileServer]:
    """A server that behaves so, on the port; 0: on one that nobody uses."""
    server = HostileServer(behaviour, port)
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
    thread.start()
    try:
        yield server
    finally:
        server.go_on.set()
        server.shutdown()
        thread.join()
        server.server_close()


def pkt_line(text: bytes) -> bytes:
    """A line as git frames it."""
    return b"%04x" % (len(text) + 4) + text


def hangs(request: HostileHandler) -> None:
    """Takes the request and says nothing."""
    request.server.go_on.wait(300)


def trickles(request: HostileHandler) -> None:
    """Sends refs for ever, one each 50 ms: no pause is long enough for a time-out."""
    request.begin_refs()
    number = 0
    while not request.server.go_on.wait(0.05):
        request.send(pkt_line(b"%040x refs/heads/b%d\n" % (number + 1, number)))
        number += 1


def advertises(count: int) -> Behaviour:
    """Sends so many refs, of objects that nobody has."""

    def behave(request: HostileHandler) -> None:
        request.begin_refs()
        request.send(pkt_line(b"%040x HEAD\0 side-band-64k ofs-delta\n" % 1))
        step = 1000
        for start in range(0, count, step):
            numbers = range(start, min(start + step, count))
            lines = (pkt_line(b"%040x refs/heads/branch-of-somebody-%d\n" % (number + 1, number)) for number in numbers)
            request.send(b"".join(lines))
        request.send(b"0000")
        request.send(b"")

    return behave


def sends_packs(send_pack: Behaviour, commit: str = "12" * 20) -> Behaviour:
    """Has one branch; what follows the head of its pack's answer is what `send_pack` sends in chunks."""

    def behave(request: HostileHandler) -> None:
        if request.command == "GET":
            request.close_connection = False  # libgit2 asks for the pack on the same connection
            request.begin_refs()
            first = f"{commit} HEAD\0ofs-delta symref=HEAD:refs/heads/main\n"
            request.send(pkt_line(first.encode()) + pkt_line(f"{commit} refs/heads/main\n".encode()) + b"0000")
            request.send(b"")
            return
        request.rfile.read(int(request.headers.get("Content-Length") or 0))
        request.send_response(200)
        request.send_header("Content-Type", "application/x-git-upload-pack-result")
        request.send_header("Transfer-Encoding", "chunked")
        request.end_headers()
        request.send(pkt_line(b"NAK\n"))
        send_pack(request)

    return behave


def redirects(url: str) -> Behaviour:
    """Sends everybody elsewhere."""

    def behave(request: HostileHandler) -> None:
        request.send_response(302)
        request.send_header("Location", url + request.path)
        request.send_header("Content-Length", "0")
        request.end_headers()

    return behave
