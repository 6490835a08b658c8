"""The beacon `ps`: processes that run or do not run, by name."""

from __future__ import annotations

import contextlib
import os
from collections.abc import Iterator, Mapping
from pathlib import Path

from minion.beacons.beacon import BeaconKind, Complaint, Found, Memory, Options, World

_SHOWN_NAME = 15
"""Bytes of a process's name that the kernel keeps."""

_EXAMPLE = "`- processes:` with names of processes, as `nginx: running` or `nginx: stopped`"


def _check(options: Options) -> Iterator[Complaint]:
    processes = options.get("processes")
    if not isinstance(processes, dict) or not processes:
        yield (("processes",) if "processes" in options else ()), f"processes are missing: {_EXAMPLE}"
        return
    for name, state in processes.items():
        if isinstance(state, dict | list):
            yield ("processes", str(name)), f"{name} must be running or stopped, not {state!r}"


def _look(options: Options, memory: Memory, world: World) -> Found:
    running = _names()
    found: Found = []
    for name, wanted in options["processes"].items():
        runs = str(name) in running
        if wanted == "running" and runs:
            found.append({name: "Running"})
        elif wanted == "stopped" and not runs:
            found.append({name: "Stopped"})
        elif wanted not in ("running", "stopped") and not runs:
            found.append({name: False})
    return found


def _names() -> set[str]:
    """Names of all processes; of one that the kernel cut, the program's where that begins with it (psutil's rule)."""
    found = set()
    for pid in os.listdir("/proc"):  # noqa: PTH208  (numbers, not paths)
        if pid.isdigit():
            with contextlib.suppress(OSError):
                name = Path(f"/proc/{pid}/comm").read_text(encoding="utf-8", errors="replace").rstrip("\n")
                if len(name) >= _SHOWN_NAME:
                    words = Path(f"/proc/{pid}/cmdline").read_bytes().split(b"\0")
                    program = words[0].decode("utf-8", "replace").rpartition("/")[2]
                    name = program if program.startswith(name) else name
                found.add(name)
    return found


_KIND = BeaconKind(
    check=_check, look=_look, interval=10.0, known=frozenset(("processes", "emitatstartup", "onchangeonly"))
)

BEACONS: Mapping[str, BeaconKind] = {"ps": _KIND}
