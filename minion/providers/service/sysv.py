"""Services as init scripts, through `service`, and `update-rc.d` or `chkconfig`.

Called through the port `minion.providers.service.services.ServiceManager`, and by the systemd provider for the scripts
that it wraps. A service is enabled when a start link stands in one of the multi-user run levels.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from minion.machine.failure import StateFailed
from minion.machine.plan import Completed, Machine, Reader
from minion.providers.service.services import ServiceState, Verb, check_name, is_script, scripts_in

_SCRIPTS = "/etc/init.d"
_BOOT_FOLDERS = ("/etc/rc2.d", "/etc/rc3.d", "/etc/rc4.d", "/etc/rc5.d", "/etc/rcS.d")
_ALL_FOLDERS = ("/etc/rc0.d", "/etc/rc1.d", *_BOOT_FOLDERS, "/etc/rc6.d")


@dataclass(frozen=True, slots=True)
class SysV:
    """`ServiceManager` where init scripts run the services."""

    def service(self, machine: Reader, name: str) -> ServiceState | None:
        """What `service NAME status` and the links say."""
        check_name(name)
        if not is_script(machine, f"{_SCRIPTS}/{name}"):
            return None
        asked = machine.query(["service", name, "status"])
        return ServiceState(name=name, running=asked.returncode == 0, enabled=is_enabled(machine, name))

    def services(self, machine: Reader) -> Sequence[str]:
        """Names of the init scripts, sorted."""
        return scripts_in(machine, _SCRIPTS)

    def control(self, machine: Machine, name: str, verb: Verb, *, block: bool = True) -> Completed:
        """`service NAME VERB`."""
        check_name(name)
        return machine.run(["service", name, verb])

    def enable(self, machine: Machine, name: str, *, enabled: bool) -> Completed:
        """`update-rc.d NAME enable` or `disable`; the links are made first where there are none yet. Where there is no
        update-rc.d (Red Hat's systems), `chkconfig NAME on` or `off`."""
        check_name(name)
        if machine.stat("/usr/sbin/update-rc.d") is None and machine.stat("/sbin/chkconfig") is not None:
            return machine.run(["chkconfig", name, "on" if enabled else "off"])
        if not _links(machine, name, _ALL_FOLDERS):
            made = machine.run(["update-rc.d", name, "defaults"])
            if made.returncode != 0:
                return made
        return machine.run(["update-rc.d", name, "enable" if enabled else "disable"])

    def masked(self, machine: Reader, name: str, *, runtime: bool) -> bool:
        """Init scripts cannot be masked."""
        raise StateFailed("Service masking not available on this minion")

    def mask(self, machine: Machine, name: str, *, masked: bool, runtime: bool) -> Completed:
        """Init scripts cannot be masked."""
        raise StateFailed("Service masking not available on this minion")


def is_enabled(machine: Reader, name: str) -> bool:
    """Whether a start link stands in a run level that a booted machine is in."""
    return any(link.startswith("S") for link in _links(machine, name, _BOOT_FOLDERS))


def _links(machine: Reader, name: str, folders: Sequence[str]) -> list[str]:
    """Links of a script, `S01name` or `K01name`."""
    names = (link for folder in folders if machine.stat(folder) for link in machine.listdir(folder))
    return [link for link in names if link[:1] in "SK" and link[1:3].isdigit() and link[3:] == name]
