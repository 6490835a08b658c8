"""The cases of families of states, one module a family with `CASES` and `WITHOUT`; found by its file."""

from __future__ import annotations

import importlib
import pkgutil
from types import ModuleType

FAMILIES: tuple[ModuleType, ...] = tuple(
    importlib.import_module(f"{__name__}.{found.name}")
    for found in pkgutil.iter_modules(__path__)
    if found.name != "case"
)
