"""A render from its path to its result: memo, pipeline, and errors with their places.

Called by the package's users through `render_sls` and `render_template`; what each renderer does is in `renderers`.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Mapping
from dataclasses import dataclass, replace
from typing import Any

from highstate.aggregation import Joinable, unmarked
from highstate.memo.blank_plans import find_plan, learn_plan, texts_of
from highstate.memo.blank_recorder import BlankInputs, BlankRecorder
from highstate.memo.blanks import BlankRefused, Filled, Leaf, form_of
from highstate.memo.memo import Hit, Memo
from highstate.memo.sources import digest_value
from highstate.memo.tracked import Recorder
from highstate.render import jinja
from highstate.render.context import RenderContext, Rendered, RenderedText, RenderFailed
from highstate.render.job import RenderJob, place_variables
from highstate.render.lines import LineMap
from highstate.render.renderers import run_jinja, run_steps, steps_for
from highstate.render.steps import DEFAULT_PIPELINE, pipeline_of
from highstate.types import Pos, Problem, Stage, Value

SHAPING = (
    "jinja_env",
    "jinja_sls_env",
    "jinja_trim_blocks",
    "jinja_lstrip_blocks",
    "allow_undefined",
    "renderer",
    "renderer_whitelist",
    "renderer_blacklist",
    "allow_py_renderer",
)
"""Options that shape every render, whether or not a template reads them."""


@dataclass(frozen=True, slots=True, kw_only=True)
class _Done:
    """What a memo keeps of a render. Nobody changes it."""

    data: Value = None
    text: str = ""
    lines: LineMap | None = None
    failed: RenderFailed | None = None


@dataclass(frozen=True, slots=True)
class _BlankText:
    """The text of a file with blanks in it, and what they stand for."""

    leaves: tuple[Leaf, ...]
    text: str
    form: Filled | None

    def filled(self, recorder: Recorder) -> str:
        """As it is for a minion."""
        return self.text if self.form is None else str(self.form(texts_of(self.leaves, recorder.sources)))


_FILE = ("file",)
_OF_KIND = 4
"""So much of the key of a file says which it is; what follows is what it is given."""


def render_sls(
    path: str,
    context: RenderContext,
    *,
    sls: str,
    pillar_stage: bool = False,
    extra: Mapping[str, Value] | None = None,
) -> Rendered:
    """The SLS file `path` of the context's saltenv as data; RenderFailed when it is wrong or not there.

    `sls` is its dotted name, `extra` are further variables (the defaults of a pillar include).
    """

    if context.blanks is not None and extra and form_of(dict(extra)) is not None:
        raise BlankRefused  # these are texts that came out of YAML, and would not tell who looks at them

    def render(job: RenderJob) -> _Done:
        variables = {**place_variables(path), "sls": sls, **(extra or {})}
        done = _render_data(job, variables)
        # Only pillars are joined with one another; elsewhere marks of yamlex have done their work.
        return replace(done, data=unmarked(done.data)) if isinstance(done.data, Joinable) and not pillar_stage else done

    done = _memoised(path, context, ("sls", sls, pillar_stage), extra, render)
    if done.failed is not None:
        raise done.failed.again()
    assert done.lines is not None  # noqa: S101  (a render that did not fail has them)
    return Rendered(data=done.data, text=done.text, template=path, lines=done.lines)


def render_template(path: str, context: RenderContext, *, extra: Mapping[str, Value] | None = None) -> RenderedText:
    """A file of the tree rendered with Jinja (`file.managed` with `template: jinja`), and the files it stands on."""
    reads = Recorder(context.sources)
    if context.reads is not None:
        context.reads.record(("file", context.saltenv, path))
    variables = {"source": f"salt://{path}", **place_variables(path), **(extra or {})}
    # A template may empty what it is given (`item.popitem()`), and it is rendered again: on the minion, after the act.
    done = _memoised(path, context, _FILE, extra, lambda job: _render_plain(job, _copied(variables)), reads)
    if done.failed is not None:
        raise done.failed.again()
    files = {(read[1], read[2]): digest.decode() for read, digest in reads.reads.items() if read[0] == "file"}
    facts = tuple(name for name in reads.volatile if name not in reads.live)
    return RenderedText(text=done.text, files=files, volatile=tuple(reads.live), facts=facts)


def _copied(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: _copied(one) for key, one in value.items()}
    return [_copied(one) for one in value] if isinstance(value, list) else value


def _memoised(
    path: str,
    context: RenderContext,
    role: tuple[Hashable, ...],
    extra: Mapping[str, Value] | None,
    render: Any,
    outer: Recorder | None = None,
) -> _Done:
    """A result of the memo, or a fresh one. Failures are kept too: ten thousand minions may share one."""
    handed_out = context.sources.handed_out
    saltenv, memo = context.saltenv, None if handed_out.changed else context.memo
    recorder = context.new_recorder()
    oid = recorder.oid(path, saltenv)
    if oid is None:
        raise _missing(path, context)
    key: tuple[Hashable, ...] = ()
    if memo is not None:  # on a minion there is none, and to know all functions there is to import their modules
        key = (*role, path, oid, saltenv, digest_value(dict(extra)) if extra else b"", shaping(context))
    hit = _known(memo, key, context) if memo is not None else None
    memo = None if context.blanks is not None else memo  # what has blanks in it is kept by those who fill it in
    blanks = memo if role == _FILE and context.ports.dummies is None else None
    filled = _filled(key, blanks, recorder) if hit is None and blanks is not None else None
    if hit is not None:
        recorder.absorb(hit.reads)
        done: _Done = hit.result
    elif filled is not None:
        done = filled
    else:
        done = _fresh(path, context, recorder, oid, role, render)
        if isinstance(recorder, BlankRecorder):
            recorder.end()
        if role[0] == "sls":
            handed_out.leave(recorder.changed())
        if handed_out.settle():
            recorder.live["#!pillar"] = None  # what it gives hangs on the SLS before it
        if memo is not None and not recorder.live:
            memo.store(key, recorder.reads, done)
            if blanks is not None and done.failed is None:
                _learn(context, key, recorder, done.text, lambda work: _memoised(path, work, role, extra, render))
    for above in (outer, context.reads):
        if above is not None:
            above.absorb(recorder.reads, recorder.live)
    return done


def _known(memo: Memo, key: tuple[Hashable, ...], context: RenderContext) -> Hit | None:
    """What the memo has; in a render with blanks, what it has of this minion and stands on none of them."""
    if context.blanks is None:
        return memo.find(key, context.sources)
    hit = memo.find(key, context.blanks.real)
    return hit if hit is not None and context.blanks.leaves_alone(hit.reads) else None


def _filled(key: tuple[Hashable, ...], memo: Memo, recorder: Recorder) -> _Done | None:
    """The text of a file with the minion's values in its blanks; None when it has to be rendered."""
    hit = find_plan(key, memo, recorder.sources, key[:_OF_KIND])
    if hit is None:
        return None
    plan: _BlankText = hit.result
    recorder.absorb(hit.reads)
    return _Done(text=plan.filled(recorder))


def _learn(
    context: RenderContext,
    key: tuple[Hashable, ...],
    recorder: Recorder,
    text: str,
    render: Callable[[RenderContext], _Done],
) -> None:
    """Render a file with blanks, where it is worth it."""
    assert context.memo is not None  # noqa: S101  (the caller looked)

    def make(inputs: BlankInputs, reads: Recorder) -> _BlankText:
        done = render(replace(context, blanks=inputs, reads=reads))
        if done.failed is not None:
            raise BlankRefused
        return _BlankText(inputs.leaves, done.text, form_of(done.text))

    learn_plan(key, context.memo, recorder, make, lambda plan: plan.filled(recorder) == text, key[:_OF_KIND])


def _fresh(
    path: str, context: RenderContext, recorder: Recorder, oid: str, role: tuple[Hashable, ...], render: Any
) -> _Done:
    try:
        source = jinja.decode(recorder.read_file(path, context.saltenv))
    except UnicodeDecodeError as error:
        problem = Problem(
            message=f"the file is not UTF-8: byte {error.start} is {error.object[error.start]:#04x}",
            pos=Pos(file=path, saltenv=context.saltenv, stage=Stage.RENDER),
        )
        return _Done(failed=RenderFailed(problem))
    job = RenderJob(path=path, context=context, recorder=recorder, oid=oid, source=source, sls=role[0] == "sls")
    try:
        done: _Done = render(job)
    except RenderFailed as failed:
        done = _Done(failed=failed.again())
    return done


def shaping(context: RenderContext) -> bytes:
    """A digest of what shapes every render besides what it reads: part of the key of all that is remembered."""
    known = context.sources.shaping
    if not known:
        settings = [context.opts.get(name) for name in SHAPING]
        known.append(digest_value([settings, sorted(context.functions)]))
    return known[0]


def _missing(path: str, context: RenderContext) -> RenderFailed:
    pos = Pos(file=path, saltenv=context.saltenv, stage=Stage.RENDER)
    return RenderFailed(Problem(message=f"there is no file salt://{path} in saltenv {context.saltenv}", pos=pos))


def _render_data(job: RenderJob, variables: Mapping[str, Value]) -> _Done:
    context = job.context
    if not job.source.strip():
        return _Done(data={}, text=job.source, lines=LineMap(job.source, ()))
    default = str(context.opts.get("renderer") or DEFAULT_PIPELINE)
    steps = steps_for(job, pipeline_of(job.source, default))
    # Without a memo the data is the caller's own; and of the other renderers some work on it in place.
    kept = context.memo is not None and context.blanks is None
    usual = kept and [step.name for step in steps] == ["jinja", "yaml"]
    flow = run_steps(replace(job, shared=usual), steps, variables)
    data = (flow.data if flow.data is not None else {}) if flow.loaded else flow.text.text
    return _Done(data=data, text=flow.text.text, lines=flow.lines)


def _render_plain(job: RenderJob, variables: Mapping[str, Value]) -> _Done:
    return _Done(text=run_jinja(job, job.source, variables).text)
