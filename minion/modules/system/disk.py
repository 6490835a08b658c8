"""The execution module `disk`: file systems, how full they are, and what is on block devices."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from minion.arguments.commands import Words
from minion.execution.context import Context
from minion.execution.errors import CallFailed
from minion.machine.plan import Completed

_ALLOWED = frozenset("aHhIiklTtxP")


def usage(context: Context, args: str | None = None) -> dict[str, dict[str, str | None]]:
    """Of each mounted file system: device, 1K-blocks, used, available, capacity."""
    names = ("filesystem", "1K-blocks", "used", "available", "capacity")
    return {row[5]: dict(zip(names, row, strict=False)) for row in _df(context, "-P", "-k", args)}


def inodeusage(context: Context, args: str | None = None) -> dict[str, dict[str, str]]:
    """Of each mounted file system: inodes, used, free, use."""
    return {
        row[5]: {"inodes": row[1], "used": row[2], "free": row[3], "use": row[4], "filesystem": row[0]}
        for row in _df(context, "-P", "-i", args)
    }


def percent(context: Context, args: str | None = None) -> Any:
    """How full each mounted file system is, or the one at this mount point."""
    found = {row[5]: row[4] for row in _df(context, "-P", "-k", None)}
    if args:
        return found.get(args, {})
    return found


def blkid(context: Context, device: str | None = None, token: str | None = None) -> dict[str, dict[str, str]]:
    """What is on each block device: UUID, TYPE, LABEL, …"""
    import shlex

    words = ["-t", token] if token else [device] if device else []
    done = _need(context.machine.run(["blkid", *words]), "blkid", "util-linux", codes=(0, 2))
    found: dict[str, dict[str, str]] = {}
    for line in done.stdout.splitlines():
        name, _, rest = line.partition(": ")
        found[name] = {key: value for key, _, value in (word.partition("=") for word in shlex.split(rest))}
    return found


def dump(context: Context, device: str, args: str | Words | None = None) -> dict[str, str]:
    """What blockdev(8) says of a block device: sizes, whether it is read-only."""
    signs = ("getro", "getsz", "getss", "getpbsz", "getiomin", "getioopt", "getalignoff", "getmaxsect", "getsize",
             "getsize64", "getra", "getfra")  # fmt: skip
    done = _need(
        context.machine.run(["blockdev", *(f"--{one}" for one in signs), "--", device]), "blockdev", "util-linux"
    )
    found = dict(zip(signs, done.stdout.split(), strict=False))
    return {key: value for key, value in found.items() if not args or key in args}


def fstype(context: Context, device: str) -> str:
    """The kind of file system on a block device."""
    done = context.machine.run(["lsblk", "-n", "-o", "FSTYPE", "--", device])
    return done.stdout.strip().partition("\n")[0] if done.returncode == 0 else ""


def get_fstype_from_path(context: Context, path: str) -> str:
    """The kind of file system that a path is on."""
    done = _need(context.machine.run(["df", "--output=fstype", "--", path]), "df", "coreutils")
    return done.stdout.splitlines()[-1].strip()


def _df(context: Context, first: str, second: str, args: str | None) -> list[list[str]]:
    words = []
    if args:
        if not set(args) <= _ALLOWED:
            raise CallFailed(
                f"args can have the letters {''.join(sorted(_ALLOWED))}, as df(1) knows them, not {args!r}"
            )
        words = [f"-{args}"]
    done = _need(context.machine.run(["df", first, second, *words]), "df", "coreutils", codes=(0, 1))
    rows = (line.split(None, 5) for line in done.stdout.splitlines()[1:])
    return [row for row in rows if len(row) == 6]


def _need(done: Completed, program: str, package: str, codes: tuple[int, ...] = (0,)) -> Completed:
    if done.returncode == 127:
        raise CallFailed(f"There is no {program} program: install the package {package}")
    if done.returncode not in codes:
        raise CallFailed(done.stderr.strip() or f"{program}: exit code {done.returncode}")
    return done


FUNCTIONS: Mapping[str, Any] = {
    "blkid": blkid,
    "dump": dump,
    "fstype": fstype,
    "get_fstype_from_path": get_fstype_from_path,
    "inodeusage": inodeusage,
    "percent": percent,
    "usage": usage,
}
