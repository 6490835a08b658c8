"""Every route of both applications, from their own tables: who reaches it, and with which proof.

A route that is added to the admin application is tested here without anybody doing anything for it; one that is added
to the public application fails here, until somebody has thought about it and written it into docs/security.md.
"""

from __future__ import annotations

import base64
import os
import subprocess
import sys
import time
from typing import Any, cast

import httpx
import pytest
from litestar import Litestar
from litestar.routes import HTTPRoute
from other_users import let_through

from controller.access.access import Access
from controller.api.app import api_app
from controller.api.public import public_app
from controller.config.limits import BorderLimits, WebhookLimits
from controller.config.settings import load_settings
from controller.observe.metrics import Metrics
from controller.schema.controller_api import ControllerApi

METHODS = ("GET", "POST", "PUT", "PATCH", "DELETE", "OPTIONS", "TRACE")
PUBLIC = {"GET /events", "GET /healthz", "GET /leader", "GET /metrics", "GET /previews/{report_id:str}", "POST /hook"}
STRANGER = 65534


def table(app: Litestar) -> set[str]:
    """METHOD /path of each route; what the framework answers by itself is left out."""
    found = {
        f"{method} {route.path}"
        for route in app.routes
        if isinstance(route, HTTPRoute)
        for method in route.route_handler_map
    }
    return {one for one in found if not one.startswith("OPTIONS ")}


ADMIN = table(api_app(cast(ControllerApi, None), cast(Access, None), BorderLimits(), 60, lambda _: None))


def public(served: Any) -> httpx.Client:
    host, port = served.listening.http
    return httpx.Client(base_url=f"http://{host}:{port}", timeout=30, trust_env=False, verify=False)


def _unwatched(project: str, number: int) -> bool:
    return False


def test_the_network_has_six_routes():
    assert table(public_app(cast(ControllerApi, None), Metrics(time.time), "", WebhookLimits(), _unwatched)) == PUBLIC


@pytest.mark.parametrize("secret", ["", "s3cret"])
def test_no_route_of_the_socket_is_reached_by_the_network(desk, config_dir, serve_desk, secret):
    """Whatever is shown: even who knows the secret of the webhook can do no more than cause a fetch."""
    if secret:
        with (config_dir / "controller").open("a") as file:
            file.write(f"hook_secret: {secret}\n")
    shown = [
        {},
        {"authorization": "Bearer garbage"},
        {"authorization": "Basic " + base64.b64encode(f"root:{secret}".encode()).decode()},
        {"x-gitlab-token": secret, "x-forwarded-for": "127.0.0.1", "host": "controller"},
    ]
    with serve_desk(desk, load_settings(config_dir)) as served, public(served) as client:
        for route in sorted(ADMIN - PUBLIC):
            method, path = route.split()
            for headers in shown:
                for asked in (path, path + "/", "/" + path, f"/healthz/..{path}", f"/%2e{path}"):
                    answer = client.request(method, asked, headers=headers, json={})
                    assert answer.status_code == 404, (route, asked)
    assert (desk.users, desk.fetched) == ([], [])


@pytest.mark.parametrize("route", sorted(PUBLIC))
def test_a_public_route_has_one_method(served, desk, route):
    method, path = route.split()
    with public(served) as client:
        answers = {each: client.request(each, path).status_code for each in METHODS if each not in (method, "OPTIONS")}
    assert set(answers.values()) == {405}
    assert desk.fetched == []


@pytest.mark.parametrize(
    "query", ["?token=s3cret", "?secret=s3cret", "?hook_secret=s3cret", "?access_token=s3cret&private_token=s3cret"]
)
def test_a_secret_in_the_address_is_none(desk, config_dir, serve_desk, query):
    with (config_dir / "controller").open("a") as file:
        file.write("hook_secret: s3cret\n")
    with serve_desk(desk, load_settings(config_dir)) as served, public(served) as client:
        assert client.post(f"/hook{query}", content=b"{}").status_code == 403
    assert desk.fetched == []


@pytest.mark.skipif(os.geteuid() != 0, reason="another user is a matter of root's")
def test_another_user_of_the_machine_does_not_get_to_the_socket(served):
    """By any route: the kernel refuses the connection, also where the folders above let everybody through."""
    socket = served.settings.socket
    let_through(socket)
    code = (
        f"import os, socket; os.setgroups([]); os.setgid({STRANGER}); os.setuid({STRANGER}); print('asks', flush=True);"
        f"socket.socket(socket.AF_UNIX).connect({str(socket)!r})"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert "PermissionError" in done.stderr.splitlines()[-1]
    assert done.stdout == "asks\n"
