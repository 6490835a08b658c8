"""What a revision concerns is compiled and stored; the others' documents become the revision's as they are."""

from __future__ import annotations

import json
import re
import threading
from dataclasses import replace
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from types import SimpleNamespace
from typing import ClassVar

import pytest

from controller.compilation.builder import Builder
from controller.compilation.compile_pool import CompilePool
from controller.compilation.compile_worker import CompileRequest
from controller.compilation.fact_queries import FactQueries
from controller.compilation.mine import MineStore
from controller.observe.metrics import Metrics
from controller.observe.redactor import Redactor
from controller.sessions.sessions import Sessions
from controller.store import Store
from controller.store.desired import Desired
from gitfs.source import Revision
from highstate.files import MemoryFiles
from highstate.types import Minion
from reactors.bus import Bus

MINIONS = tuple(Minion(id=name, grains={"id": name}) for name in ("web1", "web2", "db1"))
STATES = {
    "top.sls": "base:\n  'web*': [web]\n  'db*': [db]\n",
    "web.sls": "site: {test.nop: []}\n",
    "db.sls": "db: {test.nop: []}\n",
}


def revision(digest: str) -> Revision:
    return Revision(id=digest, digest=digest, remotes={})


def request(minions=MINIONS, **changed: str) -> CompileRequest:
    texts = {**STATES, **changed}
    tree = MemoryFiles({"base": {path: text.encode() for path, text in texts.items()}})
    return CompileRequest(files=tree, pillar=MemoryFiles({}), minions=minions)


@pytest.fixture
def rig(tmp_path):
    woken: list[str] = []
    clock = SimpleNamespace(now=1.0)
    compiler = CompilePool()
    with Store(f"sqlite:///{tmp_path / 'store.sqlite'}") as store:
        for minion in MINIONS:
            store.minions.seen(minion.id, 1.0, grains=minion.grains)
        metrics = Metrics(lambda: 1.0)
        facts = FactQueries(
            store=store,
            sessions=Sessions(),
            server=None,  # nobody is connected
            metrics=metrics,
            clock=lambda: 1.0,
            askable=tuple,
            ready=woken.append,
        )
        builder = Builder(
            compiler=compiler,
            store=store,
            bus=Bus(lambda: 1.0),
            metrics=metrics,
            clock=lambda: clock.now,
            wake=woken.extend,
            refresh_seconds=600.0,
            facts=facts,
            mines=MineStore(store=store, pillar_of=lambda minion: {}),
            redactor=Redactor(store, "key"),
        )
        yield SimpleNamespace(builder=builder, store=store, woken=woken, metrics=metrics, clock=clock)
        compiler.close()


def spared(metrics: Metrics) -> float:
    return float(re.search(r"(?m)^saltern_compiles_spared_total (\S+)", metrics.exposition().decode())[1])


async def test_only_whom_a_revision_concerns_is_compiled(rig):
    await rig.builder.build(request(), revision("r1"), ())
    assert sorted(rig.woken) == ["db1", "web1", "web2"]
    before = rig.store.desired.of(["db1", "web1", "web2"])
    rig.woken.clear()
    await rig.builder.build(request(**{"db.sls": "db2: {test.nop: []}\n"}), revision("r2"), ())
    assert rig.woken == ["db1"]
    assert spared(rig.metrics) == 2
    after = rig.store.desired.of(["db1", "web1", "web2"])
    assert {each.revision for each in after.values()} == {each.compiled_revision for each in after.values()} == {"r2"}
    assert after["web1"].digest == before["web1"].digest
    assert (after["web1"].generation, after["db1"].generation) == (1, 2)
    assert rig.store.documents.get(after["db1"].digest) is not None


async def test_who_is_due_is_compiled_all_the_same_and_an_equal_document_is_no_new_generation(rig):
    await rig.builder.build(request(), revision("r1"), ())
    rig.woken.clear()
    await rig.builder.build(request(), revision("r2"), {"web1"})
    assert rig.woken == ["web1"]
    assert rig.store.desired.get("web1").generation == 1
    assert rig.store.desired.get("web1").revision == "r2"


async def test_who_does_not_compile_is_concerned_by_every_push(rig):
    broken = {"web.sls": "site: [\n"}
    await rig.builder.build(request(**broken), revision("r1"), ())
    rig.woken.clear()
    await rig.builder.build(request(**broken), revision("r2"), ())
    assert sorted(rig.woken) == ["web1", "web2"]
    assert rig.store.desired.get("web1").errors


async def test_a_store_that_cannot_be_written_loses_nothing(rig, monkeypatch):
    await rig.builder.build(request(), revision("r1"), ())

    def full(self: Desired, records: object) -> None:
        raise OSError("the disk is full")

    changed = request(**{"db.sls": "db2: {test.nop: []}\n"})
    with monkeypatch.context() as patch, pytest.raises(OSError, match="full"):
        patch.setattr(Desired, "put", full)
        await rig.builder.build(changed, revision("r2"), ())
    await rig.builder.build(changed, revision("r2"), ())
    assert rig.store.desired.get("db1").generation == 2


class Inventory(BaseHTTPRequestHandler):
    """A web server that knows something of every minion; `None`: it is out of order."""

    answer: ClassVar[dict[str, int] | None] = {"port": 1}

    def do_GET(self):
        data = json.dumps(self.answer).encode()
        self.send_response(503 if self.answer is None else 200)
        self.send_header("Content-Length", str(len(data)))
        self.end_headers()
        self.wfile.write(data)

    def log_message(self, *arguments):
        """Quiet."""


@pytest.fixture
def inventory():
    server = ThreadingHTTPServer(("127.0.0.1", 0), Inventory)
    thread = threading.Thread(target=server.serve_forever)
    thread.start()
    yield f"http://127.0.0.1:{server.server_port}/%s"
    Inventory.answer = {"port": 1}
    server.shutdown()
    thread.join()
    server.server_close()


async def test_external_data_is_looked_at_again_when_it_is_old(rig, inventory):
    states = {"web.sls": "site: {test.nop: [{port: {{ pillar.port }}}]}\n", "top.sls": "base: {'*': [web]}\n"}
    asked = replace(request(**states), language={"ext_pillar": ({"http_json": {"url": inventory}},)})
    names = sorted(minion.id for minion in MINIONS)

    async def again():
        await rig.builder.compile(asked, revision("r1"))
        return {record.generation for record in rig.store.desired.of(names).values()}

    await rig.builder.build(asked, revision("r1"), ())
    Inventory.answer = {"port": 2}
    rig.clock.now += 599
    assert rig.builder.expired() == []
    rig.clock.now += 1
    assert sorted(rig.builder.expired()) == names
    assert rig.builder.expired() == [], "each is told once"
    assert await again() == {2}
    Inventory.answer = None
    rig.clock.now += 600
    assert sorted(rig.builder.expired()) == names
    assert await again() == {2}, "what cannot be had changes nothing"
    assert "503" in str(rig.store.desired.get("web1").errors[0])
    rig.clock.now += 60
    Inventory.answer = {"port": 3}
    assert sorted(rig.builder.expired()) == names, "tried again sooner"
    assert await again() == {3}


async def test_what_stands_on_trees_alone_does_not_grow_old(rig):
    await rig.builder.build(request(), revision("r1"), ())
    rig.clock.now += 10_000
    assert rig.builder.expired() == []


async def test_what_a_compile_said_besides_is_stored(rig):
    twice = "site: {test.nop: [{require: [{test: b}]}, {require: [{test: b}]}]}\nb: {test.nop: []}\n"
    await rig.builder.build(
        request(**{"web.sls": twice, "db.sls": "#!py\ndef run():\n    return {}\n"}), revision("r1"), ()
    )
    web, db = rig.store.desired.get("web1"), rig.store.desired.get("db1")
    [warning] = web.warnings
    assert "the last one alone counts" in warning.message
    assert (warning.pos.file, warning.pos.line) == ("web.sls", 1)
    assert (web.volatile, db.volatile) == ((), ("#!py",))
    await rig.builder.build(request(), revision("r2"), ())
    assert rig.store.desired.get("web1").warnings == ()
