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

SECRET = "a shared secret"
URL = "https://git/states.git"
DEADLINE = 60.0


@pytest.fixture
def hooked(desk, config_dir, serve_desk, monkeypatch):
    """(host, port) of a controller with a secret, and what it was told to fetch."""
    monkeypatch.setattr("controller.api.deadline.REQUEST_SECONDS", 0.5)
    monkeypatch.setattr("controller.api.deadline.MOST_CONNECTIONS", 40)
    with (config_dir / "controller").open("a") as file:
        file.write(f"hook_secret: {SECRET}\n")
    with serve_desk(desk, load_settings(config_dir)) as served:
        yield served.listening.http, desk


def signed(body, secret=SECRET):
    return hmac.new(secret.encode(), body, hashlib.sha256).hexdigest()


def call(hooked, body, headers):
    (host, port), _ = hooked
    with httpx.Client(base_url=f"http://{host}:{port}", timeout=30, trust_env=False) as client:
        return client.post("/hook", content=body, headers=headers)


def basic(user, password):
    return "Basic " + base64.b64encode(f"{user}:{password}".encode()).decode()


def delivery(forge, number=1, secret=SECRET):
    """(body, headers) of a push as a forge tells of it."""
    name = f"0f6ad2f0-{number:012d}"
    repository = {"full_name": "infra/states", "clone_url": URL}
    payload = {"ref": "refs/heads/main", "repository": repository}
    if forge == "gitlab":
        payload = {"object_kind": "push", "project": {"git_http_url": URL}}
    if forge == "bitbucket":
        payload = {"repository": {"links": {"clone": [{"name": "https", "href": URL}]}}}
    if forge == "azure":
        payload = {"id": name, "eventType": "git.push", "resource": {"repository": {"remoteUrl": URL}}}
    body = json.dumps(payload).encode()
    sign = signed(body, secret)
    headers = {
        "github": {"X-GitHub-Event": "push", "X-GitHub-Delivery": name, "X-Hub-Signature-256": f"sha256={sign}"},
        "gitlab": {"X-Gitlab-Event": "Push Hook", "X-Gitlab-Token": secret, "Idempotency-Key": name},
        "gitea": {"X-Gitea-Event": "push", "X-Gitea-Delivery": name, "X-Gitea-Signature": sign},
        "forgejo": {"X-Forgejo-Event": "push", "X-Forgejo-Delivery": name, "X-Forgejo-Signature": sign},
        "bitbucket": {"X-Event-Key": "repo:push", "X-Request-UUID": name, "X-Hub-Signature": f"sha256={sign}"},
        "azure": {"Authorization": basic("azure", secret)},
        "other": {"X-Saltern-Delivery": name, "X-Saltern-Signature": f"sha256={sign}"},
    }[forge]
    return body, {"Content-Type": "application/json", **headers}


FORGES = ["github", "gitlab", "gitea", "forgejo", "bitbucket", "azure", "other"]


@pytest.mark.parametrize("forge", FORGES)
def test_a_delivery_counts_once_and_with_the_right_secret_alone(hooked, forge):
    _, desk = hooked
    body, headers = delivery(forge, secret="another secret")
    assert call(hooked, body, headers).status_code == 403
    assert desk.hints == []
    body, headers = delivery(forge)
    assert call(hooked, body, headers).json() == {"remotes": 1}
    for _ in range(3):
        again = call(hooked, body, headers)
        assert (again.status_code, again.json()) == (202, {"remotes": 0})
    assert desk.hints == [URL]
    assert call(hooked, *delivery(forge, 2)).json() == {"remotes": 1}
    assert desk.hints == [URL, URL]


@pytest.mark.parametrize("forge", ["github", "gitea", "forgejo", "bitbucket", "other"])
def test_a_signature_is_over_the_bytes_as_they_came(hooked, forge):
    body, headers = delivery(forge)
    for changed in (
        body + b"\n",
        body.replace(b"states", b"others"),
        json.dumps(json.loads(body), indent=1).encode(),
        b"",
    ):
        assert call(hooked, changed, headers).status_code == 403
    assert hooked[1].hints == []


def test_one_who_is_refused_does_not_use_up_a_delivery(hooked):
    body, headers = delivery("github")
    assert call(hooked, body, {**headers, "X-Hub-Signature-256": "sha256=" + "0" * 64}).status_code == 403
    assert call(hooked, body, headers).json() == {"remotes": 1}


@pytest.mark.parametrize(
    "kind", ["text/plain", "application/x-www-form-urlencoded", "multipart/form-data", "", "x" * 9000]
)
def test_the_type_of_the_content_does_not_matter(hooked, kind):
    body, headers = delivery("github")
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
    assert desk.hints[-1] is None


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
    assert desk.hints == []
    assert call(hooked, *delivery("github")).status_code == 202


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
                answer = call(hooked, *delivery("github"))
            except httpx.TransportError:
                continue
            assert answer.status_code == 202
            break
    finally:
        for each in held:
            each.close()
