"""A controller that starts goes on with the documents of the one before, where they hold still."""

from __future__ import annotations

import asyncio

import pytest
from build_rig import NAMES

from controller.compilation.dependencies.kept import KeptBases
from controller.compilation.dependencies.program import program_digest
from wire.messages import MineEntry

DB2 = {"db.sls": "db2: {test.nop: []}\n"}


async def test_after_a_restart_nobody_is_compiled_again(make_rig):
    rig = make_rig()
    await rig.push("r1")
    before = rig.store.desired.of(NAMES)
    after = make_rig(again=rig)
    assert await after.push("r1") == []
    assert after.store.desired.of(NAMES) == before
    assert await after.push("r2", **DB2) == ["db1"]
    assert sorted(after.builds.carried_over()) == ["web1", "web2"]


async def test_what_moved_meanwhile_is_compiled_and_no_more(make_rig):
    rig = make_rig()
    await rig.push("r1")
    after = make_rig(again=rig)
    assert await after.push("r2", **DB2) == ["db1"]
    assert {each.revision for each in after.store.desired.of(NAMES).values()} == {"r2"}


async def test_other_grains_are_compiled(make_rig):
    rig = make_rig()
    await rig.push("r1")
    rig.store.minions.seen("web1", 2.0, grains={"id": "web1", "os": "Debian"})
    assert await make_rig(again=rig).push("r1") == ["web1"]


async def test_grains_that_come_while_it_looks_are_compiled(make_rig, monkeypatch):
    rig = make_rig()
    await rig.push("r1")
    after = make_rig(again=rig)
    found = KeptBases.found

    def slow(bases, grains, shaping):
        after.store.minions.seen("web1", 2.0, grains={"id": "web1", "os": "Debian"})
        after.builds.grains_changed("web1")
        return found(bases, grains, shaping)

    monkeypatch.setattr(KeptBases, "found", slow)
    await after.push("r1")
    assert await after.compiled_after(0) == ["web1"] or after.woken == ["web1"]


@pytest.mark.parametrize(
    "other", [{"program": "two"}, {"program": None}, {"opts": {"color": "blue"}}, {"pillar_merge_lists": True}]
)
async def test_another_program_or_other_options_compile_all(make_rig, other):
    rig = make_rig()
    await rig.push("r1")
    assert await make_rig(again=rig, **other).push("r1") == NAMES


async def test_nothing_is_kept_where_documents_may_stand_on_more(make_rig):
    rig = make_rig(program=None)
    await rig.push("r1")
    assert rig.store.bases.all() == []


async def test_who_did_not_compile_is_compiled(make_rig):
    rig = make_rig()
    await rig.push("r1")
    await rig.push("r2", **{"web.sls": "site: [\n"})
    after = make_rig(again=rig)
    assert await after.push("r2", **{"web.sls": "site: [\n"}) == ["web1", "web2"]


async def test_what_stands_on_more_than_files_is_compiled(make_rig, monkeypatch):
    monkeypatch.setenv("SALTERN_TEST_KEPT", "secret")
    text = "a:\n  test.nop:\n    - name: {{ salt['sdb.get']('sdb://env/SALTERN_TEST_KEPT') }}\n"
    rig = make_rig()
    await rig.push("r1", **{"db.sls": text})
    assert not rig.store.desired.get("db1").errors
    assert await make_rig(again=rig).push("r1", **{"db.sls": text}) == ["db1"]


async def test_a_mine_that_changed_meanwhile_is_noticed(make_rig):
    text = "a:\n  test.nop:\n    - members: {{ salt['mine.get']('web1', 'address') | json }}\n"
    rig = make_rig()
    rig.mines.put("web1", {"address": MineEntry(value="10.0.0.1")})
    await rig.push("r1", **{"db.sls": text})
    assert b"10.0.0.1" in rig.store.documents.get(rig.store.desired.get("db1").digest)
    rig.store.mines.put("web1", {"address": MineEntry(value="10.0.0.2")})
    after = make_rig(again=rig)
    await after.push("r1", **{"db.sls": text})
    while b"10.0.0.2" not in after.store.documents.get(after.store.desired.get("db1").digest):
        await asyncio.sleep(0.01)


async def test_a_batch_without_an_outcome_changes_nothing(make_rig):
    rig = make_rig()
    await rig.push("r1")
    before = rig.store.bases.all()
    rig.store.bases.put([], [], {})
    assert rig.store.bases.all() == before


async def test_parts_that_no_document_stands_on_are_forgotten(make_rig):
    rig = make_rig()
    await rig.push("r1")
    await rig.push("r2", **DB2)
    kept = rig.store.bases.parts()
    assert rig.store.bases.prune() == 1
    assert len(rig.store.bases.parts()) == len(kept) - 1
    assert await make_rig(again=rig).push("r2", **DB2) == []


async def test_a_part_that_is_missing_compiles_who_stands_on_it(make_rig):
    rig = make_rig()
    await rig.push("r1")
    kept = {each.minion: each for each in rig.store.bases.all()}
    rig.store.bases.put(["web1", "web2"], [], {})
    rig.store.bases.prune()
    rig.store.bases.put(["web1"], [kept["web1"]], {})
    assert await make_rig(again=rig).push("r1") == ["web1", "web2"]


def test_the_program_is_the_same_until_a_file_of_it_is_another(tmp_path, monkeypatch):
    digest = program_digest()
    assert digest == program_digest()
    monkeypatch.setattr("controller.compilation.dependencies.program._LIBRARIES", ("Jinja2",))
    assert digest != program_digest()
