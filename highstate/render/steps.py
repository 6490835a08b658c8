"""The first line of a template as a pipeline: `#!jinja|yaml|gpg` -> steps, or an error about that line.

Called by `pipeline`. Knows names and arguments of renderers, not what they do: that is `renderers`.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass

from highstate.render.context import RenderFailed
from highstate.render.problems import excerpt, near
from highstate.types import NOT_RUN, Pos, Problem, Stage, Value

DEFAULT_PIPELINE = "jinja|yaml"
RENDERERS = ("jinja", "mako", "py", "yaml", "yamlex", "json", "toml", "gpg", "stateconf")
PYTHON = frozenset({"py", "mako"})
"""Renderers that run Python of the tree."""
_GONE = frozenset(
    {"pydsl", "pyobjects", "wempy", "genshi", "cheetah", "hjson", "json5", "nacl", "pass", "dson", "aws_kms"}
)
_JOINED = {f"{data}_{text}": f"{text}|{data}" for data in ("yaml", "json", "yamlex") for text in ("jinja", "mako")}
"""Salt's old names for two renderers in one."""


@dataclass(frozen=True, slots=True)
class PipelineStep:
    """One renderer, and what stands after its name."""

    name: str
    argument: str = ""


def shebang(source: str) -> str:
    """What the `#!` line asks for; empty when there is none (`#!/...` is the line of a script)."""
    first = source.partition("\n")[0].strip()
    return first.removeprefix("#!") if first.startswith("#!") and not first.startswith("#!/") else ""


def without_shebang(text: str) -> str:
    """The text with its `#!` line blanked, not cut, so that lines keep their numbers."""
    return "\n" + text.partition("\n")[2] if text.startswith("#!") else text


def pipeline_of(source: str, default: str) -> str:
    """The pipeline of a template: by its first line, or else the default."""
    asked = shebang(source)
    return _JOINED.get(asked, asked) or default


def steps_named(
    wanted: str,
    source: str,
    *,
    path: str,
    saltenv: str,
    opts: Mapping[str, Value],
    own: Callable[[str], bool],
) -> tuple[PipelineStep, ...]:
    """The steps of a pipeline, which the first line of `source` asks for, if any does.

    RenderFailed when there are no such renderers. `opts` are those that allow renderers: `allow_py_renderer`,
    `renderer_whitelist`, `renderer_blacklist`. `own` tells whether the tree brings a renderer.
    """
    steps = tuple(_step(part) for part in wanted.split("|"))
    for step in steps:
        wrong, hint = _refused(step.name, opts, own)
        if wrong:
            pos = Pos(file=path, saltenv=saltenv, line=1, template_line=1, stage=Stage.RENDER)
            shown = excerpt(source, 1, 1) if shebang(source) else ""
            raise RenderFailed(Problem(message=wrong, pos=pos, excerpt=shown, hint=hint))
    return steps


def _step(part: str) -> PipelineStep:
    name, _, argument = part.strip().partition(" ")
    return PipelineStep(name, argument.strip())


def _refused(name: str, opts: Mapping[str, Value], own: Callable[[str], bool]) -> tuple[str, str]:
    """Why a renderer cannot be used, and what to do; empty texts when it can."""
    allowed, refused = opts.get("renderer_whitelist") or (), opts.get("renderer_blacklist") or ()
    if (allowed and name not in allowed) or name in refused:
        return f"the renderer {name!r} is not allowed here", "see the options renderer_whitelist and renderer_blacklist"
    python = opts.get("allow_py_renderer", True)
    brought = name not in RENDERERS and own(name)
    if name not in RENDERERS and not brought:
        hint = near(name, RENDERERS) or f"the first line may name {', '.join(RENDERERS)}, with | between them"
        if name in _GONE:
            hint = "write it for jinja|yaml, or for py"
        if not python:
            hint += "; Python of the tree, as in _renderers, is switched off: see the option allow_py_renderer"
        return f"the renderer {name!r} is not known", hint
    if (brought or name in PYTHON) and not python:
        return (
            f"the renderer {name!r} runs {NOT_RUN}",
            "see the option allow_py_renderer",
        )
    return "", ""
