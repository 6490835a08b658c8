"""Pillar: top file, SLS with their includes, merged. Called by compile for each minion; reads the pillar tree.

Follows Salt's order and strategies (https://docs.saltproject.io/en/latest/topics/pillar/). All errors are
collected; a pillar with errors must not be used. Whole pillars are memoised by all that was read for them.
"""

from __future__ import annotations

import copy
import fnmatch
from collections.abc import Callable, Hashable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from highstate.aggregation import Joinable, unmarked
from highstate.data_limits import unbounded
from highstate.memo.blank_plans import cost_of, learn_plan
from highstate.memo.blank_recorder import BlankInputs
from highstate.memo.blanks import BlankRefused
from highstate.memo.sources import digest_value
from highstate.memo.tracked import Recorder
from highstate.pillar.blank_pillar import BlankPillar, blank_pillar, filled_pillar
from highstate.render.context import RenderContext, RenderFailed
from highstate.render.lines import LineMap
from highstate.render.pipeline import SHAPING, render_sls
from highstate.render.problems import excerpt, near
from highstate.targeting.match import Nodegroups
from highstate.tops.top import GLOB_MARKS, TopResult, sls_path, top_matches
from highstate.traverse import merge
from highstate.types import Pos, Problem, Stage, Value


@dataclass(frozen=True, slots=True, kw_only=True)
class PillarResult:
    """A minion's pillar, not to be used when there are errors. Minions share what is equal: it must not be changed."""

    pillar: Mapping[str, Value]
    errors: tuple[Problem, ...] = ()
    bounded: bool = field(default=False, compare=False)
    """Whether it is known to hold no more than a tree may hold (`highstate.data_limits`)."""


def compile_pillar(
    context: RenderContext,
    *,
    strategy: str = "smart",
    merge_lists: bool = False,
    top_file: str = "top.sls",
    includes_override_sls: bool = False,
    env_order: Sequence[str] = (),
    nodegroups: Nodegroups | None = None,
    pillarenv: str | None = None,
    override: Mapping[str, Value] | None = None,
) -> PillarResult:
    """The pillar of the context's minion. `context.files` is the pillar tree; `context.pillar`, normally empty,
    is what templates of the pillar itself see. `override` is merged over the result.
    """
    key = (
        "pillar",
        (strategy, merge_lists, top_file, includes_override_sls, tuple(env_order), pillarenv),
        tuple(context.files.saltenvs()),
        tuple(sorted(context.functions)),
        digest_value([nodegroups or {}, override or {}, *(context.opts.get(name) for name in SHAPING)]),
    )
    recorder = Recorder(context.sources)
    merging = _Merging(strategy=strategy, merge_lists=merge_lists, includes_override_sls=includes_override_sls)
    hit = context.memo.find(key, context.sources) if context.memo is not None else None
    if hit is not None:
        recorder.absorb(hit.reads)
        done: PillarResult = hit.result
    else:

        def top() -> TopResult:
            return top_matches(
                replace(context, reads=recorder),
                pillar_stage=True,
                top_file=top_file,
                env_order=env_order,
                nodegroups=nodegroups,
                saltenv=pillarenv,
                top_saltenv=context.saltenv if strategy == "none" else None,
            )

        done = _made(context, recorder, top, merging, override or {}, key)
    if context.reads is not None:
        context.reads.absorb(recorder.reads, recorder.live)
    return done


def _made(
    context: RenderContext,
    recorder: Recorder,
    top: Callable[[], TopResult],
    merging: _Merging,
    override: Mapping[str, Value],
    key: tuple[Hashable, ...],
) -> PillarResult:
    """A pillar that nobody had before: filled in, or rendered."""
    memo = context.memo
    if memo is None:
        return _rendered(replace(context, reads=recorder), top(), merging, override)
    blanks = not override and context.ports.dummies is None and merging.carries_blanks
    if blanks and (alike := filled_pillar(key, memo, recorder)) is not None:
        return PillarResult(pillar=alike, bounded=True)
    misses = memo.misses
    found = top()
    of_top = dict(recorder.reads)
    done = _rendered(replace(context, reads=recorder), found, merging, override)
    if recorder.live:
        return done
    memo.store(key, recorder.reads, done)
    sls = sum(map(len, found.matches.values()))
    cost = cost_of(memo.misses - misses, sls)
    if not (blanks and done.bounded and not done.errors and cost):
        return done

    def make(inputs: BlankInputs, reads: Recorder) -> BlankPillar:
        reads.absorb(of_top)
        work = replace(context, blanks=inputs, reads=reads)
        result = _rendered(work, found, merging, {})
        if result.errors or not result.bounded:
            raise BlankRefused
        return blank_pillar(result.pillar, inputs)

    # All minions learn together here, whatever SLS they have.
    learn_plan(
        key,
        memo,
        recorder,
        make,
        lambda plan: repr(plan.filled(recorder.sources)) == repr(done.pillar),
        cost=cost,
        whole=_PRICE * sls,
    )
    return done


def _rendered(context: RenderContext, top: TopResult, merging: _Merging, override: Mapping[str, Value]) -> PillarResult:
    done = _render_all(context, top, merging, override)
    return replace(done, bounded=not unbounded(done.pillar))


_PRICE = 8
"""Times the usual one, for a try with blanks."""


@dataclass(frozen=True, slots=True, kw_only=True)
class _Merging:
    """How two pillars become one."""

    strategy: str
    merge_lists: bool
    includes_override_sls: bool

    @property
    def carries_blanks(self) -> bool:
        """Whether merging looks at keys alone: items of lists that are merged are compared."""
        return self.strategy in ("smart", "recurse", "overwrite") and not self.merge_lists

    def __call__(self, old: dict[str, Value], new: Mapping[str, Value]) -> dict[str, Value]:
        if self.strategy == "overwrite":
            # Salt changes the older one in place here, and an SLS that is included twice shows it; what it goes on
            # with is a copy, which shares with the newer one alone what is not merged with anything.
            old.update({key: value for key, value in new.items() if key in old})
            copied = copy.deepcopy(old)
            return {**copied, **{key: new[key] for key in new if key not in old or not isinstance(new[key], dict)}}
        return merge(old, new, strategy=self.strategy, merge_lists=self.merge_lists)


def _render_all(
    context: RenderContext, top: TopResult, merging: _Merging, override: Mapping[str, Value]
) -> PillarResult:
    pillar: dict[str, Value] = {}
    errors = list(top.errors)
    marked = False
    for saltenv, names in top.matches.items():
        tree = _Tree(
            context=replace(context, saltenv=saltenv),
            merging=merging,
            ignored=top.ignore_missing.get(saltenv, frozenset()),
            errors=errors,
        )
        for name in names:
            location = top.locations.get((saltenv, name))
            for sls in tree.names(name):
                data = tree.render(sls, (), {}, location)
                if data is not None:
                    marked = marked or isinstance(data, Joinable)
                    pillar = merging(pillar, data)
    if override:
        pillar = merging(pillar, override)
    if marked or merging.strategy == "aggregate":
        pillar = unmarked(pillar)
    return PillarResult(pillar=pillar, errors=tuple(errors))


@dataclass(frozen=True, slots=True, kw_only=True)
class _Tree:
    """The pillar SLS of one saltenv, each rendered once."""

    context: RenderContext
    merging: _Merging
    ignored: frozenset[str]
    errors: list[Problem]
    rendered: dict[str, dict[str, Value] | None] = field(default_factory=dict)

    def names(self, pattern: str) -> list[str]:
        """SLS names for a name that may be a glob; the name itself when nothing matches."""
        if not GLOB_MARKS & set(pattern):
            return [pattern]
        return fnmatch.filter(self.available(), pattern) or [pattern]

    def available(self) -> list[str]:
        """All SLS names there are, sorted."""
        reads = self.context.reads or Recorder(self.context.sources)
        paths = (path for path in reads.list_files("", self.context.saltenv) if path.endswith(".sls"))
        return sorted(path.removesuffix(".sls").removesuffix("/init").replace("/", ".") for path in paths)

    def render(
        self, sls: str, chain: tuple[str, ...], defaults: Mapping[str, Value], named_at: Pos | None, shown: str = ""
    ) -> dict[str, Value] | None:
        """An SLS merged with what it includes; None when it gives nothing (errors are in `errors`).

        `named_at` is the place that names it, `shown` the text there.
        """
        path = sls_path(self.context, sls, self.context.saltenv)
        self.rendered[sls] = None
        if path is None:
            if sls not in self.ignored:
                self._fail_missing(sls, chain, named_at, shown)
            return None
        try:
            done = render_sls(path, self.context, sls=sls, pillar_stage=True, extra=defaults)
        except RenderFailed as failed:
            self.errors.append(_in_chain(failed.problem, _down_to(chain, sls)))
            return None
        location = _Location(
            path=path, saltenv=self.context.saltenv, text=done.text, lines=done.lines, chain=(*chain, sls)
        )
        if not isinstance(done.data, dict):
            self.errors.append(location.problem(f"pillar SLS {sls!r} is a {type(done.data).__name__}, not a mapping"))
            return None
        own: dict[str, Value] = copy.copy(done.data)  # which keeps the mark of yamlex
        includes = own.pop("include", None)
        self.rendered[sls] = own
        if includes is None:
            return own
        if not isinstance(includes, list):
            self.errors.append(location.problem("include must be a list of SLS names", "include"))
            return own
        return self._with_includes(sls, path, own, includes, defaults, location)

    def _with_includes(
        self,
        sls: str,
        path: str,
        own: dict[str, Value],
        includes: list[Value],
        defaults: Mapping[str, Value],
        location: _Location,
    ) -> dict[str, Value]:
        """The included ones in their order, then the own data over them (or under, by the setting)."""
        parts: list[dict[str, Value]] = []
        for index, item in enumerate(includes):
            parsed = _parse_include(item)
            if parsed is None:
                self.errors.append(location.problem(f"this include is not understood: {item!r}", "include", index))
                continue
            if parsed.defaults is not None:
                # As in Salt, defaults hold for the includes after this one too, until others are given.
                defaults = parsed.defaults
            for name in self._included_names(sls, path, parsed.sls):
                if name in self.rendered:
                    data = self.rendered[name]
                else:
                    named_at = location.pos("include", index)
                    data = self.render(name, location.chain, defaults, named_at, location.shown(named_at))
                if data:
                    parts.append(_nested(data, parsed.key))
        ordered = [own, *parts] if self.merging.includes_override_sls else [*parts, own]
        merged = ordered[0]
        for part in ordered[1:]:
            merged = self.merging(merged, part)
        return merged

    def _included_names(self, sls: str, path: str, name: str) -> list[str]:
        """As in Salt a name counts from the root and, with a dot before it, from the package of the SLS too."""
        from_root = self._there(name.lstrip(".").replace("/", "."))
        if name.startswith("."):
            package = sls.split(".") if path.endswith("/init.sls") else sls.split(".")[:-1]
            name = ".".join([*package, name[1:]])
        found = [*from_root, *self._there(name)] or [name]
        # What stands twice is merged twice, first with what it includes, then without: mostly that changes nothing.
        again = self.merging.includes_override_sls or self.merging.strategy in ("aggregate", "list", "overwrite")
        return found if again or GLOB_MARKS & set(name) else list(dict.fromkeys(found))

    def _there(self, pattern: str) -> list[str]:
        """The SLS that a name or glob stands for, if there are any."""
        if GLOB_MARKS & set(pattern):
            return fnmatch.filter(self.available(), pattern)
        dotted = "/" not in pattern and all(pattern.split("."))
        return [pattern] if dotted and sls_path(self.context, pattern, self.context.saltenv) is not None else []

    def _fail_missing(self, sls: str, chain: tuple[str, ...], named_at: Pos | None, shown: str) -> None:
        saltenv = self.context.saltenv
        stem = sls.replace(".", "/")
        pos = named_at or Pos(file=f"{stem}.sls", saltenv=saltenv, stage=Stage.PILLAR)
        if named_at is not None and not shown:  # the top file names it
            top = self.context.files.read(pos.file, pos.saltenv).decode(errors="replace")
            shown = excerpt(top, pos.template_line, 1)
        self.errors.append(
            Problem(
                message=f"pillar SLS {sls!r} is not there: neither {stem}.sls nor {stem}/init.sls in saltenv {saltenv}",
                pos=replace(pos, stage=Stage.PILLAR, include_chain=_down_to(chain, sls)),
                excerpt=shown,
                hint=near(sls, self.available()),
            )
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class _Location:
    """A rendered SLS, for errors about it."""

    path: str
    saltenv: str
    text: str
    lines: LineMap
    chain: tuple[str, ...]
    """SLS names from the top file's entry down to this one."""

    def pos(self, *keys: Value) -> Pos:
        line = self.lines.find(*keys)
        return Pos(
            file=self.path,
            saltenv=self.saltenv,
            line=line,
            template_line=self.lines.template_line(line),
            stage=Stage.PILLAR,
            include_chain=self.chain if len(self.chain) > 1 else (),
        )

    def problem(self, message: str, *keys: Value) -> Problem:
        pos = self.pos(*keys)
        return Problem(message=message, pos=pos, excerpt=self.shown(pos))

    def shown(self, pos: Pos) -> str:
        """The text around a place of this SLS."""
        return excerpt(self.text, pos.line, 1, of=pos.template_line)


@dataclass(frozen=True, slots=True, kw_only=True)
class _Include:
    sls: str
    defaults: Mapping[str, Value] | None = None
    key: str = ""


def _parse_include(item: Any) -> _Include | None:
    """`name`, or `{name: {defaults: {...}, key: a:b}}`; None for anything else."""
    if isinstance(item, str) and item:
        return _Include(sls=item)
    if not isinstance(item, dict) or len(item) != 1:
        return None
    [(sls, options)] = item.items()
    if not isinstance(sls, str) or not isinstance(options, dict):
        return None
    defaults, key = options.get("defaults", {}), options.get("key")
    if not isinstance(defaults, dict) or not isinstance(key, str | None):
        return None
    return _Include(sls=sls, defaults=defaults, key=key or "")


def _nested(data: dict[str, Value], key: str) -> dict[str, Value]:
    for part in reversed(key.split(":") if key else []):
        data = {part: data}
    return data


def _down_to(chain: tuple[str, ...], sls: str) -> tuple[str, ...]:
    """The include chain of an error about `sls`: empty when the top file names it itself."""
    return (*chain, sls) if chain else ()


def _in_chain(problem: Problem, chain: tuple[str, ...]) -> Problem:
    return replace(problem, pos=replace(problem.pos, include_chain=chain)) if chain else problem
