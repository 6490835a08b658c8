"""This minion as the host of modules that a compile or the controller's administrator brings: all functions and states.

Used by `saltern call --local`, which compiles on the machine itself, by `controller.adapters.admin_modules`, and by
the collector of grains. The compile worker has `extmods.compile_functions` instead.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from extmods.dunders import ModuleScope
from extmods.loader import UserModules
from extmods.ports import ImportableFunctions
from highstate.types import Minion, Value
from minion.config.groups import DEFAULT_OPTIONS, MinionOptions
from minion.execution.context import Context
from minion.execution.tree_modules import ImportedFunctions, scope_of


def imported_functions() -> ImportableFunctions:
    """What `import salt.modules.*` gives on a minion."""
    return ImportedFunctions(Context(minion_id=""))


class MinionHost:
    """`extmods.plugins.ModuleHost`."""

    def __init__(self, options: MinionOptions = DEFAULT_OPTIONS) -> None:
        """`options`: those of the minion, for the execution functions that modules call."""
        self._options = options

    @property
    def imports(self) -> ImportableFunctions:
        """See `ModuleHost`."""
        return imported_functions()

    def scope(
        self, modules: UserModules, minion: Minion, opts: Mapping[str, Any], pillar: Mapping[str, Value]
    ) -> ModuleScope:
        """See `ModuleHost`."""
        context = Context(
            minion_id=minion.id,
            options=self._options,
            opts=opts,
            make_grains=lambda: minion.grains,
            make_pillar=lambda: pillar,
        )
        context.user_modules = modules
        return scope_of(context)
