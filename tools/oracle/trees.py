"""Public trees of states and pillar as jobs for the oracle: their highstate, single SLS, and globs of SLS.

A tree is a folder in the one that the caller names, checked out by the caller; nothing of theirs is kept here. Used by
`tools/oracle/__main__.py` and by tests/oracle.
"""

from __future__ import annotations

import random
import re
from collections.abc import Iterator, Sequence
from pathlib import Path

import yaml

from highstate.memo.memo import Memo
from tools.oracle.client import Answer, Job, Salt, ours, read_tree
from tools.oracle.formulas import GRAINS, Outcome

_STATES = ("", "salt", "states", "salt/states", "srv/salt", "salt/roots", "state", "salt/base", "test/state")
_PILLAR = ("pillar", "pillars", "srv/pillar", "salt/pillar", "t/pillar", "test/pillar", "pillar_root")
_NOT_SLS = re.compile(r"[^A-Za-z0-9_./-]")
_BLAMED = re.compile(r"SLS(?: file)?s? '?(?:[\w-]+:)?([\w./-]+?)'?(?= |,|:|$|\.$)|sls found for '([\w./-]+)'")
_OUR_PLACE = re.compile(r"([\w./-]+)\.sls:\d+")


def trees(folder: Path, names: Sequence[str] = ()) -> list[Path]:
    """The trees of a folder, by name; a formula, of which each is a folder too, is none."""
    found = sorted(path for path in folder.iterdir() if path.is_dir() and not path.name.endswith("-formula"))
    return [path for path in found if not names or path.name in names]


def state_root(tree: Path) -> Path:
    """The folder that a controller would serve: the first usual one with a top file, else the one with most SLS."""
    for place in _STATES:
        if (tree / place / "top.sls").is_file():
            return tree / place
    present = [tree / place for place in _STATES if (tree / place).is_dir()]
    return max(present, key=lambda folder: len(list(folder.glob("*.sls"))) + len(list(folder.glob("*/init.sls"))))


def pillar_root(tree: Path) -> Path | None:
    """The folder of pillar, where the tree has one with a top file."""
    return next((tree / place for place in _PILLAR if (tree / place / "top.sls").is_file()), None)


def tree_jobs(tree: Path, most: int, systems: Sequence[str] = ("debian", "rocky")) -> Iterator[Job]:
    """The jobs of one tree: a job a system, with and without the tree's pillar.

    Args:
        tree: its folder.
        most: at most so many single SLS, drawn by the tree's name.
        systems: names of grains in tests/oracle/grains.
    """
    root = state_root(tree)
    files = read_tree(root)
    pillars = {"no pillar": {"base": {"top.sls": b"{}\n"}}}
    own = pillar_root(tree)
    if own is not None:
        pillars["pillar"] = {"base": read_tree(own)}
    not_states = f"{own.relative_to(root)}/" if own is not None and own.is_relative_to(root) else "\n"
    names = sls_of_tree([path for path in files if not path.startswith(not_states)])
    drawn = sorted(random.Random(tree.name).sample(names, min(most, len(names))))  # noqa: S311 - nothing secret
    runs: list[tuple[str, ...]] = [(), *((sls,) for sls in drawn), *((glob,) for glob in _globs(names)[: most // 4])]
    for system in systems:
        grains = yaml.safe_load((GRAINS / f"{system}.yaml").read_text())
        for pillar_name, pillar in pillars.items():
            name = f"{tree.name} {system} {pillar_name}"
            given = tuple(runs if "top.sls" in files else runs[1:])
            yield Job(name=name, minion=grains["id"], grains=grains, files={"base": files}, pillar=pillar, runs=given)


def sls_of_tree(paths: Sequence[str]) -> list[str]:
    """The names of the SLS at some paths, the top file and what cannot be named left out."""
    found = (path.removesuffix(".sls") for path in paths if path.endswith(".sls") and not _NOT_SLS.search(path))
    named = {path.removesuffix("/init").replace("/", ".") for path in found if "." not in path}
    return sorted(named - {"top", "init"})


def _globs(names: Sequence[str]) -> list[str]:
    """A glob for each folder with several SLS."""
    heads = [name.partition(".")[0] for name in names if "." in name]
    return [f"{head}.*" for head in sorted(set(heads)) if heads.count(head) > 1]


def compare_tree(tree: Path, salt: Salt, most: int) -> Outcome:
    """One tree through both."""
    outcome, memo = Outcome(formula=tree.name), Memo()
    for job in tree_jobs(tree, most):
        asked = salt.ask(job)
        for run, mine, salts in zip(job.runs, list(ours(job, memo)), asked, strict=True):
            outcome.take(f"{job.name}, {' '.join(run) or 'highstate'}", mine, salts)
            _compare_blame(outcome, mine, salts)
    return outcome


def _compare_blame(outcome: Outcome, mine: Answer, salts: Answer) -> None:
    """Count errors of both of which Salt's names an SLS that ours does not."""
    if not (mine.errors and salts.errors):
        return
    theirs = blamed_by_salt(salts.errors)
    if theirs and not theirs & blamed_by_us(mine.errors):
        outcome.blame[f"{mine.errors[0].splitlines()[0]}\n    Salt: {salts.errors[0].strip()[:200]}"] += 1


def blamed_by_salt(errors: Sequence[str]) -> set[str]:
    """The SLS that Salt's errors name."""
    return {one or other for text in errors for one, other in _BLAMED.findall(text)}


def blamed_by_us(errors: Sequence[str]) -> set[str]:
    """The SLS that our errors name, by their place or in their text."""
    text = "\n".join(errors)
    places = {path.removesuffix("/init").replace("/", ".").strip(".") for path in _OUR_PLACE.findall(text)}
    return places | set(re.findall(r"[\w-]+(?:\.[\w-]+)*", text))
