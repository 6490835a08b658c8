"""Modules that come with the tree: `_modules`, `_states`, `_grains` and `_utils`, in Salt's contract.

`ModuleStore` keeps them by content address, `UserModules` loads them with Salt's dunders, `CallableStates` is what the
engine asks, `user_grains` collects theirs. Made by `minion.execution.context` and by the grains collector. One broken
module never hides the others: it is named in `UserModules.failures` and in the message when it is asked for.
"""

from extmods.grains import user_grains
from extmods.loader import UserFunction, UserModules
from extmods.states import CallableStates
from extmods.store import KINDS, ModuleStore

__all__ = ["KINDS", "CallableStates", "ModuleStore", "UserFunction", "UserModules", "user_grains"]
