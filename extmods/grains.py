"""Grains of `_grains` modules.

Called by the collector of grains and by `saltutil.refresh_grains`. A module that fails costs its own grains alone.
"""

from __future__ import annotations

import inspect
import logging
from collections.abc import Mapping
from typing import Any

from extmods.loader import UserModules
from extmods.ports import NO_FUNCTIONS, ImportableFunctions, ModuleSources

log = logging.getLogger(__name__)


def user_grains(
    store: ModuleSources,
    minion_id: str,
    grains: Mapping[str, Any],
    opts: Mapping[str, Any],
    imports: ImportableFunctions = NO_FUNCTIONS,
) -> dict[str, Any]:
    """What the public functions of all `_grains` modules return; later modules, by name, win.

    `imports`: what `import salt.modules.*` gives them.
    """
    if not store.index().get("grains"):
        return {}
    own = {**opts, "id": minion_id, "grains": dict(grains)}
    dunders = {"__opts__": own, "__grains__": dict(grains), "__pillar__": {}, "__salt__": {}, "__utils__": {}}
    found: dict[str, Any] = {}
    for loaded in UserModules(store=store, dunders=lambda: dunders, imports=imports).loaded("grains").values():
        for name, function in loaded.functions.items():
            try:
                takes = "grains" in inspect.signature(function.call).parameters
                value = function.call(grains=dict(grains)) if takes else function.call()
            except Exception:
                log.exception("event=user_grain_failed module=%s function=%s", loaded.name, name)
                continue
            if isinstance(value, dict):
                found.update(value)
    return found
