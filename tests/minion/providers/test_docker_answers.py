"""What a hostile engine of Docker answers: without end, too slowly, packed. Each fails its question, soon."""

from __future__ import annotations

import contextlib
import gzip
import socketserver
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from extmods.timed_answers import TimedHead
from highstate.files import MemoryFiles
from minion.machine.failure import StateFailed
from minion.machine.machine import LocalMachine
from minion.providers.docker import bounded_client
from minion.providers.docker.engine import DockerEngine

_HEAD = b"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\n"
_VERSION = b'{"ApiVersion": "1.41"}'
Write = Callable[[bytes], object]


class _Answers(socketserver.StreamRequestHandler):
    def handle(self) -> None:
        asked = self.rfile.readline()
        length = 0
        while line := self.rfile.readline().strip():
            name, _, value = line.partition(b":")
            if name.lower() == b"content-length":
                length = int(value)
        self.rfile.read(length)
        with contextlib.suppress(OSError):
            if b"/version " in asked:
                self.wfile.write(_HEAD + b"Content-Length: %d\r\n\r\n" % len(_VERSION) + _VERSION)
            else:
                self.server.answer(self.wfile.write)  # type: ignore[attr-defined]


@pytest.fixture(params=["unix", "tcp"])
def hostile(request, tmp_path: Path) -> Iterator[Callable[[Callable[[Write], None]], DockerEngine]]:
    """Makes an engine that answers so."""
    kind, where = (
        (socketserver.ThreadingUnixStreamServer, str(tmp_path / "s"))
        if request.param == "unix"
        else (socketserver.ThreadingTCPServer, ("127.0.0.1", 0))
    )
    with kind(where, _Answers) as server:
        server.daemon_threads = True
        threading.Thread(target=server.serve_forever, daemon=True).start()
        url = f"unix://{where}" if request.param == "unix" else f"tcp://127.0.0.1:{server.server_address[1]}"

        def made(answer: Callable[[Write], None]) -> DockerEngine:
            server.answer = answer  # type: ignore[attr-defined]
            return DockerEngine(LocalMachine(sources_port=MemoryFiles({}), opts={"docker.url": url}))

        yield made
        server.shutdown()


def _endless(write: Write) -> None:
    write(_HEAD + b"\r\n[")
    while True:
        write(b"0," * 32768)


def _endless_chunks(write: Write) -> None:
    write(_HEAD + b"Transfer-Encoding: chunked\r\n\r\n")
    while True:
        write(b"10000\r\n" + b"0" * 65536 + b"\r\n")


def _endless_head(write: Write) -> None:
    write(_HEAD)
    while True:
        write(b"X-More: 1\r\n" * 1000)


def _packed(write: Write) -> None:
    zeros = gzip.compress(b"0" * (65 << 20))
    write(_HEAD + b"Content-Encoding: gzip\r\nContent-Length: %d\r\n\r\n" % len(zeros) + zeros)


@pytest.mark.parametrize(
    ("answer", "says"),
    [
        (_endless, "more than 67108864 bytes"),
        (_endless_chunks, "more than 67108864 bytes"),
        (_packed, "more than 67108864 bytes"),
        (_endless_head, "got more than 100 headers"),
    ],
)
def test_an_answer_that_is_too_much_fails_its_question(hostile, answer, says) -> None:
    engine = hostile(answer)
    with pytest.raises(StateFailed, match=says):
        engine.call("images")


@pytest.mark.parametrize("where", ["head", "body"])
def test_an_answer_that_comes_drop_by_drop_ends(hostile, where, monkeypatch) -> None:
    monkeypatch.setattr(bounded_client, "ANSWER_SECONDS", 0.5)
    monkeypatch.setattr(TimedHead, "seconds", 0.5)

    def drops(write: Write) -> None:
        write(_HEAD + (b"\r\n" if where == "body" else b"X-Slow: "))
        while True:
            write(b"0")
            time.sleep(0.1)

    engine = hostile(drops)
    with pytest.raises(StateFailed, match=r"end in time|Read timed out"):
        engine.call("images")


def test_what_comes_piece_by_piece_ends(hostile, monkeypatch) -> None:
    monkeypatch.setattr(bounded_client, "MOST_GATHERED", 1 << 20)
    engine = hostile(_endless_chunks)
    with pytest.raises(StateFailed, match="more than 1048576 bytes"):
        engine.call("export", "x")

    def says_on(write: Write) -> None:
        write(_HEAD + b"Connection: Upgrade\r\nUpgrade: tcp\r\n\r\n")
        while True:
            write(b"\1" * 65536)  # frames, wherever the SDK begins to read

    engine = hostile(says_on)
    with pytest.raises(StateFailed, match="more than 1048576 bytes"):
        engine.call("exec_start", "x", demux=True)
