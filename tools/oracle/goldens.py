"""Goldens and random trees as jobs for the oracle. Used by `tools/oracle/__main__.py` and tests/oracle.

A random case has the sections of a golden: one that differs can be written to tests/golden as it is.
"""

from __future__ import annotations

import importlib.util
import sys
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from types import ModuleType
from typing import Any

from tools.oracle.client import Job, Salt, difference, ours
from tools.oracle.generators.pillars import random_pillar
from tools.oracle.generators.pipelines import random_pipeline
from tools.oracle.generators.tops import random_top
from tools.oracle.generators.trees import random_sections

GOLDEN = Path(__file__).resolve().parents[2] / "tests" / "golden"
KINDS = {"tree": random_sections, "pillar": random_pillar, "top": random_top, "pipeline": random_pipeline}


def _load_archive() -> ModuleType:
    """tests/golden/archive.py, which is no part of a package."""
    spec = importlib.util.spec_from_file_location("golden_archive", GOLDEN / "archive.py")
    assert spec is not None and spec.loader is not None  # noqa: S101, PT018  (the file is beside)
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module
    spec.loader.exec_module(module)
    return module


archive = _load_archive()


@dataclass(slots=True, kw_only=True)
class Outcome:
    """What came of many cases."""

    equal: int = 0
    both_error: int = 0
    recorded: list[str] = field(default_factory=list)
    known: list[str] = field(default_factory=list)
    different: list[str] = field(default_factory=list)

    def lines(self) -> Iterator[str]:
        """For people."""
        counts = f"{self.equal} equal to Salt, {self.both_error} errors in both, {len(self.recorded)} recorded"
        yield f"{counts}, {len(self.known)} differ on purpose, {len(self.different)} differ"
        yield from (f"recorded: {one}" for one in self.recorded)
        yield from (f"on purpose: {one}" for one in self.known)
        yield from (f"DIFFERS: {one}" for one in self.different)


def job_of(case: Any) -> Job:
    """A golden as a job."""
    return Job(
        name=case.name,
        minion=case.minion,
        grains=case.grains,
        files=case.trees("states"),
        pillar=case.trees("pillar"),
        settings={**case.settings, **case.settings.get("opts", {})},
        override=case.override,
        runs=(tuple(case.sls),),
    )


def compare_goldens(salt: Salt, names: Sequence[str] = (), *, record: bool = False) -> Outcome:
    """The goldens of those names, or all, through both; `record` takes Salt's result where it is not ours."""
    cases = archive.read_cases(GOLDEN)
    outcome = Outcome()
    for case in cases:
        if names and case.name not in names:
            continue
        [salts] = _compare(case, salt, outcome)
        expected = None if case.lowstate is None else tuple(case.lowstate)
        if record and not salts.errors and not case.differs and expected != salts.low:
            case.expecting("lowstate.yaml", archive.dump_lowstate(list(salts.low))).write()
            outcome.recorded.append(case.name)
    return outcome


def compare_random(salt: Salt, seeds: Iterable[int], kinds: Iterable[str] = tuple(KINDS)) -> Outcome:
    """Random trees, pillars and top files through both."""
    outcome = Outcome()
    for seed in seeds:
        for kind in kinds:
            case = random_case(kind, seed)
            if can_answer(salt, case):
                _compare(case, salt, outcome)
    return outcome


def random_case(kind: str, seed: int) -> Any:
    """A case in the form of a golden that expects nothing yet."""
    return archive.Case(path=GOLDEN / f"random-{kind}-{seed}.txtar", comment="", sections=KINDS[kind](seed))


def can_answer(salt: Salt, case: Any) -> bool:
    """Whether Salt has what the case wants."""
    return salt.has("mako") or not any(text.startswith("#!mako") for text in case.sections.values())


def _compare(case: Any, salt: Salt, outcome: Outcome) -> list[Any]:
    job = job_of(case)
    asked = salt.ask(job)
    [mine] = ours(job)
    [salts] = asked
    found = difference(mine, salts)
    if found and case.differs:
        outcome.known.append(f"{case.name}: {case.differs}")
    elif found:
        outcome.different.append(f"{case.name}\n    {found}")
    elif mine.errors:
        outcome.both_error += 1
    else:
        outcome.equal += 1
    return [salts]
