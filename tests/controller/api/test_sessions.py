"""Sessions of browsers, over TLS: the cookie, the CSRF token, and how a session ends."""

from __future__ import annotations

import socket
import time

import pytest
from api_ports import over_socket, over_tls, token_of, with_port

from controller.access.csrf import csrf_token, is_csrf_token
from controller.config.settings import load_settings

COOKIE = "__Host-saltern-session"
PAUSE = {"target": {"expression": "web1"}}


@pytest.fixture
def port(desk, config_dir, serve_desk):
    """The API on a port, for a viewer and an operator."""
    rules = "api_roles: {viewer: [viola], operator: [olga]}\nlimits: {access: {sessions: 2}}\n"
    with_port(config_dir, free_port(), rules)
    with serve_desk(desk, load_settings(config_dir)) as served:
        yield served


def free_port():
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


def opened(client, token):
    """Log in with a token; the CSRF token. The cookie is the client's from now on."""
    answer = client.post("/session", json={"token": token})
    assert answer.status_code == 200, answer.text
    return answer.json()["csrf"]


def test_the_cookie_is_no_scripts_and_no_other_sites(port):
    with over_tls(port) as client:
        answer = client.post("/session", json={"token": token_of(port, "viola")})
        parts = {part.strip().lower().partition("=")[0]: part for part in answer.headers["set-cookie"].split(";")}
        assert {"httponly", "secure", "path", "samesite", "max-age"} <= set(parts)
        assert parts["samesite"].strip().lower() == "samesite=strict"
        assert parts["path"].strip().lower() == "path=/"
        assert "domain" not in parts
        assert client.cookies[COOKIE] not in answer.text
        assert client.get("/whoami").json()["user"] == "viola"


def test_what_changes_something_needs_the_csrf_token(port, desk):
    with over_tls(port) as client:
        csrf = opened(client, token_of(port, "olga"))
        own = f"https://{port.listening.api[0]}:{port.listening.api[1]}"
        refused = [
            {},
            {"x-csrf-token": ""},
            {"x-csrf-token": csrf[:-1]},
            {"x-csrf-token": "\N{LATIN SMALL LETTER E WITH ACUTE}".encode()},
            {"x-csrf-token": csrf, "origin": "https://evil.example"},
            {"x-csrf-token": csrf, "origin": "null"},
            {"x-csrf-token": csrf, "sec-fetch-site": "cross-site"},
            {"x-csrf-token": csrf, "sec-fetch-site": "same-site"},
        ]
        for headers in refused:
            assert client.post("/pause", json=PAUSE, headers=headers).status_code == 403, headers
        assert desk.users == []
        for headers in ({}, {"origin": own}, {"origin": own, "sec-fetch-site": "same-origin"}):
            shown = {"x-csrf-token": csrf, **headers}
            assert client.post("/pause", json=PAUSE, headers=shown).status_code == 200, headers
        assert desk.users == ["olga"] * 3
        assert client.get("/session").json()["csrf"] == csrf, "a page that is loaded again asks for it"


def test_the_csrf_token_of_another_session_is_none(port):
    with over_tls(port) as one, over_tls(port) as other:
        token = token_of(port, "olga")
        of_one, of_other = opened(one, token), opened(other, token)
        assert of_one != of_other
        assert one.post("/pause", json=PAUSE, headers={"x-csrf-token": of_other}).status_code == 403


def test_a_session_may_what_its_token_may(port):
    with over_tls(port) as client:
        csrf = opened(client, token_of(port, "olga", scopes=["read"]))
        assert client.get("/session").json()["session"]["scopes"] == ["read"]
        assert client.get("/status").status_code == 200
        assert client.post("/pause", json=PAUSE, headers={"x-csrf-token": csrf}).status_code == 403
        assert client.get("/audit").status_code == 403


def test_logging_out_ends_it_for_whoever_has_the_cookie(port):
    with over_tls(port) as client:
        csrf = opened(client, token_of(port, "viola"))
        stolen = client.cookies[COOKIE]
        assert client.delete("/session").status_code == 403, "another site does not log out"
        assert client.delete("/session", headers={"x-csrf-token": csrf}).status_code == 200
        assert COOKIE not in client.cookies
        assert client.get("/whoami", headers={"cookie": f"{COOKIE}={stolen}"}).status_code == 401


def test_it_ends_with_its_token(port):
    with over_tls(port) as client, over_socket(port) as admin:
        opened(client, token_of(port, "viola"))
        token, session = admin.get("/tokens").json()
        assert (session["kind"], session["parent"], session["user"]) == ("session", token["id"], "viola")
        assert session["expires"] <= token["expires"]
        admin.post("/tokens/revoke", json={"ids": [token["id"]]})
        assert client.get("/whoami").status_code == 401
        assert admin.get("/tokens").json() == []


def test_it_expires_with_its_token(port, wait_for):
    with over_tls(port) as client:
        opened(client, token_of(port, "viola", seconds=1.5))
        cookie = {"cookie": f"{COOKIE}={client.cookies[COOKIE]}"}
        wait_for(lambda: client.get("/whoami", headers=cookie).status_code == 401)


def test_a_session_is_no_token_and_a_token_is_none(port):
    token = token_of(port, "viola")
    with over_tls(port) as client:
        opened(client, token)
        shown = {"authorization": f"Bearer {client.cookies[COOKIE]}"}
        assert client.get("/whoami", headers=shown).status_code == 401
    with over_tls(port, cookie=f"{COOKIE}={token}") as client:
        assert client.get("/whoami").status_code == 401


def test_a_header_counts_before_the_cookie(port, desk):
    """A script of a browser that has both is who the header says, and needs no CSRF token."""
    with over_tls(port) as client:
        opened(client, token_of(port, "viola"))
        shown = {"authorization": f"Bearer {token_of(port, 'olga')}"}
        assert client.post("/pause", json=PAUSE, headers=shown).status_code == 200
        assert client.get("/session", headers=shown).status_code == 401
    assert desk.users == ["olga"]


def test_of_more_sessions_the_oldest_ends(port):
    token = token_of(port, "viola")
    clients = [over_tls(port) for _ in range(3)]
    for client in clients:
        opened(client, token)
    assert [client.get("/whoami").status_code for client in clients] == [401, 200, 200]
    for client in clients:
        client.close()


def test_no_form_of_another_site_opens_one(port):
    token = token_of(port, "viola")
    with over_tls(port) as client:
        for kind in ("text/plain", "application/x-www-form-urlencoded", "multipart/form-data; boundary=x"):
            body = f'{{"token": "{token}"}}'
            answer = client.post("/session", content=body, headers={"content-type": kind})
            assert (answer.status_code, COOKIE in client.cookies) == (400, False)
        assert client.post("/session", json={}).status_code == 401
        assert client.post("/session", json={"token": "garbage"}).status_code == 401
        assert client.post("/session", json={"user": "root", "password": "x"}).status_code == 403


def test_a_browser_whose_session_is_over_logs_in_again(port):
    token = token_of(port, "viola")
    with over_tls(port, cookie=f"{COOKIE}=of-last-week") as client:
        answer = client.post("/session", json={"token": token})
        assert answer.status_code == 200
        assert answer.json()["session"]["expires"] > time.time()


def test_the_csrf_token_does_not_tell_the_cookie():
    assert csrf_token("a") != csrf_token("b")
    assert is_csrf_token(csrf_token("a"), "a")
    for wrong in ("", "a", csrf_token("b"), "\udc80", csrf_token("a") + "="):
        assert not is_csrf_token(wrong, "a")
