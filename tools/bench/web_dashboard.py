"""What the dashboard costs with a fleet and a million events in the store: pages, chromium, 200 readers of events.

A page's time is that of all questions that it asks the API, one after the other on one connection, which a browser asks
at the same time. `EVENTS` (1000000) and `READERS` (200) say how much. Called by `tools.bench.web`.
"""

from __future__ import annotations

import asyncio
import json
import os
import time
from collections.abc import Iterator

import httpx
import msgpack
from browsing import CHROMIUM, Visitor, chromium
from rig import Rig
from sqlalchemy import insert

from controller.store import schema
from controller.store.database import engine_of
from tools.bench.figures import Figure
from tools.bench.file_serving import memory_of

EVENTS = int(os.environ.get("EVENTS", "1000000"))
READERS = int(os.environ.get("READERS", "200"))
TIMES = 5
SENT = 500
"""Events that are published while readers listen."""
LIMITS = {
    "api_port": dict.fromkeys(
        (
            "connections", "address_connections", "handshakes", "address_handshakes", "address_requests_per_second",
            "address_burst", "principal_requests_per_second", "principal_burst", "principal_event_readers",
        ),
        10_000,
    )
}  # fmt: skip
"""All readers are of one address here, and one person's."""
PAGES = {
    "fleet": (
        "/status/fleet?by=fleet&recent=true", "/status/fleet?by=environment&recent=true", "/revisions?limit=12",
        "/rollouts?limit=12", "/remotes",
    ),
    "minions": ("/minions?limit=100&sort=health",),
    "a minion": (
        "/minions/detail?minion=minion00007", "/why?minion=minion00007", "/history?minion=minion00007&limit=5",
    ),
    "rollouts": ("/rollouts?limit=100", "/quarantine"),
    "revisions": ("/revisions?limit=50",),
    "runs": ("/history?limit=200",),
    "jobs": ("/jobs?limit=100",),
    "events": ("/events?since=900&follow=false",),
    "keys": ("/keys?limit=100", "/keys/controller"),
    "audit": ("/audit?limit=100",),
    "search": ("/search?q=minion0123",),
}  # fmt: skip


def fill_events(url: str, minions: int) -> None:
    """A million events of the last two hours."""
    engine = engine_of(url)
    begin = time.time() - 7200
    data = msgpack.packb({"outcome": "ok", "changes": 0, "summary": "12 states, nothing to do"})
    with engine.begin() as connection:
        for first in range(1, EVENTS + 1, 20_000):
            rows = [
                {
                    "id": number,
                    "tag": f"saltern/minion/minion{number % minions:05}/result",
                    "cause": 0,
                    "revision": "",
                    "time": begin + 7200 * number / EVENTS,
                    "minion": f"minion{number % minions:05}",
                    "data": data,
                }
                for number in range(first, min(first + 20_000, EVENTS + 1))
            ]
            connection.execute(insert(schema.events), rows)
    engine.dispose()


def measure_dashboard(rig: Rig, minions: int) -> Iterator[Figure]:
    """Seconds and megabytes; the rig's controller was started with `browsing.with_dashboard`."""
    base = f"http://127.0.0.1:{rig.controller_setting('api')['port']}"
    token = json.loads(rig.saltern("token", "create", "ada", "--out", "json").stdout)["token"]
    what = f"{minions} minions, {EVENTS} events"
    with httpx.Client(base_url=base, headers={"Authorization": f"Bearer {token}"}, timeout=120) as client:
        for page, paths in PAGES.items():
            samples = []
            for _ in range(TIMES):
                began = time.perf_counter()
                for path in paths:
                    client.get(f"/api/v1{path}").raise_for_status()
                samples.append(time.perf_counter() - began)
            yield Figure(metric=f"page of {page}, {what}", unit="s", samples=samples, target=0.2)
    if CHROMIUM:
        yield from _paint(rig, what)
    yield from asyncio.run(_read_events(rig, base, token))


def _paint(rig: Rig, what: str) -> Iterator[Figure]:
    """First contentful paint, and until the content of the page stands there."""
    painted: dict[str, list[float]] = {"/": [], "/minions": []}
    shown: dict[str, list[float]] = {"/": [], "/minions": []}
    with chromium() as browser:
        ada = Visitor(browser, rig, "ada")
        ada.log_in()
        for path in painted:
            for _ in range(TIMES):
                began = time.perf_counter()
                page = ada.open(path)
                shown[path].append(time.perf_counter() - began)
                first = "performance.getEntriesByName('first-contentful-paint')[0].startTime"
                painted[path].append(page.evaluate(first) / 1000)
    for path in painted:
        yield Figure(metric=f"first paint of {path} in chromium, {what}", unit="s", samples=painted[path], target=1.0)
        yield Figure(metric=f"{path} in chromium with its content, {what}", unit="s", samples=shown[path])


async def _read_events(rig: Rig, base: str, token: str) -> list[Figure]:
    """Many browsers read events: all get each, and the controller does not grow with them."""
    headers = {"Authorization": f"Bearer {token}"}
    limits = httpx.Limits(max_connections=READERS + 10)
    marks = [asyncio.Event() for _ in range(READERS)]
    seen = [0] * READERS

    async def read(client: httpx.AsyncClient, number: int) -> None:
        async with client.stream("GET", "/api/v1/events", headers={**headers, "Accept": "text/event-stream"}) as answer:
            answer.raise_for_status()
            marks[number].set()
            async for line in answer.aiter_lines():
                seen[number] += '"tag":"salt/netapi/hook/bench"' in line

    # A reader that is refused ends the measurement: it would be waited for.
    async with (
        httpx.AsyncClient(base_url=base, timeout=None, limits=limits) as client,  # noqa: S113
        asyncio.TaskGroup() as group,
    ):
        before = memory_of(rig.pid("controller"))
        readers = [group.create_task(read(client, number)) for number in range(READERS)]
        await asyncio.gather(*(each.wait() for each in marks))
        sizes, took = [], []
        for _ in range(3):
            goal = min(seen) + SENT
            began = time.perf_counter()
            for number in range(SENT):
                (await client.post("/salt/hook/bench", json={"number": number}, headers=headers)).raise_for_status()
            while min(seen) < goal:
                await asyncio.sleep(0.05)
            took.append((time.perf_counter() - began) / SENT)
            sizes.append((memory_of(rig.pid("controller")) - before) / 2**20)
        for each in readers:
            each.cancel()
    what = f"{READERS} readers of events over the port"
    grown = f"{what}: memory of the controller beyond that without them, after each {SENT} events"
    return [
        Figure(metric=f"{what}: an event sent and read by all", unit="s", samples=took),
        Figure(metric=grown, unit="MiB", samples=sizes),
    ]
