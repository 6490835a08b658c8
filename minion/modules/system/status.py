"""The execution module `status`: how the machine is doing, as /proc tells it."""

from __future__ import annotations

import os
import time as clock
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from minion.execution.context import Context
from minion.execution.errors import CallFailed
from minion.providers.mounts import decoded

_DISK = """
    reads_issued reads_merged sectors_read ms_spent_reading writes_completed writes_merged sectors_written
    ms_spent_writing io_in_progress ms_spent_in_io weighted_ms_spent_in_io
"""
_CPU = ("user", "nice", "system", "idle", "iowait", "irq", "softirq", "steal")


def uptime(context: Context) -> dict[str, Any]:
    """How long the machine has been up: seconds, days, time, since when, and how many people are logged in."""
    import datetime

    seconds = int(float(_proc("uptime").split()[0]))
    since = int(clock.time()) - seconds
    hours, minutes = divmod(seconds % 86_400 // 60, 60)
    iso = datetime.datetime.fromtimestamp(since, datetime.UTC).replace(tzinfo=None).isoformat()
    return {"seconds": seconds, "since_iso": iso, "since_t": since, "days": seconds // 86_400,
            "time": f"{hours}:{minutes:02d}", "users": len(w(context))}  # fmt: skip


def loadavg(context: Context) -> dict[str, float]:
    """Load of the last minute, five and fifteen minutes."""
    return dict(zip(("1-min", "5-min", "15-min"), os.getloadavg(), strict=True))


def meminfo(context: Context) -> dict[str, dict[str, str]]:
    """Memory, as /proc/meminfo has it."""
    rows = (line.split() for line in _proc("meminfo").splitlines())
    return {row[0].rstrip(":"): {"value": row[1], **({"unit": row[2]} if len(row) > 2 else {})} for row in rows if row}


def cpuinfo(context: Context) -> dict[str, Any]:
    """The last processor, as /proc/cpuinfo has it."""
    found: dict[str, Any] = {}
    for line in _proc("cpuinfo").splitlines():
        key, separator, value = (part.strip() for part in line.partition(":"))
        if separator:
            found[key] = value.split() if key in ("flags", "Features") else value
    return found


def cpustats(context: Context) -> dict[str, Any]:
    """Time of the processors and numbers of interrupts, as /proc/stat has them."""
    found: dict[str, Any] = {}
    for line in _proc("stat").splitlines():
        name, *fields = line.split()
        values = [int(one) for one in fields]
        if name.startswith("cpu"):
            found[name] = dict(zip(_CPU, values, strict=False))
        elif name == "intr":
            found[name] = {"total": values[0], "irqs": values[1:]}
        elif name == "softirq":
            found[name] = {"total": values[0], "softirqs": values[1:]}
        else:
            found[name] = values[0]
    return found


def diskstats(context: Context) -> dict[str, dict[str, Any]]:
    """What each block device has read and written, as /proc/diskstats has it."""
    found = {}
    for line in _proc("diskstats").splitlines():
        major, minor, name, *fields = line.split()
        counted = dict(zip(_DISK.split(), map(int, fields), strict=False))
        found[name] = {"major": int(major), "minor": int(minor), "device": name, **counted}
    return found


def diskusage(context: Context, *args: str) -> dict[str, dict[str, int]]:
    """Bytes that are there and that are free, at these paths or file system types, or at every mount point."""
    mounted = [line.split()[1:3] for line in _proc("mounts").splitlines()]
    paths = [one for one in args if one.startswith("/")]
    kinds = [one for one in args if not one.startswith("/")]
    chosen = [decoded(point) for point, kind in mounted if (not args or kind in kinds)]
    found = {}
    for place in dict.fromkeys([*paths, *chosen]):
        if not Path(place).exists():
            continue
        stats = os.statvfs(place)
        found[place] = {"available": stats.f_bavail * stats.f_frsize, "total": stats.f_blocks * stats.f_frsize}
    return found


def nproc(context: Context) -> int:
    """How many processors this process may use."""
    return len(os.sched_getaffinity(0))


def time(context: Context, format: str = "%A, %d. %B %Y %I:%M%p") -> str:  # noqa: A002  (Salt's name)
    """The time of the machine, in a format of strftime(3)."""
    return clock.strftime(format)


def version(context: Context) -> str:
    """The kernel, as /proc/version has it."""
    return _proc("version").strip()


def vmstats(context: Context) -> dict[str, int]:
    """Counters of virtual memory, as /proc/vmstat has them."""
    return {name: int(value) for name, value in (line.split() for line in _proc("vmstat").splitlines())}


def netdev(context: Context) -> dict[str, dict[str, Any]]:
    """Bytes, packets and errors of each interface, as /proc/net/dev has them."""
    head, *rows = _proc("net/dev").splitlines()[1:]
    parts = head.split("|")
    names = [f"rx_{one}" for one in parts[1].split()] + [f"tx_{one}" for one in parts[2].split()]
    found = {}
    for row in rows:
        name, _, fields = row.partition(":")
        found[name.strip()] = {"iface": name.strip(), **dict(zip(names, map(int, fields.split()), strict=False))}
    return found


def netstats(context: Context) -> dict[str, dict[str, int]]:
    """Counters of the network's protocols, as /proc/net/netstat has them."""
    lines = [line.split() for line in _proc("net/netstat").splitlines()]
    pairs = zip(lines[::2], lines[1::2], strict=False)
    return {names[0].rstrip(":"): dict(zip(names[1:], map(int, values[1:]), strict=False)) for names, values in pairs}


def procs(context: Context) -> dict[str, dict[str, str]]:
    """All processes: process id → user and command."""
    done = context.machine.run(["ps", "-eo", "pid=,user:32=,args="])
    if done.returncode != 0:
        raise CallFailed(f"The processes cannot be listed: {done.stderr.strip() or 'install the package procps'}")
    rows = (line.split(None, 2) for line in done.stdout.splitlines())
    return {row[0]: {"user": row[1], "cmd": row[2]} for row in rows if len(row) == 3}


def pid(context: Context, sig: str) -> str:
    """Ids of the processes whose command a text is in, one a line; this one is left out."""
    own = {str(os.getpid()), str(os.getppid())}
    return "\n".join(number for number, one in procs(context).items() if sig in one["cmd"] and number not in own)


def w(context: Context) -> list[dict[str, str]]:
    """Who is logged in: user, terminal, since when, for how long idle, doing what."""
    done = context.machine.run(["w", "-h"])
    rows = [line.split(None, 7) for line in done.stdout.splitlines()] if done.returncode == 0 else []
    return [
        {"user": row[0], "tty": row[1], "login": row[2] if len(row) < 8 else row[3], "idle": row[-5],
         "jcpu": row[-3], "pcpu": row[-2], "what": row[-1]}
        for row in rows if len(row) >= 7
    ]  # fmt: skip


def all_status(context: Context) -> dict[str, Any]:
    """Everything that the functions of this module say, together."""
    named = {"cpuinfo": cpuinfo, "cpustats": cpustats, "diskstats": diskstats, "diskusage": diskusage,
             "loadavg": loadavg, "meminfo": meminfo, "netdev": netdev, "netstats": netstats, "uptime": uptime,
             "vmstats": vmstats, "w": w}  # fmt: skip
    return {name: call(context) for name, call in named.items()}


def custom(context: Context) -> dict[str, Any]:
    """What `status.<function>.custom` of the configuration lists of each function."""
    found: dict[str, Any] = {}
    for name, wanted in context.options.status.custom.items():
        if name in FUNCTIONS:
            values = FUNCTIONS[name](context)
            found |= {key: values[key] for key in wanted if key in values}
    return found


def _proc(name: str) -> str:
    return Path("/proc", name).read_text(errors="replace")


FUNCTIONS: Mapping[str, Any] = {
    "all_status": all_status,
    "cpuinfo": cpuinfo,
    "cpustats": cpustats,
    "custom": custom,
    "diskstats": diskstats,
    "diskusage": diskusage,
    "loadavg": loadavg,
    "meminfo": meminfo,
    "netdev": netdev,
    "netstats": netstats,
    "nproc": nproc,
    "pid": pid,
    "procs": procs,
    "time": time,
    "uptime": uptime,
    "version": version,
    "vmstats": vmstats,
    "w": w,
}
