"""What a hostile Vault server answers: without end, too slowly, packed, nested. Each fails its question, soon."""

from __future__ import annotations

import contextlib
import gzip
import socketserver
import ssl
import threading
import time
from collections.abc import Callable, Iterator
from functools import partial

import pytest
import trustme

from extmods.timed_answers import TimedResponse
from minion.providers.vault import bounded_answers
from minion.providers.vault.api import VaultApi, VaultFailed
from options.vault import VaultServer, VaultSettings

_HEAD = b"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\n"


class _Answers(socketserver.StreamRequestHandler):
    def handle(self) -> None:
        while self.rfile.readline().strip():
            pass
        with contextlib.suppress(OSError):
            self.server.answer(self.wfile.write)  # type: ignore[attr-defined]


@pytest.fixture
def hostile() -> Iterator[Callable[[Callable[[Callable[[bytes], object]], None]], VaultApi]]:
    """Makes the API of a server that answers so."""
    with socketserver.ThreadingTCPServer(("127.0.0.1", 0), _Answers) as server:
        server.daemon_threads = True
        threading.Thread(target=server.serve_forever, daemon=True).start()

        def made(answer: Callable[[Callable[[bytes], object]], None]) -> VaultApi:
            server.answer = answer  # type: ignore[attr-defined]
            url = f"http://127.0.0.1:{server.server_address[1]}"
            return VaultApi(VaultSettings.parse({"server": {"url": url}, "auth": {"token": "t"}}).server)

        yield made
        server.shutdown()


def _endless(write: Callable[[bytes], object]) -> None:
    write(_HEAD + b"\r\n[")
    while True:
        write(b"0," * 32768)


def _endless_head(write: Callable[[bytes], object]) -> None:
    write(_HEAD)
    while True:
        write(b"X-More: 1\r\n" * 1000)


def _packed(write: Callable[[bytes], object]) -> None:
    zeros = gzip.compress(b"0" * (64 << 20))
    write(_HEAD + b"Content-Encoding: gzip\r\nContent-Length: %d\r\n\r\n" % len(zeros) + zeros)


def _nested(write: Callable[[bytes], object]) -> None:
    content = b"[" * 100_000
    write(_HEAD + b"Content-Length: %d\r\n\r\n" % len(content) + content)


def _redirects(write: Callable[[bytes], object]) -> None:
    write(b"HTTP/1.1 302 Found\r\nLocation: /v1/x\r\n\r\n")
    while True:
        write(b"0" * 65536)


@pytest.mark.parametrize(
    ("answer", "said"),
    [
        (_endless, "AnswerTooLong"),
        (_packed, "AnswerTooLong"),
        (_redirects, "AnswerTooLong"),
        (_endless_head, "ConnectionError"),
        (_nested, "is nested too deeply"),
    ],
)
def test_an_answer_that_is_too_much_fails_its_question(hostile, answer, said) -> None:
    with pytest.raises(VaultFailed, match=said):
        hostile(answer).ask("GET", "x")


@pytest.mark.parametrize("where", ["head", "body"])
def test_an_answer_that_comes_drop_by_drop_ends(hostile, where, monkeypatch) -> None:
    monkeypatch.setattr(bounded_answers._Http, "response_class", _in_seconds(0.5))

    def drops(write: Callable[[bytes], object]) -> None:
        write(_HEAD + (b"\r\n" if where == "body" else b"X-Slow: "))
        for _ in range(600):
            write(b"0")
            time.sleep(0.1)

    with pytest.raises(VaultFailed, match=r"ConnectionError|ReadTimeout"):
        hostile(drops).ask("GET", "x")


def _in_seconds(seconds: float) -> Callable[..., object]:
    return partial(TimedResponse, seconds)


def test_the_authority_of_the_option_is_the_one_that_counts(tmp_path) -> None:
    authority = trustme.CA()
    authority.cert_pem.write_to_path(tmp_path / "ca.pem")
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    authority.issue_cert("localhost").configure_cert(context)
    with socketserver.ThreadingTCPServer(("127.0.0.1", 0), _Answers) as server:
        server.socket = context.wrap_socket(server.socket, server_side=True)
        server.daemon_threads = True
        server.answer = lambda write: write(_HEAD + b'Content-Length: 13\r\n\r\n{"data":"it"}')  # type: ignore[attr-defined]
        threading.Thread(target=server.serve_forever, daemon=True).start()
        url = f"https://localhost:{server.server_address[1]}"
        assert VaultApi(VaultServer(url=url, verify=str(tmp_path / "ca.pem"))).ask("GET", "x") == {"data": "it"}
        with pytest.raises(VaultFailed, match="SSLError"):
            VaultApi(VaultServer(url=url)).ask("GET", "x")
        server.shutdown()
