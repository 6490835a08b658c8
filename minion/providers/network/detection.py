"""Which network manager a machine has.

Called by the states of the network and the execution module `ip`. Ifupdown and ifcfg where Salt would take them;
netplan and NetworkManager where the machine has these instead.
"""

from __future__ import annotations

from minion.machine.failure import StateFailed
from minion.machine.plan import Reader
from minion.providers.network.files import NetworkFiles

_PROGRAMS = ("/usr/sbin", "/sbin", "/usr/bin")


def network_files(machine: Reader) -> NetworkFiles:
    """Its files; StateFailed where there is none that is known."""
    family = machine.grains.get("os_family")
    if family == "Debian" and (has_program(machine, "ifup") or not _has_newer(machine)):
        from minion.providers.network.ifupdown import Ifupdown

        return Ifupdown(has_use_carrier=not (is_ubuntu(machine) and _major(machine) >= 16))
    if family == "RedHat" and (_folder_of_scripts(machine) or not _has_newer(machine)):
        from minion.providers.network.ifcfg import Ifcfg

        return Ifcfg(major=_red_hat(machine), processors=int(machine.grains.get("num_cpus", 1)))
    if machine.stat("/etc/netplan") is not None and has_program(machine, "netplan"):
        from minion.providers.network.netplan import Netplan

        return Netplan()
    if machine.stat("/etc/NetworkManager/system-connections") is not None:
        from minion.providers.network.keyfiles import Keyfiles

        return Keyfiles()
    raise StateFailed("there is none of ifupdown, network-scripts, netplan and NetworkManager here")


def has_program(machine: Reader, name: str) -> bool:
    """Whether a program of the system is there."""
    return any(machine.stat(f"{folder}/{name}") is not None for folder in _PROGRAMS)


def is_ubuntu(machine: Reader) -> bool:
    """Whether it is Ubuntu."""
    return machine.grains.get("os") == "Ubuntu"


def _has_newer(machine: Reader) -> bool:
    netplan = machine.stat("/etc/netplan") is not None and has_program(machine, "netplan")
    return netplan or machine.stat("/etc/NetworkManager/system-connections") is not None


def _folder_of_scripts(machine: Reader) -> bool:
    return _red_hat(machine) < 10 and machine.stat("/etc/sysconfig/network-scripts") is not None


def _major(machine: Reader) -> int:
    text = str(machine.grains.get("osmajorrelease") or machine.grains.get("osrelease") or "0").partition(".")[0]
    return int(text) if text.isdigit() else 0


def _red_hat(machine: Reader) -> int:
    """The release of Red Hat that it is like."""
    major = _major(machine)
    if machine.grains.get("os") == "Fedora":
        return 10 if major >= 41 else 8 if major >= 28 else 7
    return 7 if machine.grains.get("os") == "Amazon" else major
