"""Top files and what they name: SLS that are named and not there, and SLS that nothing names. Called by `trees`.

All targets are looked at, whether a sample matches them or not.
"""

from __future__ import annotations

import fnmatch
import re
from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

from highstate.compile.assemble import sls_names, sls_path
from highstate.lint.findings import Finding
from highstate.lint.grain_targets import claimed_grains
from highstate.lint.orchestrations import FOLDERS
from highstate.render.context import Rendered
from highstate.render.problems import excerpt, near
from highstate.types import Files, Value

_ELSEWHERE = FOLDERS | {"reactor", "reactors"}
"""Folders whose SLS are not for top files."""

_NOT_STATES = frozenset(("pillar", "pillars", "_pillar"))
"""Folders of a states tree whose SLS are pillar: formulas keep examples and tests of theirs there."""

Name = tuple[str, str]
"""(saltenv, SLS name)"""


@dataclass(slots=True, kw_only=True)
class Uses:
    """Who names whom, gathered over all samples."""

    tree: str
    files: Files
    not_linted: Collection[tuple[str, str]] = ()
    """(saltenv, path) of SLS that are rendered otherwise."""
    nodegroups: Mapping[str, Any] = field(default_factory=dict)
    tops: set[str] = field(default_factory=set)
    """Saltenvs that have a top file."""
    named: set[Name] = field(default_factory=set)
    """What the top files name."""
    below: dict[Name, set[Name]] = field(default_factory=dict)
    """SLS -> those that it includes."""

    def read_top(self, saltenv: str, path: str, rendered: Rendered) -> Iterator[Finding]:
        """Take in a top file; findings about the SLS that it names."""
        self.tops.add(saltenv)
        if self.tree == "pillar":
            yield from self._claimed(saltenv, path, rendered)
        for env, target, index, sls in _named(rendered.data):
            found = matching(self.files, sls, env)
            self.named.update((env, name) for name in found)
            if found or "{" in sls:
                continue
            line = rendered.lines.find(env, target, index) or rendered.lines.find(env, target)
            yield Finding(
                rule="missing-sls",
                message=f"the top file gives {target!r} the SLS {sls!r}, which is not there in saltenv {env!r}",
                tree=self.tree,
                saltenv=saltenv,
                file=path,
                line=rendered.lines.template_line(line) or line,
                column=1,
                excerpt=excerpt(rendered.text, line, 1) if line else "",
                hint=near(sls, sls_names(self.files, env)),
            )

    def _claimed(self, saltenv: str, path: str, rendered: Rendered) -> Iterator[Finding]:
        """Targets of pillar that a minion can make true by itself."""
        for env, targets in rendered.data.items() if isinstance(rendered.data, dict) else ():
            for target, items in targets.items() if isinstance(targets, dict) else ():
                names = claimed_grains(str(target), items, self.nodegroups)
                if not names:
                    continue
                line = rendered.lines.find(env, target)
                yield Finding(
                    rule="pillar-by-grain",
                    message=f"the target {target!r} gives pillar by the grain {', '.join(map(repr, names))}, "
                    "which every minion can claim",
                    tree=self.tree,
                    saltenv=saltenv,
                    file=path,
                    line=rendered.lines.template_line(line) or line,
                    column=1,
                    excerpt=excerpt(rendered.text, line, 1) if line else "",
                    hint="target secrets by id or by a nodegroup of ids",
                )

    def unused(self, texts: Mapping[tuple[str, str], str], elsewhere: Collection[tuple[str, str]]) -> Iterator[Finding]:
        """SLS that no top file leads to, but for files (saltenv, path) that somebody else renders.

        One whose name stands anywhere else in the tree is not reported: it may be put together by a template that no
        sample takes there.
        """
        used = self.reachable()
        for saltenv in sorted(self.tops):
            for sls, path in self.sls(saltenv):
                if (
                    (saltenv, path) in elsewhere
                    or (saltenv, sls) in used
                    or _ELSEWHERE & set(path.split("/")[:-1])
                    or path == "top.sls"
                ):
                    continue
                if any(_mentions(text, sls) for (_, other), text in texts.items() if other != path):
                    continue
                yield Finding(
                    rule="unused-sls",
                    message=f"no top file and no include names SLS {sls!r}",
                    tree=self.tree,
                    saltenv=saltenv,
                    file=path,
                    hint="give it to somebody in the top file, or remove it",
                )

    def sls(self, saltenv: str) -> list[tuple[str, str]]:
        """(SLS, path) of all SLS of an environment that are of the tree's kind."""
        found = [(sls, sls_path(self.files, sls, saltenv) or "") for sls in sls_names(self.files, saltenv)]
        if self.tree == "pillar":
            return found
        other = self.not_linted
        return [
            (sls, path)
            for sls, path in found
            if not _NOT_STATES & set(path.split("/")[:-1]) and (saltenv, path) not in other
        ]

    def reached_files(self) -> set[tuple[str, str]]:
        """(saltenv, path) of the SLS that top files lead to."""
        return {(saltenv, sls_path(self.files, sls, saltenv) or "") for saltenv, sls in self.reachable()}

    def reachable(self) -> set[Name]:
        """What the top files name, with all that it includes."""
        seen: set[Name] = set()
        waiting = list(self.named)
        while waiting:
            name = waiting.pop()
            if name not in seen:
                seen.add(name)
                waiting.extend(self.below.get(name, ()))
        return seen


def matching(files: Files, sls: str, saltenv: str) -> list[str]:
    """The SLS that a name, or a glob, means."""
    if any(mark in sls for mark in "*?["):
        return fnmatch.filter(sls_names(files, saltenv), sls)
    name = sls.replace("/", ".")
    return [name] if sls_path(files, sls, saltenv) else []


def includes_of(data: Value, sls: str, path: str, saltenv: str) -> Iterable[tuple[str, str]]:
    """(saltenv, SLS name or glob) of the `include` of rendered data, relative ones made absolute."""
    items = data.get("include") if isinstance(data, dict) else None
    for item in items if isinstance(items, list) else []:
        env, name = next(iter(item.items())) if isinstance(item, dict) and len(item) == 1 else (saltenv, item)
        if isinstance(item, dict) and isinstance(name, dict):  # pillar's `- name: {key: ..., defaults: ...}`
            env, name = saltenv, env
        if isinstance(name, str) and isinstance(env, str):
            yield env, _absolute(name, sls, path)


def _absolute(name: str, sls: str, path: str) -> str:
    up = len(name) - len(name.lstrip("."))
    if not up:
        return name
    parts = sls.split(".") + (["init"] if path.endswith("/init.sls") else [])
    return ".".join([*parts[:-up], name[up:]])


def _named(data: Value) -> Iterator[tuple[str, str, int, str]]:
    """(saltenv, target, index, SLS) of all that a top file names."""
    for env, targets in data.items() if isinstance(data, dict) else ():
        for target, items in targets.items() if isinstance(targets, dict) and env != "include" else ():
            for index, item in enumerate(items if isinstance(items, list) else []):
                if isinstance(item, str):
                    yield str(env), str(target), index, item


def _mentions(text: str, sls: str) -> bool:
    short = sls.rpartition(".")[2]
    return (
        re.search(rf"(?<![\w.]){re.escape(sls)}(?![\w.])|-\s+\.+{re.escape(short)}\s*$", text, re.MULTILINE) is not None
    )
