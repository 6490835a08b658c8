"""The pipeline of a compile: each arrow of the package's docstring, called in order. No other module knows it."""

from __future__ import annotations

from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass, field, replace

from highstate.compile import blank_compile, shared_compile
from highstate.compile.assemble import Taken, assemble
from highstate.compile.chunks import drafts_of
from highstate.compile.content import contents_of
from highstate.compile.content_parts import SourceProblems
from highstate.compile.extend import apply_exclude, apply_extends
from highstate.compile.high import High
from highstate.compile.order import ordered
from highstate.compile.reads import with_reads
from highstate.compile.requisites import requisites_in
from highstate.compile.verify import verify
from highstate.compile_options import CompileOptions
from highstate.data_limits import unbounded
from highstate.files import PILLAR, parts_of
from highstate.memo.blank_plans import cost_of
from highstate.memo.memo import Memo
from highstate.memo.sources import digest_value
from highstate.memo.tracked import ReadFiles, Recorder
from highstate.pillar.external import Decryption, External
from highstate.pillar.pillar import PillarResult, compile_pillar
from highstate.ports import NO_PORTS, CompilePorts
from highstate.render.context import RenderContext
from highstate.render.pipeline import shaping
from highstate.tops.external_tops import with_sources
from highstate.tops.top import TopResult, top_matches
from highstate.traverse import merge
from highstate.types import Chunk, Compiled, Files, Minion, Pos, Problem, Stage, Value


def compile_minion(
    files: Files,
    pillar_files: Files,
    minion: Minion,
    settings: CompileOptions,
    memo: Memo | None = None,
    ports: CompilePorts = NO_PORTS,
    pillar_override: Mapping[str, Value] | None = None,
) -> Compiled:
    """The highstate of a minion: what the top file gives it, compiled."""
    compilation = Compilation(
        files=files, pillar_files=pillar_files, minion=minion, settings=settings, memo=memo, ports=ports
    )
    return compile_top(compilation, pillar_override)


def compile_sls(
    files: Files,
    pillar_files: Files,
    minion: Minion,
    settings: CompileOptions,
    sls: Sequence[str],
    saltenv: str = "base",
    memo: Memo | None = None,
    pillar_override: Mapping[str, Value] | None = None,
    ports: CompilePorts = NO_PORTS,
) -> Compiled:
    """The lowstate of the SLS named (`state.apply a,b`), whatever the top file says."""
    compilation = Compilation(
        files=files, pillar_files=pillar_files, minion=minion, settings=settings, memo=memo, ports=ports
    )
    return compile_named(compilation, sls, saltenv, pillar_override)


def compile_top(compilation: Compilation, pillar_override: Mapping[str, Value] | None = None) -> Compiled:
    """What the top file gives a minion, compiled."""
    minion = compilation.minion
    pillar = compilation.pillar(pillar_override)
    if pillar.errors:
        return with_reads(
            Compiled(minion_id=minion.id, errors=pillar.errors), compilation.recorders, compilation.decrypted
        )
    top = compilation.top(pillar.pillar)
    if top.errors:
        failed = Compiled(minion_id=minion.id, pillar=pillar.pillar, matches=top.matches, errors=top.errors)
        return with_reads(failed, compilation.recorders, compilation.decrypted)
    return with_reads(compilation.compile(top, pillar.pillar), compilation.recorders, compilation.decrypted)


def compile_named(
    compilation: Compilation, sls: Sequence[str], saltenv: str, pillar_override: Mapping[str, Value] | None = None
) -> Compiled:
    """Some SLS, compiled."""
    pillar = compilation.pillar(pillar_override)
    if pillar.errors:
        failed = Compiled(minion_id=compilation.minion.id, errors=pillar.errors)
        return with_reads(failed, compilation.recorders, compilation.decrypted)
    location = Pos(file="state.apply", saltenv=saltenv, stage=Stage.TOP)
    given = TopResult(matches={saltenv: tuple(sls)}, locations={(saltenv, name): location for name in sls})
    return with_reads(compilation.compile(given, pillar.pillar), compilation.recorders, compilation.decrypted)


def match_top(compilation: Compilation, pillar_override: Mapping[str, Value] | None = None) -> Compiled:
    """What the top file gives a minion, in `Compiled.matches`, with nothing of it compiled."""
    pillar = compilation.pillar(pillar_override)
    failed = Compiled(minion_id=compilation.minion.id, errors=pillar.errors)
    if pillar.errors:
        return with_reads(failed, compilation.recorders, compilation.decrypted)
    top = compilation.top(pillar.pillar)
    return with_reads(
        replace(failed, matches=top.matches, errors=top.errors), compilation.recorders, compilation.decrypted
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class Compilation:
    """The inputs of one compile, and its stages one by one for those who show what each gives."""

    files: Files
    pillar_files: Files
    minion: Minion
    settings: CompileOptions
    memo: Memo | None = None
    recorders: dict[str, Recorder] = field(default_factory=dict)
    """Stage (`pillar`, the parts of the pillar by name, `top`, `states`) -> what it read, of the stages that were
    done."""
    ports: CompilePorts = NO_PORTS
    decrypted: list[str] = field(default_factory=list)
    """Plain texts of `decrypt_pillar`."""
    states_alone: bool = False
    """Whether templates of the pillar do not see what is put over it."""

    def pillar(self, override: Mapping[str, Value] | None = None) -> PillarResult:
        """The minion's pillar, or what is wrong with it.

        With an override it is compiled once more, as by `salt-call`: its templates then see the pillar without it, and
        what they give with the override on top is merged over that.
        """
        try:
            result = self._pillar({})
            if override and not result.errors and self.states_alone:
                result = PillarResult(pillar=self._merged(result.pillar, override))
            elif override and not result.errors:
                again = self._pillar(result.pillar, override)
                result = PillarResult(pillar=self._merged(result.pillar, again.pillar), errors=again.errors)
        except RecursionError:
            return PillarResult(pillar={}, errors=(_pillar_problem("is nested too deeply to be read"),))
        too_much = "" if result.errors or result.bounded else unbounded(result.pillar)
        result = PillarResult(pillar={}, errors=(_pillar_problem(too_much),)) if too_much else result
        dummies = self.ports.dummies
        if dummies is None:
            return result
        return PillarResult(pillar=dummies.seen(result.pillar), errors=dummies.problems(result.errors))

    def _pillar(self, seen: Mapping[str, Value], override: Mapping[str, Value] | None = None) -> PillarResult:
        """One pillar: its SLS, what external sources know, the options where they are asked for, then plain text."""
        settings = self.settings
        external = External(
            minion=self.minion,
            ports=self.ports,
            strategy=settings.pillar_source_merging_strategy,
            merge_lists=settings.pillar_merge_lists,
        )
        if settings.ext_pillar and settings.ext_pillar_first:
            first = external.with_sources(override or {}, settings.ext_pillar)
            rendered = self._rendered_pillar({**seen, **first}, override)
            pillar: Mapping[str, Value] = self._merged(first, rendered.pillar)
        else:
            rendered = self._rendered_pillar(seen, override)
            pillar = rendered.pillar
            if settings.ext_pillar:
                pillar = external.with_sources(pillar, settings.ext_pillar)
                pillar = self._merged(pillar, override) if override else pillar
        if settings.pillar_opts:
            pillar = {**pillar, "master": self._options_in_pillar()}
        if settings.decrypt_pillar:
            decryption = Decryption(keys=settings.decrypt_pillar, delimiter=settings.decrypt_pillar_delimiter)
            pillar = external.with_plain_text(pillar, decryption)
        self.decrypted.extend(external.decrypted)
        # What they know may be another thing at any time.
        self.recorders[PILLAR].live.update(dict.fromkeys(external.asked))
        bounded = rendered.bounded and pillar is rendered.pillar
        return PillarResult(pillar=pillar, errors=(*rendered.errors, *external.errors), bounded=bounded)

    def _options_in_pillar(self) -> dict[str, Value]:
        """What templates see as `opts`, but for the grains and pillar in it, as Salt's `pillar_opts` gives it."""
        options = dict(self.context(self.pillar_files, {}, "base").sources.roots["opts"])
        return {name: value for name, value in options.items() if name not in ("grains", "pillar")}

    def _rendered_pillar(self, seen: Mapping[str, Value], override: Mapping[str, Value] | None) -> PillarResult:
        parts = parts_of(self.pillar_files, folders_last=self.settings.ext_pillar_first)
        if len(parts) == 1:
            (part,) = parts.values()
            return self._part_of_pillar(self._recorded(PILLAR, self.context(part, seen, "base")), override)
        self._recorded(PILLAR, self.context(self.pillar_files, seen, "base"))  # of what no part has read
        pillar: Mapping[str, Value] = {}
        errors: tuple[Problem, ...] = ()
        for name, part in parts.items():  # a path means another file in each, so each has its own record
            done = self._part_of_pillar(self._recorded(name, self.context(part, seen, "base")), None)
            errors += done.errors
            pillar = self._merged(pillar, done.pillar) if pillar else done.pillar
        if override:
            pillar = self._merged(pillar, override)
        return PillarResult(pillar=pillar, errors=errors)

    def _part_of_pillar(self, context: RenderContext, override: Mapping[str, Value] | None) -> PillarResult:
        settings = self.settings
        return compile_pillar(
            context,
            strategy=settings.pillar_source_merging_strategy,
            merge_lists=settings.pillar_merge_lists,
            includes_override_sls=settings.pillar_includes_override_sls,
            pillarenv=settings.pillarenv,
            env_order=settings.env_order,
            nodegroups=settings.nodegroups,
            override=override,
        )

    def _merged(self, below: Mapping[str, Value], above: Mapping[str, Value]) -> dict[str, Value]:
        settings = self.settings
        return merge(
            below, above, strategy=settings.pillar_source_merging_strategy, merge_lists=settings.pillar_merge_lists
        )

    def top(self, pillar: Mapping[str, Value]) -> TopResult:
        """What the top file gives the minion."""
        settings = self.settings
        context = self._recorded("top", self.context(self.files, pillar, "base"))
        reads = self.recorders["top"]
        top = self._remembered_top(context) if self.memo is not None else self._matched(context)
        if not settings.master_tops:
            return top
        first = settings.master_tops_first
        return with_sources(top, settings.master_tops, self.minion, self.ports, reads, first=first)

    def _remembered_top(self, context: RenderContext) -> TopResult:
        """What the top file gives a minion for which it reads the same."""
        assert self.memo is not None  # noqa: S101  (the caller looked)
        settings, reads = self.settings, self.recorders["top"]
        key = (
            "top",
            tuple(self.files.saltenvs()),
            (settings.state_top, settings.top_file_merging_strategy, settings.default_top, tuple(settings.env_order)),
            (settings.saltenv, settings.state_top_saltenv, digest_value(settings.nodegroups)),
            shaping(context),
        )
        hit = self.memo.find(key, reads.sources)
        if hit is not None:
            reads.absorb(hit.reads)
            known: TopResult = hit.result
            return known
        top = self._matched(context)
        if not reads.live:
            self.memo.store(key, reads.reads, top)
        return top

    def _matched(self, context: RenderContext) -> TopResult:
        settings = self.settings
        return top_matches(
            context,
            top_file=settings.state_top,
            strategy=settings.top_file_merging_strategy,
            default_top=settings.default_top,
            env_order=settings.env_order,
            nodegroups=settings.nodegroups,
            saltenv=settings.saltenv,
            top_saltenv=settings.state_top_saltenv,
        )

    def high(self, top: TopResult, pillar: Mapping[str, Value]) -> High:
        """The high data as rendered: before extend, requisites and exclude."""
        contexts = self._contexts(pillar)
        return self._assembled(top, contexts, ReadFiles(self.recorders["states"]) if contexts else self.files)

    def low(self, high: High) -> tuple[Chunk, ...]:
        """The chunks in running order, without a look at the files that they name; `high.problems` has what is wrong.

        `high` is used up: extends and requisites are worked into it.
        """
        return lowstate_of(high, self.settings)

    def _recorded(self, stage: str, context: RenderContext) -> RenderContext:
        self.recorders[stage] = Recorder(context.sources)
        return replace(context, reads=self.recorders[stage])

    def context(self, files: Files, pillar: Mapping[str, Value], saltenv: str) -> RenderContext:
        """What a render of these files is given."""
        settings = self.settings
        opts = {
            "state_auto_order": settings.state_auto_order,
            "nodegroups": settings.nodegroups,
            "jinja_env": settings.jinja_env,
            "jinja_sls_env": settings.jinja_sls_env,
            "saltenv": settings.saltenv,
            "pillarenv": settings.pillarenv,
            **settings.opts,
            "state_top": f"salt://{settings.state_top}",
        }
        return RenderContext(
            minion=self.minion,
            files=files,
            saltenv=saltenv,
            pillar=pillar,
            opts=opts,
            memo=self.memo,
            ports=self.ports,
        )

    def compile(self, top: TopResult, pillar: Mapping[str, Value]) -> Compiled:
        """From SLS names to the lowstate and its contents, or what another minion's compile gave for equal reads."""
        contexts = self._contexts(pillar)
        if self.memo is None or not contexts:
            return self._compile(top, contexts, pillar)
        recorder = self.recorders["states"]
        key = self._memo_key(top, contexts)
        hit = self.memo.find(key, recorder.sources)
        if hit is not None:
            recorder.absorb(hit.reads)
            found: Compiled = replace(hit.result, minion_id=self.minion.id, pillar=pillar)
            return found
        if self.ports.dummies is None:
            alike = blank_compile.find(key, self.memo, contexts, recorder)
            if alike is not None:
                return replace(alike, minion_id=self.minion.id, pillar=pillar)
        misses = self.memo.misses
        compiled = self._compile_shared(key, top, contexts, pillar)
        sls = len({chunk.sls for chunk in compiled.lowstate})
        cost = cost_of(self.memo.misses - misses, sls)
        if compiled.ok and self.ports.dummies is None and cost:
            compiling = blank_compile.Compiling(
                lambda blank, taken: self._assembled(top, blank, next(iter(blank.values())).files, taken),
                lambda high: lowstate_of(high, self.settings),
            )
            blank_compile.learn(key, self.memo, compiled, contexts, recorder, compiling, (cost, sls))
        return compiled

    def _compile_shared(
        self,
        key: tuple[Hashable, ...],
        top: TopResult,
        contexts: Mapping[str, RenderContext],
        pillar: Mapping[str, Value],
    ) -> Compiled:
        """As another minion of its class, or in full."""
        assert self.memo is not None  # noqa: S101  (the caller looked)
        recorder = self.recorders["states"]
        shared_key = ("class", *key[1:])
        known = shared_compile.find(shared_key, self.memo, contexts, recorder)
        if known is not None and (plan := self._plan(*known, top, contexts)) is not None:
            like = shared_compile.filled(plan, known[1], contexts, recorder)
            if like is not None:
                return replace(like, minion_id=self.minion.id, pillar=pillar)
        walk = shared_compile.Walk(recorder)
        compiled = self._compile(top, contexts, pillar, walk)
        if not recorder.live:
            kept = replace(compiled, minion_id="", pillar={})
            self.memo.store(key, recorder.reads, kept)
            if known is None and compiled.ok:
                shared_compile.begin(shared_key, self.memo, walk.first(kept), walk.sources)
        return compiled

    def _plan(
        self,
        shared: shared_compile.SharedCompile,
        like: Sequence[shared_compile.Data],
        top: TopResult,
        contexts: Mapping[str, RenderContext],
    ) -> shared_compile.SharedPlan | None:
        """The plan of a class, made now if this minion is the second of it; `like`: its SLS."""
        if shared.first is None:
            return shared.plan
        first, shared.first = shared.first, None
        self._forget_changes(contexts)
        shared.plan = shared_compile.planned(
            first,
            like,
            contexts,
            lambda taken: self._assembled(top, contexts, self.files, taken),
            lambda high: lowstate_of(high, self.settings),
        )
        self._forget_changes(contexts)
        return shared.plan

    def _contexts(self, pillar: Mapping[str, Value]) -> dict[str, RenderContext]:
        """One for each saltenv, with one record of what all of them read."""
        contexts = {saltenv: self.context(self.files, pillar, saltenv) for saltenv in self.files.saltenvs()}
        if contexts:
            first = next(iter(contexts.values()))
            recorder = self.recorders["states"] = Recorder(first.sources)
            files = ReadFiles(recorder)
            contexts = {saltenv: first.of_saltenv(saltenv).recording(recorder, files) for saltenv in contexts}
        return contexts

    def _assembled(
        self, top: TopResult, contexts: Mapping[str, RenderContext], files: Files, taken: Taken | None = None
    ) -> High:
        order = self.settings.state_auto_order
        return assemble(top.matches, contexts, files, auto_order=order, locations=top.locations, taken=taken)

    def _forget_changes(self, contexts: Mapping[str, RenderContext]) -> None:
        """Undo what templates did to pillar and grains."""
        for context in contexts.values():
            context.sources.handed_out.forget()

    def _memo_key(self, top: TopResult, contexts: Mapping[str, RenderContext]) -> tuple[Hashable, ...]:
        """What shapes the compile besides the minion's data, which is recorded as it is read."""
        settings = self.settings
        return (
            "lowstate",
            tuple(self.files.saltenvs()),
            settings.state_auto_order,
            tuple(settings.disabled_requisites),
            settings.missing_source,
            shaping(next(iter(contexts.values()))),
            top.digest,
        )

    def _compile(
        self,
        top: TopResult,
        contexts: Mapping[str, RenderContext],
        pillar: Mapping[str, Value],
        walk: shared_compile.Walk | None = None,
    ) -> Compiled:
        settings = self.settings
        files = self.files if walk is None else ReadFiles(walk)
        self._forget_changes(contexts)
        high = self._assembled(top, contexts, files, None if walk is None else walk.take)
        self._forget_changes(contexts)  # templates of files see the data as it is, since the minion renders them again
        shown = high.as_salt()
        chunks = lowstate_of(high, settings)
        found = SourceProblems(missing_source=settings.missing_source)
        contents = contents_of(chunks, contexts, found)
        errors = (*high.problems, *dict.fromkeys(found.errors))
        return Compiled(
            minion_id=self.minion.id,
            lowstate=() if errors else chunks,
            highstate=shown,
            pillar=pillar,
            matches=top.matches,
            contents={} if errors else contents,
            errors=errors,
            warnings=(*high.warnings, *dict.fromkeys(found.warnings)),
        )


def _pillar_problem(what: str) -> Problem:
    return Problem(message=f"The pillar of this minion {what}", pos=Pos(file="top.sls", stage=Stage.PILLAR))


def lowstate_of(high: High, settings: CompileOptions) -> tuple[Chunk, ...]:
    """High data -> chunks in running order; what is wrong with it goes to `high.problems`."""
    apply_extends(high)
    verify(high)
    requisites_in(high, settings.disabled_requisites)
    apply_extends(high, strict=True)
    excluded = apply_exclude(high)
    if high.problems:
        return ()
    chunks, problems = ordered(drafts_of(high), disabled=settings.disabled_requisites, excluded=excluded)
    high.problems.extend(problems)
    return chunks
