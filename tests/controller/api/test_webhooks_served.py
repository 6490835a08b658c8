"""The hook on its real socket, called as each forge calls it, and as nobody should."""

from __future__ import annotations

import base64
import hashlib
import hmac
import json
import socket
import time

import httpx
import pytest

from controller.config.settings import load_settings
from controller.forges.verifiers import BasicPassword, SignatureHeader, TokenHeader
from controller.forges.webhooks import SENDERS

SECRET = "a shared secret"
URL = "https://git/states.git"
DEADLINE = 60.0


@pytest.fixture
def hooked(desk, config_dir, serve_desk):
    """(host, port) of a controller with a secret, and what it was told to fetch."""
    with (config_dir / "controller").open("a") as file:
        file.write(f"hook_secret: {SECRET}\n")
        file.write("limits: {webhook: {connections: 40, request_seconds: 0.5}}\n")
    with serve_desk(desk, load_settings(config_dir)) as served:
        yield served.listening.http, desk


def signed(body, secret=SECRET):
    return hmac.new(secret.encode(), body, hashlib.sha256).hexdigest()


def call(hooked, body, headers):
    (host, port), _ = hooked
    with httpx.Client(base_url=f"http://{host}:{port}", timeout=30, trust_env=False, verify=False) as client:
        return client.post("/hook", content=body, headers=headers)


def basic(user, password):
    return "Basic " + base64.b64encode(f"{user}:{password}".encode()).decode()


WAYS = {
    f"{name} {getattr(verifier, 'header', 'authorization')}": (sender, verifier)
    for name, sender in SENDERS.items()
    for verifier in sender.verifiers
}
"""A forge may have several ways to send the secret: older and newer headers, or those of its forks."""
SIGNED = [way for way, (_, verifier) in WAYS.items() if isinstance(verifier, SignatureHeader)]
GITHUB = "github x-hub-signature-256"


def delivery(way, number=1, secret=SECRET):
    """(body, headers) of a push as a forge tells of it."""
    sender, verifier = WAYS[way]
    name = f"0f6ad2f0-{number:012d}"
    payload = {"clone_url": URL, "remoteUrl": URL, "git_http_url": URL}
    for key in reversed(sender.repository):
        payload = {key: payload}
    body = json.dumps({"id": name, "ref": "refs/heads/main", **payload}).encode()
    match verifier:
        case SignatureHeader(header):
            proof = {header: f"sha256={signed(body, secret)}"}
        case TokenHeader(header):
            proof = {header: secret}
        case BasicPassword():
            proof = {"authorization": basic("anyone", secret)}
    return body, {"Content-Type": "application/json", **dict.fromkeys(sender.delivery_headers, name), **proof}


@pytest.mark.parametrize("way", WAYS)
def test_a_delivery_counts_once_and_with_the_right_secret_alone(hooked, way):
    _, desk = hooked
    body, headers = delivery(way, secret="another secret")
    assert call(hooked, body, headers).status_code == 403
    assert desk.fetched == []
    body, headers = delivery(way)
    assert call(hooked, body, headers).json() == {"remotes": 1}
    for _ in range(3):
        again = call(hooked, body, headers)
        assert (again.status_code, again.json()) == (202, {"remotes": 0})
    assert desk.fetched == [URL]
    assert call(hooked, *delivery(way, 2)).json() == {"remotes": 1}
    assert desk.fetched == [URL, URL]


@pytest.mark.parametrize("way", SIGNED)
def test_a_signature_is_over_the_bytes_as_they_came(hooked, way):
    body, headers = delivery(way)
    for changed in (
        body + b"\n",
        body.replace(b"states", b"others"),
        json.dumps(json.loads(body), indent=1).encode(),
        b"",
    ):
        assert call(hooked, changed, headers).status_code == 403
    assert hooked[1].fetched == []


def test_one_who_is_refused_does_not_use_up_a_delivery(hooked):
    body, headers = delivery(GITHUB)
    assert call(hooked, body, {**headers, "x-hub-signature-256": "sha256=" + "0" * 64}).status_code == 403
    assert call(hooked, body, headers).json() == {"remotes": 1}


@pytest.mark.parametrize(
    "kind", ["text/plain", "application/x-www-form-urlencoded", "multipart/form-data", "", "x" * 9000]
)
def test_the_type_of_the_content_does_not_matter(hooked, kind):
    body, headers = delivery(GITHUB)
    assert call(hooked, body, {**headers, "Content-Type": kind}).status_code == 202


@pytest.mark.parametrize(
    "body",
    [b"", b"\xff\x00", b"[" * 200_000, b"payload=%7B%7D", b'{"repository": {"clone_url": "file:///etc"}}', b"null"],
    ids=["nothing", "bytes", "deep", "form", "elsewhere", "null"],
)
def test_a_body_is_a_hint_and_no_more(hooked, body):
    _, desk = hooked
    headers = {"X-Hub-Signature-256": f"sha256={signed(body)}"}
    assert call(hooked, body, headers).json() == {"remotes": 2}, "what is not understood means all remotes"
    assert desk.fetched[-1] is None


def test_a_body_that_never_ends_is_cut_off(hooked):
    (host, port), desk = hooked
    with socket.create_connection((host, port), 30) as client:
        client.sendall(b"POST /hook HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n")
        chunk = b"10000\r\n" + b"x" * 65536 + b"\r\n"
        deadline = time.monotonic() + DEADLINE
        with pytest.raises(OSError):
            while time.monotonic() < deadline:
                client.sendall(chunk)
    assert time.monotonic() < deadline
    assert desk.fetched == []
    assert call(hooked, *delivery(GITHUB)).status_code == 202


def until_cut(client):
    """Whether the other side hangs up before our patience ends."""
    client.settimeout(DEADLINE)
    try:
        while client.recv(1000):
            pass
        return True
    except ConnectionResetError:
        return True
    except TimeoutError:
        return False


HALVES = {
    "nothing": b"",
    "a line": b"POST /hook HT",
    "headers": b"POST /hook HTTP/1.1\r\nHost: x\r\nX-Filler: ",
    "half a body": b"POST /hook HTTP/1.1\r\nHost: x\r\nContent-Length: 1000\r\n\r\n{",
    "half a chunk": b"POST /hook HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\nff\r\n{",
}


@pytest.mark.parametrize("half", HALVES.values(), ids=HALVES)
def test_half_a_request_is_cut_off(hooked, half):
    (host, port), _ = hooked
    with socket.create_connection((host, port), 30) as client:
        client.sendall(half)
        assert until_cut(client)


def test_a_request_by_drops_is_cut_off(hooked):
    (host, port), _ = hooked
    with socket.create_connection((host, port), 30) as client:
        client.sendall(b"POST /hook HTTP/1.1\r\nHost: x\r\nX-Filler: ")
        deadline = time.monotonic() + DEADLINE
        with pytest.raises(OSError):
            while time.monotonic() < deadline:
                client.sendall(b"x")
                time.sleep(0.01)
    assert time.monotonic() < deadline


def test_half_a_second_request_on_a_connection_is_cut_off(hooked):
    (host, port), _ = hooked
    with socket.create_connection((host, port), 30) as client:
        client.sendall(b"GET /healthz HTTP/1.1\r\nHost: x\r\n\r\n")
        assert b"200" in client.recv(1000)
        client.sendall(b"GET /heal")
        assert until_cut(client)


def test_many_connections_that_say_nothing_keep_nobody_out_for_long(hooked):
    (host, port), _ = hooked
    held = [socket.create_connection((host, port), 30) for _ in range(120)]
    try:
        deadline = time.monotonic() + DEADLINE
        while True:
            assert time.monotonic() < deadline
            try:
                answer = call(hooked, *delivery(GITHUB))
            except httpx.TransportError:
                continue
            assert answer.status_code == 202
            break
    finally:
        for each in held:
            each.close()
