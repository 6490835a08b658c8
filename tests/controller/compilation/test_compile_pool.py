"""Compiling in processes: every minion gets one answer, and one that hangs or breaks costs itself alone."""

import asyncio
import os
import signal
import threading
import time
from dataclasses import replace
from pathlib import Path

import msgspec
import pytest

from controller.compilation.compile_messages import CompileRequest
from controller.compilation.compile_pool import CompilePool
from controller.compilation.workers.budget import CompileBudget
from controller.config.limits import CompileWorkerLimits
from highstate.dummy_pillar import DummyPillar
from highstate.files import MemoryFiles
from highstate.types import Minion

ENDLESS = """#!py
def run():
    while True:
        pass
"""
TOP = b"base:\n  '*':\n    - app\n"


def tree(app, **more):
    return MemoryFiles({"base": {"top.sls": TOP, "app.sls": app.encode(), **more}})


def request(app, ids=("a", "b", "c"), pillar=""):
    pillar_tree = MemoryFiles({"base": {"top.sls": b"base: {'*': [p]}", "p.sls": pillar.encode()}})
    return CompileRequest(
        files=tree(app),
        pillar=pillar_tree,
        minions=tuple(Minion(id=each, grains={"id": each}) for each in ids),
        drift={"interval": 60.0, "splay": 0.0},
    )


@pytest.fixture
def make_pool():
    pools = []

    def make(**options):
        pools.append(CompilePool(**options))
        return pools[-1]

    yield make
    for pool in pools:
        pool.close()


@pytest.fixture(params=[1, 2])
def compiler(request):
    compiler = CompilePool(workers=request.param, timeout=30.0)
    yield compiler
    compiler.close()


async def test_answers_come_in_the_order_asked(compiler):
    answers = await compiler.compile(request("x: {test.nop: [{name: {{ grains['id'] }}}]}", ids=("c", "a", "b")))
    assert [answer.minion_id for answer in answers] == ["c", "a", "b"]
    documents = [msgspec.msgpack.decode(answer.document) for answer in answers]
    assert [next(iter(each["chunks"].values()))["name"] for each in documents] == ["c", "a", "b"]
    assert {each["drift"]["interval"] for each in documents} == {60.0}
    again = await compiler.compile(request("x: {test.nop: [{name: {{ grains['id'] }}}]}", ids=("a",)))
    assert again[0].digest == answers[1].digest


async def test_errors_are_typed_and_positioned(compiler):
    answers = await compiler.compile(request("x: {test.nop: [{name: {{ grains['nope'] }}}]}", ids=("a",)))
    (problem,) = answers[0].errors
    assert not answers[0].ok
    assert problem.pos.file == "app.sls"
    assert problem.pos.template_line == 1


async def test_a_value_that_cannot_be_sent_is_an_error_of_its_minion(compiler):
    app = "x: {test.nop: []}"
    answers = await compiler.compile(request(app, pillar="{% if grains['id'] == 'b' %}n: " + "9" * 30 + "{% endif %}"))
    assert [answer.ok for answer in answers] == [True, False, True]
    assert "cannot be sent" in answers[1].errors[0].message


async def test_an_sls_that_never_ends_costs_its_own_minion():
    endless = """#!py
def run():
    while __grains__["id"] == "b":
        pass
    return {"x": {"test.nop": []}}
"""
    compiler = CompilePool(workers=1, timeout=3.0)
    try:
        answers = await compiler.compile(request(endless))
        assert [answer.ok for answer in answers] == [True, False, True]
        assert "took more than 3 s" in answers[1].errors[0].message
    finally:
        compiler.close()


async def test_a_process_that_is_killed_is_replaced(compiler):
    assert all(answer.ok for answer in await compiler.compile(request("x: {test.nop: []}")))
    for worker in compiler.workers:
        os.kill(worker, signal.SIGKILL)
    answers = await compiler.compile(request("x: {test.nop: []}"))
    assert [(answer.minion_id, answer.ok) for answer in answers] == [("a", True), ("b", True), ("c", True)]


async def test_after_some_minions_that_take_too_long_the_others_are_not_compiled(make_pool):
    compiler, budget = make_pool(timeout=1.0), CompileBudget(2)
    answers = await compiler.compile(request(ENDLESS, ids=tuple("abcdefgh")), budget)
    messages = [answer.errors[0].message for answer in answers]
    assert ["took more than 1 s" in message for message in messages] == [True] * 2 + [False] * 6
    assert set(messages[2:]) == {f"{name} was not compiled: 2 other minions took too long" for name in "cdefgh"}
    assert not budget.left
    [answer] = await compiler.compile(request("x: {test.nop: []}", ids=("a",)), budget)
    assert "not compiled" in answer.errors[0].message
    [answer] = await compiler.compile(request("x: {test.nop: []}", ids=("a",)))
    assert answer.ok


async def test_documents_that_are_too_large_together_are_errors_until_others_are_released(make_pool):
    compiler = make_pool()
    text = "x: {test.nop: [{comment: " + "x" * 1000 + "}]}"
    [one] = await compiler.compile(request(text, ids=("a",)))
    budget = CompileBudget(2, most_bytes=2 * len(one.document))
    answers = await compiler.compile(request(text, ids=("a", "b", "c")), budget)
    assert [answer.ok for answer in answers] == [True, True, False]
    assert "is too large beside those that are compared with it" in answers[2].errors[0].message
    assert budget.refused == {"c"}
    budget.release(answers[:1])
    [answer] = await compiler.compile(request(text, ids=("c",)), budget)
    assert answer.ok


async def test_a_compile_ends_with_its_asker(make_pool):
    compiler = make_pool(timeout=3600.0, ends_with_listener=True)
    asker = asyncio.ensure_future(compiler.compile(request(ENDLESS, ids=("a", "b", "c"))))
    waiting = asyncio.ensure_future(compiler.compile(request(ENDLESS, ids=("a",))))
    while not compiler.workers:
        await asyncio.sleep(0.01)
    [worker] = compiler.workers
    for gone in (waiting, asker):
        gone.cancel()
        with pytest.raises(asyncio.CancelledError):
            await gone
    answers = await asyncio.wait_for(compiler.compile(request("x: {test.nop: []}")), 60)
    assert all(answer.ok for answer in answers)
    assert compiler.workers != (worker,)


def test_no_thread_waits_for_a_loop_that_has_ended(make_pool, tmp_path):
    compiler, begun = make_pool(timeout=60.0), tmp_path / "begun"
    slow = f"""#!py
import time
def run():
    open({str(begun)!r}, "w").close()
    time.sleep(0.2)
    return {{}}
"""

    async def begin():
        asker = asyncio.ensure_future(compiler.compile(request(slow, ids=("a",))))
        while not begun.exists():
            await asyncio.sleep(0.01)
        return asker

    with asyncio.Runner() as runner:
        asker = runner.run(begin())
        time.sleep(2)  # the loop stands still, and the thread has its answer
        compiler.close()
        for thread in threading.enumerate():
            if thread.name.startswith("compile"):
                thread.join(10)
                assert not thread.is_alive()
        asker.cancel()


async def test_a_pool_goes_on_without_its_asker_if_not_told_otherwise(make_pool):
    compiler = make_pool(timeout=60.0)
    asker = asyncio.ensure_future(compiler.compile(request("x: {test.nop: []}")))
    while not compiler.workers:
        await asyncio.sleep(0.01)
    workers = compiler.workers
    asker.cancel()
    assert all(answer.ok for answer in await compiler.compile(request("x: {test.nop: []}")))
    assert compiler.workers == workers


async def test_an_idle_process_ends_and_the_next_request_starts_another(make_pool):
    compiler = make_pool(timeout=60.0, idle_seconds=0.05)
    assert all(answer.ok for answer in await compiler.compile(request("x: {test.nop: []}")))
    while compiler.workers:
        await asyncio.sleep(0.01)
    assert all(answer.ok for answer in await compiler.compile(request("x: {test.nop: []}")))


async def test_a_compile_that_wants_too_much_memory_is_an_error_of_its_minion(make_pool):
    compiler = make_pool(timeout=60.0, limits=CompileWorkerLimits(memory_bytes=256 * 1024 * 1024))
    greedy = """#!py
def run():
    return {"x": {"test.nop": [{"name": len(bytearray(1 << 30))}]}} if __grains__["id"] == "b" else {}
"""
    answers = await compiler.compile(request(greedy))
    assert [answer.ok for answer in answers] == [True, False, True]
    assert "needs more memory" in answers[1].errors[0].message or "MemoryError" in answers[1].errors[0].message


async def test_too_many_states_are_an_error_of_their_minion(make_pool):
    compiler = make_pool(timeout=60.0, limits=CompileWorkerLimits(states=3))
    states = "{% for i in range(3 + (grains['id'] == 'b')) %}\ns{{ i }}: {test.nop: []}\n{% endfor %}"
    answers = await compiler.compile(request(states))
    assert [answer.ok for answer in answers] == [True, False, True]
    assert answers[1].errors[0].message == "the highstate has 4 states, and 3 is the limit"


async def test_no_secret_of_the_controller_is_in_the_workers_environment(monkeypatch, compiler):
    monkeypatch.setenv("SALTERN_TOKEN", "correct horse")
    await compiler.compile(request("x: {test.nop: []}"))
    for worker in compiler.workers:
        assert b"correct horse" not in Path(f"/proc/{worker}/environ").read_bytes()


async def test_few_minions_take_one_process(make_pool):
    compiler = make_pool(workers=2, few=3)
    assert all(answer.ok for answer in await compiler.compile(request("x: {test.nop: []}")))
    assert len(compiler.workers) == 1
    assert all(answer.ok for answer in await compiler.compile(request("x: {test.nop: []}", ids=tuple("abcdefgh"))))
    assert len(compiler.workers) == 2


async def test_what_strangers_wrote_takes_one_process(make_pool):
    compiler = make_pool(workers=2)
    answers = await compiler.compile(
        replace(request("x: {test.nop: []}", ids=tuple("abcdefgh")), dummies=DummyPillar(key=b"k"))
    )
    assert [answer.ok for answer in answers] == [True] * 8
    assert len(compiler.workers) == 1


async def test_minions_are_dealt_in_the_order_of_the_request(make_pool):
    compiler = make_pool(workers=2, in_order=True)
    await compiler.compile(request("x: {test.nop: []}", ids=tuple("dacb")))
    shares = compiler._shares(request("", ids=tuple("abcd")).minions)
    assert {index: "".join(each.id for each in share) for index, share in shares.items()} == {0: "ad", 1: "bc"}


async def test_minions_that_came_one_by_one_are_dealt_anew_when_all_are_compiled(make_pool):
    compiler = make_pool(workers=2, few=2)
    compiler._prepare(2)
    minions = request("", ids=tuple("abcdef")).minions
    for each in minions:
        assert list(compiler._shares([each])) == [0]
    shares = compiler._shares(minions)
    assert {index: len(share) for index, share in shares.items()} == {0: 3, 1: 3}
    assert compiler._shares(minions) == shares


async def test_workers_come_to_their_classes_in_orders_of_their_own(make_pool):
    compiler = make_pool(workers=2)
    minions = tuple(
        Minion(id=f"{system}-{role}-{number}", grains={"os": system, "role": role})
        for number in range(3)
        for system in ("Debian", "Rocky")
        for role in "abcdefgh"
    )
    compiler._prepare(2)
    shares = compiler._shares(minions)
    assert {minion.id for share in shares.values() for minion in share} == {minion.id for minion in minions}
    orders = []
    for share in shares.values():
        classes = [(minion.grains["os"], minion.grains["role"]) for minion in share]
        assert len(classes) == 3 * len(dict.fromkeys(classes))
        assert classes == [each for each in dict.fromkeys(classes) for _ in range(3)]
        orders.append([role for _, role in dict.fromkeys(classes)])
    assert sorted(orders[0]) == sorted(orders[1])
    assert sum(one == other for one, other in zip(*orders, strict=True)) < 4


async def test_a_set_gives_the_same_document_in_each_process():
    app = "x: {test.nop: [{all: !!set {alpha, beta, gamma, delta, epsilon, zeta, eta, theta}}]}"
    digests = set()
    for _ in range(3):
        compiler = CompilePool(workers=1, timeout=30.0)
        [answer] = await compiler.compile(request(app, ids=("a",)))
        digests.add(answer.digest)
        compiler.close()
    assert len(digests) == 1
