"""A case compiled, as far as is needed to show what was asked for, in the shapes of Salt's own functions.

`lowstate` is `state.show_lowstate`, `highstate` is `state.show_highstate` (`state.show_sls` where SLS are named),
`pillar` is `pillar.items`, `top` is `state.show_top`, `sls` is `state.show_states`; `reads` is ours: all that the
compile looked at. Called in the process of `isolation`; it catches nothing that is not about the tree.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import assert_never

from controller.offline.cases import BadCase, Case, Show
from controller.offline.tree_policy import with_policy
from controller.offline.trees import missing_folders, snapshot_of
from controller.policy.reading import PolicyInvalid
from extmods.compile_modules import CompileModules, Tree
from gitfs.errors import GitfsError
from gitfs.tree.git_layer import GitLayer
from highstate.compile.compiler import Compilation
from highstate.compile.verify import verify
from highstate.files import PILLAR
from highstate.memo.memo import Memo
from highstate.memo.sources import Read
from highstate.memo.tracked import Recorder
from highstate.ports import NO_PORTS, CompilePorts, RecordedFacts
from highstate.tops.top import TopResult
from highstate.types import Minion, Pos, Problem, Stage, Value

_WORLD = ("gpg_keydir", "vault", "ext_pillar", "master_tops")
"""Options that need adapters, which are loaded for them alone."""

GitLayers = Sequence[tuple[str, GitLayer]]


@dataclass(frozen=True, slots=True, kw_only=True)
class CaseResult:
    """What came of a case: a result, or errors."""

    result: Value = None
    errors: tuple[Problem, ...] = ()
    warnings: tuple[Problem, ...] = ()
    remarks: tuple[str, ...] = ()
    """Of the case itself, not of the tree."""


@dataclass(slots=True)
class Memos:
    """Memos of the last few kinds of case: only cases that differ in their minion alone share one."""

    most: int = 4
    _found: OrderedDict[str, Memo] = field(default_factory=OrderedDict)

    def of(self, case: Case) -> Memo:
        """The memo of the case's trees, options and facts."""
        key = repr((case.file_roots, case.pillar_roots, case.opts, case.facts))
        memo = self._found.setdefault(key, Memo())
        self._found.move_to_end(key)
        while len(self._found) > self.most:
            self._found.popitem(last=False)
        return memo


def answer_case(
    case: Case, memo: Memo | None = None, *, git_files: GitLayers = (), git_pillar: GitLayers = ()
) -> CaseResult:
    """Compile a case. Raises BadCase for options that cannot be, and nothing for whatever a tree holds."""
    settings = case.settings()
    roots, pillar_roots = case.roots("file"), case.roots("pillar")
    missing = [*missing_folders(roots), *missing_folders(pillar_roots)]
    minion = Minion(id=case.minion, grains={"id": case.minion, **(case.grains or {})})
    try:
        files = snapshot_of(roots, git_files)
        compilation = Compilation(
            files=files,
            pillar_files=snapshot_of(pillar_roots, git_pillar),
            minion=minion,
            settings=with_policy(settings, files),
            memo=memo,
            ports=CompileModules(tree=Tree(files), minion=minion, opts=settings.opts).over(_ports(case)),
        )
        return _shown(compilation, case, tuple(f"{folder} is no folder; it counts as empty" for folder in missing))
    except PolicyInvalid as error:
        return CaseResult(errors=(error.problem,))
    except GitfsError as error:
        return CaseResult(errors=(_unreadable(f"the tree cannot be read: {error.for_operator}"),))
    except OSError as error:
        return CaseResult(errors=(_unreadable(f"the tree cannot be read: {error}"),))


def _ports(case: Case) -> CompilePorts:
    """What the case may ask of the world: recorded facts, and what its options name."""
    ports = NO_PORTS
    if any((case.opts or {}).get(option) for option in _WORLD):
        from controller.compilation.compile_ports import ports_of
        from controller.config.settings import port_options

        try:
            ports = ports_of(port_options(case.opts or {}))
        except ValueError as error:
            raise BadCase(f"opts: {error}") from None
    facts = [{"fun": one.fun, "args": one.args, "kwargs": one.kwargs, "ret": one.ret} for one in case.facts]
    return replace(ports, facts=RecordedFacts(facts)) if facts else ports


def _shown(compilation: Compilation, case: Case, remarks: tuple[str, ...]) -> CaseResult:
    pillar = compilation.pillar(case.pillar)
    if pillar.errors:
        return CaseResult(errors=pillar.errors, remarks=remarks)
    if case.show == "pillar":
        return CaseResult(result=pillar.pillar, remarks=remarks)
    top = _named(case, compilation) if case.names else compilation.top(pillar.pillar)
    if top.errors:
        return CaseResult(errors=top.errors, remarks=remarks)
    if case.show == "top":
        return CaseResult(result={env: list(names) for env, names in top.matches.items()}, remarks=remarks)
    high = compilation.high(top, pillar.pillar)
    if case.show == "highstate" and not case.check_files:
        if case.names:  # only here does Salt look at the form of what it shows
            verify(high)
        return CaseResult(
            result=high.as_salt(), errors=tuple(high.problems), warnings=tuple(high.warnings), remarks=remarks
        )
    shown = high.as_salt()
    chunks = compilation.low(high)
    errors, warnings = tuple(high.problems), tuple(high.warnings)
    if case.check_files and not errors:
        compiled = compilation.compile(top, pillar.pillar)
        errors, warnings = compiled.errors, compiled.warnings
    low = [chunk.as_salt() for chunk in chunks]
    result = None if errors else _result(case.show, low, shown, compilation)
    return CaseResult(result=result, errors=errors, warnings=warnings, remarks=remarks)


def _result(show: Show, low: list[dict[str, Value]], high: Mapping[str, Value], compilation: Compilation) -> Value:
    match show:
        case "lowstate":
            return low
        case "highstate":
            return high
        case "sls":
            return list(dict.fromkeys(chunk["__sls__"] for chunk in low))
        case "reads":
            recorders = compilation.recorders.items()
            # A pillar of several trees has a stage for each of them.
            return {stage: reads_of(recorder) for stage, recorder in recorders if recorder.reads or stage != PILLAR}
        case "pillar" | "top":
            raise ValueError(f"{show} needs no low chunks")
        case _:
            assert_never(show)


def _named(case: Case, compilation: Compilation) -> TopResult:
    saltenv = compilation.settings.saltenv or "base"
    location = Pos(file="--sls", saltenv=saltenv, stage=Stage.TOP)
    return TopResult(matches={saltenv: case.names}, locations={(saltenv, name): location for name in case.names})


def reads_of(recorder: Recorder) -> dict[str, list[str]]:
    """What a stage looked at, by kind, in the order in which it did; `a:b` under `pillar` is pillar['a']['b']."""
    found: dict[str, dict[str, None]] = {}
    for read in recorder.reads:
        kind, text = _read_as_text(read)
        found.setdefault(kind, {})[text] = None
    return {kind: list(texts) for kind, texts in found.items()}


def _read_as_text(read: Read) -> tuple[str, str]:
    match read:
        case ("value" | "peek" | "keys", root, path):
            return str(root), ":".join(str(key) for key in path) or "*"
        case ("has", root, path, key):
            return str(root), ":".join(str(part) for part in (*path, key))
        case ("id", matcher, pattern):
            return "id", f"{matcher} {pattern}"
        case ("file", saltenv, path):
            return "files", f"{saltenv}:{path}"
        case ("list" | "links", saltenv, prefix):
            return "folders", f"{saltenv}:{prefix}"
        case ("fact", fun, asked):
            return "facts", f"{fun} {asked}"
        case _:
            return str(read[0]), " ".join(str(part) for part in read[1:])


def plain_problem(problem: Problem) -> dict[str, Value]:
    """An error as data: `text` is all of it for people, the rest is for programs."""
    pos = problem.pos
    plain: dict[str, Value] = {
        "message": problem.message,
        "file": pos.file,
        "saltenv": pos.saltenv,
        "line": pos.template_line or pos.line,
        "column": pos.column,
        "stage": pos.stage.value,
    }
    if pos.include_chain:
        plain["include_chain"] = list(pos.include_chain)
    if problem.hint:
        plain["hint"] = problem.hint
    if problem.excerpt:
        plain["excerpt"] = problem.excerpt
    return {**plain, "text": str(problem)}


def case_problem(message: str) -> dict[str, Value]:
    """An error of the case itself, in the shape of the others."""
    return plain_problem(Problem(message=message, pos=Pos(file="case", stage=Stage.TOP)))


def _unreadable(message: str) -> Problem:
    return Problem(message=message, pos=Pos(file="top.sls", stage=Stage.TOP))
