"""Servers that answer a byte now and then, which no `timeout` ends; over a real socket, with TLS and without."""

import socket
import ssl
import subprocess
import threading
import time
import urllib.request
from contextlib import contextmanager

import pytest

from extmods.timed_answers import timed_handlers


@contextmanager
def server(say, context=None):
    """The port of one that hears a request, and has a function say something to whoever it was."""
    listening = socket.create_server(("127.0.0.1", 0))

    def serve():
        asker, _ = listening.accept()
        with asker if context is None else context.wrap_socket(asker, server_side=True) as asker:
            asker.recv(65536)
            try:
                say(asker)
            except OSError:
                return  # the other end has gone, as it should

    thread = threading.Thread(target=serve)
    thread.start()
    yield listening.getsockname()[1]
    thread.join(20)
    listening.close()
    assert not thread.is_alive()


def drip(asker):
    while True:
        asker.sendall(b"x")
        time.sleep(0.02)


def slow_body(asker):
    asker.sendall(b"HTTP/1.1 200 OK\r\nContent-Length: 1000000\r\n\r\n")
    drip(asker)


def endless_chunks(asker):
    asker.sendall(b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n")
    while True:
        asker.sendall(b"1\r\nx\r\n")
        time.sleep(0.02)


def slow_header(asker):
    asker.sendall(b"HTTP/1.1 200 OK\r\nX-Long: ")
    drip(asker)


def get(url, context=None, seconds=1.0):
    with urllib.request.build_opener(*timed_handlers(context, seconds)).open(url, timeout=10) as answer:
        return answer.read(1 << 20)


@pytest.mark.parametrize("say", [slow_body, endless_chunks, slow_header, drip])
def test_a_slow_answer_ends(say):
    with server(say) as port, pytest.raises(OSError, match=r"in time|timed out"):
        get(f"http://127.0.0.1:{port}/")


def test_an_answer_comes_whole():
    def say(asker):
        asker.sendall(b"HTTP/1.1 200 OK\r\nContent-Length: 200000\r\n\r\n" + b"x" * 200000)

    with server(say) as port:
        assert get(f"http://127.0.0.1:{port}/", seconds=60) == b"x" * 200000


def test_with_tls(tmp_path):
    key, certificate = tmp_path / "key", tmp_path / "certificate"
    command = [
        "openssl",
        "req",
        "-x509",
        "-newkey",
        "ec",
        "-pkeyopt",
        "ec_paramgen_curve:P-256",
        "-nodes",
        "-days",
        "1",
    ]
    subprocess.run(
        [
            *command,
            "-subj",
            "/CN=localhost",
            "-addext",
            "subjectAltName=IP:127.0.0.1",
            "-keyout",
            key,
            "-out",
            certificate,
        ],
        check=True,
        capture_output=True,
    )
    own = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    own.load_cert_chain(certificate, key)
    context = ssl.create_default_context(cafile=certificate)

    def say(asker):
        asker.sendall(b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok")

    with server(say, own) as port:
        assert get(f"https://127.0.0.1:{port}/", context, seconds=60) == b"ok"
    with server(slow_body, own) as port, pytest.raises(OSError, match=r"in time|timed out"):
        get(f"https://127.0.0.1:{port}/", context)
