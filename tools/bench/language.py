"""Compiling: one minion, the next of its class, and a fleet of ten thousand. Real Salt beside it where it is given.

`SALT_VENV=DIR` names a virtualenv with Salt, which compiles the same tree in the same run; without one the bare limit
stands there. `FLEET=N` is another number of minions.

What is compared: processor time for one minion from its grains to ordered low chunks, pillar and top file included, in
a process that has compiled before, on both sides. `cold` has nothing in any memo but the code of templates, which a
process makes once for each blob (Salt makes it again for each minion, which is part of what it takes); `first minion of
a process` makes that code too. The bare limit is plain Jinja, from made code, and PyYAML's CSafeLoader on the SLS.
"""

from __future__ import annotations

import asyncio
import json
import os
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import jinja2
import psutil
import yaml

from controller.compilation.compile_messages import CompileRequest
from controller.compilation.compile_pool import CompilePool
from controller.compilation.dependencies.index import DependencyIndex
from controller.compilation.gc_policy import collect_new, collect_seldom
from highstate.compile import CompileOptions, compile_minion
from highstate.files import MemoryFiles
from highstate.memo.memo import Memo
from highstate.render.yaml import blocks
from highstate.traverse import traverse
from highstate.types import Minion
from tools.bench import gentree
from tools.bench.figures import Figure

STATES = 500
SLOPE = (50, 500, 5000)
FLEET = int(os.environ.get("FLEET", "10000"))
ROLES = 20
SYSTEMS = (("Debian", "Debian"), ("Ubuntu", "Debian"), ("Rocky", "RedHat"), ("openSUSE", "Suse"))
SALT_SIDE = Path(__file__).with_name("salt_side.py")
SETTINGS = CompileOptions()


def measure() -> Iterator[Figure]:
    """All figures of the language."""
    collect_seldom()  # as the controller's processes do
    yield from _one_minion()
    yield from _slope()
    yield from _fleet()


def _one_minion() -> Iterator[Figure]:
    tree, pillar = gentree.one_class(STATES)
    files, pillar_files = gentree.files_of(tree), gentree.files_of(pillar)
    first = _milliseconds(lambda number: _compile(files, pillar_files, _minion(number), Memo()), 1)
    bare = _bare(tree, pillar)
    limit, source = (_salt(tree, pillar), "Salt") if "SALT_VENV" in os.environ else (min(bare), "bare limit")
    beside: dict[str, Any] = {"unit": "ms", "reference": limit, "reference_of": source}
    yield Figure(metric="bare limit: Jinja and CSafeLoader, 500 states", samples=bare, **beside)
    yield Figure(metric="first minion of a process, 500 states", samples=first, **beside)
    cold = _milliseconds(lambda number: _cold(files, pillar_files, number), 15)
    yield Figure(metric="cold, one minion, 500 states", samples=cold, target=_share(limit, source, 15), **beside)
    memo = Memo()
    for number in range(100):  # the first of a fleet, which are compiled one by one
        _compile(files, pillar_files, _minion(number), memo)
    other = _milliseconds(lambda number: _compile(files, pillar_files, _minion(number + 100), memo), 15)
    yield Figure(metric="another minion, its id in every SLS", samples=other, target=3.0, **beside)
    yield from _known_class(beside, _share(limit, source, 1000))


def _known_class(beside: dict[str, Any], target: float | None) -> Iterator[Figure]:
    """Minions that differ in their id alone, which no template of theirs prints."""
    tree, pillar = (gentree.files_of(each) for each in gentree.fleet(1, STATES, 1))
    pillar = MemoryFiles({"base": {**pillar.trees["base"], "top.sls": _without_id(pillar.read("top.sls"))}})
    memo = Memo()
    _compile(tree, pillar, _member(0), memo)
    known = _milliseconds(lambda number: _compile(tree, pillar, _member((number + 1) * ROLES * len(SYSTEMS)), memo), 50)
    yield Figure(metric="another minion of a known class", samples=known, target=target, **beside)


def _without_id(top: bytes) -> bytes:
    return top.replace(b"hosts.{{ grains['id'] }}", b"hosts." + gentree.minion_id(0).encode())


def _share(limit: float, source: str, times: int) -> float | None:
    """The target in ms; there is none without Salt."""
    return round(limit / times, 3) if source == "Salt" else None


def _slope() -> Iterator[Figure]:
    """Milliseconds for each ten states; less or equal from size to size is linear or better."""
    before = None
    for states in SLOPE:
        files, pillar_files = (gentree.files_of(each) for each in gentree.one_class(states))
        _compile(files, pillar_files, _minion(0), Memo())
        times = _milliseconds(
            lambda number, *trees: _compile(*trees, _minion(number), Memo()),
            9 if states < 5000 else 3,
            files,
            pillar_files,
        )
        samples = [each * gentree.CHUNKS / states for each in times]
        yield Figure(
            metric=f"cold, ten of {states} states",
            unit="ms",
            samples=samples,
            reference=before,
            reference_of=f"of {SLOPE[0]}",
        )
        before = before or statistics.median(samples)


def _fleet() -> Iterator[Figure]:
    """The controller's compiler with its processes."""
    tree, pillar = gentree.fleet(ROLES, STATES, FLEET)
    fleet = _Fleet(gentree.files_of(tree), gentree.files_of(pillar))
    try:
        what = f"{FLEET} minions"
        yield Figure(metric=f"{what}, first compile", unit="s", samples=[fleet.compile()], target=60.0)
        yield Figure(metric=f"{what}, processor time of it", unit="s", samples=[fleet.processor_time()])
        yield Figure(metric=f"{what}, memory after it", unit="MiB", samples=[fleet.memory()], target=1536.0)
        pushes = [fleet.edit_role(number) for number in range(5)]
        yield Figure(metric=f"{what}, one SLS of one role edited", unit="s", samples=pushes, target=2.0)
        values = [fleet.edit_minion(number) for number in range(9)]
        yield Figure(metric=f"{what}, a pillar value of one minion", unit="s", samples=values, target=0.05)
        yield Figure(metric=f"{what}, memory after the pushes", unit="MiB", samples=[fleet.memory()], target=1536.0)
    finally:
        fleet.compiler.close()


class _Fleet:
    """Ten thousand minions and the trees that they are compiled from."""

    def __init__(self, files: MemoryFiles, pillar: MemoryFiles) -> None:
        self.minions = {gentree.minion_id(number): _member(number) for number in range(FLEET)}
        self.request = CompileRequest(files=files, pillar=pillar, minions=())
        self.footprints = DependencyIndex()
        self.digests: dict[str, str] = {}
        self.compiler = CompilePool(workers=os.cpu_count() or 1)
        self.before = time.process_time()

    def compile(self) -> float:
        """Seconds until every minion has its document."""
        began = time.perf_counter()
        changed = asyncio.run(self._changed())
        _expect(changed == len(self.minions), f"{changed} minions")
        return time.perf_counter() - began

    async def _changed(self) -> int:
        """Compile whom the trees concern, as the controller does; documents are dropped as they come."""
        concerned = self.footprints.affected(self.request.files, self.request.pillar, self.minions, "")
        request = replace(
            self.request,
            minions=tuple(self.minions[each] for each in concerned),
            held={each: self.digests[each] for each in concerned if each in self.digests},
        )
        async for batch in self.compiler.stream(request):
            self.footprints.note(batch, "")
            for answer in batch:
                _expect(answer.ok, answer.errors)
                self.digests[answer.minion_id] = answer.digest
        return len(concerned)

    def edit_role(self, number: int) -> float:
        """Seconds from a push that edits one SLS to the last document; a twentieth of the minions have it."""
        path = f"{gentree.role_of(number, ROLES)}/{gentree.role_of(number, ROLES)}_17.sls"
        return self._push(files=_edited(self.request.files, path, b"first of", b"edited first of"))

    def edit_minion(self, number: int) -> float:
        """Seconds from a push that changes a pillar value of one minion to its document."""
        path = f"hosts/{gentree.minion_id(number)}.sls"
        return self._push(pillar=_edited(self.request.pillar, path, b"token: t", b"token: changed-t"))

    def _push(self, **trees: MemoryFiles) -> float:
        self.request = replace(self.request, **trees)
        began = time.perf_counter()
        changed = asyncio.run(self._changed())
        _expect(0 < changed < FLEET, f"{changed} minions")
        return time.perf_counter() - began

    def processor_time(self) -> float:
        """Seconds of this process and its workers since they began."""
        processes = [psutil.Process(), *psutil.Process().children(recursive=True)]
        return sum(each.cpu_times().user + each.cpu_times().system for each in processes) - self.before

    def memory(self) -> float:
        """MiB of this process and its workers, what they share counted once."""
        processes = [psutil.Process(), *psutil.Process().children(recursive=True)]
        return sum(each.memory_full_info().pss for each in processes) / 2**20


def _edited(files: Any, path: str, old: bytes, new: bytes) -> MemoryFiles:
    content = files.read(path)
    _expect(old in content, f"nothing to edit in {path}")
    edited: MemoryFiles = files.edited(path, content.replace(old, new, 1))
    return edited


def _minion(number: int) -> Minion:
    return Minion(id=f"web-{number:04d}", grains={"id": f"web-{number:04d}", "os": "Debian", "os_family": "Debian"})


def _member(number: int) -> Minion:
    """A minion of the fleet: roles take turns, and the systems within a role."""
    system, family = SYSTEMS[number // ROLES % len(SYSTEMS)]
    own = gentree.minion_id(number)
    grains = {"id": own, "os": system, "os_family": family, "role": gentree.role_of(number, ROLES)}
    return Minion(id=own, grains=grains)


def _compile(files: MemoryFiles, pillar: MemoryFiles, minion: Minion, memo: Memo) -> None:
    compiled = compile_minion(files, pillar, minion, SETTINGS, memo)
    _expect(compiled.ok, compiled.errors)


def _cold(files: MemoryFiles, pillar: MemoryFiles, number: int) -> None:
    """With nothing in any memo but the code of templates, which is made once for each blob."""
    blocks.forget()
    _compile(files, pillar, _minion(number), Memo())


def _expect(held: bool, what: object) -> None:
    """A figure of something that went wrong is worth nothing."""
    if not held:
        raise RuntimeError(what)


def _milliseconds(work: Callable[..., object], times: int, *arguments: Any) -> list[float]:
    """Of processor time, here as for Salt: what else the machine does is not in it."""
    samples = []
    for number in range(times):
        began = time.process_time()
        work(number, *arguments)
        samples.append(1000 * (time.process_time() - began))
        collect_new()  # as a worker does when it has answered
    return samples


def _bare(tree: gentree.Tree, pillar: gentree.Tree) -> list[float]:
    """ms that Jinja and libyaml take for the SLS of a minion, without any of Salt's language."""
    compiled = compile_minion(gentree.files_of(tree), gentree.files_of(pillar), _minion(0), SETTINGS)
    grains = dict(_minion(0).grains)
    salt = {
        "pillar.get": lambda key, default: traverse(compiled.pillar, key, default),
        "grains.filter_by": lambda known, grain, default, merge: {**known.get(grains[grain], known[default]), **merge},
    }
    environment = jinja2.Environment(loader=jinja2.DictLoader(dict(tree)), autoescape=False)  # noqa: S701  (no HTML)
    environment.globals.update(salt=salt, grains=grains, pillar=compiled.pillar)
    templates = [environment.get_template(f"{name}/init.sls") for name in compiled.matches["base"]]
    return _milliseconds(lambda _: [yaml.load(each.render(), yaml.CSafeLoader) for each in templates], 9)


def _salt(tree: gentree.Tree, pillar: gentree.Tree) -> float:
    """ms that Salt takes for a minion of the same tree."""
    with tempfile.TemporaryDirectory(prefix="saltern-bench-") as folder:
        gentree.write(tree, Path(folder) / "states")
        gentree.write(pillar, Path(folder) / "pillar")
        python = Path(os.environ["SALT_VENV"]) / "bin" / "python"
        done = subprocess.run([python, SALT_SIDE, folder, "5"], check=True, capture_output=True, text=True)
    samples: Sequence[float] = json.loads(done.stdout.splitlines()[-1])
    return statistics.median(samples)


if __name__ == "__main__":
    sys.exit("run `make bench ONLY=language`")
