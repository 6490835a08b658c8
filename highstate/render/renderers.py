"""The renderers by name: each takes what the step before it made, and gives text or data. Called by `pipeline`."""

from __future__ import annotations

import json
import tomllib
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, replace
from io import StringIO
from typing import Any

import yaml

from highstate.functions.call import FunctionCall
from highstate.functions.catalog import TemplateFunctions
from highstate.memo.blank_recorder import BlankRecorder
from highstate.memo.blanks import BlankRefused
from highstate.memo.sources import digest_value
from highstate.memo.tracked import Recorder, plain
from highstate.ports import DecryptFailed, SourceFailed
from highstate.render import diagnostics, jinja, stateconf
from highstate.render.ciphertext import decrypted
from highstate.render.context import RenderContext, RenderFailed
from highstate.render.job import Flow, RenderJob, place_variables, plain_text
from highstate.render.mako_template import run_mako
from highstate.render.problems import excerpt
from highstate.render.python_sls import PythonFailed, run_python
from highstate.render.source_map import TemplateText
from highstate.render.steps import RENDERERS, PipelineStep, steps_named, without_shebang
from highstate.render.yaml.blank_scalars import scalars_with_blanks
from highstate.render.yaml.blocks import Blocks
from highstate.render.yaml.loader import load_shared, load_yaml
from highstate.render.yaml.yamlex import load_yamlex
from highstate.types import Pos, Problem, Stage, Value

Variables = Mapping[str, Value]
Renderer = Callable[[RenderJob, Flow, str, Variables], Flow]


def steps_for(job: RenderJob, wanted: str) -> tuple[PipelineStep, ...]:
    """The steps of a pipeline; RenderFailed where it names what there is not, or what may not be used."""
    context = job.context

    def own(name: str) -> bool:
        job.recorder.live[f"#!{name}"] = None  # a push may bring it at any time, and nobody knows what it reads
        there = context.ports.renderers
        return there is not None and there.has(name, context.saltenv)

    return steps_named(wanted, job.source, path=job.path, saltenv=context.saltenv, opts=context.opts, own=own)


def run_steps(job: RenderJob, steps: tuple[PipelineStep, ...], variables: Variables, given: Flow | None = None) -> Flow:
    """The template, or what is given, through a pipeline."""
    flow = given or Flow(text=plain_text(job.source))
    if isinstance(job.recorder, BlankRecorder) and [step.name for step in steps] != ["jinja", "yaml"]:
        raise BlankRefused
    for step in steps:
        if flow.loaded and step.name in _TAKE_TEXT:
            before = steps[steps.index(step) - 1].name
            raise _failed(job, f"the renderer {step.name} works on text, but {before} before it has made data of it", 1)
        if step.name in _RENDERERS:
            flow = _RENDERERS[step.name](job, flow, step.argument, variables)
        else:
            flow = _own(job, flow, step, variables)
    return flow


def render_string(
    text: str, pipeline: str, variables: Mapping[str, Value], context: RenderContext, recorder: Recorder
) -> Value:
    """Text given by a template (`slsutil.renderer`) through a pipeline, as part of that template's render."""
    job = RenderJob(
        path="<string>", context=context, recorder=recorder, oid=digest_value(text).hex(), source=text, sls=False
    )
    flow = run_steps(job, steps_for(replace(job, source=""), pipeline), {**place_variables("<string>"), **variables})
    return flow.data if flow.loaded else flow.text.text


def run_jinja(job: RenderJob, text: str, variables: Variables) -> TemplateText:
    """The text as a Jinja template."""
    context, recorder = job.context, job.recorder
    chosen = _jinja_settings(context.opts, "jinja_sls_env" if job.sls else "jinja_env")
    options, source = jinja.environment_options(chosen, text, lenient=bool(context.opts.get("allow_undefined")))
    as_it_is = jinja.without_jinja(source, options)
    if as_it_is is not None:
        return as_it_is
    everything = {**data_variables(job), **variables}
    fork = jinja.prepared(options, recorder, context.saltenv, everything)
    try:
        # A text that another step made has no blob that its code could be kept under.
        keep = text is job.source
        compiled = jinja.compile_template(fork, job.oid if keep else "", job.path, source)
        return jinja.run(compiled, fork, everything)
    except RenderFailed:
        raise
    except Exception as error:  # templates may raise anything; here their errors become data
        raise diagnostics.template_failed(error, job.path, context, recorder) from error


def _jinja_settings(opts: Mapping[str, Value], name: str) -> dict[str, Value]:
    """Options of Jinja's environment; those of old that hold for every template win, as in Salt."""
    chosen = dict(opts.get(name) or {})
    chosen.update({key: True for key in ("trim_blocks", "lstrip_blocks") if opts.get(f"jinja_{key}")})
    return chosen


def data_variables(job: RenderJob) -> dict[str, Any]:
    """What every template sees of its minion."""
    context, recorder = job.context, job.recorder

    def render(text: str, pipeline: str, variables: Variables) -> Value:
        if isinstance(recorder, BlankRecorder):
            raise BlankRefused
        return render_string(text, pipeline, variables, context, recorder)

    call = FunctionCall(recorder=recorder, saltenv=context.saltenv, render=render)
    functions = TemplateFunctions(call, context.functions)
    if isinstance(recorder, BlankRecorder):
        functions = TemplateFunctions(replace(call, recorder=recorder.plain_values), context.functions, call)
    return {
        "salt": functions,
        "grains": recorder.tracked("grains"),
        "pillar": recorder.tracked("pillar"),
        "opts": recorder.tracked("opts"),
        "saltenv": context.saltenv,
        "proxy": {},
    }


def _jinja(job: RenderJob, flow: Flow, argument: str, variables: Variables) -> Flow:
    return Flow(text=run_jinja(job, flow.text.text, variables), data=flow.data, loaded=flow.loaded)


def _mako(job: RenderJob, flow: Flow, argument: str, variables: Variables) -> Flow:
    everything = {**data_variables(job), **variables}
    job.recorder.live["#!mako"] = None
    try:
        # Blanked by a comment, since Mako has no idea of the first line.
        source = "##" + flow.text.text if flow.text.text.startswith("#!") else flow.text.text
        text = run_mako(source, job.path, everything, job.recorder, job.context.saltenv)
    except PythonFailed as error:
        raise _failed(job, str(error), error.line, live=error.live) from error
    return replace(flow, text=TemplateText(text, ()))


def _py(job: RenderJob, flow: Flow, argument: str, variables: Variables) -> Flow:
    job.recorder.live["#!py"] = None
    if job.context.ports.renderers is not None and "salt" in job.source:
        job.context.ports.renderers.make_importable()
    try:
        # The file itself, as in Salt: what a template before it made of the text does not count.
        data = run_python(job.source, job.path, {**_python_variables(job), **variables})
    except PythonFailed as error:
        raise _failed(job, str(error), error.line, live=error.live) from error
    if isinstance(data, str):
        return replace(flow, text=TemplateText(data, ()))
    return replace(flow, data=data, loaded=True)


def _python_variables(job: RenderJob) -> dict[str, Any]:
    """Plain data: Python asks `isinstance(x, dict)` where a template does not."""
    return {
        name: plain(value) if name in ("grains", "pillar", "opts") else value
        for name, value in data_variables(job).items()
    }


def _own(job: RenderJob, flow: Flow, step: PipelineStep, variables: Variables) -> Flow:
    """A renderer of the tree. It gets text or data, and gives either."""
    there = job.context.ports.renderers
    assert there is not None  # noqa: S101  (`steps_for` has found it there)
    dunders = {f"__{name}__": value for name, value in _python_variables(job).items() if name != "saltenv"}
    arguments = {"sls": variables.get("sls", ""), "tmplpath": job.path, "renderers": _Others(job, variables)}
    if step.argument:
        arguments["argline"] = step.argument
    given = flow.data if flow.loaded else flow.text.text
    try:
        data = there.render(step.name, job.context.saltenv, given, dunders, arguments)
    except SourceFailed as error:
        live = getattr(error.__cause__, "live", "")
        raise _failed(job, f"the renderer {step.name}: {error}", 1, live=live) from error
    if isinstance(data, str):
        return Flow(text=flow.text if data == flow.text.text else TemplateText(data, ()))
    return replace(flow, data=data, loaded=True, blocks=None)


@dataclass(frozen=True, slots=True)
class _Others(Mapping[str, Callable[..., Value]]):
    """`renderers` as a renderer of the tree is given them: by name, each called as Salt's are."""

    job: RenderJob
    variables: Variables

    def __getitem__(self, name: str) -> Callable[..., Value]:
        if name not in RENDERERS:
            raise KeyError(name)

        def render(data: Any, saltenv: str = "base", sls: str = "", argline: str = "", **named: Any) -> Value:
            steps = steps_for(self.job, f"{name} {argline}".strip())
            text = data.read() if hasattr(data, "read") else data
            given = (
                Flow(text=plain_text(text))
                if isinstance(text, str)
                else Flow(text=plain_text(""), data=text, loaded=True)
            )
            done = run_steps(self.job, steps, {**self.variables, **(named.get("context") or {})}, given)
            return done.data if done.loaded else StringIO(done.text.text)

        return render

    def __iter__(self) -> Iterator[str]:
        return iter(RENDERERS)

    def __len__(self) -> int:
        return len(RENDERERS)


def _yaml(job: RenderJob, flow: Flow, argument: str, variables: Variables) -> Flow:
    return _loaded_yaml(job, flow, load_shared if job.shared else lambda text: (load_yaml(text), None))


def _yamlex(job: RenderJob, flow: Flow, argument: str, variables: Variables) -> Flow:
    return _loaded_yaml(job, flow, lambda text: (load_yamlex(text), None))


def _loaded_yaml(job: RenderJob, flow: Flow, load: Callable[[str], tuple[Value, Blocks | None]]) -> Flow:
    text = flow.text.text
    try:
        data, blocks = load(text)
    except yaml.YAMLError as error:
        raise diagnostics.yaml_failed(error, job.path, job.context.saltenv, text, flow.lines) from error
    if isinstance(job.recorder, BlankRecorder):
        job.recorder.blanks.scalars |= scalars_with_blanks(text, data)
    return Flow(text=flow.text, data=data, loaded=True, blocks=blocks)


def _json(job: RenderJob, flow: Flow, argument: str, variables: Variables) -> Flow:
    text = without_shebang(flow.text.text)
    try:
        return replace(flow, data=json.loads(text) if text.strip() else None, loaded=True)
    except (ValueError, RecursionError) as error:
        raise diagnostics.json_failed(error, job.path, job.context.saltenv, flow.text.text, flow.lines) from error


def _toml(job: RenderJob, flow: Flow, argument: str, variables: Variables) -> Flow:
    try:
        return replace(flow, data=_dates_as_text(tomllib.loads(flow.text.text)), loaded=True)
    except (ValueError, RecursionError) as error:
        raise diagnostics.toml_failed(error, job.path, job.context.saltenv, flow.text.text, flow.lines) from error


def _dates_as_text(value: Value) -> Value:
    """TOML's dates as YAML's are read: as text."""
    if isinstance(value, dict):
        return {key: _dates_as_text(inner) for key, inner in value.items()}
    if isinstance(value, list):
        return [_dates_as_text(inner) for inner in value]
    return value.isoformat() if hasattr(value, "isoformat") else value


def _gpg(job: RenderJob, flow: Flow, argument: str, variables: Variables) -> Flow:
    try:
        if flow.loaded:
            return replace(flow, data=decrypted(flow.data, job.recorder.plain))
        text = decrypted(flow.text.text, job.recorder.plain)
        return replace(flow, text=flow.text if text == flow.text.text else plain_text(text))
    except DecryptFailed as error:
        # Not kept: the key may be there the next time.
        job.recorder.live["#!gpg"] = None
        raise _failed(job, f"a PGP message cannot be decrypted: {error}", 0) from error


def _stateconf(job: RenderJob, flow: Flow, argument: str, variables: Variables) -> Flow:
    sls = str(variables.get("sls", ""))
    try:
        options = stateconf.options_of(argument)
        if options.given_data:
            return replace(flow, data=stateconf.prepared(_mapping(flow), sls, options), loaded=True)
        # Checked in the same way: a renderer that a first line may not name is not allowed after stateconf either.
        steps = steps_for(job, f"{options.template}|{options.data}")
        conf: dict[str, Value] = {}
        marker = stateconf.END_MARKER.search(flow.text.text)
        if marker is not None:
            head = replace(job, source=flow.text.text[: marker.start()])
            first = run_steps(replace(head, oid=f"{job.oid} head"), steps, variables)
            conf = stateconf.variables_of(stateconf.prepared(_mapping(first), sls, options, first_pass=True), sls)
        whole = run_steps(job, steps, {**variables, **conf})
        return replace(whole, data=stateconf.prepared(_mapping(whole), sls, options))
    except stateconf.BadStateconf as error:
        raise _failed(job, str(error), 1) from error


def _mapping(flow: Flow) -> dict[str, Value]:
    data = flow.data if flow.loaded and flow.data is not None else {}
    if not isinstance(data, dict):
        raise stateconf.BadStateconf(f"stateconf needs a mapping of states, not a {type(data).__name__}")
    return data


def _failed(job: RenderJob, message: str, line: int, *, live: str = "") -> RenderFailed:
    pos = Pos(file=job.path, saltenv=job.context.saltenv, line=line, template_line=line, stage=Stage.RENDER)
    hint = diagnostics.ON_THE_MACHINE if live else ""
    return RenderFailed(Problem(message=message, pos=pos, excerpt=excerpt(job.source, line), hint=hint), live=live)


_TAKE_TEXT = frozenset({"jinja", "mako", "py", "yaml", "yamlex", "json", "toml"})

_RENDERERS: Mapping[str, Renderer] = {
    "jinja": _jinja,
    "mako": _mako,
    "py": _py,
    "yaml": _yaml,
    "yamlex": _yamlex,
    "json": _json,
    "toml": _toml,
    "gpg": _gpg,
    "stateconf": _stateconf,
}
