"""The names of Salt that scripts import: `salt.client`, `salt.config`, `salt.runner`, `salt.wheel`, `salt.utils.event`.

`install` is called by the package `salt` of the distribution saltern-salt-names (ops/salt-names), which is there for
who asked for it. Other names of Salt are those that modules of a tree get (`extmods.salt_compat`). In a process that
runs such modules nothing is installed: theirs are the only ones there (docs/adr/0022).
"""

from __future__ import annotations

import importlib
import sys
from collections.abc import Sequence
from importlib.abc import Loader, MetaPathFinder
from importlib.machinery import ModuleSpec
from types import ModuleType

from saltern import find_rooms

_MODULES = {
    "salt.client": "saltern.salt_names.clients",
    "salt.config": "saltern.salt_names.configurations",
    "salt.loader": "saltern.salt_names.loader",
    "salt.runner": "saltern.salt_names.clients",
    "salt.utils.event": "saltern.salt_names.events",
    "salt.wheel": "saltern.salt_names.clients",
}
_PACKAGES = ("salt.client", "salt.loader", "salt.wheel")


class _ClientNames(MetaPathFinder, Loader):
    def find_spec(
        self, fullname: str, path: Sequence[str] | None, target: ModuleType | None = None
    ) -> ModuleSpec | None:
        if fullname not in _MODULES:
            return None
        return ModuleSpec(fullname, self, is_package=fullname in _PACKAGES)

    def create_module(self, spec: ModuleSpec) -> ModuleType | None:
        return None

    def exec_module(self, module: ModuleType) -> None:
        found = vars(importlib.import_module(_MODULES[module.__name__]))
        module.__dict__.update({name: value for name, value in found.items() if not name.startswith("__")})


def install() -> None:
    """Answer imports of `salt.*` in this process, unless it runs modules of a tree."""
    find_rooms()
    from extmods.salt_compat.finder import install_finder, is_installed

    if is_installed():
        return
    install_finder()
    sys.meta_path.insert(0, _ClientNames())
