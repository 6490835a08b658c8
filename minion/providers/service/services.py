"""The port of service managers: what states and execution functions ask of one, and the types it answers with.

Providers are `systemd`, `openrc`, `rcd` and `sysv` in this package; `detection` chooses one.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal, Protocol

from minion.machine.failure import StateFailed
from minion.machine.plan import Completed, Machine, Reader

Verb = Literal["start", "stop", "restart", "reload", "force-reload"]

_NAME = re.compile(r"[A-Za-z0-9_][A-Za-z0-9_.:@\\-]*")


@dataclass(frozen=True, slots=True, kw_only=True)
class ServiceState:
    """A service that is known to the machine."""

    name: str
    running: bool
    enabled: bool
    """Whether it is started at boot."""
    switchable: bool = True
    """False for those that cannot be enabled or disabled, since something else starts them (systemd's static units)."""


class ServiceManager(Protocol):
    """What states need from a service manager."""

    def service(self, machine: Reader, name: str) -> ServiceState | None:
        """How a service is; None when there is no such service."""

    def services(self, machine: Reader) -> Sequence[str]:
        """Names of all services, sorted."""

    def control(self, machine: Machine, name: str, verb: Verb, *, block: bool = True) -> Completed:
        """Start, stop, restart or reload; without `block` it is only asked for, where the manager can do that."""

    def enable(self, machine: Machine, name: str, *, enabled: bool) -> Completed:
        """Have it started at boot, or not."""

    def masked(self, machine: Reader, name: str, *, runtime: bool) -> bool:
        """Whether it is masked (until the next boot, when `runtime`); StateFailed where nothing can be masked."""

    def mask(self, machine: Machine, name: str, *, masked: bool, runtime: bool) -> Completed:
        """Keep it from being started by anybody, or let it be."""


def scripts_in(machine: Reader, folder: str) -> list[str]:
    """Names of the scripts in a folder, sorted: what can be run, and links."""
    if machine.stat(folder) is None:
        return []
    return [
        name for name in machine.listdir(folder) if not name.startswith(".") and is_script(machine, f"{folder}/{name}")
    ]


def is_script(machine: Reader, path: str) -> bool:
    """Whether there is something that can be run, or a link."""
    found = machine.stat(path)
    if found is None or found.kind not in ("file", "symlink"):
        return False
    return found.kind == "symlink" or bool(int(found.mode, 8) & 0o111)


def check_name(name: str) -> None:
    """StateFailed when this cannot be the name of a service: it becomes part of a path and of commands."""
    if not _NAME.fullmatch(name):
        raise StateFailed(
            f"Invalid service name {name!r}: it begins with a letter, a digit or '_' and holds letters, digits and "
            "any of _ . : @ \\ -"
        )
