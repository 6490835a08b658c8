"""The audit compiles a minion that a push left out, and compares; where it differs, all are compiled."""

from __future__ import annotations

import asyncio
import re
from dataclasses import replace

import pytest

from controller.compilation.audit.compile_audit import CompileAudit
from controller.compilation.dependencies.index import DependencyIndex

CHANGED = {"web.sls": "site2: {test.nop: []}\n"}


@pytest.fixture
def audit(rig):
    return CompileAudit(
        builds=rig.builds,
        requests=rig.requests,
        compiler=rig.pool,
        store=rig.store,
        metrics=rig.metrics,
        interval=0.01,
        chosen=sorted,
    )


def audits(rig) -> dict[str, float]:
    found = re.findall(r'saltern_compile_audits_total{result="(\w+)"} (\S+)', rig.metrics.exposition().decode())
    return {result: float(count) for result, count in found if float(count)}


def forget_reads(monkeypatch, left_out):
    """Have the index leave out minions that a push concerns, as it would where a read of theirs was not recorded."""
    real = DependencyIndex.affected
    monkeypatch.setattr(DependencyIndex, "affected", lambda *given: real(*given) - left_out)


async def test_there_is_nothing_to_audit_where_all_were_compiled(rig, audit):
    assert await audit.check_one() is None
    await rig.push("r1")
    assert await audit.check_one() is None
    assert audits(rig) == {}


async def test_what_a_push_left_out_rightly_is_equal(rig, audit):
    await rig.push("r1")
    assert await rig.push("r2", **CHANGED) == ["web1", "web2"]
    before = rig.store.desired.get("db1")
    assert await audit.check_one() == "equal"
    assert (audits(rig), rig.store.desired.get("db1")) == ({"equal": 1.0}, before)


async def test_what_it_left_out_wrongly_is_found_and_all_are_compiled(rig, audit, monkeypatch):
    await rig.push("r1")
    with monkeypatch.context() as patch:
        forget_reads(patch, {"web2"})
        assert await rig.push("r2", **CHANGED) == ["web1"]
    rig.woken.clear()
    chosen = replace(audit, chosen=lambda ids: [each for each in ids if each == "web2"])
    assert await chosen.check_one() == "different"
    await until_compiled(rig)
    assert sorted(rig.woken) == ["db1", "web1", "web2"]
    held = rig.store.desired.of(["web1", "web2"])
    assert held["web1"].digest == held["web2"].digest
    assert held["web2"].generation == 2
    assert audits(rig)["different"] == 1.0
    assert await chosen.check_one() is None  # it is compiled, and left out no more


async def test_an_error_is_that_of_the_minion_alone(rig, audit, monkeypatch):
    await rig.push("r1")
    with monkeypatch.context() as patch:
        forget_reads(patch, {"web2"})
        await rig.push("r2", **{"web.sls": "site: [\n"})
    rig.woken.clear()
    chosen = replace(audit, chosen=lambda ids: [each for each in ids if each == "web2"])
    assert await chosen.check_one() == "error"
    await until_compiled(rig)
    assert rig.woken == ["web2"]
    assert rig.store.desired.get("web2").errors


async def test_what_changes_meanwhile_is_not_compared(rig, audit, monkeypatch):
    await rig.push("r1")
    await rig.push("r2", **CHANGED)
    compile_real = rig.pool.compile

    async def compile_late(request):
        answers = await compile_real(request)
        rig.builds.grains_changed("db1")
        return answers

    monkeypatch.setattr(rig.pool, "compile", compile_late, raising=True)
    assert await audit.check_one() is None
    assert audits(rig) == {}


async def test_it_goes_on_by_itself_and_an_interval_of_zero_is_none(rig, audit):
    await rig.push("r1")
    await rig.push("r2", **CHANGED)
    task = asyncio.create_task(audit.run())
    while audits(rig).get("equal", 0.0) < 2:
        await asyncio.sleep(0.01)
    task.cancel()
    never = replace(audit, interval=0.0)
    await never.run()


async def until_compiled(rig) -> None:
    await asyncio.sleep(0)
    while rig.builds._compiling is None and not rig.woken:
        await asyncio.sleep(0.01)
    while rig.builds._compiling is not None:
        await asyncio.sleep(0.01)
