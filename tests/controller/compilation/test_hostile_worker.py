"""A compile worker that Python of a tree has taken: it costs its own minions, a bounded time and a bounded memory."""

import json
import resource
import subprocess
import sys
import time
from contextlib import closing
from dataclasses import replace
from textwrap import indent

import msgspec
import psutil
import pytest
from effort import steps

from controller.compilation.compile_messages import CompileRequest
from controller.compilation.compile_pool import CompilePool
from controller.compilation.sandbox import SandboxPolicy
from controller.config.limits import CompileWorkerLimits
from highstate.files import MemoryFiles
from highstate.types import Minion

LIMITS = CompileWorkerLimits(
    frame_bytes=1024 * 1024, document_bytes=1024 * 1024, questions=50, output_bytes=64 * 1024, waiting_calls=4
)
TO_ALL = """#!py
import os, socket, stat, struct, time

def descriptors():
    found = []
    for number in range(256):
        try:
            os.fstat(number)
        except OSError:
            continue
        found.append(number)
    return found

def to_all(data, among=descriptors):
    for number in among():
        try:
            os.write(number, data)
        except OSError:
            pass

def to_sockets(data):
    to_all(data, lambda: [each for each in descriptors() if stat.S_ISSOCK(os.fstat(each).st_mode)])

def frame(body):
    return struct.pack(">I", len(body)) + body

def run():
"""
ATTACKS = {
    "garbage": ("    to_all(os.urandom(4096))", "ended the compile process|frame-bytes"),
    "a frame of nonsense": ("    to_all(frame(b'nonsense'))", "ended the compile process"),
    "a pickle": (
        "    import pickle\n    to_all(frame(pickle.dumps([print])))",
        "ended the compile process",
    ),
    "nested without end": (r"    to_sockets(frame(b'\x91' * 500000))", "ended the compile process"),
    "a huge frame is announced": (r"    to_all(struct.pack('>I', 2**32 - 1))", "frame-bytes"),
    "half a frame": (r"    to_all(struct.pack('>I', 1000))" "\n    time.sleep(60)", "took more than 3 s"),
    "a byte now and then": (
        "    while True:\n        to_all(b'\\0\\0\\0\\x10' if not globals().setdefault('sent', []) else b'x')\n"
        "        sent.append(1)\n        time.sleep(0.3 if len(sent) < 18 else 60)",
        "took more than 3 s|ended the compile process",
    ),
    "an endless stream": (
        "    while True:\n        to_all(frame(b'x' * 65536))",
        "ended the compile process|output-bytes",
    ),
    "an endless stream to stdout and stderr": (
        "    while True:\n        os.write(1, b'x' * 4096)\n        os.write(2, b'x' * 4096)",
        "output-bytes",
    ),
    "endless questions": (
        "    import msgspec\n    ask = frame(msgspec.msgpack.encode({'type': 'ask', 'port': 'fleet'}))\n"
        "    while True:\n        to_sockets(ask)",
        "questions",
    ),
    "another minion's answer": (
        "    import msgspec\n    said = {'type': 'compiled', 'minion_id': 'other', 'digest': 'x'}\n"
        "    to_all(frame(msgspec.msgpack.encode(said)) + frame(b''))",
        "an answer about 'other'",
    ),
    "a document that is none": (
        "    import hashlib, msgspec\n    digest = hashlib.sha256(b'nonsense').hexdigest()\n"
        "    said = {'type': 'compiled', 'minion_id': 'bad', 'digest': digest}\n"
        "    to_all(frame(msgspec.msgpack.encode(said)) + frame(b'nonsense'))",
        "ended the compile process",
    ),
    "a document that is deep": (
        "    import hashlib, msgspec\n    deep = []\n    for _ in range(900):\n        deep = [deep]\n"
        "    parts = ('chunks', 'pillar', 'files', 'contents', 'drift')\n"
        "    document = msgspec.msgpack.encode({part: {} for part in parts} | {'pillar': {'a': deep}})\n"
        "    said = {'type': 'compiled', 'minion_id': 'bad', 'digest': hashlib.sha256(document).hexdigest()}\n"
        "    to_all(frame(msgspec.msgpack.encode(said)) + frame(document))",
        "is nested more than",
    ),
    "many small things": (
        "    import msgspec\n    said = {'type': 'compiled', 'minion_id': 'bad', 'secrets': ['a'] * 400000}\n"
        "    to_sockets(frame(msgspec.msgpack.encode(said)))",
        "ended the compile process",
    ),
}


def _request(attack, minions=("good1", "bad", "good2")):
    top = b"base: {'bad': [attack], 'good*': [fine]}"
    states = {"top.sls": top, "attack.sls": attack.encode(), "fine.sls": b"x: {test.nop: []}"}
    return CompileRequest(
        files=MemoryFiles({"base": states}),
        pillar=MemoryFiles({"base": {}}),
        minions=tuple(Minion(id=each, grains={"id": each}) for each in minions),
    )


@pytest.mark.parametrize("name", steps([*ATTACKS], 7))
async def test_who_writes_to_each_descriptor_harms_itself_alone(name, capfd):
    attack, expected = ATTACKS[name]
    refused = []
    pool = CompilePool(timeout=3.0, limits=LIMITS, on_refusal=refused.append)
    with closing(pool):
        request = _request(f"{TO_ALL}{attack}\n    return {{}}\n")
        await pool.compile(_request("#!py\ndef run():\n    return {}\n"))
        before, began = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss, time.monotonic()
        good1, bad, good2 = await pool.compile(request)
        assert good1.ok
        assert good2.ok
        assert not bad.ok
        assert any(each in bad.errors[0].message for each in expected.split("|")), bad.errors[0].message
        assert time.monotonic() - began < 15.0
        assert resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before < 64 * 1024
    assert [*capfd.readouterr()] == ["", ""]
    if "-" in expected and "|" not in expected:
        assert refused == [expected]


async def test_what_it_may_take_is_bounded_for_good():
    attack = """#!py
import json, resource
def run():
    found = {}
    for name in ("AS", "DATA", "STACK", "NOFILE", "CORE", "MEMLOCK", "MSGQUEUE", "SIGPENDING"):
        limit = getattr(resource, "RLIMIT_" + name)
        soft, hard = resource.getrlimit(limit)
        found[name] = hard
        try:
            resource.setrlimit(limit, (hard + 1, hard + 1))
        except (OSError, ValueError):
            pass
        else:
            found[name] = -1
    return {"x": {"test.nop": [{"comment": json.dumps(found)}]}}
"""
    with closing(CompilePool(limits=LIMITS, sandbox_policy=SandboxPolicy())) as pool:
        (answer,) = await pool.compile(_request(attack, ["bad"]))
    assert answer.errors == ()
    (chunk,) = msgspec.msgpack.decode(answer.document)["chunks"].values()
    found = json.loads(chunk["comment"])
    assert min(found.values()) >= 0
    assert max(found.values()) < 100 * 1024**3
    assert found["NOFILE"] <= 2048


_CONTROLLER = """
import asyncio, os, sys
from controller.compilation.compile_messages import CompileRequest
from controller.compilation.compile_pool import CompilePool
from highstate.files import MemoryFiles
from highstate.types import Minion
endless = b"#!py\\nimport os\\ndef run():\\n    os.write(1, str(os.getpid()).encode())\\n    while True: pass\\n"
request = CompileRequest(
    files=MemoryFiles({"base": {"top.sls": b"base: {'*': [endless]}", "endless.sls": endless}}),
    pillar=MemoryFiles({"base": {}}),
    minions=(Minion(id="web1", grains={}),),
)
async def main():
    pool = CompilePool(timeout=600.0)
    asyncio.ensure_future(pool.compile(request))
    while not any(worker.process.pid for worker in pool._workers):
        await asyncio.sleep(0.01)
    print(pool._workers[0].process.pid, flush=True)
    await asyncio.sleep(600)
asyncio.run(main())
"""


def test_a_worker_that_computes_without_end_ends_with_its_controller():
    with subprocess.Popen([sys.executable, "-c", _CONTROLLER], stdout=subprocess.PIPE, text=True) as controller:
        worker = psutil.Process(int(controller.stdout.readline()))
        until = time.monotonic() + 60
        while worker.cpu_times().user < 1.5 and time.monotonic() < until:
            time.sleep(0.05)
        controller.kill()
    gone, _ = psutil.wait_procs([worker], timeout=30)
    for each in {worker} - set(gone):
        each.kill()
    assert gone


_LEAVES = """#!py
import builtins, os, threading, time

def run():
    builtins.left = "a mark"
    threading.Thread(target=time.sleep, args=(600,), daemon=True).start()
    return {"x": {"test.nop": []}}
"""
_LOOKS = """#!py
import builtins, threading

def run():
    return {"x": {"test.nop": [{"comment": f"{getattr(builtins, 'left', 'nothing')} {threading.active_count()}"}]}}
"""


@pytest.mark.parametrize(("ends", "found"), [(True, "nothing 1"), (False, "a mark 2")])
async def test_what_a_tree_leaves_in_its_process_ends_with_it(ends, found):
    with closing(CompilePool()) as pool:
        (answer,) = await pool.compile(replace(_request(_LEAVES, ["bad"]), ends_process=ends))
        assert answer.errors == ()
        (answer,) = await pool.compile(_request(_LOOKS, ["bad"]))
    (chunk,) = msgspec.msgpack.decode(answer.document)["chunks"].values()
    assert chunk["comment"] == found


_ANSWERS = {
    "problems": ("errors=[problem] * 40000, warnings=[problem] * 40000", ""),
    "a long problem": ("errors=[{**problem, 'excerpt': 'x' * (10 << 20)}]", ""),
    "secrets": ("errors=[problem], secrets=[f'secret {n}' for n in range(60000)]", "secrets"),
    "a long secret": ("errors=[problem], secrets=['x' * (10 << 20)]", "secret-characters"),
    "questions": ("errors=[problem], facts=[{'fun': 'a.b', 'asked': str(n)} for n in range(60000)]", "answers"),
    "a long question": (
        "errors=[problem], unanswered=[{'fun': 'a.b', 'asked': 'x' * (10 << 20)}]",
        "answer-characters",
    ),
    "reasons": ("errors=[problem], volatile=[str(n) for n in range(60000)]", "answers"),
}


@pytest.mark.parametrize("name", steps([*_ANSWERS], 4))
async def test_what_an_answer_says_is_bounded(name):
    fields, limit = _ANSWERS[name]
    attack = (
        "    import msgspec\n    problem = {'message': 'x' * 100, 'pos': {'file': 'a.sls', 'stage': 'render'}}\n"
        f"    said = dict(type='compiled', minion_id='bad', {fields})\n"
        "    to_sockets(frame(msgspec.msgpack.encode(said)) + frame(b''))"
    )
    refused = []
    limits = replace(LIMITS, frame_bytes=CompileWorkerLimits().frame_bytes)
    with closing(CompilePool(limits=limits, on_refusal=refused.append)) as pool:
        good1, bad, good2 = await pool.compile(_request(f"{TO_ALL}{attack}\n    return {{}}\n"))
    assert good1.ok
    assert good2.ok, "an answer too many is not taken for that of the next minion"
    assert not bad.ok
    assert len(msgspec.msgpack.encode(bad)) < 64 * 1024
    assert refused == ([limit] if limit else [])
    if name == "problems":
        assert len(bad.errors) == len(bad.warnings) == limits.problems + 1
        assert "39900 more" in bad.errors[-1].message


_KEPT = {
    "descriptors": "    builtins.kept = []\n    while True:\n        builtins.kept.append(os.pipe())",
    "memory": "    builtins.kept = []\n    while True:\n        builtins.kept.append(bytearray(1 << 24))",
    "threads": "    for _ in range(200):\n        threading.Thread(target=time.sleep, args=(600,)).start()",
}


@pytest.mark.parametrize("name", _KEPT)
async def test_what_one_minions_python_keeps_is_lacking_to_no_other(name):
    attack = f"{TO_ALL}    import builtins, threading\n    try:\n{indent(_KEPT[name], '    ')}\n    except Exception:\n"
    attack += "        pass\n    return {'x': {'test.nop': []}}\n"
    reads = (
        "#!py\nimport os\ndef run():\n    kept = [os.pipe() for _ in range(300)]\n    return {'x': {'test.nop': []}}\n"
    )
    states = {"top.sls": b"base: {'bad': [attack], 'good*': [reads]}", "attack.sls": attack.encode()}
    files = MemoryFiles({"base": {**states, "reads.sls": reads.encode()}})
    with closing(CompilePool(limits=replace(LIMITS, memory_bytes=256 * 1024 * 1024))) as pool:
        for _ in range(2):
            answers = await pool.compile(replace(_request("", ["bad", "good1", "good2"]), files=files))
            assert [answer.errors for answer in answers[1:]] == [(), ()]
