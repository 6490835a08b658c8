"""Compiles on a real Dask cluster: a scheduler and workers, as processes of this machine."""

from __future__ import annotations

import asyncio
import os
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import pytest

pytest.importorskip("distributed", reason="compiles on several machines need Dask: pip install 'saltern[dask]'")

from dask_machines import DaskMachines, wait_until
from dask_pool import pool_on
from effort import soak

from controller.compilation.compile_messages import CompileRequest
from controller.compilation.compile_pool import CompilePool
from controller.config.limits import CompileWorkerLimits
from highstate.compile import CompileOptions
from highstate.files import MemoryFiles
from highstate.types import Minion

pytestmark = pytest.mark.timeout(400)
APP = "{% for i in range(20) %}\nx{{ i }}: {test.nop: [{name: {{ grains['id'] }} {{ pillar['of'] }}}]}\n{% endfor %}\n"
SLOW = """#!py
import time
def run():
    time.sleep({seconds})
    return {"x": {"test.nop": [{"name": __grains__["id"]}]}}
"""


def request(app=APP, count=8, **more):
    pillar = MemoryFiles({"base": {"top.sls": b"base: {'*': [p]}", "p.sls": b"of: {{ grains['id'] }}"}})
    files = MemoryFiles({"base": {"top.sls": b"base: {'*': [app]}", "app.sls": app.encode()}})
    minions = tuple(Minion(id=f"m{each}", grains={"id": f"m{each}"}) for each in range(count))
    return CompileRequest(files=files, pillar=pillar, minions=minions, drift={"interval": 60.0, "splay": 0.0}, **more)


def answered_by_all(answers, count=8):
    assert [answer.minion_id for answer in answers] == [f"m{each}" for each in range(count)]
    assert [answer.errors for answer in answers] == [()] * count


def has_lost(made):
    wait_until(lambda: made.cluster.connection.state == "unreachable", "that the scheduler is away")
    assert made.cluster.connection.error


@pytest.fixture
def machines(tmp_path):
    with DaskMachines(tmp_path / "dask") as machines:
        machines.start_scheduler()
        yield machines


@pytest.fixture
def on_cluster(machines):
    """A pool on two workers."""
    for name in ("w1", "w2"):
        machines.start_worker(name)
    yield from opened(machines, 2)


@pytest.fixture(scope="module")
def shared(tmp_path_factory):
    """Two workers of the tests that do nothing to them."""
    with DaskMachines(tmp_path_factory.mktemp("dask")) as machines:
        machines.start_scheduler()
        for name in ("w1", "w2"):
            machines.start_worker(name, environment={"SECRET_OF_THE_WORKER": "x"})
        yield machines


@pytest.fixture
def on_shared(shared):
    """A pool on them."""
    yield from opened(shared, 2)


def opened(machines, lanes, **more):
    made = pool_on(machines, **more)
    try:
        made.has_lanes(lanes)
        yield made
    finally:
        made.pool.close()


async def test_documents_are_those_of_this_machine(on_shared):
    here = CompilePool(workers=1)
    try:
        wanted = await here.compile(request())
    finally:
        here.close()
    found = await on_shared.pool.compile(request())
    assert [answer.document for answer in found] == [answer.document for answer in wanted]
    assert [answer.digest for answer in found] == [answer.digest for answer in wanted]
    answered_by_all(found)
    assert (on_shared.compiled, on_shared.fallbacks) == ({"dask": 8}, 0)
    assert len(set(on_shared.pool.workers)) == 2, "each worker has a compile process"
    answered_by_all(await on_shared.pool.compile(replace(request(), held={})))
    assert on_shared.workers == {"ready": 2, "silent": 0, "refused": 0}


async def test_errors_have_their_position(on_shared):
    answers = await on_shared.pool.compile(request("x: {test.nop: [{name: {{ grains['nope'] }}}]}", count=1))
    [problem] = answers[0].errors
    assert (problem.pos.file, problem.pos.template_line) == ("app.sls", 1)


async def test_a_worker_that_dies_in_a_compile_loses_nothing(machines, on_cluster):
    compile_all = asyncio.ensure_future(on_cluster.pool.compile(request(SLOW.replace("{seconds}", "0.3"))))
    await asyncio.to_thread(wait_until, lambda: on_cluster.compiled["dask"] >= 2, "the first answers")
    machines.kill("w1")
    answered_by_all(await compile_all)
    assert on_cluster.fallbacks == 0, "the other worker has compiled the rest"
    assert on_cluster.compiled == {"dask": 8}, "nobody was compiled twice"


async def test_a_worker_that_freezes_in_a_compile_loses_nothing(machines, on_cluster):
    compile_all = asyncio.ensure_future(on_cluster.pool.compile(request(SLOW.replace("{seconds}", "0.3"))))
    await asyncio.to_thread(wait_until, lambda: on_cluster.compiled["dask"] >= 2, "the first answers")
    machines.freeze("w1")
    answered_by_all(await compile_all)
    assert on_cluster.compiled == {"dask": 8}, "nobody was compiled twice, nobody here"
    frozen, other = on_cluster.cluster.table.standings()
    assert (frozen.name, frozen.state, other.name, other.state) == ("w1", "silent", "w2", "ready")
    assert "no heartbeat" in frozen.reason
    assert frozen.minions + other.minions == 8
    assert on_cluster.workers == {"ready": 1, "silent": 1, "refused": 0}
    answered_by_all(await on_cluster.pool.compile(request()))
    assert on_cluster.compiled == {"dask": 16}, "all by the other"
    assert on_cluster.cluster.table.standings()[0].minions == frozen.minions
    machines.freeze("w1", on=False)
    await asyncio.to_thread(on_cluster.has_lanes, 2)
    answered_by_all(await on_cluster.pool.compile(request()))
    assert on_cluster.compiled == {"dask": 24}
    assert on_cluster.cluster.table.standings()[0].minions > frozen.minions, "one that is woken compiles again"


@soak
async def test_when_all_freeze_compiles_go_on_here(machines, on_cluster):
    compile_all = asyncio.ensure_future(on_cluster.pool.compile(request(SLOW.replace("{seconds}", "0.3"))))
    await asyncio.to_thread(wait_until, lambda: on_cluster.compiled["dask"] >= 2, "the first answers")
    for name in ("w1", "w2"):
        machines.freeze(name)
    answered_by_all(await compile_all)
    assert on_cluster.compiled["local"] > 0
    assert on_cluster.compiled.total() == 8
    machines.kill("w2")
    machines.freeze("w1", on=False)
    await asyncio.to_thread(on_cluster.has_lanes, 1)
    answered_by_all(await on_cluster.pool.compile(request()))


async def test_a_frozen_scheduler_is_done_without(machines, on_cluster):
    machines.freeze("scheduler")
    answered_by_all(await on_cluster.pool.compile(request()))
    await asyncio.to_thread(has_lost, on_cluster)
    machines.freeze("scheduler", on=False)
    await asyncio.to_thread(wait_until, lambda: on_cluster.cluster.connection.state == "connected", "a connection")
    await asyncio.to_thread(on_cluster.has_lanes, 2)


async def test_when_all_are_gone_compiles_go_on_here_and_come_back(machines, on_cluster):
    compile_all = asyncio.ensure_future(on_cluster.pool.compile(request(SLOW.replace("{seconds}", "0.3"))))
    await asyncio.to_thread(wait_until, lambda: on_cluster.compiled["dask"] >= 2, "the first answers")
    for name in ("w1", "w2", "scheduler"):
        machines.kill(name)
    answered_by_all(await compile_all)
    assert on_cluster.compiled["local"] > 0
    assert on_cluster.fallbacks > 0
    assert set(on_cluster.reasons) == {"there was no worker"}, on_cluster.reasons
    await asyncio.to_thread(has_lost, on_cluster)
    assert [each.state for each in on_cluster.cluster.table.standings()] == ["gone", "gone"]
    machines.start_scheduler()
    machines.start_worker("w3")
    await asyncio.to_thread(on_cluster.has_lanes, 1)
    before = on_cluster.compiled["dask"]
    for _ in range(60):  # a lane may be left alone for some seconds after its worker was gone
        answered_by_all(await on_cluster.pool.compile(request()))
        if on_cluster.compiled["dask"] >= before + 8:
            break
        await asyncio.sleep(0.5)
    assert on_cluster.compiled["dask"] >= before + 8


async def test_a_template_without_end_costs_its_own_minion(shared):
    endless = SLOW.replace("time.sleep({seconds})", "time.sleep(600 if __grains__['id'] == 'm1' else 0)")
    for made in opened(shared, 2, timeout=4.0):
        answers = await made.pool.compile(request(endless, count=3))
        assert [answer.ok for answer in answers] == [True, False, True]
        assert "took more than 4 s" in answers[1].errors[0].message


async def test_a_process_that_is_killed_is_replaced(on_shared):
    answered_by_all(await on_shared.pool.compile(request()))
    for pid in on_shared.pool.workers:
        os.kill(pid, 9)
    answered_by_all(await on_shared.pool.compile(request()))
    assert on_shared.fallbacks == 0


async def test_templates_are_sandboxed_there(on_shared):
    reads = "#!py\ndef run():\n    open('/etc/passwd').read()\n    return {}\n"
    runs = "#!py\nimport subprocess\ndef run():\n    subprocess.run(['true'])\n    return {}\n"
    code = "from controller.compilation.sandbox import *; confine(SandboxPolicy())"
    if subprocess.run([sys.executable, "-P", "-c", code], check=False, capture_output=True).returncode:
        pytest.skip("no Landlock here")
    for app in (reads, runs):
        [answer] = await on_shared.pool.compile(request(app, count=1))
        assert "Permission" in answer.errors[0].message, answer.errors
    spied = "#!py\nimport os\ndef run():\n    return {'x': {'test.nop': [{'name': str(sorted(os.environ))}]}}\n"
    [answer] = await on_shared.pool.compile(request(spied, count=1))
    assert answer.ok
    assert b"SECRET_OF_THE_WORKER" not in answer.document


async def test_what_an_answer_may_be_is_bounded_there(shared):
    large = "x: {test.nop: [{name: " + "x" * 4000 + "}]}"
    for made in opened(shared, 2, limits=CompileWorkerLimits(document_bytes=2000)):
        [answer] = await made.pool.compile(request(large, count=1))
        assert "limit document-bytes" in answer.errors[0].message


async def test_what_templates_ask_the_controller_answers(on_shared, tmp_path):
    """Passwords of ports stay on the controller."""
    (tmp_path / "secret.yaml").write_text("of_yaml: asked here\n")
    language = CompileOptions(ext_pillar=({"cmd_yaml": f"cat {tmp_path / 'secret.yaml'}"},))
    app = "x: {test.nop: [{name: {{ pillar['of_yaml'] }}}]}"
    [answer] = await on_shared.pool.compile(request(app, count=1, language=language))
    assert answer.errors == ()
    assert b"asked here" in answer.document


async def test_codes_and_contents_are_shared_by_content_address(machines):
    """What one worker has made of a template, another gets; a content goes to a worker once."""
    machines.start_worker("w1")
    for made in opened(machines, 1):
        answered_by_all(await made.pool.compile(request()))
        codes = {code.key for code in made.pool.codes.lacking(())}
        assert codes, "the worker has told of its codes"
        machines.start_worker("w2")
        await asyncio.to_thread(made.has_lanes, 2)
        answered_by_all(await made.pool.compile(request()))
        [first, second] = [made.cluster.table.memory(each) for each in sorted(made.cluster.table.ready())]
        assert first.store != second.store
        for memory in (first, second):
            assert codes <= memory.codes
        assert first.contents & second.contents == first.contents | second.contents
        assert {code.key for code in made.pool.codes.lacking(())} == codes, "the second has made none anew"


async def test_another_version_of_the_program_is_refused(machines, tmp_path):
    (tmp_path / "sitecustomize.py").write_text(
        "import controller.compilation.cluster.program_version as p\n"
        "p.program_version = lambda: 'saltern 0.0.1, Python 3.11, 00000000'\n"
    )
    path = os.pathsep.join([str(tmp_path), str(Path.cwd())])
    machines.start_worker("old", environment={"PYTHONPATH": path})
    made = pool_on(machines)
    try:
        await asyncio.to_thread(wait_until, lambda: made.workers.get("refused") == 1, "a refusal")
        answered_by_all(await made.pool.compile(request()))
        assert made.compiled == {"local": 8}
        [old] = made.cluster.table.standings()
        assert (old.name, old.state, old.minions) == ("old", "refused", 0)
        assert old.reason.startswith("it runs saltern 0.0.1, Python 3.11, 00000000, and this is saltern")
    finally:
        made.pool.close()


async def test_lanes_end_with_their_controller(on_shared):
    answered_by_all(await on_shared.pool.compile(request()))
    pids = on_shared.pool.workers
    assert all(Path(f"/proc/{pid}").exists() for pid in pids)
    await asyncio.to_thread(on_shared.pool.close)
    wait_until(lambda: not any(Path(f"/proc/{pid}").exists() for pid in pids), "their end")


async def test_certificates_are_needed_where_there_are_some(tmp_path):
    trustme = pytest.importorskip("trustme")
    authority, folder = trustme.CA(), tmp_path / "pki"
    folder.mkdir()
    authority.cert_pem.write_to_path(str(folder / "ca.pem"))
    ours = authority.issue_cert("localhost", "127.0.0.1")
    ours.cert_chain_pems[0].write_to_path(str(folder / "cert.pem"))
    ours.private_key_pem.write_to_path(str(folder / "key.pem"))
    arguments = [f"--tls-{name}={folder / file}" for name, file in
                 (("ca-file", "ca.pem"), ("cert", "cert.pem"), ("key", "key.pem"))]  # fmt: skip
    with DaskMachines(tmp_path / "dask", arguments, "tls") as machines:
        machines.start_scheduler()
        machines.start_worker("w1")
        for made in opened(machines, 1, certificates=folder):
            answered_by_all(await made.pool.compile(request()))
            assert made.compiled == {"dask": 8}
        trustme.CA().issue_cert("localhost").private_key_and_cert_chain_pem.write_to_path(str(folder / "cert.pem"))
        (folder / "key.pem").write_bytes((folder / "cert.pem").read_bytes())
        stranger = pool_on(machines, certificates=folder)
        try:
            await asyncio.to_thread(has_lost, stranger)
            assert stranger.cluster.table.lanes() == 0
        finally:
            stranger.pool.close()
