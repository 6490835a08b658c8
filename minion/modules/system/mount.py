"""The execution module `mount`: what is mounted, and fstab. Lines of fstab are written by the code of the states."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from minion.arguments.types import CommaList, Texts
from minion.execution.apply_state import act
from minion.execution.arguments import NotSupported
from minion.execution.context import Context
from minion.execution.errors import CallFailed
from minion.machine.printable import printable_in
from minion.providers import mounts
from minion.providers.mounts import decoded
from minion.states.mount.fstab import FSTAB, entries, fstab_text, whole


def active(context: Context, extended: bool = False) -> dict[str, dict[str, Any]]:
    """What is mounted: mount point → device, type, options; with `extended` ids and the root within the device too."""
    found = {}
    for one in mounts.mounts(context.machine):
        entry: dict[str, Any] = {
            "device": one.device,
            "alt_device": one.device,
            "fstype": one.fstype,
            "opts": list(one.options),
        }
        if extended:
            entry |= {"mountid": one.id, "parentid": one.parent, "root": one.root, "superopts": list(one.super_options)}
        found[one.point] = entry
    shown: dict[str, dict[str, Any]] = printable_in(found)
    return shown


def is_mounted(context: Context, name: str) -> bool:
    """Whether something is mounted at a path."""
    return name in active(context)


def mount(
    context: Context,
    name: str,
    device: str | None = None,
    mkmnt: bool = False,
    fstype: str = "",
    opts: CommaList = ("defaults",),
    user: NotSupported = None,
    util: NotSupported = "mount",
) -> Any:
    """Mount a device at a path; true, or what mount(8) says."""
    if mkmnt and context.machine.stat(name) is None:
        context.machine.mkdir(name, parents=True)
    options = ",".join(opts)
    kind = ["-t", fstype] if fstype else []
    where = [device, name] if device else [name]
    return _said(context, "mount", "-o", options, *kind, "--", *where)


def umount(
    context: Context,
    name: str,
    device: NotSupported = None,
    user: NotSupported = None,
    util: NotSupported = "mount",
    lazy: bool = False,
) -> Any:
    """Unmount what is at a path; true, or what is wrong."""
    if not is_mounted(context, name):
        return f"{name} does not have anything mounted"
    return _said(context, "umount", *(["-l"] if lazy else []), "--", name)


def remount(
    context: Context,
    name: str,
    device: str | None = None,
    mkmnt: bool = False,
    fstype: str = "",
    opts: CommaList = ("defaults",),
    user: NotSupported = None,
) -> Any:
    """Mount what is at a path with other options; true, or what mount(8) says."""
    if not is_mounted(context, name):
        return mount(context, name, device, mkmnt, fstype, opts)
    listed = list(opts)
    options = ",".join(listed if "remount" in listed else [*listed, "remount"])
    return _said(context, "mount", "-o", options, "--", name)


def fstab(context: Context, config: str = FSTAB) -> dict[str, dict[str, Any]]:
    """The lines of fstab: mount point → device, type, options, dump, pass."""
    found: dict[str, dict[str, Any]] = {}
    for line in entries(fstab_text(context.machine, config)):
        words = whole(line)
        point = decoded(words[1])
        place, number = point, 2
        while place in found:
            place, number = f"{point}_{number}", number + 1
        found[place] = {"device": decoded(words[0]), "fstype": words[2], "opts": words[3].split(","), "dump": words[4],
                        "pass": words[5]}  # fmt: skip
    return found


def set_fstab(
    context: Context, name: str, device: str, fstype: str, opts: CommaList = ("defaults",), dump: int = 0,
    pass_num: int = 0, config: str = FSTAB, test: bool = False, match_on: Texts = ("auto",), not_change: bool = False,
) -> str:  # fmt: skip
    """Have fstab hold this line: `new`, `change` or `present`."""
    if context.machine.stat(config) is None:
        raise CallFailed(f'Bad config file "{config}"')
    from minion.execution.apply_state import plan

    made = (plan if test else act)(
        context, "mount.fstab_present", device, fs_file=name, fs_vfstype=fstype, fs_mntops=list(opts), fs_freq=dump,
        fs_passno=pass_num, config=config, match_on=list(match_on), not_change=not_change, mount=False,
    )  # fmt: skip
    return str(made.changes[0].reported) if made.changes else "present"


def rm_fstab(context: Context, name: str, device: str, config: str = FSTAB) -> bool:
    """Have fstab hold no such line."""
    if context.machine.stat(config) is None:
        raise CallFailed(f"Couldn't read from {config}: there is no such file")
    act(context, "mount.fstab_absent", device, fs_file=name, config=config)
    return True


def swaps(context: Context) -> dict[str, dict[str, str]]:
    """The swap space that is used: path → type, size, used, priority."""
    return {
        one.path: {"type": one.type, "size": one.size, "used": one.used, "priority": one.priority}
        for one in mounts.swaps(context.machine)
    }


def swapon(context: Context, name: str, priority: int | None = None) -> dict[str, Any]:
    """Use a device or file as swap space."""
    if name in swaps(context):
        return {"stats": swaps(context)[name], "new": False}
    said = _said(context, "swapon", *(["-p", str(priority)] if priority is not None else []), "--", name)
    if said is not True:
        raise CallFailed(said)
    return {"stats": swaps(context).get(name, {}), "new": True}


def swapoff(context: Context, name: str) -> Any:
    """Use it as swap space no more; null when it was none."""
    if name not in swaps(context):
        return None
    return _said(context, "swapoff", "--", name) is True


def is_fuse_exec(context: Context, cmd: str) -> bool:
    """Whether a program works through FUSE, as its libraries tell."""
    import shutil

    path = shutil.which(cmd)
    return path is not None and "libfuse" in context.machine.run(["ldd", path]).stdout


def get_mount_from_path(context: Context, path: str) -> str:
    """The mount point of the file system that a path is on."""
    import os

    place = os.path.realpath(path)
    while not os.path.ismount(place):
        place = os.path.dirname(place)  # noqa: PTH120
    return place


def get_device_from_path(context: Context, path: str) -> str | None:
    """The device of the file system that a path is on."""
    found = active(context).get(get_mount_from_path(context, path))
    return None if found is None else str(found["device"])


def _said(context: Context, *argv: str) -> Any:
    done = context.machine.run(argv)
    return True if done.returncode == 0 else done.stderr.strip() or f"exit code {done.returncode}"


FUNCTIONS: Mapping[str, Any] = {
    "active": active,
    "fstab": fstab,
    "get_device_from_path": get_device_from_path,
    "get_mount_from_path": get_mount_from_path,
    "is_fuse_exec": is_fuse_exec,
    "is_mounted": is_mounted,
    "mount": mount,
    "remount": remount,
    "rm_fstab": rm_fstab,
    "set_fstab": set_fstab,
    "swapoff": swapoff,
    "swapon": swapon,
    "swaps": swaps,
    "umount": umount,
}
