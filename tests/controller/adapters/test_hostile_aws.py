"""What a hostile server in place of AWS answers: without end, too slowly, nested, page after page. Each fails its
secret, soon."""

from __future__ import annotations

import contextlib
import socketserver
import threading
import time
from collections.abc import Callable, Iterator

import pytest

from controller.adapters.external_pillars import PARAMETERS, SECRETS_MANAGER, NamedSecrets, bounded_answers
from highstate.ports import SourceFailed
from highstate.types import Minion

WEB = Minion(id="web1", grains={"id": "web1"})
_HEAD = b"HTTP/1.1 200 OK\r\nContent-Type: application/x-amz-json-1.1\r\n"
Write = Callable[[bytes], object]


class _Answers(socketserver.StreamRequestHandler):
    def handle(self) -> None:
        length = 0
        while line := self.rfile.readline().strip():
            name, _, value = line.partition(b":")
            if name.lower() == b"content-length":
                length = int(value)
        self.rfile.read(length)
        with contextlib.suppress(OSError):
            self.server.answer(self.wfile.write)  # type: ignore[attr-defined]


@pytest.fixture
def hostile() -> Iterator[Callable[..., Callable[..., object]]]:
    """Makes what reads a name of a server that answers so; the last argument of what it gives: the kind of store."""
    with socketserver.ThreadingTCPServer(("127.0.0.1", 0), _Answers) as server:
        server.daemon_threads = True
        threading.Thread(target=server.serve_forever, daemon=True).start()
        account = {
            "endpoint_url": f"http://127.0.0.1:{server.server_address[1]}",
            "region": "eu-central-1",
            "keyid": "AKIAEXAMPLE",
            "key": "hidden-key",
        }

        def made(answer: Callable[[Write], None]) -> Callable[..., object]:
            server.answer = answer  # type: ignore[attr-defined]

            def read(name: str = "app", kind=SECRETS_MANAGER) -> object:
                return NamedSecrets(kind).pillar(WEB, {}, {**account, kind.names: name})

            return read

        yield made
        server.shutdown()


def _of(content: bytes) -> Callable[[Write], None]:
    return lambda write: write(_HEAD + b"Content-Length: %d\r\n\r\n" % len(content) + content)


def _endless(write: Write) -> None:
    write(_HEAD + b'\r\n{"SecretString": "')
    while True:
        write(b"0" * 65536)


def _endless_chunks(write: Write) -> None:
    write(_HEAD + b"Transfer-Encoding: chunked\r\n\r\n")
    while True:
        write(b"10000\r\n" + b"0" * 65536 + b"\r\n")


def _endless_head(write: Write) -> None:
    write(_HEAD)
    while True:
        write(b"X-More: 1\r\n" * 1000)


@pytest.mark.parametrize(
    ("answer", "says"),
    [
        (_endless, "more than 2097152 bytes"),
        (_endless_chunks, "more than 2097152 bytes"),
        (_endless_head, "cannot be asked for 'app': ConnectionClosedError"),
        (_of(b"[" * 100_000), "is none of AWS: RecursionError"),
        (_of(b"[]"), "is none of AWS: AttributeError"),
        (_of(b'"text"'), "is none of AWS: AttributeError"),
        (_of(b"no JSON"), "has no secret"),
        (_of(b"{}"), "has no secret"),
        (_of(b'{"SecretString": 1}'), "has no secret"),
    ],
)
def test_an_answer_that_aws_would_not_give_fails_its_secret(hostile, answer, says) -> None:
    with pytest.raises(SourceFailed, match=says) as failed:
        hostile(answer)()
    assert "127.0.0.1" not in str(failed.value)


@pytest.mark.parametrize("where", ["head", "body"])
def test_an_answer_that_comes_drop_by_drop_ends(hostile, where, monkeypatch) -> None:
    monkeypatch.setattr(bounded_answers, "ANSWER_SECONDS", 1.0)

    def drops(write: Write) -> None:
        write(_HEAD + (b"\r\n" if where == "body" else b"X-Slow: "))
        while True:
            write(b"0")
            time.sleep(0.1)

    with pytest.raises(SourceFailed, match="ReadTimeoutError"):
        hostile(drops)()


def test_pages_without_end_end(hostile, monkeypatch) -> None:
    monkeypatch.setattr(bounded_answers, "ANSWER_SECONDS", 1.0)
    with pytest.raises(SourceFailed, match="pages of '/app/' do not end"):
        hostile(_of(b'{"Parameters": [], "NextToken": "more"}'))("/app/", PARAMETERS)
    with pytest.raises(SourceFailed, match="more than 1000 parameters"):
        hostile(_of(b'{"Parameters": [%s], "NextToken": "more"}' % b",".join([b'{"Name": "/app/x"}'] * 500)))(
            "/app/", PARAMETERS
        )
    with pytest.raises(SourceFailed, match="has no value"):
        hostile(_of(b'{"Parameter": {}}'))("/app", PARAMETERS)
