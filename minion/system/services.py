"""The port of service managers, and which one this machine has.

Used by `minion.states.service` and `minion.modules.service`. Providers: `minion.system.systemd` where systemd runs the
machine, `minion.system.sysv` where init scripts do (containers, and Debian without systemd).
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal, Protocol

from minion.states.plan import Completed, Machine, Reader, StateFailed

Verb = Literal["start", "stop", "restart", "reload"]

_NAME = re.compile(r"[A-Za-z0-9_][A-Za-z0-9_.:@\\-]*")


@dataclass(frozen=True, slots=True, kw_only=True)
class Service:
    """A service that is known to the machine."""

    name: str
    running: bool
    enabled: bool
    """Whether it is started at boot."""
    switchable: bool = True
    """False for those that cannot be enabled or disabled, since something else starts them (systemd's static units)."""


class ServiceManager(Protocol):
    """What states need from a service manager."""

    def service(self, machine: Reader, name: str) -> Service | None:
        """How a service is; None when there is no such service."""

    def services(self, machine: Reader) -> Sequence[str]:
        """Names of all services, sorted."""

    def control(self, machine: Machine, name: str, verb: Verb) -> Completed:
        """Start, stop, restart or reload."""

    def enable(self, machine: Machine, name: str, *, enabled: bool) -> Completed:
        """Have it started at boot, or not."""

    def masked(self, machine: Reader, name: str, *, runtime: bool) -> bool:
        """Whether it is masked (until the next boot, when `runtime`); StateFailed where nothing can be masked."""

    def mask(self, machine: Machine, name: str, *, masked: bool, runtime: bool) -> Completed:
        """Keep it from being started by anybody, or let it be."""


def service_manager(machine: Reader) -> ServiceManager:
    """The service manager of this machine; StateFailed when there is none that is known."""
    if machine.stat("/run/systemd/system") is not None:
        from minion.system.systemd import Systemd

        return Systemd()
    if machine.stat("/etc/init.d") is not None:
        from minion.system.sysv import SysV

        return SysV()
    raise StateFailed("No service manager was found: there is neither /run/systemd/system nor /etc/init.d")


def check_name(name: str) -> None:
    """StateFailed when this cannot be the name of a service: it becomes part of a path and of commands."""
    if not _NAME.fullmatch(name):
        raise StateFailed(
            f"Invalid service name {name!r}: it begins with a letter, a digit or '_' and holds letters, digits and "
            "any of _ . : @ \\ -"
        )
