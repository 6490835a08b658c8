"""What a revision affects is compiled and stored; the others' documents become the revision's as they are."""

from __future__ import annotations

import asyncio
import json
import re
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from types import SimpleNamespace
from typing import ClassVar

import pytest
from build_rig import NAMES

from controller.compilation import build_reconciler
from controller.compilation.decision import QUERY_SECONDS
from controller.observe.metrics import Metrics
from controller.sessions.sessions import Session
from controller.store import StoreUnavailable
from controller.store.compiles.desired import DesiredTable
from wire.messages import FactAnswer, FactAnswers, MineEntry


def spared(metrics: Metrics) -> float:
    return float(re.search(r"(?m)^saltern_compiles_spared_total (\S+)", metrics.exposition().decode())[1])


async def test_only_whom_a_revision_affects_is_compiled(rig):
    assert await rig.push("r1") == NAMES
    before = rig.store.desired.of(NAMES)
    assert await rig.push("r2", **{"db.sls": "db2: {test.nop: []}\n"}) == ["db1"]
    assert spared(rig.metrics) == 2
    after = rig.store.desired.of(NAMES)
    assert {each.revision for each in after.values()} == {each.compiled_revision for each in after.values()} == {"r2"}
    assert after["web1"].digest == before["web1"].digest
    assert (after["web1"].generation, after["db1"].generation) == (1, 2)
    assert rig.store.documents.get(after["db1"].digest) is not None


async def test_an_equal_document_is_no_new_generation(rig):
    await rig.push("r1")
    rig.woken.clear()
    rig.builds.grains_changed("web1")
    assert await rig.compiled_after(0) == ["web1"]
    rig.builds.grains_changed("web1")
    assert await rig.push("r2") == ["web1"]
    assert rig.store.desired.get("web1").generation == 1
    assert rig.store.desired.get("web1").revision == "r2"


async def test_who_does_not_compile_is_affected_by_every_push(rig):
    broken = {"web.sls": "site: [\n"}
    await rig.push("r1", **broken)
    assert await rig.push("r2", **broken) == ["web1", "web2"]
    assert rig.store.desired.get("web1").errors


async def test_who_does_not_compile_is_compiled_when_it_connects(rig):
    await rig.push("r1", **{"web.sls": "site: [\n"})
    rig.builds.connected("web1")
    rig.builds.connected("db1")
    assert await rig.compiled_after(0) == ["web1"]


async def test_an_answer_that_comes_late_is_compiled_with(rig):
    asked = []
    rig.builds.facts.server = SimpleNamespace(send=lambda key, message: asked.append(message))
    rig.sessions.connect(Session(minion="web1", key="k", session="s", grains={"id": "web1"}, seen=1.0))
    rig.take("r1", **{"web.sls": "site {{ salt['file.file_exists']('/x') }}: {test.nop: []}\n"})
    while not asked:
        await asyncio.sleep(0.01)
    while not (row := rig.store.desired.get("web1")):
        await rig.compiled_after(QUERY_SECONDS)
    assert "did not answer within" in row.errors[0].message
    rig.builds.answered("web1", "k", FactAnswers(request=asked[0].request, answers=(FactAnswer(value=True),)))
    assert await rig.compiled_after(0) == ["web1"]
    assert rig.store.desired.get("web1").errors == ()
    assert len(asked) == 1


async def test_a_newer_revision_in_the_middle_of_a_compile_is_compiled_after_it(rig):
    rig.take("r1")
    while rig.builds._compiling is None:
        await asyncio.sleep(0)
    assert await rig.push("r2", **{"db.sls": "db2: {test.nop: []}\n"}) == sorted([*NAMES, "db1"])
    assert {each.revision for each in rig.store.desired.of(NAMES).values()} == {"r2"}


async def test_a_store_that_cannot_be_written_loses_nothing(rig, monkeypatch):
    monkeypatch.setattr(build_reconciler, "RETRY_SECONDS", 0.1)
    await rig.push("r1")
    keep, refused = DesiredTable.put, []

    def full(table, records) -> None:
        refused.append(records)
        monkeypatch.setattr(DesiredTable, "put", keep)
        raise StoreUnavailable("the disk is full")

    monkeypatch.setattr(DesiredTable, "put", full)
    assert await rig.push("r2", **{"db.sls": "db2: {test.nop: []}\n"}) == ["db1"]
    assert len(refused) == 1
    assert rig.store.desired.get("db1").generation == 2


async def test_a_minion_that_was_forgotten_is_not_compiled(rig):
    await rig.push("r1")
    rig.store.minions.delete("web1")
    rig.builds.grains_changed("web1")
    assert await rig.compiled_after(0) == []
    assert rig.store.desired.get("web1") is None


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
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
    thread.start()
    yield f"http://127.0.0.1:{server.server_port}/%s"
    Inventory.answer = {"port": 1}
    server.shutdown()
    thread.join()
    server.server_close()


async def test_external_data_is_looked_at_again_when_it_is_old(make_rig, inventory):
    rig = make_rig(ext_pillar=({"http_json": {"url": inventory}},))
    states = {"web.sls": "site: {test.nop: [{port: {{ pillar.port }}}]}\n", "top.sls": "base: {'*': [web]}\n"}

    def generations():
        return {record.generation for record in rig.store.desired.of(NAMES).values()}

    assert await rig.push("r1", **states) == NAMES
    Inventory.answer = {"port": 2}
    assert await rig.compiled_after(599) == []
    assert generations() == {1}
    assert await rig.compiled_after(1) == NAMES
    assert generations() == {2}
    assert await rig.compiled_after(1) == [], "once"
    Inventory.answer = None
    assert await rig.compiled_after(600) == NAMES
    assert generations() == {2}, "what cannot be had changes nothing"
    assert "503" in str(rig.store.desired.get("web1").errors[0])
    Inventory.answer = {"port": 3}
    assert await rig.compiled_after(60) == NAMES, "tried again sooner"
    assert generations() == {3}


async def test_what_stands_on_trees_alone_does_not_grow_old(rig):
    await rig.push("r1")
    assert await rig.compiled_after(10_000) == []


async def test_what_a_compile_said_besides_is_stored(rig):
    twice = "site: {test.nop: [{require: [{test: b}]}, {require: [{test: b}]}]}\nb: {test.nop: []}\n"
    await rig.push("r1", **{"web.sls": twice, "db.sls": "#!py\ndef run():\n    return {}\n"})
    web, db = rig.store.desired.get("web1"), rig.store.desired.get("db1")
    [warning] = web.warnings
    assert "the last one alone counts" in warning.message
    assert (warning.pos.file, warning.pos.line) == ("web.sls", 1)
    assert (web.volatile, db.volatile) == ((), ("#!py",))
    await rig.push("r2")
    assert rig.store.desired.get("web1").warnings == ()


OTHER_DB = {"db.sls": "db2: {test.nop: []}\n"}
MEMBERS = "site: {test.nop: [{members: {{ salt['mine.get'](WHO) | json }}}]}\n"


def members(*who: str) -> dict[str, str]:
    return {"web.sls": MEMBERS.replace("WHO", ", ".join(map(repr, who)))}


async def test_a_mine_that_changes_compiles_whose_answers_are_others_and_a_push_who_reads_what_it_changes(rig):
    rig.mines.put("db1", {"address": MineEntry(value="10.0.0.1")})
    states = members("db*", "address")
    assert await rig.push("r1", **states) == NAMES
    assert await rig.push("r2", **states, **OTHER_DB) == ["db1"]
    rig.mines.put("db1", {"address": MineEntry(value="10.0.0.1"), "unread": MineEntry(value=1)})
    assert await rig.compiled_after(2) == []
    rig.mines.put("db1", {"address": MineEntry(value="10.0.0.2")})
    assert await rig.compiled_after(2) == ["web1", "web2"]
    assert {rig.store.desired.get(name).generation for name in ("web1", "web2")} == {2}


async def test_a_mine_by_grains_follows_the_grains_of_others(rig):
    rig.mines.put("db1", {"address": MineEntry(value="10.0.0.1")})
    await rig.push("r1", **members("role:db", "address", "grain"))
    rig.store.minions.seen("db1", 2.0, grains={"id": "db1", "role": "db"})
    rig.mines.changed()
    rig.builds.grains_changed("db1")
    assert await rig.compiled_after(2) == NAMES, "db1, whose grains they are, and who asks by them"
    assert {rig.store.desired.get(name).generation for name in ("web1", "web2")} == {2}


@pytest.mark.parametrize("who", [("role:db", "address", "pillar"), ("I@role:db", "address", "compound")])
async def test_who_asks_a_mine_by_pillar_is_compiled_at_each_push(rig, who):
    states = members(*who)
    await rig.push("r1", **states)
    assert await rig.push("r2", **states, **OTHER_DB) == NAMES


async def test_who_asks_a_mine_that_is_kept_from_some_is_compiled_at_each_push(rig):
    rig.mines.put("db1", {"address": MineEntry(value=1, allow="web*")})
    states = members("db*", "address")
    await rig.push("r1", **states)
    assert await rig.push("r2", **states, **OTHER_DB) == NAMES


async def test_grains_that_change_compile_that_minion_alone(rig):
    await rig.push("r1")
    rig.woken.clear()
    rig.builds.grains_changed("web2")
    assert await rig.compiled_after(2) == ["web2"]


async def test_a_secret_is_looked_at_again_for_those_who_read_it(rig, monkeypatch):
    monkeypatch.setenv("SALTERN_TEST_PASSWORD", "one")
    states = {"web.sls": "site: {test.nop: [{password: {{ salt['sdb.get']('sdb://env/SALTERN_TEST_PASSWORD') }}}]}\n"}
    await rig.push("r1", **states)
    monkeypatch.setenv("SALTERN_TEST_PASSWORD", "two")
    assert await rig.compiled_after(599) == []
    assert await rig.compiled_after(1) == ["web1", "web2"]
    assert {rig.store.desired.get(name).generation for name in NAMES} == {1, 2}
    assert await rig.push("r2", **states, **OTHER_DB) == NAMES, "what cannot be followed is looked at with each push"
