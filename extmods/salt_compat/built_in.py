"""`salt.modules.*`: the execution functions of here, as plain functions, for modules that import them.

Mostly `_grains` do, which have no `__salt__`: `salt.modules.cmdmod._run_quiet`. They know neither pillar nor tree.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from extmods.ports import ImportableFunctions

FILES: Mapping[str, str] = {
    "aptpkg": "pkg",
    "cmdmod": "cmd",
    "dpkg_lowpkg": "pkg",
    "groupadd": "group",
    "linux_service": "service",
    "linux_shadow": "shadow",
    "linux_sysctl": "sysctl",
    "systemd_service": "service",
    "useradd": "user",
    "virtualenv_mod": "virtualenv",
    "yumpkg": "pkg",
}
"""Names of Salt's files that are not the names of their modules."""


def functions_of(module: str, functions: ImportableFunctions) -> Callable[[str], Any]:
    """The `__getattr__` of an execution module."""

    def found(fun: str) -> Callable[..., Any]:
        function = functions.function(fun)
        if function is None:
            raise AttributeError(f"there is no function {fun}")
        return function

    def find(name: str) -> Any:
        if module == "cmd" and name in ("_run_quiet", "_run_all_quiet"):
            return found("cmd.run_stdout" if name == "_run_quiet" else "cmd.run_all")
        if name.startswith("__"):
            raise AttributeError(name)
        return found(f"{module}.{name.rstrip('_')}")

    return find
