"""Bodies that are no question, sent to each route of each application, by their own tables: 4xx, at once, no 500."""

from __future__ import annotations

import socket
import time
from typing import Any

import httpx
import pytest
from api_ports import over_socket, over_tls, token_of, with_port

from controller.api.app import api_app
from controller.api.permissions import PREFIX
from controller.config.limits import BorderLimits
from controller.config.settings import load_settings
from controller.salt_api.app import salt_api_app
from controller.salt_api.credentials import PREFIX as SALT

SECONDS = 10
MANY = 10 * 1024 * 1024
JSON = "application/json"
DEEP = b"[" * 200_000 + b"]" * 200_000
BODIES = {
    "nothing": b"",
    "no JSON": b"{",
    "a NUL": b"\0",
    "no UTF-8": b'{"a": "\xff\xfe"}',
    "no UTF-8 as a name": b'{"\xc3\x28": 1}',
    "half a surrogate": rb'{"a": "\ud800"',
    "lists in lists": b"[" * 200_000,
    "closed lists in lists": DEEP,
    "mappings in mappings": b'{"a":' * 200_000 + b"1" + b"}" * 200_000,
    "in a field": b'{"ids": %b}' % DEEP,
    "in a field of any type": b'{"target": {"expression": "*"}, "fun": "a.b", "args": %b}' % DEEP,
    "NaN": b"NaN",
    "infinity": b'{"seconds": Infinity}',
    "a large number": b'{"seconds": 1e999999',
    "many digits": b'{"seconds": ' + b"9" * 100_000,
    "a list": b"[]",
    "a text": b'"x"',
    "a number": b"1",
    "null": b"null",
    "true": b"true",
    "a number for each field": None,
    "a list for each field": None,
    "much of a text": b'"' + b"x" * MANY + b'"',
    "many values": b"[" + b"1," * (MANY // 2) + b"1]",
    "many names": b"[" + b"{}," * (MANY // 3) + b"{}",
}
FIELDS = """
add action after all args at before by check client dry_run expires expression fun glob groups head hint ids id jid job
kind kwargs match message method minion minions minute name names never password path paths public reason ref refs
remote revision scopes seconds sls source target test tgt to token user username eauth value wait whole
"""


def bodies() -> dict[str, bytes]:
    """Of what is wrong in all; those `for each field` have a value of a wrong type, whatever the route calls it."""
    typed = {"a number for each field": "1e400", "a list for each field": "[[]]"}
    fields = FIELDS.split()
    filled = {name: "{" + ", ".join(f'"{each}": {value}' for each in fields) + "}" for name, value in typed.items()}
    return {name: filled[name].encode() if body is None else body for name, body in BODIES.items()}


def posts(app: Any, prefix: str) -> list[str]:
    """Paths of the routes that take a body, with something in place of their parameters."""
    found = []
    for route in app.routes:
        if "POST" in getattr(route, "route_handler_map", ()):
            template = route.path_format.removeprefix(prefix) or "/"
            found.append("/".join("x" if part.startswith("{") else part for part in template.split("/")))
    return sorted(set(found))


ADMIN = posts(api_app(None, None, BorderLimits(), 60, lambda _: None), PREFIX)
OF_SALT = posts(salt_api_app(None, None, BorderLimits(), lambda _: None), SALT)
READS_NONE = {"/logout"}
EVENTS = {"/hook", "/hook/x"}
"""Have what they are sent as the data of an event, whatever it is."""


def answer(client: httpx.Client, path: str, body: bytes, form: str) -> tuple[int, float, str]:
    """Status, seconds, text."""
    began = time.monotonic()
    try:
        found = client.post(path, content=body, headers={"content-type": form})
    except (httpx.WriteError, httpx.RemoteProtocolError) as error:
        # The answer came before all was sent, and the connection was closed.
        return 413, time.monotonic() - began, str(error)
    return found.status_code, time.monotonic() - began, found.text[:300]


def test_the_tables_have_the_routes():
    assert len(ADMIN) > 30
    assert len(OF_SALT) > 6


@pytest.mark.parametrize("path", ADMIN)
def test_a_route_of_the_api_refuses_what_is_no_question(served, desk, path):
    with over_socket(served) as client:
        for name, body in bodies().items():
            status, seconds, text = answer(client, path, body, JSON)
            assert 400 <= status < 500, (path, name, status, text)
            assert seconds < SECONDS, (path, name)
    assert desk.users == []


@pytest.fixture
def salt_served(desk, config_dir, serve_desk):
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    limits = "limits: {api_port: {address_burst: 100000, principal_burst: 100000, failures_per_minute: 100000}}\n"
    with_port(config_dir, port, "api_roles: {admin: [ada]}\n" + limits)
    with serve_desk(desk, load_settings(config_dir)) as served:
        yield served


@pytest.mark.parametrize("path", OF_SALT)
def test_a_route_of_salt_api_refuses_what_is_no_question(salt_served, path):
    token = token_of(salt_served, "ada")
    with over_tls(salt_served, SALT, **{"x-auth-token": token}) as client:
        for form in (JSON, "application/x-yaml", "application/x-www-form-urlencoded", "text/plain"):
            for name, body in bodies().items():
                status, seconds, text = answer(client, path, body, form)
                least = 200 if path in READS_NONE | EVENTS or name == "a list" else 400  # an empty list asks nothing
                assert least <= status < 500 or (path, status) == ("/keys", 501), (path, form, name, status, text)
                assert seconds < SECONDS, (path, form, name)


def test_the_hook_takes_what_it_cannot_read_for_a_hint(served):
    """Whatever the body says, no more than a fetch comes of it."""
    host, port = served.listening.http
    with httpx.Client(base_url=f"http://{host}:{port}", timeout=30, trust_env=False, verify=False) as client:
        for name, body in bodies().items():
            status, seconds, text = answer(client, "/hook", body, JSON)
            assert status < 500, (name, status, text)
            assert seconds < SECONDS, name
