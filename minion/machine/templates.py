"""Templates of managed files, rendered on the minion by the same code that the controller compiles with.

Called by `LocalMachine.render`; the only place of the states that imports Jinja.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Protocol, cast

from highstate.types import Files, Minion
from minion.machine.failure import StateFailed
from minion.machine.plan import Value

if TYPE_CHECKING:
    from highstate.render.context import RenderContext


class TemplateInputs(Protocol):
    """What a template reads of the machine that it is rendered for. `LocalMachine` is one."""

    minion_id: str
    grains: Mapping[str, Value]
    pillar: Mapping[str, Value]
    opts: Mapping[str, Value]
    functions: Mapping[str, Callable[..., Value]]

    @property
    def sources_port(self) -> object:
        """The files of the tree: a whole `highstate.types.Files` where templates import others."""


def render(machine: TemplateInputs, path: str, saltenv: str, context: Mapping[str, Value]) -> bytes:
    """`salt://path` as bytes; StateFailed with the place and the text around it."""
    from highstate.render.context import RenderFailed
    from highstate.render.pipeline import render_template

    try:
        return render_template(path, _render_context(machine, saltenv), extra=context).text.encode()
    except RenderFailed as error:
        raise StateFailed(f"Unable to manage file: {error.problem}") from error


def render_text(machine: TemplateInputs, text: str, engine: str, saltenv: str, context: Mapping[str, Value]) -> bytes:
    """A text as bytes; StateFailed with the place and the text around it. `engine` is jinja, mako or py."""
    from highstate.memo.tracked import Recorder
    from highstate.render.context import RenderFailed
    from highstate.render.renderers import render_string

    render_context = _render_context(machine, saltenv)
    try:
        made = render_string(text, engine, context, render_context, Recorder(render_context.sources))
    except RenderFailed as error:
        raise StateFailed(f"Unable to manage file: {error.problem}") from error
    if not isinstance(made, str):
        raise StateFailed(f"Unable to manage file: the {engine} template gave {type(made).__name__} and not text")
    return made.encode()


def _render_context(machine: TemplateInputs, saltenv: str) -> RenderContext:
    from highstate.render.context import RenderContext

    return RenderContext(
        minion=Minion(id=machine.minion_id, grains=machine.grains),
        files=cast(Files, machine.sources_port),
        saltenv=saltenv,
        pillar=machine.pillar,
        opts=machine.opts,
        functions=machine.functions,
    )
