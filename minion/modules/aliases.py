"""The execution module `aliases`: names of the mail system. The file is read and written by the code of the state.

Behaviour: doc/ref/modules/all/salt.modules.aliases.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, TypeAlias

from minion.execution.apply_state import act
from minion.execution.context import Context
from minion.states import alias as alias_state

AliasTargets: TypeAlias = str | list[str]


def list_aliases(context: Context) -> dict[str, str]:
    """Alias → its targets as they stand in the file."""
    return alias_state.aliases(context.machine)


def get_target(context: Context, alias: str) -> str:
    """The targets of an alias; empty when there is no such alias."""
    return list_aliases(context).get(alias, "")


def has_target(context: Context, alias: str, target: AliasTargets) -> bool:
    """Whether an alias has exactly these targets."""
    return get_target(context, alias) == alias_state.one_line("target", target)


def set_target(context: Context, alias: str, target: AliasTargets) -> bool:
    """Have an alias lead to these targets and to no others; a second line of that alias is removed."""
    act(context, "alias.present", alias, target=target)
    return True


def rm_alias(context: Context, alias: str) -> bool:
    """Have no line of this alias."""
    act(context, "alias.absent", alias)
    return True


FUNCTIONS: Mapping[str, Any] = {
    "get_target": get_target,
    "has_target": has_target,
    "list_aliases": list_aliases,
    "rm_alias": rm_alias,
    "set_target": set_target,
}
