"""The steps of a render: memo, pipeline of the first line, Jinja, YAML or JSON; and errors with their places."""

from __future__ import annotations

import json
import posixpath
from collections.abc import Hashable, Mapping
from dataclasses import dataclass
from typing import Any

import yaml

from highstate.functions import Call, Functions
from highstate.render import blame, jinja
from highstate.render.context import Context, Rendered, RenderedText, RenderFailed
from highstate.render.lines import LineMap
from highstate.render.yaml_loader import load_yaml
from highstate.tracked import Recorder, digest_value, fresh
from highstate.types import Pos, Problem, Stage, Value

DEFAULT_PIPELINE = ("jinja", "yaml")
RENDERERS = ("jinja", "yaml", "json")
KNOWN_PIPELINES = "jinja|yaml, jinja|json, jinja, yaml, json"


@dataclass(frozen=True, slots=True, kw_only=True)
class _Done:
    """What a memo keeps of a render: never handed out itself where it could be changed."""

    data: Value = None
    text: str = ""
    lines: LineMap | None = None
    failed: RenderFailed | None = None


def render_sls(
    path: str,
    context: Context,
    *,
    sls: str,
    pillar_stage: bool = False,
    extra: Mapping[str, Value] | None = None,
) -> Rendered:
    """The SLS file `path` of the context's saltenv as data; RenderFailed when it is wrong or not there.

    `sls` is its dotted name, `extra` are further variables (the defaults of a pillar include).
    """
    variables = {**_place_variables(path), "sls": sls, **(extra or {})}
    done = _memoised(path, context, ("sls", sls, pillar_stage), extra, lambda job: _render_data(job, variables))
    if done.failed is not None:
        raise done.failed.again()
    assert done.lines is not None  # noqa: S101  (a render that did not fail has them)
    return Rendered(data=fresh(done.data), text=done.text, template=path, lines=done.lines)


def render_template(path: str, context: Context, *, extra: Mapping[str, Value] | None = None) -> RenderedText:
    """A file of the tree rendered with Jinja (`file.managed` with `template: jinja`), and the files it stands on."""
    reads = Recorder(context.sources)
    if context.reads is not None:
        context.reads.record(("file", context.saltenv, path))
    variables = {"source": f"salt://{path}", **_place_variables(path), **(extra or {})}
    done = _memoised(path, context, ("file",), extra, lambda job: _render_plain(job, variables), reads)
    if done.failed is not None:
        raise done.failed.again()
    files = {
        (read[1], read[2]): digest.decode() for read, digest in reads.reads.items() if read[0] == "file" and digest
    }
    facts = tuple(name for name in reads.volatile if name not in reads.live)
    return RenderedText(text=done.text, files=files, volatile=tuple(reads.live), facts=facts)


def render_string(
    text: str, pipeline: str, variables: Mapping[str, Value], context: Context, recorder: Recorder
) -> Value:
    """Text given by a template (`slsutil.renderer`) through a pipeline, as part of that template's render."""
    job = _Job(
        path="<string>", context=context, recorder=recorder, oid=digest_value(text).hex(), source=text, sls=False
    )
    steps = _steps(f"#!{pipeline}\n", "<string>", context.saltenv)
    return _render_steps(job, steps, {**_place_variables("<string>"), **variables}).data


@dataclass(frozen=True, slots=True, kw_only=True)
class _Job:
    """One template being rendered."""

    path: str
    context: Context
    recorder: Recorder
    oid: str
    source: str
    sls: bool


def _memoised(
    path: str,
    context: Context,
    role: tuple[Hashable, ...],
    extra: Mapping[str, Value] | None,
    render: Any,
    outer: Recorder | None = None,
) -> _Done:
    """A result of the memo, or a fresh one. Failures are kept too: ten thousand minions may share one."""
    saltenv, memo = context.saltenv, context.memo
    recorder = Recorder(context.sources)
    oid = recorder.oid(path, saltenv)
    if oid is None:
        raise _missing(path, context)
    key = (*role, path, oid, saltenv, digest_value(dict(extra or {})), _settings_digest(context))
    hit = memo.find(key, context.sources) if memo is not None else None
    if hit is not None:
        recorder.absorb(hit.reads)
        done: _Done = hit.result
    else:
        done = _fresh(path, context, recorder, oid, role, render)
        if memo is not None and not recorder.live:
            kept = _Done(data=fresh(done.data), text=done.text, lines=done.lines, failed=done.failed)
            memo.store(key, recorder.reads, kept)
    for above in (outer, context.reads):
        if above is not None:
            above.absorb(recorder.reads, recorder.live)
    return done


def _fresh(path: str, context: Context, recorder: Recorder, oid: str, role: tuple[Hashable, ...], render: Any) -> _Done:
    try:
        source = jinja.decode(recorder.read_file(path, context.saltenv))
    except UnicodeDecodeError as error:
        problem = Problem(
            message=f"the file is not UTF-8: byte {error.start} is {error.object[error.start]:#04x}",
            pos=Pos(file=path, saltenv=context.saltenv, stage=Stage.RENDER),
        )
        return _Done(failed=RenderFailed(problem))
    job = _Job(path=path, context=context, recorder=recorder, oid=oid, source=source, sls=role[0] == "sls")
    try:
        done: _Done = render(job)
    except RenderFailed as failed:
        done = _Done(failed=failed.again())
    return done


def _settings_digest(context: Context) -> bytes:
    """What shapes a render besides what it reads."""
    names = ("jinja_env", "jinja_sls_env")
    settings = [context.opts.get(name) for name in names]
    return digest_value([settings, sorted(context.functions)])


def _missing(path: str, context: Context) -> RenderFailed:
    pos = Pos(file=path, saltenv=context.saltenv, stage=Stage.RENDER)
    return RenderFailed(Problem(message=f"there is no file salt://{path} in saltenv {context.saltenv}", pos=pos))


def _place_variables(path: str) -> dict[str, Value]:
    folder = posixpath.dirname(path)
    return {
        "tplpath": path,
        "tplfile": path,
        "tpldir": folder or ".",
        "tpldot": folder.replace("/", "."),
        "slspath": folder,
        "slsdotpath": folder.replace("/", "."),
        "slscolonpath": folder.replace("/", ":"),
        "sls_path": folder.replace("/", "_"),
    }


def _render_data(job: _Job, variables: Mapping[str, Value]) -> _Done:
    return _render_steps(job, _steps(job.source, job.path, job.context.saltenv), variables)


def _render_plain(job: _Job, variables: Mapping[str, Value]) -> _Done:
    written = _run_jinja(job, variables)
    return _Done(text=written.text)


def _steps(source: str, path: str, saltenv: str) -> tuple[str, ...]:
    """The renderers that a `#!` line asks for, or the default ones."""
    first = source.partition("\n")[0].strip()
    if not first.startswith("#!") or first.startswith("#!/"):
        return DEFAULT_PIPELINE
    steps = tuple(step.strip() for step in first.removeprefix("#!").split("|"))
    good = all(step in RENDERERS for step in steps) and steps[1:].count("jinja") == 0 and len(steps) <= 2
    if good and (len(steps) == 1 or steps[0] == "jinja"):
        return steps
    raise RenderFailed(
        Problem(
            message=f"the renderer {first.removeprefix('#!')!r} is not known",
            pos=Pos(file=path, saltenv=saltenv, line=1, template_line=1, stage=Stage.RENDER),
            excerpt=blame.excerpt(source, 1, 1),
            hint=f"the first line may name one of {KNOWN_PIPELINES}",
        )
    )


def _render_steps(job: _Job, steps: tuple[str, ...], variables: Mapping[str, Value]) -> _Done:
    written = jinja.Text(job.source, tuple(range(1, job.source.count("\n") + 2)))
    if steps[0] == "jinja":
        written = _run_jinja(job, variables)
    lines = LineMap(written.text, written.lines)
    if steps[-1] == "jinja":
        return _Done(data=written.text, text=written.text, lines=lines)
    data = _load(job, written, lines, steps[-1])
    return _Done(data={} if data is None else data, text=written.text, lines=lines)


def _run_jinja(job: _Job, variables: Mapping[str, Value]) -> jinja.Text:
    context, recorder = job.context, job.recorder
    settings = context.opts.get("jinja_sls_env" if job.sls else "jinja_env") or {}
    options, source = jinja.environment_options(settings, job.source)
    everything = {**_data_variables(job), **variables}
    fork = jinja.environment(options).fork(recorder, context.saltenv, everything)
    try:
        return jinja.run(jinja.compile_template(fork, job.oid, job.path, source), fork, everything)
    except RenderFailed:
        raise
    except Exception as error:  # templates may raise anything; here their errors become data
        raise blame.template_failed(error, job.path, context, recorder) from error


def _data_variables(job: _Job) -> dict[str, Any]:
    context, recorder = job.context, job.recorder

    def render(text: str, pipeline: str, variables: Mapping[str, Value]) -> Value:
        return render_string(text, pipeline, variables, context, recorder)

    call = Call(recorder=recorder, saltenv=context.saltenv, render=render)
    return {
        "salt": Functions(call, context.functions),
        "grains": recorder.view("grains"),
        "pillar": recorder.view("pillar"),
        "opts": recorder.view("opts"),
        "saltenv": context.saltenv,
        "proxy": {},
    }


def _load(job: _Job, written: jinja.Text, lines: LineMap, kind: str) -> Value:
    if kind == "json":
        return _load_json(job, written, lines)
    try:
        return load_yaml(written.text)
    except yaml.YAMLError as error:
        raise blame.yaml_failed(error, job.path, job.context.saltenv, written.text, lines) from error


def _load_json(job: _Job, written: jinja.Text, lines: LineMap) -> Value:
    text = written.text
    if text.startswith("#!"):
        # Blanked, not cut, so that lines keep their numbers.
        text = "\n" + text.partition("\n")[2]
    if not text.strip():
        return None
    try:
        return json.loads(text)
    except (ValueError, RecursionError) as error:
        raise blame.json_failed(error, job.path, job.context.saltenv, written.text, lines) from error
