"""The state module `mount`: file systems that are mounted, and their lines in fstab.

Behaviour: doc/ref/states/all/salt.states.mount.
"""

from __future__ import annotations

import posixpath
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Annotated, TypedDict, Unpack

from minion.arguments.types import CommaList, Ignored, Map, Texts, Unsupported, WatchedFun
from minion.machine.failure import StateFailed
from minion.machine.plan import Change, Machine, Plan, Reader, StateFunction, Value
from minion.providers.mounts import encoded, swaps
from minion.states.file.paths import checked
from minion.states.mount.fstab import (
    FSTAB,
    ended,
    entries,
    fstab_absent,
    fstab_present,
    whole,
    without,
)
from minion.states.mount.live import Leave, ignored_device, is_device, live, options_missing
from minion.states.pkg.steps import with_its_neighbour
from minion.states.unused_arguments import MountAsRoot


class _MountedUnused(TypedDict, total=False):
    """Arguments of Salt's mount.mounted that are ignored or refused."""

    bind_mount_copy_active_opts: Annotated[Value, Ignored("a bind mount gets the options that are given")]
    match_on: Annotated[Value, Unsupported("a line of fstab is found by its mount point")]
    user: MountAsRoot


def mounted(
    machine: Reader,
    name: str,
    *,
    device: str,
    fstype: str,
    mkmnt: bool = False,
    opts: Texts = ("defaults",),
    dump: int = 0,
    pass_num: int = 0,
    config: str = FSTAB,
    persist: bool = True,
    mount: bool = True,
    hidden_opts: CommaList = (),
    device_name_regex: Texts = (),
    extra_mount_invisible_options: Texts = (),
    extra_mount_invisible_keys: Texts = (),
    extra_mount_ignore_fs_keys: Map | None = None,
    extra_mount_translate_options: Map | None = None,
    **_: Unpack[_MountedUnused],
) -> Plan:
    """The device is mounted at `name` with these options now (`mount`) and at boot (`persist`)."""
    path = checked(name, "mounted")
    wanted = _Wanted(path=path, device=device, fstype=fstype, options=",".join(opts), make=mkmnt)
    old = _text(machine, config)
    entry = _entry(old, path)
    leave = Leave.of(
        wanted.fstype,
        extra_mount_invisible_options,
        hidden_opts,
        extra_mount_invisible_keys,
        extra_mount_ignore_fs_keys,
        extra_mount_translate_options,
    )
    before = (entry[3] if entry else wanted.options).split(",")
    now = _now(machine, wanted, before, leave, device_name_regex) if mount else _not_now(machine, wanted)
    fields = [encoded(device), encoded(path), encoded(fstype), encoded(wanted.options), str(dump), str(pass_num)]
    new = _with(old, fields) if persist else old
    if new == old:
        kept = f"{now.comment}. Entry already exists in the fstab." if persist else now.comment
        done = f"{now.done}. Entry already exists in the fstab." if persist else now.done
        return replace(now, comment=kept, done=done)
    words = _PERSIST["new" if entry is None else "update"]
    write = Change(key="persist", reported=words.shown, act=lambda machine: machine.write(config, new.encode()))
    added = words.mounted if mount else words.alone
    return Plan(
        changes=(*now.changes, write),
        pending=now.pending
        if mount and now.pending.startswith(_ENDS)
        else f"{now.pending or now.comment}. {added.format(name=path)}",
        done=f"{now.done}. {words.done}",
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class _Wanted:
    """A mount as it is asked for."""

    path: str
    device: str
    fstype: str
    options: str
    make: bool

    def mount(self, machine: Machine) -> None:
        """Mount it."""
        if machine.stat(self.path) is None:
            if not self.make:
                raise StateFailed("Mount directory is not present: set mkmnt to True to have it made")
            machine.mkdir(self.path, parents=True)
        _do(machine, "mount", "-t", self.fstype, "-o", self.options, self.device, self.path)

    def again(self, machine: Machine) -> None:
        """Mount it with other options; some file systems have to be unmounted for it."""
        if self._needs_unmount():
            _do(machine, "umount", self.path)
            self.mount(machine)
        else:
            _do(machine, "mount", "-o", f"remount,{self.options}", self.path)

    def anew(self, machine: Machine) -> None:
        """Mount it in place of another device."""
        _do(machine, "umount", self.path)
        self.mount(machine)

    def verb(self) -> str:
        """What is forced when options change, in Salt's words."""
        return "unmount and mount" if self._needs_unmount() else "remount"

    def _needs_unmount(self) -> bool:
        return self.fstype in ("nfs", "nfs4", "cvfs") or self.fstype.startswith("fuse")


@dataclass(frozen=True, slots=True, kw_only=True)
class _Words:
    """What is said of a line of fstab."""

    shown: str
    mounted: str
    alone: str
    done: str


_ENDS = ("Remount would be forced", "/")
"""Salt's test run says no more than these: what is to be mounted, and what again with other options."""
_PERSIST = {
    "new": _Words(
        shown="new",
        mounted="{name} is mounted, but needs to be written to the fstab in order to be made persistent.",
        alone="{name} needs to be written to the fstab in order to be made persistent.",
        done="Added new entry to the fstab.",
    ),
    "update": _Words(
        shown="update",
        mounted="{name} is mounted, but its fstab entry must be updated.",
        alone="The {name} fstab entry must be updated.",
        done="Updated the entry in the fstab.",
    ),
}


def _now(machine: Reader, wanted: _Wanted, before: Sequence[str], leave: Leave, patterns: Sequence[str]) -> Plan:
    """What is to be done about the mount itself."""
    mounts = live(machine)
    there, options = mounts.get(wanted.path), wanted.options.split(",")
    if there is None:
        done = "Target was successfully mounted"
        change = Change(key="mount", reported=True, act=wanted.mount)
        return Plan(changes=(change,), pending=_would_mount(machine, wanted), done=done)
    if not is_device(machine, there, wanted.device, options, mounts):
        if ignored_device(there, patterns):
            said = f"An umount will not be forced because device matched device_name_regex: {there.device}"
            return Plan(comment=said, done=said)
        shown = f"Forced unmount because devices don't match. Wanted: {wanted.device}, current: {there.device}"
        changes = (
            Change(key="umount", reported=shown, act=wanted.anew),
            Change(key="mount", reported=True, act=with_its_neighbour),
        )
        would = f"An umount would have been forced because devices do not match.  Watched: {wanted.device}"
        return Plan(changes=changes, pending=would, done="Target was successfully mounted")
    missing = options_missing(machine, there, options, before, leave)
    good = "Target was already mounted"
    if not missing:
        return Plan(comment=good, done=good)
    listed = ",".join(missing)
    shown = f"Forced {wanted.verb()} because options ({listed}) changed"
    would = f"Remount would be forced because options ({listed}) changed"
    return Plan(changes=(Change(key="umount", reported=shown, act=wanted.again),), pending=would, done=good)


def _would_mount(machine: Reader, wanted: _Wanted) -> str:
    if machine.stat(wanted.path) is not None:
        return f"{wanted.path} would be mounted"
    if wanted.make:
        return f"{wanted.path} would be created and mounted"
    return f"{wanted.path} does not exist and would not be created"


def _not_now(machine: Reader, wanted: _Wanted) -> Plan:
    """`mount: False`: the place for it may be made all the same."""
    if machine.stat(wanted.path) is not None:
        return Plan(comment=f"{wanted.path} not mounted", done=f"{wanted.path} not mounted")
    if not wanted.make:
        said = f"{wanted.path} not present and not mounted"
        return Plan(comment=said, done=said)
    return Plan(
        changes=(Change(key="", act=lambda machine: machine.mkdir(wanted.path, parents=True)),),
        pending=f"{wanted.path} would be created, but not mounted",
        done=f"{wanted.path} was created, not mounted",
    )


class _UnmountedUnused(TypedDict, total=False):
    """Arguments of Salt's mount.unmounted that are ignored or refused."""

    user: MountAsRoot


def unmounted(
    machine: Reader,
    name: str,
    *,
    device: str | None = None,
    config: str = FSTAB,
    persist: bool = False,
    **_: Unpack[_UnmountedUnused],
) -> Plan:
    """Nothing is mounted at `name`; with `persist`, fstab has no line for it (and `device`, where one is given)."""
    path = checked(name, "unmounted")
    old = _text(machine, config)
    entry, is_live = _entry(old, path), path in live(machine)
    is_ours = entry is not None and (device is None or entry[0] == encoded(device))
    said = "Target was successfully unmounted" if is_live else "Target was already unmounted"
    changes = []
    if is_live:
        changes.append(Change(key="umount", reported=True, act=lambda machine: _do(machine, "umount", path)))
    if persist and is_ours:
        new = without(old, entry)
        changes.append(
            Change(key="persist", reported="purged", act=lambda machine: machine.write(config, new.encode()))
        )
        said = f"{said}. Removed target from fstab"
    elif persist:
        what = "fstab entry not found" if entry is None else f"fstab entry for device {device} not found"
        said = f"{said}. {what}"
    would = f"Mount point {path} is mounted but should not be"
    if not is_live:
        would = f"Mount point {path} is unmounted but needs to be purged from {config} to be made persistent"
    return Plan(changes=tuple(changes), comment=said, pending=would, done=said)


def swap(machine: Reader, name: str, *, persist: bool = True, config: str = FSTAB) -> Plan:
    """The device or file is used as swap space."""
    path = checked(name, "swap")
    field = encoded(path)
    old = _text(machine, config)
    new = old
    if persist and not any(line.split()[:3:2] == [field, "swap"] for line in old.splitlines()):
        new = ended(old) + f"{field}\tnone\tswap\tdefaults\t0\t0\n"
    changes = []
    if path not in {one.path for one in swaps(machine)}:
        changes.append(Change(key="swap", reported=name, act=lambda machine: _do(machine, "swapon", path)))
    if new != old:
        changes.append(Change(key="persist", reported="new", act=lambda machine: machine.write(config, new.encode())))
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
    sfun: WatchedFun = "",
    device: str | None = None,
    fstype: str | None = None,
    opts: Texts = ("defaults",),
    **arguments: Value,
) -> Plan:
    """A file system that is mounted is mounted again with its options."""
    if sfun != "mounted":
        return Plan(comment=f"Watch not supported in {sfun} at this time")
    path = checked(name, "mounted")
    options = ",".join(("remount", *opts))
    return Plan(
        changes=(Change(key="", act=lambda machine: _do(machine, "mount", "-o", options, path)),),
        pending=f"{name} would be remounted",
        done=f"{name} remounted",
        converges=False,
    )


def _do(machine: Machine, *argv: str) -> None:
    done = machine.run(argv)
    if done.returncode != 0:
        raise StateFailed(f"{' '.join(argv)}: {done.stderr.strip() or done.stdout.strip()}")


def _text(machine: Reader, config: str) -> str:
    return machine.read(config).decode() if machine.stat(config) is not None else ""


def _entry(text: str, path: str) -> list[str] | None:
    wanted = encoded(path)
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
