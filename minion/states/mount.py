"""The state module `mount`: file systems that are mounted, and their lines in fstab.

Behaviour: doc/ref/states/all/salt.states.mount.
"""

from __future__ import annotations

import posixpath
from collections.abc import Callable, Mapping

from minion.states.file_paths import checked
from minion.states.fstab import FSTAB, ended, entries, field_of, fstab_absent, fstab_present, options_of, whole, without
from minion.states.plan import Change, Machine, Plan, Reader, StateFailed, StateFunction, Value


def mounted(
    machine: Reader,
    name: str,
    *,
    device: Value,
    fstype: Value,
    mkmnt: bool = False,
    opts: Value = "defaults",
    dump: Value = 0,
    pass_num: Value = 0,
    config: str = FSTAB,
    persist: bool = True,
    mount: bool = True,
) -> Plan:
    """The device is mounted at `name` now (`mount`) and at boot (`persist`)."""
    path = checked(name, "mounted")
    options = options_of(opts)
    entry = [field_of(device), field_of(path), field_of(fstype), field_of(options), str(dump), str(pass_num)]
    is_live = mounts(machine).get(path) is not None
    old = _text(machine, config)
    new = _with(old, entry) if persist else old
    changes = []
    if mount and not is_live:
        changes.append(Change(key="mount", shown=True, act=_mount(path, str(device), str(fstype), options, mkmnt)))
    if new != old:
        shown = "new" if _entry(old, path) is None else "update"
        changes.append(Change(key="persist", shown=shown, act=lambda machine: machine.write(config, new.encode())))
    return Plan(
        changes=tuple(changes),
        comment="Target was already mounted" if mount else f"{name} is in the correct state",
        pending=f"{name} would be mounted" if mount and not is_live else f"{name} needs to be written to the fstab",
        done="Target was successfully mounted" if mount and not is_live else f"{name} was written to the fstab",
    )


def unmounted(
    machine: Reader, name: str, *, device: Value = None, config: str = FSTAB, persist: bool = False, user: Value = None
) -> Plan:
    """Nothing is mounted at `name`; with `persist`, fstab has no line for it."""
    path = checked(name, "unmounted")
    old = _text(machine, config)
    new = without(old, _entry(old, path)) if persist else old
    changes = []
    if mounts(machine).get(path) is not None:
        changes.append(Change(key="umount", shown=True, act=lambda machine: _do(machine, "umount", path)))
    if new != old:
        changes.append(Change(key="persist", shown="purged", act=lambda machine: machine.write(config, new.encode())))
    return Plan(
        changes=tuple(changes),
        comment="Target was already unmounted",
        pending=f"Mount point {name} is mounted but should not be",
        done="Target was successfully unmounted",
    )


def swap(machine: Reader, name: str, *, persist: bool = True, config: str = FSTAB) -> Plan:
    """The device or file is used as swap space."""
    path = checked(name, "swap")
    live = machine.read("/proc/swaps").decode().splitlines()[1:] if machine.stat("/proc/swaps") else []
    old = _text(machine, config)
    new = old
    if persist and not any(line.split()[:3:2] == [path, "swap"] for line in old.splitlines()):
        new = ended(old) + f"{path}\tnone\tswap\tdefaults\t0\t0\n"
    changes = []
    if path not in [line.split()[0] for line in live if line]:
        changes.append(Change(key="swap", shown=name, act=lambda machine: _do(machine, "swapon", path)))
    if new != old:
        changes.append(Change(key="persist", shown="new", act=lambda machine: machine.write(config, new.encode())))
    return Plan(
        changes=tuple(changes),
        comment=f"Swap {name} already active",
        pending=f"Swap {name} is set to be activated",
        done=f"Swap {name} activated",
    )


def mod_watch(
    machine: Reader,
    name: str,
    *,
    sfun: str = "",
    device: Value = None,
    fstype: Value = None,
    opts: Value = "defaults",
    **arguments: Value,
) -> Plan:
    """A file system that is mounted is mounted again with its options."""
    if sfun != "mounted":
        return Plan(comment=f"Watch not supported in {sfun} at this time")
    path = checked(name, "mounted")
    options = ",".join(("remount", options_of(opts)))
    act = _remount(path, str(device), str(fstype), options)
    return Plan(
        changes=(Change(key="", act=act),),
        pending=f"{name} would be remounted",
        done=f"{name} remounted",
        converges=False,
    )


def _remount(path: str, device: str, fstype: str, options: str) -> Callable[[Machine], None]:
    return lambda machine: _do(machine, "mount", "-t", fstype, "-o", options, device, path)


def mounts(machine: Reader) -> dict[str, str]:
    """Mount point → file system, of what is mounted now (proc(5), mountinfo)."""
    found = {}
    for line in machine.read("/proc/self/mountinfo").decode("utf-8", "surrogateescape").splitlines():
        words = line.split()
        found[words[4].replace("\\040", " ")] = words[words.index("-") + 1]
    return found


def _mount(path: str, device: str, fstype: str, options: str, make: bool) -> Callable[[Machine], None]:
    def act(machine: Machine) -> None:
        if machine.stat(path) is None:
            if not make:
                raise StateFailed(f"Mount directory {path} is not present: set mkmnt to True to have it made")
            machine.mkdir(path, parents=True)
        _do(machine, "mount", "-t", fstype, "-o", options, device, path)

    return act


def _do(machine: Machine, *argv: str) -> None:
    done = machine.run(argv)
    if done.returncode != 0:
        raise StateFailed(f"{' '.join(argv)}: {done.stderr.strip() or done.stdout.strip()}")


def _text(machine: Reader, config: str) -> str:
    return machine.read(config).decode() if machine.stat(config) is not None else ""


def _entry(text: str, path: str) -> list[str] | None:
    wanted = field_of(path)
    return next((whole(fields) for fields in entries(text) if posixpath.normpath(fields[1]) == wanted), None)


def _with(text: str, entry: list[str]) -> str:
    found = _entry(text, entry[1])
    return text if found == entry else ended(without(text, found)) + "\t".join(entry) + "\n"


STATES: Mapping[str, StateFunction] = {
    "fstab_absent": fstab_absent,
    "fstab_present": fstab_present,
    "mounted": mounted,
    "swap": swap,
    "unmounted": unmounted,
}
