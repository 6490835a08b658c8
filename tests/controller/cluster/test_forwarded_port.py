"""The API's port of a controller that waits: the leader answers, and knows from where somebody asks."""

from __future__ import annotations

import contextlib
import socket
import time
from dataclasses import replace

import httpx
import pytest
import zmq

from controller.access.principals import Principal
from controller.api.port.gate import PortGate, RequestPace
from controller.api.request_ids import RequestIds
from controller.api.serving import Applications, serve, serve_apps
from controller.cluster.asker import header_of
from controller.cluster.forwarding import ForwardedPort, ForwardedSocket, Forwarding
from controller.cluster.pool_port import PoolApps, pool_port
from controller.cluster.tls import pool_tls
from controller.composition.access import make_access
from controller.config.settings import load_settings
from controller.observe.metrics import Metrics
from controller.store import Store
from controller.store.access.audit import AuditQuery
from controller.store.leadership import Leader, LeaderAddress
from wire.keys import KeyPair


async def ready():
    return ""


def free_port():
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


@pytest.fixture
async def scene(desk, config_dir, tmp_path):
    """(client of the port of one that waits, store and access of the one that leads)."""
    with (config_dir / "controller").open("a") as file:
        file.write(f"api: {{port: {free_port()}, plain_on_loopback: true}}\napi_roles: {{operator: [olga]}}\n")
    settings = replace(load_settings(config_dir), interface="127.0.0.1", cluster_pool_port=0)
    public, secret = zmq.curve_keypair()
    keys = KeyPair(public=public.decode(), secret=secret.decode())
    async with contextlib.AsyncExitStack() as stack:
        store = stack.enter_context(Store(settings.store_url))
        metrics = Metrics(time.time)
        access = make_access(settings, store, metrics, time.time, desk.select_compound, str)
        serving = serve(desk, access, settings, metrics, lambda project, number: False, is_ready=ready)
        listening = await stack.enter_async_context(serving)
        leads = pool_port(PoolApps(listening.apps), pool_tls(keys).server, settings, lambda _: True, lambda _: None)
        pool = await stack.enter_async_context(leads)
        forwarding = Forwarding(pool_tls(keys).client, settings.limits.cluster)
        stack.push_async_callback(forwarding.close)
        address = LeaderAddress(epoch=1, host="127.0.0.1", publish_port=1, request_port=2, pool_port=pool, key="x")
        forwarding.follow(Leader(holder="first", address=address))
        pace = RequestPace(settings.limits.api_port, lambda _: None)
        apps = Applications(
            admin=ForwardedSocket(forwarding),
            public=None,
            port=RequestIds(PortGate({"/": ForwardedPort(forwarding)}, pace, ready)),
        )
        own = replace(settings, sock_dir=tmp_path / "waiting", http_port=0, api=replace(settings.api, port=free_port()))
        addresses = await stack.enter_async_context(serve_apps(apps, own, metrics))
        client = httpx.AsyncClient(base_url="http://{}:{}/api/v1".format(*addresses.api), timeout=30, trust_env=False)
        yield await stack.enter_async_context(client), store, access


async def test_the_leader_decides_and_keeps_from_where_and_by_which_request(scene, desk):
    client, store, access = scene
    assert (await client.get("/status")).status_code == 401
    token, _ = access.tokens.give("olga", (), "socket", 60.0, by="root")
    shown = {"authorization": f"Bearer {token}", "x-request-id": "deploy-17.web", "x-saltern-asker": "e30="}
    answer = await client.post("/pause", json={"target": {"expression": "web1"}}, headers=shown)
    assert answer.status_code == 200, answer.text
    assert answer.headers.get_list("x-request-id") == ["deploy-17.web"]
    assert desk.users == ["olga"]
    [row] = store.audit_log.newest(AuditQuery(user="olga"))
    assert (row.address, row.request) == ("127.0.0.1", "deploy-17.web")


async def test_nobody_is_the_user_of_the_machine_by_way_of_it(scene):
    """The header by which controllers tell who asks is not believed from outside."""
    client, _, _ = scene
    forged = {"x-saltern-asker": header_of(Principal(name="root", everything=True)).decode()}
    assert (await client.get("/whoami", headers=forged)).status_code == 401
    assert (await client.get("/tokens", headers=forged)).status_code == 401
