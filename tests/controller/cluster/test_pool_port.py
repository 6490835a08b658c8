"""Requests of a controller that waits, at the one that leads: real TLS, the real applications of both."""

from __future__ import annotations

import asyncio
import base64
import contextlib
import json
import os
import pwd
import ssl
import time
from dataclasses import replace

import httpx
import pytest
import zmq

from controller.access.principals import NOBODY, Principal
from controller.api.serving import Applications, serve, serve_apps
from controller.cluster.asker import HEADER, asker_of, header_of
from controller.cluster.forwarding import ForwardedSocket, Forwarding
from controller.cluster.pool_port import PoolApps, pool_port
from controller.cluster.tls import pool_tls
from controller.composition.access import make_access
from controller.config.limits import BorderLimits, ClusterLimits
from controller.config.settings import load_settings
from controller.observe.metrics import Metrics
from controller.store import Store
from controller.store.leadership import Leader, LeaderAddress
from wire.keys import KeyPair


def new_keys():
    public, secret = zmq.curve_keypair()
    return KeyPair(public=public.decode(), secret=secret.decode())


KEYS = new_keys()


async def ready():
    return ""


class Scene:
    """A leader with its port for controllers, and one that waits."""

    def __init__(self, port, forwarding, socket, refused):
        self.port, self.forwarding, self.socket, self.refused = port, forwarding, socket, refused
        self.leader = Leader(
            holder="first (process 1)",
            address=LeaderAddress(epoch=1, host="127.0.0.1", publish_port=1, request_port=2, pool_port=port, key="x"),
        )
        forwarding.follow(self.leader)

    def waiting(self):
        """Who asks on the socket of the one that waits."""
        transport = httpx.AsyncHTTPTransport(uds=str(self.socket), verify=False)
        return httpx.AsyncClient(transport=transport, base_url="http://controller/api/v1", timeout=30, trust_env=False)

    def direct(self, context):
        """Who connects to the port itself."""
        return httpx.AsyncClient(base_url=f"https://127.0.0.1:{self.port}", verify=context, timeout=30, trust_env=False)


@pytest.fixture
async def make_scene(desk, config_dir, tmp_path):
    async with contextlib.AsyncExitStack() as stack:

        async def make(*, known=False, **limits):
            refused = []
            limit = ClusterLimits(**limits)
            settings = replace(
                load_settings(config_dir),
                interface="127.0.0.1",
                cluster_pool_port=0,
                limits=BorderLimits(cluster=limit),
            )
            store = stack.enter_context(Store(settings.store_url))
            metrics = Metrics(time.time)
            access = make_access(settings, store, metrics, time.time, desk.select_compound, str)
            listening = await stack.enter_async_context(
                serve(desk, access, settings, metrics, lambda project, number: False, is_ready=ready)
            )
            apps = PoolApps(listening.apps)
            port = await stack.enter_async_context(
                pool_port(
                    apps, pool_tls(KEYS).server, settings, lambda _: known, lambda name, count=1: refused.append(name)
                )
            )
            forwarding = Forwarding(pool_tls(KEYS).client, limit)
            stack.push_async_callback(forwarding.close)
            own = replace(settings, sock_dir=tmp_path / "waiting", http_port=0)
            waiting = Applications(admin=ForwardedSocket(forwarding), public=None, port=None)
            await stack.enter_async_context(serve_apps(waiting, own, metrics))
            return Scene(port, forwarding, own.socket, refused)

        yield make


async def test_a_request_at_one_that_waits_is_answered_by_the_leader(make_scene, desk):
    scene = await make_scene()
    async with scene.waiting() as client:
        found = await client.get("/status")
        assert found.status_code == 200
        assert [each["minion"] for each in found.json()["minions"]] == [each.minion for each in await desk.status(None)]
        assert (await client.get("/nothing")).status_code == 404
        refused = await client.post("/keys/accept", content=b"{", headers={"content-type": "application/json"})
        assert (refused.status_code, refused.json()["error"]) == (400, "bad-request")


async def test_who_asks_is_told_as_the_kernel_of_its_machine_says(make_scene):
    scene = await make_scene()
    async with scene.waiting() as client:
        forged = {HEADER.decode(): header_of(Principal(name="mallory", everything=True)).decode()}
        found = (await client.get("/whoami", headers=forged)).json()

    assert found["user"] == pwd.getpwuid(os.getuid()).pw_name
    assert found["everything"]


async def test_a_stream_comes_as_it_is_made(make_scene, desk):
    scene = await make_scene()
    question = {"target": {"kind": "glob", "expression": "*"}, "fun": "test.ping"}
    async with scene.waiting() as client, client.stream("POST", "/call", json=question) as answer:
        assert answer.status_code == 200
        lines = [json.loads(line) async for line in answer.aiter_lines()]
    assert len(lines) >= 2


async def test_a_listener_that_leaves_is_noticed_at_the_leader(make_scene, desk):
    scene = await make_scene()
    async with scene.waiting() as client:
        async with client.stream("GET", "/events") as answer:
            await anext(answer.aiter_lines())
            assert desk.listeners == 1
        async with asyncio.timeout(30):
            while desk.listeners:
                await asyncio.sleep(0.01)


async def test_a_stream_ends_with_a_word_when_the_leader_changes(make_scene):
    scene = await make_scene()
    async with scene.waiting() as client, client.stream("GET", "/events") as answer:
        lines = answer.aiter_lines()
        await anext(lines)
        scene.forwarding.follow(Leader(holder="second (process 2)"))
        rest = [json.loads(line) async for line in lines if line]
    assert rest[-1]["error"] == "unavailable"
    assert "first (process 1) leads no more" in rest[-1]["message"]
    async with scene.waiting() as client:
        found = await client.get("/status")
    assert found.status_code == 503
    assert "second (process 2) does not serve yet" in found.json()["message"]


async def test_a_leader_that_is_not_there_is_told(make_scene):
    scene = await make_scene()
    gone = LeaderAddress(epoch=2, host="127.0.0.1", publish_port=1, request_port=2, pool_port=1, key="x")
    scene.forwarding.follow(Leader(holder="gone (process 3)", address=gone))
    async with scene.waiting() as client:
        found = await client.get("/status")
    assert found.status_code == 503
    assert found.json()["message"].startswith("gone (process 3), which leads, does not answer")


async def test_another_key_and_no_key_get_nothing(make_scene):
    scene = await make_scene()
    nobody = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    nobody.check_hostname, nobody.verify_mode = False, ssl.CERT_NONE
    other = pool_tls(new_keys()).client
    unchecked = pool_tls(new_keys()).client
    unchecked.verify_mode = ssl.CERT_NONE
    for context in (nobody, other, unchecked):
        async with scene.direct(context) as client:
            with pytest.raises(httpx.TransportError):
                await client.get("/socket/api/v1/whoami")
    async with httpx.AsyncClient(base_url=f"http://127.0.0.1:{scene.port}", trust_env=False) as client:
        with pytest.raises(httpx.TransportError):
            await client.get("/socket/api/v1/whoami")
    async with scene.direct(pool_tls(KEYS).client) as client:
        assert (await client.get("/socket/api/v1/whoami")).status_code == 401


async def test_who_asks_is_told_by_a_controller_alone(make_scene):
    """On the port for controllers a request without who asks is nobody's, and the HTTP routes know no one."""
    scene = await make_scene()
    alice = {HEADER.decode(): header_of(Principal(name="alice")).decode()}
    root = {HEADER.decode(): header_of(Principal(name="root", everything=True)).decode()}
    async with scene.direct(pool_tls(KEYS).client) as client:
        assert (await client.get("/socket/api/v1/status")).status_code == 401
        assert (await client.get("/socket/api/v1/status", headers=alice)).status_code == 403
        assert (await client.get("/socket/api/v1/status", headers=root)).status_code == 200
        assert (await client.get("/http/healthz", headers=root)).text == "ok\n"
        for path in ("/http/status", "/status", "/socket"):
            assert (await client.get(path, headers=root)).status_code == 404, path
        hook = await client.post("/http/hook", json={})
        assert hook.status_code == 403, "it is not from this machine, whatever the address"


async def test_strangers_that_say_nothing_leave_room_for_controllers(make_scene):
    scene = await make_scene(strangers=2, handshake_seconds=1.0)
    held = [await asyncio.open_connection("127.0.0.1", scene.port) for _ in range(3)]
    assert await asyncio.wait_for(held[2][0].read(), 30) == b""
    assert scene.refused == ["strangers"]
    for reader, writer in held:
        assert await asyncio.wait_for(reader.read(), 30) == b""
        writer.close()
        await writer.wait_closed()
    assert scene.refused == ["strangers", "handshake-seconds", "handshake-seconds"]
    async with scene.waiting() as client:
        assert (await client.get("/whoami")).status_code == 200


async def test_strangers_do_not_count_for_controllers(make_scene):
    scene = await make_scene(known=True, strangers=1, handshake_seconds=1.0)
    held = [await asyncio.open_connection("127.0.0.1", scene.port) for _ in range(5)]
    async with scene.waiting() as client:
        assert (await client.get("/whoami")).status_code == 200
    for _, writer in held:
        writer.close()
        await writer.wait_closed()
    assert "strangers" not in scene.refused


@pytest.mark.parametrize("header", [b"", b"x", base64.b64encode(b"{}"), base64.b64encode(b"\xff"), b"\xff"])
def test_a_header_that_says_nobody_is_nobody(header):
    assert asker_of(header) == NOBODY


def test_a_name_goes_through_the_header():
    asked = Principal(name="Zoë", groups=frozenset(("a", "b")), everything=False)
    assert asker_of(header_of(asked)) == asked
