"""Which service manager this machine has.

Called by `minion.states.service` and `minion.modules.system.service`. Providers: `systemd` where systemd runs the
machine, `openrc` where OpenRC does, `rcd` on FreeBSD, `sysv` where there are init scripts and none of these
(containers, and Debian without systemd). They are imported when they are chosen: a machine has one.
"""

from __future__ import annotations

from typing import cast

from minion.machine.failure import StateFailed
from minion.machine.plan import Reader
from minion.providers.service.services import ServiceManager, is_script

_FOLDERS = ("/usr/bin", "/bin", "/usr/local/bin", "/usr/sbin")


def is_offline(machine: Reader) -> bool:
    """Whether systemctl is installed and systemd does not run (images that are being built, chroots): Salt's OFFLINE
    mode, in which states of services start and stop nothing (salt.utils.systemd.offline)."""
    if machine.stat("/run/systemd/system") is not None:
        return False
    return any(is_script(machine, f"{folder}/systemctl") for folder in _FOLDERS)


def mask_manager(machine: Reader) -> ServiceManager:
    """Who masks services: systemctl does where it is installed, whether or not systemd runs."""
    if is_offline(machine):
        from minion.providers.service.systemd import Systemd

        return Systemd()
    return service_manager(machine)


def service_manager(machine: Reader) -> ServiceManager:
    """The service manager of this machine, as earlier states of a test run would have left it; StateFailed when there
    is none that is known."""
    manager, planned = _manager(machine), getattr(machine, "planned_services", None)
    if not planned:
        return manager
    from minion.providers.service.planned import PlannedServiceManager

    return cast(ServiceManager, PlannedServiceManager(manager, planned))


def _manager(machine: Reader) -> ServiceManager:
    if machine.stat("/run/systemd/system") is not None:
        from minion.providers.service.systemd import Systemd

        return Systemd()
    if machine.stat("/sbin/openrc-run") and (machine.stat("/run/openrc") or not machine.stat("/usr/sbin/update-rc.d")):
        from minion.providers.service.openrc import OpenRC

        return OpenRC()
    if machine.stat("/etc/rc.subr") is not None:
        from minion.providers.service.rcd import RcD

        return RcD()
    if machine.stat("/etc/init.d") is not None:
        from minion.providers.service.sysv import SysV

        return SysV()
    raise StateFailed(
        "No service manager was found: there is neither /run/systemd/system (systemd runs the machine) nor "
        "/sbin/openrc-run, nor FreeBSD's /etc/rc.subr, nor /etc/init.d"
    )
