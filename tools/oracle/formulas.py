"""Public formulas as jobs for the oracle: every SLS of each, for four grains sets, with pillar.example and without.

A formula is a folder NAME-formula (as github.com/saltstack-formulas has them), checked out by the caller; nothing
of theirs is kept here. Used by `tools/oracle/__main__.py`.
"""

from __future__ import annotations

import contextlib
import random
import sys
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import yaml

from highstate.memo.memo import Memo
from highstate.render.yaml.loader import load_yaml
from tools.oracle.client import Answer, Job, Salt, difference, ours, read_tree

GRAINS = Path(__file__).resolve().parents[2] / "tests" / "oracle" / "grains"
COLUMNS = ("formula", "cases", "equal", "both_error", "different", "seconds", "salt_seconds")
_NOT_STATES = ("test/", "docs/", "dev/", "bin/")
_TOP = b"base:\n  '*':\n    - example\n"


@dataclass(slots=True, kw_only=True)
class Outcome:
    """What came of one formula."""

    formula: str
    cases: int = 0
    equal: int = 0
    both_error: int = 0
    different: list[str] = field(default_factory=list)
    errors: Counter[str] = field(default_factory=Counter)
    """First lines of our errors, where Salt has some too."""
    blame: Counter[str] = field(default_factory=Counter)
    """Errors of both of which Salt's names an SLS that ours does not."""
    seconds: float = 0.0
    salt_seconds: float = 0.0

    def take(self, name: str, mine: Answer, salts: Answer) -> None:
        """Count one case."""
        self.cases += 1
        self.seconds += mine.seconds
        self.salt_seconds += salts.seconds
        found = difference(mine, salts)
        if found:
            self.different.append(f"{name}\n    {found}")
        elif mine.errors:
            self.both_error += 1
            self.errors[f"{mine.errors[0].splitlines()[0]}\n    Salt: {salts.errors[0].strip()[:200]}"] += 1
        else:
            self.equal += 1

    def row(self) -> dict[str, Any]:
        """The line of the table."""
        numbers = (self.cases, self.equal, self.both_error, len(self.different), self.seconds, self.salt_seconds)
        return dict(zip(COLUMNS, (self.formula, *numbers), strict=True))


def line(row: dict[str, Any]) -> str:
    """A row for people."""
    cells = [f"{value:.1f}" if isinstance(value, float) else str(value) for value in list(row.values())[1:]]
    return f"{row['formula']:<12}" + "".join(f"{cell:>14}" for cell in cells)


def formulas(folder: Path, names: Sequence[str] = ()) -> list[Path]:
    """The folders of formulas in a folder, by name."""
    found = sorted(path for path in folder.glob("*-formula") if path.is_dir())
    return [path for path in found if not names or path.name.removesuffix("-formula") in names]


def jobs(formula: Path, most: int = sys.maxsize) -> Iterator[Job]:
    """The jobs of one formula.

    Args:
        formula: its folder.
        most: at most so many SLS, drawn by the formula's name.
    """
    files = {"base": read_tree(formula)}
    names = sls_names(list(files["base"]))
    drawn = random.Random(formula.name).sample(names, min(most, len(names)))  # noqa: S311 - nothing secret
    runs = tuple((sls,) for sls in sorted(drawn))
    example = formula / "pillar.example"
    pillars = {"no pillar": {"base": {"top.sls": b"{}\n"}}}
    if example.is_file():
        text = example.read_bytes()
        pillars["example"] = {"base": {"top.sls": _TOP, "example.sls": text}}
        mended = _mended(text)
        if mended is not None:
            pillars["example mended"] = {"base": {"top.sls": _TOP, "example.sls": mended}}
    for path in sorted(GRAINS.glob("*.yaml")):
        grains = yaml.safe_load(path.read_text())
        for pillar_name, pillar in pillars.items():
            name = f"{formula.name} {path.stem} {pillar_name}"
            yield Job(name=name, minion=grains["id"], grains=grains, files=files, pillar=pillar, runs=runs)


def _mended(text: bytes) -> bytes | None:
    """An example that has a key twice, which is an error, with the last one alone; None for one that needs no mending.

    Else such formulas would be compiled with no pillar only.
    """
    try:
        load_yaml(text.decode())
    except yaml.YAMLError:
        with contextlib.suppress(yaml.YAMLError):
            return yaml.safe_dump(yaml.safe_load(text), sort_keys=False).encode()
    return None


def sls_names(paths: Sequence[str]) -> list[str]:
    """The SLS of a formula: all but those of its tests."""
    found = (path for path in paths if path.endswith(".sls") and not path.startswith(_NOT_STATES))
    return sorted(path.removesuffix(".sls").removesuffix("/init").replace("/", ".") for path in found if "/" in path)


def compare(formula: Path, salt: Salt, most: int = sys.maxsize) -> Outcome:
    """One formula through both, of which at most so many SLS are taken."""
    outcome, memo = Outcome(formula=formula.name.removesuffix("-formula")), Memo()
    for job in jobs(formula, most):
        asked = salt.ask(job)
        for run, mine, salts in zip(job.runs, list(ours(job, memo)), asked, strict=True):
            outcome.take(f"{job.name}, {run[0]}", mine, salts)
    return outcome


def combined(folder: Path, names: Sequence[str], seeds: Sequence[int]) -> Iterator[Job]:
    """Trees of two to five formulas, an SLS of each given by one top file, with all their example pillars."""
    trees: dict[Path, dict[str, bytes]] = {path: read_tree(path) for path in formulas(folder, names)}
    for seed in seeds:
        rng = random.Random(seed)  # noqa: S311 - nothing secret about a test's tree
        chosen = rng.sample(sorted(trees), min(rng.randint(2, 5), len(trees)))
        grains = yaml.safe_load(rng.choice(sorted(GRAINS.glob("*.yaml"))).read_text())
        job = Job(name="", minion=grains["id"], grains=grains, files={}, pillar={})
        files: dict[str, bytes] = {}
        pillar: dict[str, bytes] = {}
        for path in chosen:
            own = {file: text for file, text in trees[path].items() if not file.startswith(_NOT_STATES)}
            files |= {file: text for file, text in own.items() if "/" in file}
            if "pillar.example" in own:
                text = own["pillar.example"]
                pillar[f"{path.name}.sls".replace("-", "_")] = _mended(text) or text
        pillar["top.sls"] = yaml.safe_dump(
            {"base": {"*": sorted(name.removesuffix(".sls") for name in pillar)}}
        ).encode()
        whole = replace(job, files={"base": files}, pillar={"base": pillar})
        given = [sls for path in chosen for sls in _one_that_compiles(rng, whole, trees[path])]
        top = yaml.safe_dump({"base": {"*": given}}).encode()
        shown = " + ".join(given)
        yield replace(whole, name=f"combination {seed}: {shown}", files={"base": {**files, "top.sls": top}})


def _one_that_compiles(rng: random.Random, job: Job, tree: dict[str, bytes]) -> list[str]:
    """An SLS of a formula that has no error alone; none where there is none."""
    names = sls_names(list(tree))
    for sls in rng.sample(names, len(names))[:8]:
        [answer] = ours(replace(job, runs=((sls,),)))
        if not answer.errors and answer.low:
            return [sls]
    return []


def compare_combined(folder: Path, names: Sequence[str], seeds: Sequence[int], salt: Salt) -> Outcome:
    """Combinations through both."""
    outcome = Outcome(formula="combined")
    for job in combined(folder, names, seeds):
        asked = salt.ask(job)
        [mine], [salts] = list(ours(job)), asked
        outcome.take(job.name, mine, salts)
    return outcome
