"""What states do, done by a function that is called: the same plan, and its acts at once.

Called by execution functions that have a state of the same effect, so that each change of the machine is written once.
A function says what came of it in Salt's words, which are others than those of the state.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from minion.execution.errors import CallFailed

if TYPE_CHECKING:
    from minion.execution.context import Context
    from minion.machine.plan import Plan


def plan(context: Context, state: str, name: Any, /, **arguments: Any) -> Plan:
    """What a state such as `host.present` would do; CallFailed or StateFailed when it cannot be done."""
    from minion.engine.registry import find

    module, _, fun = state.partition(".")
    made = find(module, fun, "").plan(context.machine, name, arguments)
    if made.result is False and not made.changes:
        raise CallFailed(made.comment)
    return made


def act(context: Context, state: str, name: Any, /, **arguments: Any) -> Plan:
    """Do what a state would do; its plan, which is without changes when there was nothing to do."""
    made = plan(context, state, name, **arguments)
    for change in made.changes:
        change.act(context.machine)
    return made


def changed(context: Context, state: str, name: Any, /, **arguments: Any) -> bool:
    """Do what a state would do; whether there was anything to do."""
    return bool(act(context, state, name, **arguments).changes)


def changes_of(made: Plan) -> Mapping[str, Any]:
    """The changes of a plan as Salt shows them."""
    return {
        one.key: {"old": one.old, "new": one.new} if one.reported is None else one.reported
        for one in made.changes
        if one.key
    }
