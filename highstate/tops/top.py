"""Top files: which SLS a minion gets, in which saltenv. The same code for states and for pillar.

Rendered with the minion's grains (and pillar, for states), checked whole, merged over saltenvs by Salt's
strategies (https://docs.saltproject.io/en/latest/ref/states/top.html), then matched. Where Salt would drop a
broken top file and so remove everything, this is an error.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, cast

from highstate.memo.tracked import Recorder
from highstate.render.context import RenderContext, RenderFailed
from highstate.render.lines import LineMap
from highstate.render.pipeline import render_sls
from highstate.render.problems import excerpt, near
from highstate.targeting.match import KINDS, MatcherKind, Nodegroups, match_subject, unmatchable
from highstate.types import Pos, Problem, Stage, Value
from matching.linear_regex import PatternRefused
from matching.matcher import tree_matcher

_USUAL = "top.sls"
"""The top file that a tree may do without."""

GLOB_MARKS = frozenset("*?[")

_REFUSED = {
    "range": "it needs a range server; give the hosts as a list, a regular expression or a nodegroup",
    "data": "a minion's own data is not known here; use a grain or pillar",
}
"""Matchers of Salt's that match nobody where a tree is compiled: without a word the minion would lose its states."""


@dataclass(frozen=True, slots=True, kw_only=True)
class TopResult:
    """What the top files give one minion; with `errors`, `matches` is what is right of them."""

    matches: Mapping[str, tuple[str, ...]]
    """saltenv -> SLS names in their order; a name may stand twice for states."""
    errors: tuple[Problem, ...] = ()
    ignore_missing: Mapping[str, frozenset[str]] = field(default_factory=dict)
    """saltenv -> SLS names that pillar may do without."""
    found: tuple[str, ...] = ()
    """Saltenvs that have a top file."""
    locations: Mapping[tuple[str, str], Pos] = field(default_factory=dict)
    """(saltenv, SLS name) -> where a top file names it first, for errors about it."""
    _digest: list[bytes] = field(default_factory=list, init=False, repr=False, compare=False)

    @property
    def digest(self) -> bytes:
        """Names what a compile takes from this: matches in their order, and places. Made once; minions share it."""
        if not self._digest:
            known = repr((list(self.matches.items()), sorted(self.locations.items(), key=repr)))
            self._digest.append(hashlib.blake2b(known.encode(errors="surrogatepass"), digest_size=16).digest())
        return self._digest[0]


@dataclass(frozen=True, slots=True, kw_only=True)
class _TopFile:
    """One top file as data, with what errors need."""

    saltenv: str
    path: str
    data: Mapping[Any, Value]
    text: str
    lines: LineMap

    def problem(self, message: str, *keys: Value, hint: str = "") -> Problem:
        line = self.lines.find(*keys)
        pos = self.pos(*keys)
        shown = excerpt(self.text, line, 1, of=pos.template_line)
        return Problem(message=message, pos=pos, excerpt=shown, hint=hint)

    def pos(self, *keys: Value) -> Pos:
        line = self.lines.find(*keys)
        template_line = self.lines.template_line(line)
        return Pos(file=self.path, saltenv=self.saltenv, line=line, template_line=template_line, stage=Stage.TOP)


@dataclass(frozen=True, slots=True, kw_only=True)
class _Entry:
    """The items under one target."""

    items: list[Value]
    top: _TopFile
    order: int = 0


_Merged = dict[str, dict[str, _Entry]]


def top_matches(
    context: RenderContext,
    *,
    pillar_stage: bool = False,
    top_file: str = _USUAL,
    strategy: str = "merge",
    default_top: str = "base",
    env_order: Sequence[str] = (),
    nodegroups: Nodegroups | None = None,
    saltenv: str | None = None,
    top_saltenv: str | None = None,
) -> TopResult:
    """The SLS of the context's minion. Errors are collected, never raised.

    `saltenv`: that environment alone. `top_saltenv`: the top file of that environment alone. `env_order`: the
    environments whose top files count, in that order; for pillar only the order in which they are merged.
    """
    envs = sorted(context.files.saltenvs(), key=lambda env: env != "base")
    only = saltenv or top_saltenv
    counting = envs if pillar_stage or not env_order else [env for env in dict.fromkeys(env_order) if env in envs]
    read = counting if only is None else [env for env in envs if env == only]
    tops, errors = _read_tops(context, read, top_file, pillar_stage)
    if not tops and top_file != _USUAL and not pillar_stage:
        errors.append(_top_file_gone(context, top_file, read))
    tops = {env: [one for one in files if not _check(one, errors)] for env, files in tops.items()}
    merged = _merge_pillar(tops) if pillar_stage else _merge(tops, strategy, default_top, read)
    wanted = {env: targets for env, targets in merged.items() if saltenv in (None, env)}
    _note_saltenvs(context, merged)
    there = frozenset(("base", *counting))
    matching = _Matching(context=context, nodegroups=nodegroups or {}, envs=there, unique=pillar_stage)
    for env, targets in wanted.items():
        for target, entry in targets.items():
            matching.add(env, target, entry)
    first = env_order if pillar_stage else ()
    found = [env for env in dict.fromkeys((*first, *matching.found)) if env in matching.found]
    return TopResult(
        matches={env: tuple(matching.found[env]) for env in found},
        errors=(*errors, *matching.errors),
        ignore_missing=_ignored(tops) if pillar_stage else {},
        found=tuple(env for env in envs if tops.get(env)),
        locations=matching.locations,
    )


def top_targets(
    context: RenderContext, *, top_file: str = _USUAL, strategy: str = "merge", default_top: str = "base"
) -> tuple[tuple[str, str], ...]:
    """Targets and their matchers, as the top files have them for the context's minion; what is broken is left out."""
    envs = sorted(context.files.saltenvs(), key=lambda env: env != "base")
    tops, _ = _read_tops(context, envs, top_file, pillar_stage=False)
    whole = {env: [one for one in files if not _check(one, [])] for env, files in tops.items()}
    merged = _merge(whole, strategy, default_top, envs)
    found = {
        (str(target), str(_matcher_of(entry))): None for table in merged.values() for target, entry in table.items()
    }
    return tuple((target, kind) for target, kind in found if kind in KINDS)


def _read_tops(
    context: RenderContext, envs: Sequence[str], top_file: str, pillar_stage: bool
) -> tuple[dict[str, list[_TopFile]], list[Problem]]:
    tops: dict[str, list[_TopFile]] = {}
    errors: list[Problem] = []
    for env in envs:
        reader = Recorder(context.sources)
        there = reader.oid(top_file, env) is not None
        if context.reads is not None:
            context.reads.absorb(reader.reads)
        if there:
            tops[env] = list(_read_with_includes(context, env, top_file, pillar_stage, errors))
    return tops, errors


def _note_saltenvs(context: RenderContext, merged: _Merged) -> None:
    """Record which saltenvs the result names: another one may come or go without a difference."""
    if context.reads is None:
        return
    items = (item for targets in merged.values() for entry in targets.values() for item in entry.items)
    named = [*merged, *(list(item)[-1] for item in items if isinstance(item, dict) and item)]
    for name in dict.fromkeys(named):
        if isinstance(name, str):
            context.reads.record(("saltenv", name))


def _top_file_gone(context: RenderContext, top_file: str, envs: Sequence[str]) -> Problem:
    """Salt gives the minion nothing, and so takes all states from it that it had."""
    where = ", ".join(envs) or "any saltenv"
    paths = [path for env in envs for path in context.files.list("", env)]
    hint = near(top_file, paths) or "the option state_top names a file of the tree"
    message = f"the top file {top_file} is not there in saltenv {where}"
    return Problem(message=message, pos=Pos(file=top_file, stage=Stage.TOP), hint=hint)


def _read_with_includes(
    context: RenderContext, env: str, top_file: str, pillar_stage: bool, errors: list[Problem]
) -> Iterator[_TopFile]:
    """The top file of a saltenv and those that it includes. As in Salt, what those include is not read."""
    inner = replace(context, saltenv=env)
    queue, seen = [(top_file, "")], {top_file}
    while queue:
        path, sls = queue.pop(0)
        try:
            done = render_sls(path, inner, sls=sls, pillar_stage=pillar_stage)
        except RenderFailed as failed:
            errors.append(failed.problem)
            continue
        data = done.data
        top = _TopFile(
            saltenv=env, path=path, data=data if isinstance(data, dict) else {}, text=done.text, lines=done.lines
        )
        if not isinstance(data, dict):
            errors.append(top.problem(f"a top file must be a mapping of saltenvs, not a {_kind(data)}"))
            continue
        yield top
        if sls:
            continue
        for included in _includes(top, errors):
            found = sls_path(context, included, env)
            if found is None:
                errors.append(top.problem(f"the top file includes {included!r}, which is not there", "include"))
            elif found not in seen:
                seen.add(found)
                queue.append((found, included))


def _includes(top: _TopFile, errors: list[Problem]) -> list[str]:
    included = top.data.get("include", [])
    if isinstance(included, list) and all(isinstance(one, str) for one in included):
        return included
    errors.append(top.problem("include must be a list of SLS names", "include"))
    return []


def sls_path(context: RenderContext, sls: str, saltenv: str) -> str | None:
    """The file of an SLS name: `a.b` is a/b.sls, or a/b/init.sls where that is not there; None without either."""
    reader = Recorder(context.sources)
    stem = sls.replace(".", "/").strip("/")
    found = next((path for path in (f"{stem}.sls", f"{stem}/init.sls") if reader.oid(path, saltenv) is not None), None)
    if context.reads is not None:
        context.reads.absorb(reader.reads)
    return found


def _check(top: _TopFile, errors: list[Problem]) -> bool:
    """Add what is wrong with the shape of a top file; whether anything is."""
    found: list[Problem] = []
    for env, targets in top.data.items():
        if env == "include":
            continue
        if not isinstance(env, str) or not env:
            found.append(top.problem(f"saltenv {env!r} in the top file is not a name", env, hint="quote it"))
        elif not isinstance(targets, dict):
            found.append(top.problem(f"saltenv {env} must hold a mapping of targets, not a {_kind(targets)}", env))
        else:
            for target, items in targets.items():
                found.extend(_check_items(top, env, target, items))
    errors.extend(found)
    return bool(found)


def _check_items(top: _TopFile, env: str, target: Value, items: Value) -> Iterator[Problem]:
    if not isinstance(items, list):
        message = f"target {target!r} in saltenv {env} must hold a list of SLS names, not a {_kind(items)}"
        yield top.problem(message, env, target, hint="write each SLS as an item: '- name'")
        return
    for index, item in enumerate(items):
        if isinstance(item, dict):
            if any(value in (None, "", [], {}) for value in item.values()):
                yield top.problem(f"an option of target {target!r} has no value: {item}", env, target, index)
            matcher = item.get("match", "compound")
            if matcher in _REFUSED or "subfilter" in item:
                option = f"matcher {matcher}" if matcher in _REFUSED else "option subfilter"
                hint = _REFUSED.get(str(matcher), "write what it shall match as a compound target")
                yield top.problem(f"target {target!r}: the {option} is not supported", env, target, index, hint=hint)
            elif matcher not in KINDS:
                message = f"target {target!r}: there is no matcher {matcher!r}"
                hint = near(str(matcher), KINDS) or f"matchers: {', '.join(KINDS)}"
                yield top.problem(message, env, target, index, hint=hint)
        elif not isinstance(item, str) or not item:
            yield top.problem(f"target {target!r}: {item!r} is not an SLS name", env, target, index, hint="quote it")


def _kind(value: Value) -> str:
    return (
        "null"
        if value is None
        else {"str": "string", "dict": "mapping"}.get(type(value).__name__, type(value).__name__)
    )


def _sections(top: _TopFile) -> Iterator[tuple[str, dict[str, _Entry]]]:
    for env, targets in top.data.items():
        if env != "include":
            yield env, {target: _Entry(items=items, top=top) for target, items in targets.items()}


def _merge(tops: Mapping[str, list[_TopFile]], strategy: str, default_top: str, envs: Sequence[str]) -> _Merged:
    """One table of targets out of the top files of all saltenvs; an unknown strategy is `merge`, as in Salt."""
    match strategy:
        case "same":
            return _merge_same(tops, default_top, envs)
        case "merge_all":
            return _merge_all(tops)
        case _:
            return _merge_base_first(tops)


def _merge_base_first(tops: Mapping[str, list[_TopFile]]) -> _Merged:
    """`merge`: base decides for every saltenv that it names, another top file for its own where base does not."""
    merged: _Merged = {}
    for top in tops.get("base", []):
        for env, targets in _sections(top):
            merged.setdefault(env, {}).update(targets)
    for own, files in tops.items():
        # The first file that names its own saltenv is the one that counts: of several, Salt drops the others.
        own_sections = (targets for top in files for env, targets in _sections(top) if env == own != "base")
        first = next(own_sections, None)
        if first is not None and own not in merged:
            merged[own] = first
    return merged


def _merge_same(tops: Mapping[str, list[_TopFile]], default_top: str, envs: Sequence[str]) -> _Merged:
    """`same`: each saltenv's own top file, or that of `default_top` where it has none."""
    merged: _Merged = {}
    for own in envs:
        files = [top for top in tops.get(own, []) if top.data] or tops.get(default_top, [])
        for top in files:
            for env, targets in _sections(top):
                if env == own:
                    merged.setdefault(env, {}).update(targets)
    return merged


def _merge_all(tops: Mapping[str, list[_TopFile]]) -> _Merged:
    """`merge_all`: every section of every top file; what several say about one target is joined."""
    merged: _Merged = {}
    for top in (top for files in tops.values() for top in files):
        for env, targets in _sections(top):
            table = merged.setdefault(env, {})
            for target, entry in targets.items():
                old = table.get(target)
                table[target] = entry if old is None else _joined(old, entry)
    return merged


def _joined(old: _Entry, new: _Entry) -> _Entry:
    options = [item for item in new.items if isinstance(item, dict)] or [
        item for item in old.items if isinstance(item, dict)
    ]
    names = [item for item in old.items if isinstance(item, str)]
    names += [item for item in new.items if isinstance(item, str) and item not in names]
    return _Entry(items=[*options[-1:], *names], top=new.top)


def _merge_pillar(tops: Mapping[str, list[_TopFile]]) -> _Merged:
    """Pillar's way: every section counts, a target that comes again replaces, `order` sorts the targets."""
    merged: _Merged = {}
    for top in (top for files in tops.values() for top in files):
        for env, targets in _sections(top):
            table = merged.setdefault(env, {})
            for target, entry in targets.items():
                table[target] = replace(entry, order=_order(entry.items))
    return {env: dict(sorted(targets.items(), key=lambda pair: pair[1].order)) for env, targets in merged.items()}


def _ignored(tops: Mapping[str, list[_TopFile]]) -> dict[str, frozenset[str]]:
    """What pillar may do without: of a target that does not match, and of one that a later top file replaces, too."""
    found: dict[str, set[str]] = {}
    for top in (top for files in tops.values() for top in files):
        for env, targets in _sections(top):
            for entry in targets.values():
                if any(isinstance(item, dict) and item.get("ignore_missing") for item in entry.items):
                    found.setdefault(env, set()).update(one for one in entry.items if isinstance(one, str))
    return {env: frozenset(names) for env, names in found.items()}


def _order(items: list[Value]) -> int:
    order = 0
    for item in items:
        if isinstance(item, dict) and "order" in item:
            try:
                order = int(item["order"])
            except (TypeError, ValueError):
                order = 0
    return order


def _matcher_of(entry: _Entry) -> MatcherKind:
    kinds = [item["match"] for item in entry.items if isinstance(item, dict) and "match" in item]
    return cast(MatcherKind, kinds[-1] if kinds else "compound")


@dataclass(slots=True, kw_only=True)
class _Matching:
    """Gathers the SLS names of the targets that match."""

    context: RenderContext
    nodegroups: Nodegroups
    envs: frozenset[str]
    unique: bool
    found: dict[str, list[str]] = field(default_factory=dict)
    locations: dict[tuple[str, str], Pos] = field(default_factory=dict)
    errors: list[Problem] = field(default_factory=list)

    def add(self, env: str, target: Value, entry: _Entry) -> None:
        """Take what stands under `target`, if it matches."""
        if not self._matches(env, target, entry):
            return
        if not self.unique and env not in self.envs and env in self.context.files.saltenvs():
            hint = "add it to env_order"
            self.errors.append(entry.top.problem(f"saltenv {env} is not one of env_order", env, target, hint=hint))
            return
        names = self.found.setdefault(env, [])
        for index, item in enumerate(entry.items):
            pos = entry.top.pos(env, target, index)
            if isinstance(item, str):
                self._take(env, item, names, pos)
            elif not self.unique:
                # `- qa: web` gives the SLS `web` of another saltenv.
                other, sls = list(item.items())[-1]
                if other in self.envs and isinstance(sls, str):
                    self._take(other, sls, self.found.setdefault(other, []), pos)

    def _take(self, env: str, sls: str, names: list[str], pos: Pos) -> None:
        self.locations.setdefault((env, sls), pos)
        if not (self.unique and sls in names):
            names.append(sls)

    def _matches(self, env: str, target: Value, entry: _Entry) -> bool:
        kind = _matcher_of(entry)
        matcher = tree_matcher()
        recorder = Recorder(self.context.sources)
        matched = False
        try:
            broken = unmatchable(str(target), kind=kind, nodegroups=self.nodegroups, matcher=matcher)
            if not broken:
                matched = match_subject(str(target), recorder, kind=kind, nodegroups=self.nodegroups, matcher=matcher)
        except PatternRefused as error:
            broken = str(error)
        if broken:
            self.errors.append(entry.top.problem(f"target {target!r}: {broken}", env, target))
            return False
        if self.context.reads is not None:
            self.context.reads.absorb(recorder.reads)
        return matched
