"""Attacks by Python of a live tree, in the process that compiles: it is given to the hostile minion alone."""

from __future__ import annotations

import itertools
import time
from collections.abc import Mapping, Sequence

from tools.attack.attacks import Attack, Running
from tools.attack.scene import HOSTILE, Scene
from wire.messages import Hello

BRANCH = "hostile"
"""The saltenv that the top file gives to the hostile minion."""
TOP = f"base:\n  'not {HOSTILE}':\n    - match: compound\n    - app\n{BRANCH}:\n  {HOSTILE}:\n    - hostile\n"

_HEAD = """#!py
import ctypes, fcntl, glob, mmap, os, resource, signal, socket, stat, struct, threading, time
import msgspec

def sockets():
    for number in range(2048):
        try:
            if stat.S_ISSOCK(os.fstat(number).st_mode):
                yield number
        except OSError:
            pass

def said(**fields):
    body = msgspec.msgpack.encode({{"type": "compiled", "minion_id": {minion!r}, **fields}})
    frame = struct.pack(">I", len(body)) + body + struct.pack(">I", 0)
    for number in sockets():
        os.write(number, frame)

def tried(*deeds):
    for deed in deeds:
        try:
            deed()
        except Exception:
            pass

PARENT = os.getppid()
NUMBER = {number}

def run():
"""
_NOTHING = "    return {'x': {'test.nop': []}}\n"
_PROBLEM = "{'message': 'x' * 100, 'pos': {'file': 'a.sls', 'stage': 'render'}}"

LARGE_ANSWERS = (
    f"    said(errors=[{_PROBLEM}] * 65000)\n",
    "    said(errors=[{'message': 'x' * (15 << 20), 'pos': {'file': 'a.sls', 'stage': 'render'}}])\n",
    f"    said(errors=[{_PROBLEM}], secrets=[f'secret {{n}} {{NUMBER}}' for n in range(65000)])\n",
    f"    said(errors=[{_PROBLEM}], secrets=[str(NUMBER) + 'y' * (7 << 20), 'x' * (7 << 20)])\n",
    f"    said(errors=[{_PROBLEM}], secrets=['', ' ', 'a', 'e', '\\n', 'base', 'web1', 'Synced'])\n",
    f"    said(errors=[{_PROBLEM}], warnings=[{_PROBLEM}] * 65000, volatile=[str(n) for n in range(65000)])\n",
    f"    said(errors=[{_PROBLEM}], unanswered=[{{'fun': 'test.ping', 'asked': str(n)}} for n in range(65000)])\n",
    f"    said(errors=[{_PROBLEM}], reads=[b'x' * 200] * 65000)\n",
)
"""Answers as large as they may be, or odd ones, in the name of the hostile minion."""
WAYS_OUT = (
    "    tried(lambda: os.kill(PARENT, 9), lambda: os.killpg(0, 9), lambda: os.kill(-1, 9))\n",
    "    for limit in range(16):\n        tried(lambda: resource.prlimit(PARENT, limit, (0, 0)))\n",
    "    tried(lambda: os.sched_setscheduler(PARENT, os.SCHED_IDLE, os.sched_param(0)),\n"
    "          lambda: os.setpriority(os.PRIO_PROCESS, PARENT, 19))\n",
    "    for path in glob.glob({folder!r} + '/**', recursive=True):\n"
    "        tried(lambda: os.chmod(path, 0), lambda: os.utime(path, (0, 0)), lambda: os.unlink(path))\n",
    "    for path in glob.glob({folder!r} + '/**', recursive=True):\n"
    "        tried(lambda: fcntl.lockf(open(path), fcntl.LOCK_SH), lambda: fcntl.flock(open(path), fcntl.LOCK_EX),\n"
    "              lambda: fcntl.fcntl(os.open(path, 0), fcntl.F_SETLEASE, fcntl.F_RDLCK))\n",
    "    for _ in range(100):\n        tried(os.fork)\n",
    "    kept = globals().setdefault('kept', [])\n"
    "    tried(lambda: kept.extend(mmap.mmap(-1, 1 << 30) for _ in range(64)),\n"
    "          lambda: kept.extend(os.memfd_create('x') for _ in range(2000)))\n",
    "    one, other = socket.socketpair(socket.AF_UNIX, socket.SOCK_DGRAM)\n",
)
"""Deeds that the sandbox refuses."""
GREEDY = (
    "    return {'x': {'test.nop': [{'comment': 'x' * (200 << 20)}]}}\n",
    "    kept = [bytearray(1 << 26) for _ in range(1000)]\n",
    "    globals().setdefault('kept', []).extend(os.pipe() for _ in range(4000))\n",
    "    import sys; sys.setrecursionlimit(10**9)\n    def deep(): return deep()\n    deep()\n",
    "    for _ in range(300):\n        threading.Thread(target=time.sleep, args=(1,), daemon=True).start()\n",
    "    nested = x = []\n    for _ in range(100000):\n        x.append([]); x = x[0]\n"
    "    return {'x': {'test.nop': [{'a': nested}]}}\n",
    "    return {f's{n}': {'test.nop': []} for n in range(100000)}\n",
    "    return {'x': {'test.nop': [{'n': 10**4000}]}}\n",
)
"""Deeds that take what there is."""


def large_answers(scene: Scene, running: Running) -> None:
    """Answers for its own minion as large as the limits let through."""
    _compiled(scene, running, LARGE_ANSWERS)


def ways_out(scene: Scene, running: Running) -> None:
    """Signals, limits, modes, locks, processes, memory: whatever reaches beyond the process."""
    _compiled(scene, running, WAYS_OUT)


def greedy(scene: Scene, running: Running) -> None:
    """As much memory, threads, descriptors and states as there are."""
    _compiled(scene, running, GREEDY)


def _compiled(scene: Scene, running: Running, deeds: Sequence[str]) -> None:
    """Push each deed in turn, for the hostile minion, which is connected and applies nothing."""
    minion = scene.minion(Hello(id=HOSTILE, grains={"os": "Debian"}))
    for number, deed in enumerate(itertools.cycle(deeds)):
        head = _HEAD.format(minion=HOSTILE, number=number)
        body = deed.replace("{folder!r}", repr(str(scene.folder.parent)))
        scene.push_branch(BRANCH, {"states/hostile.sls": head + body + _NOTHING})
        time.sleep(1.5)
        if not running():
            minion.close(linger=0)
            return


_TREE = {"states/top.sls": TOP}
_COMPILE_SECONDS = 3
_MEMORY = {"limits": {"compile_worker": {"memory_bytes": 96 * 1024 * 1024}}, "compile_timeout": _COMPILE_SECONDS}
_TOGETHER = 10.0
"""Honest minions are compiled in the process that the attack takes: they wait for its end and a new one, twice."""
ATTACKS: Mapping[str, Attack] = {
    "large-answers": Attack(
        "answers of a compile as large as may be", large_answers, tree=_TREE, push_seconds=_TOGETHER
    ),
    "ways-out": Attack("Python of a tree tries to get out of its process", ways_out, tree=_TREE),
    "greedy": Attack(
        "Python of a tree takes all that there is", greedy, tree=_TREE, options=_MEMORY, push_seconds=_TOGETHER
    ),
}
