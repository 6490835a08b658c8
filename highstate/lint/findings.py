"""A finding, the rules that there are, and which findings are shown: the nouns of lint. Knows no tree."""

from __future__ import annotations

import enum
import re
from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass, replace

from highstate.compile.assemble import render_cause
from highstate.types import Problem


class Severity(enum.Enum):
    """How bad it is. Errors and warnings make lint fail; notices do not."""

    ERROR = "error"
    WARNING = "warning"
    NOTICE = "notice"


@dataclass(frozen=True, slots=True, kw_only=True)
class Rule:
    """One thing that lint looks for."""

    severity: Severity
    summary: str


_E, _W, _N = Severity.ERROR, Severity.WARNING, Severity.NOTICE

RULES: Mapping[str, Rule] = {
    "syntax": Rule(severity=_E, summary="a template does not parse"),
    "render": Rule(severity=_E, summary="a template fails"),
    "renderer": Rule(severity=_E, summary="the first line names a renderer that there is not"),
    "yaml": Rule(severity=_E, summary="what a template gives cannot be read"),
    "tabs": Rule(severity=_E, summary="a tab where YAML wants spaces"),
    "duplicate-id": Rule(severity=_E, summary="an ID, or a key, that is there twice"),
    "form": Rule(severity=_E, summary="a declaration that is not formed as the language wants it"),
    "missing-sls": Rule(severity=_E, summary="an SLS that is named and not there"),
    "missing-file": Rule(severity=_E, summary="a salt:// file that is named and not there, or cannot be rendered"),
    "policy": Rule(severity=_E, summary="a saltern.yaml that cannot be used"),
    "expired": Rule(severity=_W, summary="an entry of ignore_differences in saltern.yaml that holds no longer"),
    "missing-source": Rule(severity=_W, summary="a source that is not there, where policy has its state alone fail"),
    "dangling-requisite": Rule(severity=_E, summary="a requisite on something that is declared nowhere"),
    "cycle": Rule(severity=_E, summary="requisites that need each other"),
    "unknown-state": Rule(severity=_E, summary="a state function that neither Saltern nor Salt has"),
    "unknown-argument": Rule(severity=_E, summary="an argument that the state function does not take"),
    "missing-argument": Rule(severity=_E, summary="an argument that the state function cannot do without"),
    "orchestration-step": Rule(severity=_E, summary="a step of an orchestration, as salt.state, in a highstate"),
    "unknown-function": Rule(
        severity=_E, summary="a function that steps, reactions or jobs call and that is not there"
    ),
    "no-target": Rule(severity=_E, summary="a step or reaction that says nothing of its minions"),
    "beacon": Rule(severity=_E, summary="beacons of a pillar that a minion refuses: badly formed, or not there"),
    "schedule": Rule(severity=_E, summary="a job of a schedule in pillar that a minion cannot follow"),
    "nobody": Rule(severity=_W, summary="a reaction, step or job that reaches none of the minions that are known"),
    "unfired-tag": Rule(severity=_W, summary="a reactor or rule that answers a tag which nobody fires"),
    "duplicate-requisite": Rule(severity=_W, summary="a requisite that replaces an earlier one of the same state"),
    "requisite-not-included": Rule(severity=_W, summary="a requisite on an SLS that is not included"),
    "pillar-default": Rule(severity=_W, summary="a pillar key that is read without a default"),
    "missing-grain": Rule(severity=_W, summary="a grain that a sample does not have (see --grains)"),
    "needs-machine": Rule(severity=_W, summary="a template that asks the live machine"),
    "unused-sls": Rule(severity=_W, summary="an SLS that no top file and no include names"),
    "pillar-by-grain": Rule(severity=_W, summary="pillar that is given by a grain that a minion can claim"),
    "no-effect": Rule(severity=_W, summary="something that is written and does nothing"),
    "missing-state": Rule(severity=_E, summary="a state of Salt's that Saltern does not have: it fails on the minion"),
    "unchecked": Rule(severity=_N, summary="a reactor that is a program, of which only its syntax is looked at"),
    "not-implemented": Rule(severity=_N, summary="an argument of Salt's that Saltern does not have"),
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Finding:
    """One thing that was found, with its place."""

    rule: str
    message: str
    tree: str = "states"
    """`states` or `pillar`."""
    saltenv: str = "base"
    file: str
    line: int = 0
    """From 1, of the template; 0: the file as a whole."""
    column: int = 0
    excerpt: str = ""
    """The lines around, with a caret; ready to print."""
    hint: str = ""
    """What to do."""
    samples: tuple[str, ...] = ()
    """For which grains; empty: for all."""

    @property
    def severity(self) -> Severity:
        """By its rule."""
        return RULES[self.rule].severity

    @classmethod
    def of(cls, problem: Problem, rule: str, tree: str = "states") -> Finding:
        """A problem of the compile as a finding."""
        pos = problem.pos
        return cls(
            rule=rule,
            message=render_cause(problem.message),
            tree=tree,
            saltenv=pos.saltenv,
            file=pos.file,
            line=pos.template_line or pos.line,
            column=pos.column or _caret(problem.excerpt),
            excerpt=problem.excerpt,
            hint=problem.hint,
        )


def _caret(excerpt: str) -> int:
    """Column of the caret in an excerpt, from 1; 0 when there is none."""
    found = re.search(r"^ +\| ( *)\^$", excerpt, re.MULTILINE)
    return len(found[1]) + 1 if found else 0


_IGNORE = re.compile(r"saltern:\s*ignore(?:=([\w-]+(?:\s*,\s*[\w-]+)*))?")


def ignored_lines(text: str) -> dict[int, frozenset[str]]:
    """Line -> rules that a comment `# saltern: ignore=RULE,RULE` switches off there; no rule named: all of them.

    A comment of its own line applies to the next line too; in the first line of a file (or right below its `#!` line)
    for the whole file, which is line 0.
    """
    lines: dict[int, frozenset[str]] = {}
    if "saltern:" not in text:
        return lines
    rows = text.splitlines()
    first = 2 if rows[0].startswith("#!") else 1
    for number, row in enumerate(rows, 1):
        found = _IGNORE.search(row)
        if not found:
            continue
        rules = frozenset(re.split(r"\s*,\s*", found[1])) if found[1] else frozenset(RULES)
        alone = row.lstrip().startswith(("#", "{#"))
        for line in (number, *([number + 1] if alone else []), *([0] if alone and number == first else [])):
            lines[line] = lines.get(line, frozenset()) | rules
    return lines


def kept(
    findings: Iterable[Finding],
    ignored: Mapping[tuple[str, str, str], Mapping[int, frozenset[str]]],
    *,
    disabled: Collection[str] = (),
    samples: Collection[str] = (),
) -> tuple[Finding, ...]:
    """Each finding once, in the order of files and lines, without those that are switched off.

    `ignored` is (tree, saltenv, file) -> `ignored_lines`; `samples` are all that were looked at.
    """
    found: dict[tuple[str, str, str, int, str, str], Finding] = {}
    for finding in findings:
        lines = ignored.get((finding.tree, finding.saltenv, finding.file), {})
        if finding.rule in disabled or any(finding.rule in lines.get(line, ()) for line in (0, finding.line)):
            continue
        what = "" if finding.rule == "pillar-default" else finding.message
        key = (finding.tree, finding.saltenv, finding.file, finding.line, finding.rule, what)
        first = found.get(key)
        found[key] = finding if first is None else replace(first, samples=_both(first.samples, finding.samples))
    every = set(samples)
    shown = [replace(one, samples=()) if set(one.samples) == every else one for one in found.values()]
    return tuple(sorted(shown, key=lambda one: (one.tree != "states", one.saltenv, one.file, one.line, one.rule)))


def _both(first: tuple[str, ...], second: tuple[str, ...]) -> tuple[str, ...]:
    """For whom two equal findings hold; one that holds for all stays so."""
    return tuple(dict.fromkeys((*first, *second))) if first and second else ()
