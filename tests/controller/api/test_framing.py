"""Requests whose end a proxy may see elsewhere than the controller does (RFC 9112, 11.2): on the wire, byte by byte."""

from __future__ import annotations

import contextlib
import socket

import pytest

HEAD = b"POST /hook HTTP/1.1\r\nHost: controller\r\n"
SECOND = b"GET /metrics HTTP/1.1\r\nHost: controller\r\n\r\n"
TWO_READINGS = {
    "length and coding": HEAD + b"Content-Length: 5\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n" + SECOND,
    "coding and length": HEAD + b"transfer-encoding: chunked\r\ncontent-length: 5\r\n\r\n0\r\n\r\n" + SECOND,
    "differing lengths": HEAD + b"Content-Length: 0\r\nContent-Length: 5\r\n\r\n" + SECOND,
    "differing lengths in a line": HEAD + b"Content-Length: 0, 5\r\n\r\n" + SECOND,
    "a signed length": HEAD + b"Content-Length: +5\r\n\r\n" + SECOND,
    "a negative length": HEAD + b"Content-Length: -1\r\n\r\n" + SECOND,
    "a length in hexadecimal": HEAD + b"Content-Length: 0x5\r\n\r\n" + SECOND,
    "an unknown coding": HEAD + b"Transfer-Encoding: xchunked\r\n\r\n0\r\n\r\n" + SECOND,
    "two codings": HEAD + b"Transfer-Encoding: chunked\r\nTransfer-Encoding: identity\r\n\r\n0\r\n\r\n" + SECOND,
    "a coding of HTTP/1.0": HEAD.replace(b"1.1", b"1.0") + b"Transfer-Encoding: chunked\r\n\r\n0\r\n\r\n" + SECOND,
    "a space before the colon": HEAD + b"Content-Length : 5\r\n\r\n" + SECOND,
    "a length on a folded line": HEAD + b"X: 1\r\n Content-Length: 5\r\n\r\n" + SECOND,
    "a line that LF ends": HEAD + b"X: 1\nContent-Length: 0\r\n\r\n" + SECOND,
    "a head that LF ends": HEAD + b"Content-Length: 0\r\n\n" + SECOND,
    "LF everywhere": (HEAD + b"Content-Length: 0\r\n\r\n").replace(b"\r\n", b"\n") + SECOND,
    "a CR within a line": HEAD + b"X: 1\rContent-Length: 5\r\n\r\n" + SECOND,
    "a NUL within a line": HEAD + b"X: 1\0\r\nContent-Length: 0\r\n\r\n" + SECOND,
    "no host": b"GET /metrics HTTP/1.1\r\n\r\n" + SECOND,
    "two hosts": b"GET /metrics HTTP/1.1\r\nHost: a\r\nHost: b\r\n\r\n" + SECOND,
    "a size of a chunk that is none": HEAD + b"Transfer-Encoding: chunked\r\n\r\n-1\r\n" + SECOND,
    "a chunk that LF ends": HEAD + b"Transfer-Encoding: chunked\r\n\r\n1\na\n0\n\n" + SECOND,
}


def said(address, request):
    """All that is answered, until the connection is closed."""
    found = b""
    with socket.create_connection(address, timeout=30) as connection:
        connection.sendall(request)
        with contextlib.suppress(ConnectionResetError):
            while some := connection.recv(65536):
                found += some
    return found


@pytest.mark.parametrize("name", TWO_READINGS)
def test_what_may_be_read_in_two_ways_is_refused(served, desk, name):
    answer = said(served.listening.http, TWO_READINGS[name])
    assert answer.startswith(b"HTTP/1.1 400 "), answer
    assert answer.count(b"HTTP/1.1 ") == 1, "what follows is no request"
    assert b"connection: close" in answer.lower()
    assert desk.fetched == []


def test_requests_that_all_read_alike_are_answered_one_after_the_other(served):
    """Also in one packet, with bodies that have lines of their own, and several times the same length."""
    body = b"a\n b\nContent-Length: 9\n\n"
    of_length = HEAD + b"Content-Length: %d\r\nContent-Length: %d\r\n\r\n" % (len(body), len(body)) + body
    in_chunks = HEAD + b"Transfer-Encoding: chunked\r\n\r\n%x\r\n%b\r\n0\r\n\r\n" % (len(body), body)
    last = SECOND.replace(b"\r\n\r\n", b"\r\nConnection: close\r\n\r\n")
    answer = said(served.listening.http, of_length + in_chunks + last)
    assert answer.count(b"HTTP/1.1 ") == 3
    assert b"HTTP/1.1 400 " not in answer.rpartition(b"HTTP/1.1 ")[0] or b"Invalid HTTP request" not in answer
    assert b"HTTP/1.1 200 " in answer
