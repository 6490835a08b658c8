"""Trees that both sides get: own ones with what they call, the oracle's runs and compile goldens, public formulas.

A case is an archive as those of tests/golden (`tests/golden/archive.py`). In its texts `@ROOT@` stands for the folder
that its states write to. Sections beside the trees:

    calls       a line for each call of `salt-call` that is compared, beside the usual ones
    runs        a line for each function that the master's `salt`, and `saltern run`, have the minion run
    ours.yaml   what is another on purpose: `PART STATE FIELD` -> why

The oracle's own cases are applied. Compile goldens and formulas, which would change the machine, are planned alone.
"""

from __future__ import annotations

import shlex
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

import yaml

from tools.oracle.goldens import GOLDEN, archive
from tools.oracle.runs.cases import all_cases
from tools.second_opinion.cases import OpinionCase
from tools.second_opinion.cases import cases as formula_cases

OWN = GOLDEN / "beside_master"
USUAL_CALLS = (
    ("state.show_top",),
    ("state.show_highstate",),
    ("state.show_lowstate",),
    ("pillar.items", "unmask=True"),
    ("cp.list_master",),
    ("cp.list_master_dirs",),
    ("cp.list_states",),
)
"""Of `salt-call`, in each case of our own."""
_OF_RUNS = {
    "prereq-chain": {
        r"push .* __run_num__": "a chain of `prereq` has the order of Salt 3008.3, another one than that of 3008.1",
    },
}
"""Of the cases of `tools/oracle/runs`: what is another on purpose, as in `ours.yaml`."""
_TOP = "the top file of saltenv base alone counts, until `state_top_saltenv` says otherwise"
_SET = "which top file comes last is the order of a set in Salt: its pillar is another one with each `PYTHONHASHSEED`"
_OF_GOLDENS = {
    **{name: {r".*": _TOP} for name in ("top-includes", "top-strategies")},
    "pillar-ignore-replaced": {r"salt-call .*": _SET},
}
"""The same of the goldens of the language."""
_PASSED_OVER = "Salt 3006 passes over a required SLS in which no state is found"
_OF_GOLDENS_OF_OLDER_SALT = {
    "error-requisite-keys": {"run": "before Salt 3008 the second key of a requisite is not looked at"},
    **{name: {"run": _PASSED_OVER} for name in ("req-self-includer", "req-sls-empty")},
}
"""The same where the minion's Salt is older than the language that is spoken here."""
_TIME = "its pillar asks `status.time`, which is a fact of a machine: a compile error that names `facts`"
_NO_KEY = "`contents_pillar` names what is not there: a compile error of the minion instead of a failed state"
_OF_FORMULAS = {
    **{f"postgres/{name}": {"run": _TIME} for name in ("default", "repo")},
    "users/example": {"run": _NO_KEY},
}
"""The same of the cases of public formulas."""
_OWN_SLS = "Salt 3008 refuses it: a state requires its own SLS, which Salt 3006 passes over"
_OF_FORMULAS_OF_OLDER_SALT = {
    **{f"apache/{name}": {"run": _OWN_SLS} for name in ("default", "example")},
    **{f"rabbitmq/{name}": {"run": _OWN_SLS} for name in ("default", "example", "nopillars")},
}


@dataclass(frozen=True, slots=True, kw_only=True)
class TwoSidedCase:
    """What both sides get, and are asked.

    Args:
        name: of it.
        files: path -> text; the tree lies in `states`, pillar in `pillar`; those of saltenv qa in `states@qa`.
        applies: whether it may change the machine; else it is planned alone.
        calls: words of `salt-call`.
        runs: words that the minion is given by its master.
        ours: what is another on purpose, and why.
    """

    name: str
    files: Mapping[str, bytes]
    applies: bool = False
    calls: tuple[tuple[str, ...], ...] = ()
    runs: tuple[tuple[str, ...], ...] = ()
    ours: Mapping[str, str] = field(default_factory=dict)


def own_cases(names: Sequence[str] = ()) -> Iterator[TwoSidedCase]:
    """Those of tests/golden/beside_master.

    Last those that bring grains: a minion tells new ones some time after a push that takes them away, and what was
    compiled meanwhile is compiled and run once more.
    """
    for case in sorted(archive.read_cases(OWN), key=lambda case: any("/_grains/" in name for name in case.sections)):
        if names and case.name not in names:
            continue
        yield TwoSidedCase(
            name=case.name,
            files=_files(case.sections),
            applies=True,
            calls=(*USUAL_CALLS, *_lines(case.sections.get("calls", ""))),
            runs=tuple(_lines(case.sections.get("runs", ""))),
            ours=yaml.safe_load(case.sections.get("ours.yaml", "")) or {},
        )


def run_cases(names: Sequence[str] = ()) -> Iterator[TwoSidedCase]:
    """The cases of `tools/oracle/runs` that need no options of the minion: every requisite with every end."""
    for case in all_cases():
        if case.opts or case.files or case.test or (names and case.name not in names):
            continue
        top = "base:\n  '*':\n  - case\n"
        files = {"states/top.sls": top, "states/case.sls": case.text, "pillar/top.sls": "{}\n"}
        yield TwoSidedCase(
            name=case.name,
            files={path: text.encode() for path, text in files.items()},
            applies=not case.unordered,
            ours=_OF_RUNS.get(case.name, {}),
        )


def compile_cases(names: Sequence[str] = (), *, older_salt: bool = False) -> Iterator[TwoSidedCase]:
    """Goldens of the language that a minion with grains of its own, and no options, can have.

    Args:
        names: of cases; none: all.
        older_salt: the minion's Salt is older than 3008.
    """
    ours = {**_OF_GOLDENS, **(_OF_GOLDENS_OF_OLDER_SALT if older_salt else {})}
    for case in archive.read_cases(GOLDEN):
        if any(section in case.sections for section in ("settings.yaml", "override.yaml", "sls", "minion")):
            continue
        envs = {name.partition("/")[0].partition("@")[2] for name in case.sections}
        if envs - {"", "qa"} or case.differs or (names and case.name not in names):
            continue
        yield TwoSidedCase(
            name=case.name,
            files=_files(case.sections),
            calls=(("state.show_lowstate",),),
            ours=ours.get(case.name, {}),
        )


def formula_trees(folder: Path, names: Sequence[str] = (), *, older_salt: bool = False) -> Iterator[TwoSidedCase]:
    """The cases of public formulas (`tools/second_opinion/cases.py`) that a folder has checked out.

    Args:
        folder: with a folder of each.
        names: of cases; none: all.
        older_salt: see `compile_cases`.
    """
    ours = {**_OF_FORMULAS, **(_OF_FORMULAS_OF_OLDER_SALT if older_salt else {})}
    for case in formula_cases(folder, names):
        if not case.own:
            yield TwoSidedCase(
                name=case.key,
                files=_of_formula(case),
                calls=(("state.show_lowstate",),),
                ours=ours.get(case.key, {}),
            )


def _files(sections: Mapping[str, str]) -> dict[str, bytes]:
    found = {name: text.encode() for name, text in sections.items() if name.startswith(("states", "pillar"))}
    return {"states/top.sls": b"{}\n", "pillar/top.sls": b"{}\n", **found}


def _lines(text: str) -> Iterator[tuple[str, ...]]:
    return (tuple(shlex.split(line)) for line in text.splitlines() if line.strip())


def _of_formula(case: OpinionCase) -> dict[str, bytes]:
    found = dict(_below(case.formula, "states"))
    for source, name in case.beside:
        found.update(_below(source, f"states/{name}"))
    found |= {f"pillar/{path}": text for path, text in case.pillar.items()}
    found["states/top.sls"] = yaml.safe_dump(dict(case.top), sort_keys=False).encode()
    found["pillar/top.sls"] = yaml.safe_dump(dict(case.pillar_top), sort_keys=False).encode()
    return found


def _below(folder: Path, to: str) -> Iterator[tuple[str, bytes]]:
    for path in sorted(folder.rglob("*")):
        inside = path.relative_to(folder)
        if ".git" not in inside.parts and path.is_file() and not path.is_symlink():
            yield f"{to}/{inside}", path.read_bytes()
