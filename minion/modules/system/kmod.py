"""The execution module `kmod`: modules of the running kernel, and those loaded at boot."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from minion.execution.apply_state import plan
from minion.execution.arguments import NotSupported
from minion.execution.context import Context
from minion.states.kmod import loaded, persistent


def lsmod(context: Context) -> list[dict[str, Any]]:
    """The modules that are loaded, with their size and what depends on them."""
    loaded(context.machine)  # says so where the kernel has no modules
    rows = (line.split() for line in context.machine.read("/proc/modules").decode().splitlines())
    return [
        {"module": row[0], "size": row[1], "depcount": row[2], "deps": _users(row[3])} for row in rows if len(row) > 3
    ]


def mod_list(context: Context, only_persist: bool = False) -> list[str]:
    """Names of the modules that are loaded, or of those loaded at boot by this minion."""
    return sorted(persistent(context.machine) if only_persist else loaded(context.machine))


def available(context: Context) -> list[str]:
    """Names of the modules that this kernel has and that are not loaded."""
    release = context.machine.query(["uname", "-r"]).stdout.strip()
    place = f"/lib/modules/{release}/modules.dep"
    if context.machine.stat(place) is None:
        return []
    lines = context.machine.read(place).decode("utf-8", "replace").splitlines()
    names = {line.partition(":")[0].rpartition("/")[2].partition(".ko")[0] for line in lines}
    live = loaded(context.machine)
    return sorted(one for one in names if one.replace("-", "_") not in live)


def check_available(context: Context, mod: str) -> bool:
    """Whether this kernel has a module."""
    return mod in available(context)


def is_loaded(context: Context, mod: str) -> bool:
    """Whether a module is loaded."""
    return mod.replace("-", "_") in loaded(context.machine)


def load(context: Context, mod: str, persist: bool = False) -> list[str]:
    """Load a module, with `persist` at every boot; the modules that came with it."""
    return _do(context, "kmod.present", mod, persist)


def remove(context: Context, mod: str, persist: bool = False, comment: NotSupported = True) -> list[str]:
    """Unload a module, with `persist` at no boot either; the modules that went with it."""
    return _do(context, "kmod.absent", mod, persist)


def _users(field: str) -> list[str]:
    return [one for one in field.split(",") if one not in ("", "-")]


def _do(context: Context, state: str, mod: str, persist: bool) -> list[str]:
    before = loaded(context.machine)
    for change in plan(context, state, mod, persist=persist).changes:
        change.act(context.machine)
    return sorted(before ^ loaded(context.machine))


FUNCTIONS: Mapping[str, Any] = {
    "available": available,
    "check_available": check_available,
    "is_loaded": is_loaded,
    "load": load,
    "lsmod": lsmod,
    "mod_list": mod_list,
    "remove": remove,
}
