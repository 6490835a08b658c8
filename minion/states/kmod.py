"""The state module `kmod`: modules of the running kernel, and those that are loaded at boot.

Behaviour: doc/ref/states/all/salt.states.kmod.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence

from minion.arguments.types import Texts
from minion.machine.failure import StateFailed
from minion.machine.plan import Change, Machine, Plan, Reader, StateFunction

CONFIG = "/etc/modules-load.d/salt_managed.conf"


def present(machine: Reader, name: str, *, persist: bool = False, mods: Texts = ()) -> Plan:
    """The modules are loaded, and with `persist` at every boot."""
    names = _names(name, mods)
    live, kept = loaded(machine), persistent(machine)
    load = [one for one in names if one.replace("-", "_") not in live]
    keep = [one for one in names if persist and one not in kept]
    fresh = [one for one in names if one in load or one in keep]
    if not fresh:
        return Plan(comment=f"{_modules(names)} already present")

    def act(machine: Machine) -> None:
        for one in load:
            _modprobe(machine, one)
        if keep:
            machine.write(CONFIG, _kept_too(_config(machine), keep).encode())

    return Plan(
        changes=(
            Change(key=fresh[0], reported="loaded", act=act),
            *(Change(key=one, reported="loaded", act=_nothing) for one in fresh[1:]),
        ),
        pending=f"{_modules(fresh)} set to be loaded",
        done=f"Loaded kernel {_listed(fresh)}",
    )


def absent(machine: Reader, name: str, *, persist: bool = False, comment: bool = True, mods: Texts = ()) -> Plan:
    """The modules are not loaded, and with `persist` not at boot either."""
    names = _names(name, mods)
    live, kept = loaded(machine), persistent(machine)
    unload = [one for one in names if one.replace("-", "_") in live]
    forget = [one for one in names if persist and one in kept]
    gone = [one for one in names if one in unload or one in forget]
    if not gone:
        return Plan(comment=f"{_modules(names)} already removed")

    def act(machine: Machine) -> None:
        for one in unload:
            _modprobe(machine, "-r", one)
        if forget:
            machine.write(CONFIG, _without(_config(machine), forget, comment=comment).encode())

    return Plan(
        changes=(
            Change(key=gone[0], reported="removed", act=act),
            *(Change(key=one, reported="removed", act=_nothing) for one in gone[1:]),
        ),
        pending=f"{_modules(gone)} set to be removed",
        done=f"Removed kernel {_listed(gone)}",
    )


def _names(name: str, mods: Sequence[str]) -> list[str]:
    names = list(mods or [name])
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
    lines = (line.strip() for line in _config(machine).splitlines())
    return [line for line in lines if line and line[0] not in "#;"]


def _config(machine: Reader) -> str:
    return machine.read(CONFIG).decode() if machine.stat(CONFIG) is not None else ""


def _kept_too(text: str, names: list[str]) -> str:
    """With these modules; one that stands there as a comment is one no more."""
    lines, left = [], list(names)
    for line in text.splitlines():
        name = line.lstrip("# \t").rstrip()
        if line.startswith("#") and name in left:
            left.remove(name)
            line = name
        lines.append(line)
    return "".join(f"{line}\n" for line in [*lines, *left])


def _without(text: str, names: list[str], *, comment: bool) -> str:
    """Without these modules; with `comment` they stay as comments."""
    lines = []
    for line in text.splitlines():
        if line.strip() not in names:
            lines.append(line)
        elif comment:
            lines.append(f"#{line.strip()}")
    return "".join(f"{line}\n" for line in lines)


def _modules(names: list[str]) -> str:
    """The subject of Salt's sentences."""
    return f"Kernel {_listed(names)} {'is' if len(names) == 1 else 'are'}"


def _listed(names: list[str]) -> str:
    return f"module{'' if len(names) == 1 else 's'} {', '.join(names)}"


def _modprobe(machine: Machine, *words: str) -> None:
    done = machine.run(["modprobe", *words])
    if done.returncode != 0:
        raise StateFailed(f"modprobe {' '.join(words)} failed: {done.stderr.strip()}")


def _nothing(machine: Machine) -> None:
    """Done by its neighbour."""


STATES: Mapping[str, StateFunction] = {"absent": absent, "present": present}
