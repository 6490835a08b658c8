"""file.mknod: named pipes and device nodes.

Behaviour: doc/ref/states/all/salt.states.file, mknod. What is there already and is something else is never replaced.
"""

from __future__ import annotations

import stat

from minion.arguments.types import Mode, Owner
from minion.machine.failure import StateFailed
from minion.machine.plan import Change, FileStat, Machine, Plan, Reader
from minion.states.file.paths import checked, missing_parents
from minion.states.file.perms import Perms, differing, put

_KINDS = {
    "c": ("Character device", stat.S_IFCHR),
    "b": ("Block device", stat.S_IFBLK),
    "p": ("Fifo pipe", stat.S_IFIFO),
}


def mknod(
    machine: Reader,
    name: str,
    *,
    ntype: str,
    major: int = 0,
    minor: int = 0,
    user: Owner | None = None,
    group: Owner | None = None,
    mode: Mode | None = "0600",
) -> Plan:
    """A node of this type (c, b or p) is there, with this owner and mode."""
    path = checked(name, "mknod")
    if ntype not in _KINDS:
        raise StateFailed(
            f"Node type unavailable: '{ntype}'. Available node types are character ('c'), block ('b'), and pipe ('p')"
        )
    said, kind = _KINDS[ntype]
    device = (0, 0) if ntype == "p" else (major, minor)
    owner = Perms(user=user, group=group, mode=mode)
    found = machine.stat(path)
    if found is not None:
        _same(name, found, said, kind, device)
        needed = differing(found, owner)
        return Plan(
            changes=tuple(_put(path, key, value) for key, value in needed.items()),
            comment=f"{said} {name} is in the correct state",
            pending=f"The permissions of {said.lower()} {name} are set to be changed",
            done=f"{said} {name} updated",
        )
    bits = int(owner.mode or "0600", 8)

    def act(machine: Machine) -> None:
        if missing_parents(machine, path):
            raise StateFailed(f"There is no directory to make {name} in")
        machine.mknod(path, kind | bits, device)
        put(machine, path, differing(machine.stat(path), owner))

    return Plan(
        changes=(Change(key="new", reported=f"{said} {name} created.", act=act),),
        pending=f"{said} {name} is set to be created",
    )


def _same(name: str, found: FileStat, said: str, kind: int, device: tuple[int, int]) -> None:
    if stat.S_IFMT(found.found.st_mode) != kind:
        raise StateFailed(f"File {name} exists and is not a {said.lower()}. Refusing to continue")
    if kind != stat.S_IFIFO and found.device != device:
        major, minor = found.device
        raise StateFailed(f"{said} {name} exists and has a different major/minor {major}/{minor}. Refusing to continue")


def _put(path: str, key: str, value: str) -> Change:
    return Change(key=key, reported=value, act=lambda machine: put(machine, path, {key: value}))
