"""Compiling in processes: every minion gets one answer, and one that hangs or breaks costs itself alone."""

import os
import signal
from pathlib import Path

import msgspec
import pytest

from controller.compilation.compile_pool import CompilePool
from controller.compilation.compile_worker import CompileRequest
from highstate.files import MemoryFiles
from highstate.types import Minion

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


async def test_no_secret_of_the_controller_is_in_the_workers_environment(monkeypatch, compiler):
    monkeypatch.setenv("SALTERN_TOKEN", "correct horse")
    await compiler.compile(request("x: {test.nop: []}"))
    for worker in compiler.workers:
        assert b"correct horse" not in Path(f"/proc/{worker}/environ").read_bytes()


async def test_a_set_gives_the_same_document_in_each_process():
    app = "x: {test.nop: [{all: !!set {alpha, beta, gamma, delta, epsilon, zeta, eta, theta}}]}"
    digests = set()
    for _ in range(3):
        compiler = CompilePool(workers=1, timeout=30.0)
        [answer] = await compiler.compile(request(app, ids=("a",)))
        digests.add(answer.digest)
        compiler.close()
    assert len(digests) == 1
