"""Templates of managed files, rendered on the minion by the same code that the controller compiles with.

Called by `LocalMachine.render`; the only place of the states that imports Jinja.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, cast

from highstate.types import Files, Minion
from minion.states.plan import StateFailed, Value

if TYPE_CHECKING:
    from minion.states.machine import LocalMachine


def render(machine: LocalMachine, path: str, saltenv: str, context: Mapping[str, Value]) -> bytes:
    """`salt://path` as bytes; StateFailed with the place and the text around it."""
    from highstate.render import Context, RenderFailed, render_template

    of_minion = Context(
        minion=Minion(id=machine.minion_id, grains=machine.grains),
        files=cast(Files, machine.sources_port),
        saltenv=saltenv,
        pillar=machine.pillar,
        opts=machine.opts,
        functions=machine.functions,
    )
    try:
        return render_template(path, of_minion, extra=context).text.encode()
    except RenderFailed as error:
        raise StateFailed(f"Unable to manage file: {error.problem}") from error
