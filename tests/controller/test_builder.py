"""What a revision concerns is compiled and stored; the others' documents become the revision's as they are."""

from __future__ import annotations

import re
from types import SimpleNamespace

import pytest

from controller.builder import Builder
from controller.compile_worker import Request
from controller.compiler import ProcessCompiler
from controller.fleet import Fleet
from controller.live_facts import LiveFacts
from controller.metrics import Metrics
from controller.store import Store
from gitfs import Revision
from highstate import MemoryFiles, Minion
from reactors import Bus

MINIONS = tuple(Minion(id=name, grains={"id": name}) for name in ("web1", "web2", "db1"))
STATES = {
    "top.sls": "base:\n  'web*': [web]\n  'db*': [db]\n",
    "web.sls": "site: {test.nop: []}\n",
    "db.sls": "db: {test.nop: []}\n",
}


def revision(digest: str) -> Revision:
    return Revision(id=digest, digest=digest, remotes={})


def request(minions=MINIONS, **changed: str) -> Request:
    texts = {**STATES, **changed}
    tree = MemoryFiles({"base": {path: text.encode() for path, text in texts.items()}})
    return Request(files=tree, pillar=MemoryFiles({}), minions=minions)


@pytest.fixture
def rig(tmp_path):
    woken: list[str] = []
    compiler = ProcessCompiler()
    with Store(f"sqlite:///{tmp_path / 'store.sqlite'}") as store:
        for minion in MINIONS:
            store.seen(minion.id, 1.0, grains=minion.grains)
        metrics = Metrics(lambda: 1.0)
        facts = LiveFacts(
            store=store,
            fleet=Fleet(),
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
            clock=lambda: 1.0,
            wake=woken.extend,
            facts=facts,
        )
        yield SimpleNamespace(builder=builder, store=store, woken=woken, metrics=metrics)
        compiler.close()


def spared(metrics: Metrics) -> float:
    return float(re.search(r"(?m)^saltern_compiles_spared_total (\S+)", metrics.exposition().decode())[1])


async def test_only_whom_a_revision_concerns_is_compiled(rig):
    await rig.builder.build(request(), revision("r1"), ())
    assert sorted(rig.woken) == ["db1", "web1", "web2"]
    before = rig.store.desired_of(["db1", "web1", "web2"])
    rig.woken.clear()
    await rig.builder.build(request(**{"db.sls": "db2: {test.nop: []}\n"}), revision("r2"), ())
    assert rig.woken == ["db1"]
    assert spared(rig.metrics) == 2
    after = rig.store.desired_of(["db1", "web1", "web2"])
    assert {each.revision for each in after.values()} == {each.compiled_revision for each in after.values()} == {"r2"}
    assert after["web1"].digest == before["web1"].digest
    assert (after["web1"].generation, after["db1"].generation) == (1, 2)
    assert rig.store.document(after["db1"].digest) is not None


async def test_who_is_due_is_compiled_all_the_same_and_an_equal_document_is_no_new_generation(rig):
    await rig.builder.build(request(), revision("r1"), ())
    rig.woken.clear()
    await rig.builder.build(request(), revision("r2"), {"web1"})
    assert rig.woken == ["web1"]
    assert rig.store.desired("web1").generation == 1
    assert rig.store.desired("web1").revision == "r2"


async def test_who_does_not_compile_is_concerned_by_every_push(rig):
    broken = {"web.sls": "site: [\n"}
    await rig.builder.build(request(**broken), revision("r1"), ())
    rig.woken.clear()
    await rig.builder.build(request(**broken), revision("r2"), ())
    assert sorted(rig.woken) == ["web1", "web2"]
    assert rig.store.desired("web1").errors


async def test_a_store_that_cannot_be_written_loses_nothing(rig):
    await rig.builder.build(request(), revision("r1"), ())
    failing = rig.store.put_compiled

    def full(records: object) -> None:
        raise OSError("the disk is full")

    rig.store.put_compiled = full
    changed = request(**{"db.sls": "db2: {test.nop: []}\n"})
    with pytest.raises(OSError, match="full"):
        await rig.builder.build(changed, revision("r2"), ())
    rig.store.put_compiled = failing
    await rig.builder.build(changed, revision("r2"), ())
    assert rig.store.desired("db1").generation == 2
