"""The execution module `ps`: processes and what they use, through psutil."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Any

from minion.execution.context import Context
from minion.execution.errors import CallFailed
from minion.machine.timed_regex import TimedRegex

if TYPE_CHECKING:
    import psutil


def get_pid_list(context: Context) -> list[int]:
    """Ids of all processes."""
    import psutil

    return list(psutil.pids())


def proc_info(context: Context, pid: int, attrs: list[str] | None = None) -> dict[str, Any]:
    """What is known of a process: all, or these attributes of psutil."""
    import psutil

    try:
        found: dict[str, Any] = psutil.Process(pid).as_dict(attrs)
    except (psutil.Error, ValueError, AttributeError) as error:
        raise CallFailed(str(error)) from error
    return {key: _plain(value) for key, value in found.items()}


def kill_pid(context: Context, pid: int, signal: int = 15) -> bool:
    """Send a signal to a process; false when there is none."""
    import psutil

    try:
        psutil.Process(pid).send_signal(signal)
    except psutil.NoSuchProcess:
        return False
    except psutil.AccessDenied as error:
        raise CallFailed(f"The minion may not signal process {pid}") from error
    return True


def pgrep(
    context: Context, pattern: str, user: str | None = None, full: bool = False, pattern_is_regex: bool = False
) -> Any:
    """Ids of the processes whose name (`full`: command line) has a text in it; null when there are none."""
    return [one.pid for one in _named(pattern, user, full, pattern_is_regex)] or None


def pkill(context: Context, pattern: str, user: str | None = None, signal: int = 15, full: bool = False) -> Any:
    """Signal the processes that pgrep finds, never the minion itself; their ids, null when there are none."""
    killed = [one.pid for one in _named(pattern, user, full, False) if kill_pid(context, one.pid, signal)]
    return {"killed": killed} if killed else None


def status(context: Context, status: str) -> list[dict[str, Any]]:
    """Processes in a state such as `sleeping`, `running` or `zombie`."""
    return [
        {"name": one.info["name"], "pid": one.pid}
        for one in _processes("name", "status")
        if one.info["status"] == status
    ]


def psaux(context: Context, name: str) -> list[Any]:
    """The lines of `ps aux` that a name is in."""
    done = context.machine.run(["ps", "aux"])
    lines = [line for line in done.stdout.splitlines()[1:] if name in line]
    return [name, lines, f"{len(lines)} occurrence(s)."] if lines else [name, [], "0 occurrence(s)."]


def lsof(context: Context, name: str) -> list[Any]:
    """What lsof(8) says of a program's open files."""
    done = context.machine.run(["lsof", "-c", name])
    if done.returncode == 127:
        raise CallFailed("There is no lsof program: install the package lsof")
    return [name, done.stdout.rstrip("\n")]


def ss(context: Context, name: str) -> list[Any]:
    """The lines of `ss -neap` that a text is in."""
    done = context.machine.run(["ss", "-neap"])
    if done.returncode == 127:
        raise CallFailed("There is no ss program: install the package iproute2")
    return [name, [line for line in done.stdout.splitlines() if name in line]]


def top(context: Context, num_processes: int = 5, interval: float = 3) -> list[dict[str, Any]]:
    """The processes that used the processor most, over so many seconds."""
    import time

    import psutil

    before = dict(_times())
    time.sleep(interval)
    used = [(spent - before[one], one) for one, spent in _times() if one in before]
    found = []
    for _, one in sorted(used, key=lambda pair: -pair[0])[:num_processes]:
        try:
            with one.oneshot():
                found.append(
                    {"cmd": one.cmdline() or one.name(), "user": one.username(), "status": one.status(), "pid": one.pid,
                     "create_time": one.create_time(), "cpu": one.cpu_times()._asdict(),
                     "mem": one.memory_info()._asdict()}
                )  # fmt: skip
        except psutil.Error:
            continue
    return found


def boot_time(context: Context, time_format: str | None = None) -> Any:
    """When the machine was started: seconds since the epoch, or in a format of strftime(3)."""
    import datetime

    import psutil

    when = int(psutil.boot_time())
    return datetime.datetime.fromtimestamp(when).strftime(time_format) if time_format else when


def cpu_percent(context: Context, interval: float = 0.1, per_cpu: bool = False) -> Any:
    """How busy the processors are, over so many seconds."""
    import psutil

    return psutil.cpu_percent(interval, percpu=True) if per_cpu else psutil.cpu_percent(interval)


def cpu_times(context: Context, per_cpu: bool = False) -> Any:
    """Seconds that the processors spent on what."""
    import psutil

    return [one._asdict() for one in psutil.cpu_times(True)] if per_cpu else psutil.cpu_times()._asdict()


def num_cpus(context: Context) -> int:
    """How many processors there are."""
    import psutil

    return psutil.cpu_count() or 1


def virtual_memory(context: Context) -> dict[str, Any]:
    """Memory: total, available, used, …, in bytes."""
    import psutil

    return dict(psutil.virtual_memory()._asdict())


def swap_memory(context: Context) -> dict[str, Any]:
    """Swap space: total, used, free, …, in bytes."""
    import psutil

    return dict(psutil.swap_memory()._asdict())


def total_physical_memory(context: Context) -> int:
    """Bytes of memory."""
    return int(virtual_memory(context)["total"])


def disk_partitions(context: Context, all: bool = False) -> list[dict[str, Any]]:  # noqa: A002  (Salt's name)
    """Mounted file systems of devices, or with `all` every one."""
    import psutil

    return [one._asdict() for one in psutil.disk_partitions(all)]


def disk_usage(context: Context, path: str) -> dict[str, Any]:
    """Bytes of the file system that a path is on."""
    import psutil

    return dict(psutil.disk_usage(path)._asdict())


def disk_partition_usage(context: Context, all: bool = False) -> list[dict[str, Any]]:  # noqa: A002  (Salt's name)
    """Mounted file systems, with how full they are."""
    return [{**one, **disk_usage(context, one["mountpoint"])} for one in disk_partitions(context, all)]


def disk_io_counters(context: Context, device: str | None = None) -> Any:
    """What all block devices, or one, have read and written; false when there is none."""
    import psutil

    found: Any = psutil.disk_io_counters(perdisk=True).get(device) if device else psutil.disk_io_counters()
    return found._asdict() if found else False


def network_io_counters(context: Context, interface: str | None = None) -> Any:
    """What all interfaces, or one, have sent and received; false when there is none."""
    import psutil

    found: Any = psutil.net_io_counters(pernic=True).get(interface) if interface else psutil.net_io_counters()
    return found._asdict() if found else False


def get_users(context: Context) -> list[dict[str, Any]]:
    """Who is logged in."""
    import psutil

    return [one._asdict() for one in psutil.users()]


def _times() -> Iterator[tuple[psutil.Process, float]]:
    """Processes with the seconds that they used; one that ends meanwhile is left out."""
    import contextlib

    import psutil

    for one in _processes():
        with contextlib.suppress(psutil.Error):
            yield one, sum(one.cpu_times()[:2])


def _processes(*attrs: str) -> Iterator[psutil.Process]:
    import psutil

    yield from psutil.process_iter(list(attrs) or None)


def _named(pattern: str, user: str | None, full: bool, is_regex: bool) -> Iterator[psutil.Process]:
    import os

    compiled = TimedRegex(pattern if is_regex else re.escape(pattern))
    own = (os.getpid(), os.getppid())
    for one in _processes("name", "cmdline", "username"):
        text = " ".join(one.info["cmdline"] or ()) if full else one.info["name"]
        if one.pid not in own and (user is None or one.info["username"] == user) and compiled.search(text or ""):
            yield one


def _plain(value: Any) -> Any:
    if isinstance(value, tuple | list):
        return [_plain(one) for one in value]
    return value if isinstance(value, str | int | float | bool | dict) or value is None else str(value)


FUNCTIONS: Mapping[str, Any] = {
    "boot_time": boot_time,
    "cpu_percent": cpu_percent,
    "cpu_times": cpu_times,
    "disk_io_counters": disk_io_counters,
    "disk_partition_usage": disk_partition_usage,
    "disk_partitions": disk_partitions,
    "disk_usage": disk_usage,
    "get_pid_list": get_pid_list,
    "get_users": get_users,
    "kill_pid": kill_pid,
    "lsof": lsof,
    "network_io_counters": network_io_counters,
    "num_cpus": num_cpus,
    "pgrep": pgrep,
    "pkill": pkill,
    "proc_info": proc_info,
    "psaux": psaux,
    "ss": ss,
    "status": status,
    "swap_memory": swap_memory,
    "top": top,
    "total_physical_memory": total_physical_memory,
    "virtual_memory": virtual_memory,
}
