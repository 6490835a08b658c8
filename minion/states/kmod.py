"""The state module `kmod`: modules of the running kernel, and those that are loaded at boot.

Behaviour: doc/ref/states/all/salt.states.kmod.
"""

from __future__ import annotations

import re
from collections.abc import Mapping

from minion.states.plan import Change, Machine, Plan, Reader, StateFailed, StateFunction, Value

CONFIG = "/etc/modules-load.d/salt_managed.conf"


def present(machine: Reader, name: str, *, persist: bool = False, mods: Value = None) -> Plan:
    """The modules are loaded, and with `persist` at every boot."""
    names = _names(name, mods)
    live, kept = loaded(machine), persistent(machine)
    load = [one for one in names if one.replace("-", "_") not in live]
    keep = [one for one in names if persist and one not in kept]
    fresh = [one for one in names if one in load or one in keep]
    if not fresh:
        return Plan(comment=f"Kernel module {', '.join(names)} is already present")

    def act(machine: Machine) -> None:
        for one in load:
            _modprobe(machine, one)
        if keep:
            machine.write(CONFIG, "".join(f"{one}\n" for one in [*kept, *keep]).encode())

    listed = ", ".join(fresh)
    return Plan(
        changes=(
            Change(key=fresh[0], shown="loaded", act=act),
            *(Change(key=one, shown="loaded", act=_nothing) for one in fresh[1:]),
        ),
        pending=f"Kernel module {listed} is set to be loaded",
        done=f"Loaded kernel module {listed}",
    )


def absent(machine: Reader, name: str, *, persist: bool = False, comment: Value = True, mods: Value = None) -> Plan:
    """The modules are not loaded, and with `persist` not at boot either."""
    names = _names(name, mods)
    live, kept = loaded(machine), persistent(machine)
    unload = [one for one in names if one.replace("-", "_") in live]
    forget = [one for one in names if persist and one in kept]
    gone = [one for one in names if one in unload or one in forget]
    if not gone:
        return Plan(comment=f"Kernel module {', '.join(names)} is already removed")

    def act(machine: Machine) -> None:
        for one in unload:
            _modprobe(machine, "-r", one)
        if forget:
            machine.write(CONFIG, "".join(f"{one}\n" for one in kept if one not in forget).encode())

    listed = ", ".join(gone)
    return Plan(
        changes=(
            Change(key=gone[0], shown="removed", act=act),
            *(Change(key=one, shown="removed", act=_nothing) for one in gone[1:]),
        ),
        pending=f"Kernel module {listed} is set to be removed",
        done=f"Removed kernel module {listed}",
    )


def _names(name: str, mods: Value) -> list[str]:
    names = [str(one) for one in (mods or [name])]
    for one in names:
        if not re.fullmatch(r"[A-Za-z0-9_][A-Za-z0-9_-]*", one):
            raise StateFailed(f"{one!r} is no name of a kernel module")
    return names


def loaded(machine: Reader) -> set[str]:
    """The modules of the running kernel, with underscores; StateFailed where the kernel has none."""
    if machine.stat("/proc/modules") is None:
        raise StateFailed("This kernel has no modules (/proc/modules is not there)")
    return {line.split()[0] for line in machine.read("/proc/modules").decode().splitlines() if line}


def persistent(machine: Reader) -> list[str]:
    """The modules that are loaded at boot."""
    if machine.stat(CONFIG) is None:
        return []
    return [line.strip() for line in machine.read(CONFIG).decode().splitlines() if line.strip()]


def _modprobe(machine: Machine, *words: str) -> None:
    done = machine.run(["modprobe", *words])
    if done.returncode != 0:
        raise StateFailed(f"modprobe {' '.join(words)} failed: {done.stderr.strip()}")


def _nothing(machine: Machine) -> None:
    """Done by its neighbour."""


STATES: Mapping[str, StateFunction] = {"absent": absent, "present": present}
