"""How written settings of the network come into effect: its services are started again, the host gets its name."""

from __future__ import annotations

from collections.abc import Sequence

from minion.machine.failure import StateFailed
from minion.machine.plan import Change, Machine, Reader
from minion.providers.network.detection import network_files
from minion.providers.network.files import require
from minion.providers.network.netplan import Netplan
from minion.providers.service.detection import is_offline, service_manager

LIVE = "/proc/sys/kernel/hostname"


def restart(machine: Machine, services: Sequence[str]) -> None:
    """Start services again; nothing where systemd is installed and does not run, as in Salt."""
    if is_offline(machine):
        return
    manager = service_manager(machine)
    for service in services:
        require(
            manager.control(machine, service, "restart"), f"{service} cannot be restarted", "of the service manager"
        )


def applied(machine: Reader) -> Change:
    """All that is written comes into effect."""
    files = network_files(machine)
    if isinstance(files, Netplan):
        return Change(key="", act=lambda machine: require(files.up(machine, "", ""), "netplan failed", "netplan"))
    services = files.services(machine)
    return Change(key="", act=lambda machine: restart(machine, services))


def named(machine: Reader, hostname: str) -> list[Change]:
    """The running kernel has this name."""
    live = machine.read(LIVE).decode().strip()
    if live == hostname:
        return []
    return [Change(key="apply_hostname", old=live, new=hostname, act=lambda machine: _name(machine, hostname))]


def _name(machine: Machine, hostname: str) -> None:
    done = machine.run(["hostname", hostname])
    if done.returncode != 0:
        raise StateFailed(f"The name of the host cannot be set to {hostname}: {done.stderr.strip()}")
