"""The walk: every SLS rendered for every sample, alone and as the top file gives it, and handed to the checks.

Called through `lint_trees`. It decides what is looked at; the checks say what is wrong.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace

from highstate.compile import CompileOptions
from highstate.compile.compiler import Compilation
from highstate.compile.high import High
from highstate.lint.beacons import check_beacons
from highstate.lint.cycles import find_cycle
from highstate.lint.excludes import Excluding
from highstate.lint.findings import Finding, ignored_lines, kept
from highstate.lint.functions import with_own_modules
from highstate.lint.missing_states import own_state_modules
from highstate.lint.names import KnownStates
from highstate.lint.recovery import MARK, salvaged
from highstate.lint.requisites import Declared, check_requisites
from highstate.lint.rules_of_problems import rule_of
from highstate.lint.samples import Sample
from highstate.lint.schedules import check_schedule
from highstate.lint.states import check_states
from highstate.lint.texts import TEMPLATES, check_text
from highstate.lint.tops import Uses, includes_of, matching
from highstate.memo.memo import Memo
from highstate.missing_sources import is_missing_source_warning
from highstate.ports import NO_PORTS, CompilePorts
from highstate.render.context import RenderFailed
from highstate.render.pipeline import render_sls
from highstate.render.problems import excerpt
from highstate.tops.top import TopResult
from highstate.types import Files, Minion, Pos, Problem, Stage, Value

_OWN_CHECKS = frozenset(("dangling-requisite",))
"""Rules that `requisites` knows more about than a compile of one SLS."""

_NEED_THE_TREE = frozenset(("missing-argument", "missing-sls"))
"""Rules that a part of an SLS, read without the rest of the tree, says nothing about."""


@dataclass(frozen=True, slots=True, kw_only=True)
class LintTrees:
    """What is linted."""

    files: Files
    pillar_files: Files
    pillar: Mapping[str, Value] = field(default_factory=dict)
    """Laid over the pillar of every sample."""
    others: frozenset[tuple[str, str]] = frozenset()
    """(saltenv, path) of SLS of the states tree that are no states: reactors."""


def lint_trees(
    trees: LintTrees,
    samples: Sequence[Sample],
    known: KnownStates,
    *,
    settings: CompileOptions | None = None,
    disabled: Collection[str] = (),
    ports: Callable[[Minion], CompilePorts] = lambda _: NO_PORTS,
    more: Iterable[Finding] = (),
) -> tuple[Finding, ...]:
    """All findings of a states tree and a pillar tree, each once, in the order of their places.

    `more` are findings about other files of these trees: comments in them count for these, too.
    """
    others = list(more)
    work = _Work(trees=trees, known=_with_own(known, trees.files), settings=settings or CompileOptions(), ports=ports)
    findings: list[Finding] = []
    for sample in samples:
        findings.extend(replace(one, samples=(sample.name,)) for one in work.look(sample))
    # The texts come first: what they say of a line is of more help than how a render failed there.
    return kept(
        [*work.look_at_texts(findings), *work.misplaced_steps(findings), *others],
        work.ignored(others),
        disabled=disabled,
        samples=[sample.name for sample in samples],
    )


def _with_own(known: KnownStates, files: Files) -> KnownStates:
    """The modules that the tree brings itself, by the names of their files."""
    return replace(
        known,
        own_modules=known.own_modules | own_state_modules(files),
        functions=with_own_modules(known.functions, files),
    )


class _Work:
    """The trees while they are looked at, and what is gathered over all samples."""

    def __init__(
        self, *, trees: LintTrees, known: KnownStates, settings: CompileOptions, ports: Callable[[Minion], CompilePorts]
    ) -> None:
        self.trees = trees
        self.known = known
        self.settings = settings
        self.ports = ports
        self.memo = Memo()
        self.states = Uses(tree="states", files=trees.files, not_linted=trees.others)
        self.pillars = Uses(tree="pillar", files=trees.pillar_files, nodegroups=settings.nodegroups)
        self.found_pillars: list[Mapping[str, Value]] = []
        self.texts = {"states": _texts(trees.files), "pillar": _texts(trees.pillar_files)}
        self.salvaged: dict[tuple[str, str], list[High]] = {}
        """(saltenv, path) -> what can be read of the states that do not render for some sample."""
        self.excluding: list[Excluding] = []
        """Of the sample that is looked at."""

    def look(self, sample: Sample) -> Iterator[Finding]:
        """Everything, for one sample."""
        compilation = self._compilation(sample)
        pillar = compilation.pillar(self.trees.pillar)
        for problem in pillar.errors:
            yield Finding.of(problem, rule_of(problem), "pillar")
        seen = pillar.pillar or dict(self.trees.pillar)
        self.found_pillars.append(seen)
        yield from self._look_at(self.pillars, sample, {}, pillar_stage=True)
        yield from self._look_at(self.states, sample, seen, pillar_stage=False)
        yield from self._look_alone(sample, seen)
        yield from self._look_together(compilation, seen)

    def misplaced_steps(self, findings: Sequence[Finding]) -> Iterator[Finding]:
        """The findings, without the steps of orchestrations that are in no highstate."""
        reached = self.states.reached_files()
        for one in findings:
            if one.rule != "orchestration-step" or (one.saltenv, one.file) in reached:
                yield one

    def look_at_texts(self, findings: Sequence[Finding]) -> Iterator[Finding]:
        """What does not depend on a sample. `findings`: of the samples."""
        orchestrations = {(one.saltenv, one.file) for one in findings if one.rule == "orchestration-step"}
        for tree, texts in self.texts.items():
            pillars = self.found_pillars if tree == "states" else []
            for (saltenv, path), text in texts.items():
                yield from check_text(tree, saltenv, path, text, self.settings, pillars)
        yield from self.states.unused(self.texts["states"], orchestrations)
        yield from self.pillars.unused(self.texts["pillar"], ())

    def ignored(self, others: Sequence[Finding]) -> dict[tuple[str, str, str], dict[int, frozenset[str]]]:
        """What comments switch off, by file; also in the files of other findings, which need not be templates."""
        texts = {(tree, *place): text for tree, found in self.texts.items() for place, text in found.items()}
        for one in others:
            files = self.trees.files if one.tree == "states" else self.trees.pillar_files
            place = (one.tree, one.saltenv, one.file)
            if place not in texts and files.oid(one.file, one.saltenv) is not None:
                texts[place] = files.read(one.file, one.saltenv).decode("utf-8-sig", errors="replace")
        return {place: ignored_lines(text) for place, text in texts.items()}

    def _compilation(self, sample: Sample) -> Compilation:
        minion = Minion(id=sample.minion_id, grains={"id": sample.minion_id, **sample.grains})
        return Compilation(
            files=self.trees.files,
            pillar_files=self.trees.pillar_files,
            minion=minion,
            settings=self.settings,
            memo=self.memo,
            ports=self.ports(minion),
        )

    def _look_at(
        self, uses: Uses, sample: Sample, pillar: Mapping[str, Value], *, pillar_stage: bool
    ) -> Iterator[Finding]:
        """Render all SLS of a tree one by one: what fails, and who includes whom."""
        compilation = self._compilation(sample)
        for saltenv in uses.files.saltenvs():
            context = compilation.context(uses.files, pillar, saltenv)
            for sls, path in uses.sls(saltenv):
                try:
                    rendered = render_sls(path, context, sls=sls, pillar_stage=pillar_stage)
                except RenderFailed as failed:
                    yield Finding.of(failed.problem, rule_of(failed.problem), uses.tree)
                    if not pillar_stage and path != self.settings.state_top:
                        yield from self._look_at_the_rest(sls, path, saltenv)
                    continue
                except RecursionError:
                    yield Finding.of(_too_deep(path, saltenv), "yaml", uses.tree)
                    continue
                if path == self.settings.state_top:
                    yield from uses.read_top(saltenv, path, rendered)
                    continue
                if pillar_stage:
                    yield from check_beacons(rendered, path, saltenv, self.known)
                    yield from check_schedule(rendered, path, saltenv, self.known)
                if not pillar_stage and isinstance(rendered.data, dict) and "exclude" in rendered.data:
                    self.excluding.append(Excluding(saltenv=saltenv, path=path, rendered=rendered))
                for env, name in includes_of(rendered.data, sls, path, saltenv):
                    below = {(env, one) for one in matching(uses.files, name, env)}
                    uses.below.setdefault((saltenv, sls), set()).update(below)

    def _look_at_the_rest(self, sls: str, path: str, saltenv: str) -> Iterator[Finding]:
        """Findings in an SLS that does not render, as far as its text can be read."""
        text = self.texts["states"].get((saltenv, path), "")
        if (saltenv, path) not in self.salvaged:
            self.salvaged[saltenv, path] = salvaged(text, sls, path, saltenv)
        for high in self.salvaged[saltenv, path]:
            for found in check_states(high, self.known):
                if MARK not in found.message and found.rule not in _NEED_THE_TREE:
                    yield replace(found, excerpt=excerpt(text, found.line, found.column))

    def _look_alone(self, sample: Sample, pillar: Mapping[str, Value]) -> Iterator[Finding]:
        """Each SLS with what it includes."""
        tree, alone = Declared(), []
        for high in (high for highs in self.salvaged.values() for high in highs):
            tree.add(high)
        for saltenv in self.trees.files.saltenvs():
            for sls, path in self.states.sls(saltenv):
                if path == self.settings.state_top:
                    continue
                location = Pos(file=path, saltenv=saltenv, stage=Stage.TOP)
                given = TopResult(matches={saltenv: (sls,)}, locations={(saltenv, sls): location})
                compilation = self._compilation(sample)
                high = compilation.high(given, pillar)
                tree.add(high, [sls])
                alone.append((compilation, given, high))
        for one in self.excluding:
            yield from one.check(self.trees.files, tree)
        self.excluding.clear()
        for compilation, given, high in alone:
            yield from self._look_at_one(compilation, given, high, pillar, tree)

    def _look_at_one(
        self, compilation: Compilation, given: TopResult, high: High, pillar: Mapping[str, Value], tree: Declared
    ) -> Iterator[Finding]:
        own = Declared()
        own.add(high, [sls for names in given.matches.values() for sls in names])
        yield from check_states(high, self.known)
        lacking = list(check_requisites(high, own, tree))
        yield from lacking
        yield from _low(compilation, high)
        for problem in high.problems:
            if (rule := rule_of(problem)) not in _OWN_CHECKS:
                yield Finding.of(problem, rule)
        for problem in high.warnings:
            if (rule := rule_of(problem)) == "duplicate-requisite":
                yield Finding.of(problem, rule)
            elif not lacking:
                yield Finding.of(problem, "no-effect")
        if not high.problems:
            compiled = compilation.compile(given, pillar)
            for problem in compiled.errors:
                rule = rule_of(problem)
                yield Finding.of(problem, "missing-file" if rule == "form" else rule)
            for problem in filter(is_missing_source_warning, compiled.warnings):
                yield Finding.of(problem, "missing-source")

    def _look_together(self, compilation: Compilation, pillar: Mapping[str, Value]) -> Iterator[Finding]:
        """The highstate of the sample: what goes wrong only between SLS."""
        top = compilation.top(pillar)
        for problem in top.errors:
            yield Finding.of(problem, rule_of(problem))
        high = compilation.high(top, pillar)
        yield from _low(compilation, high)
        for problem in high.problems:
            if (rule := rule_of(problem)) in ("duplicate-id", "cycle"):
                yield Finding.of(problem, rule)


def _low(compilation: Compilation, high: High) -> Iterator[Finding]:
    """Compile on, for what that finds; a circle is found where another mistake keeps the compile from looking, too."""
    cycle = find_cycle(high)
    compilation.low(high)
    if cycle is not None and high.problems and all(rule_of(problem) != "cycle" for problem in high.problems):
        yield cycle


def _texts(files: Files) -> dict[tuple[str, str], str]:
    """(saltenv, path) -> text of all templates; one that is not UTF-8 is found by its render."""
    return {
        (saltenv, path): files.read(path, saltenv).decode("utf-8-sig", errors="replace")
        for saltenv in files.saltenvs()
        for path in files.list("", saltenv)
        if path.endswith(TEMPLATES)
    }


def _too_deep(path: str, saltenv: str) -> Problem:
    return Problem(message="this is nested too deeply to be read", pos=Pos(file=path, saltenv=saltenv))
