"""network.system: the global settings, with the name of the host.

Behaviour: doc/ref/states/all/salt.states.network. The name is written into /etc/hostname on each system; where nothing
but the name is new, no service is started again.
"""

from __future__ import annotations

from minion.arguments.types import Value, Word
from minion.machine.failure import StateFailed
from minion.machine.plan import Change, Machine, Plan, Reader
from minion.providers.network.detection import is_ubuntu
from minion.providers.network.files import diff_of, require, write_all
from minion.providers.network.global_settings import HOSTNAME, KNOWN, checked_host, global_settings
from minion.providers.service.detection import service_manager
from minion.states.network.effect import applied, named


def system(
    machine: Reader,
    name: str,
    *,
    hostname: str = "",
    apply_hostname: Word = False,
    require_reboot: Word = False,
    retain_settings: Word = False,
    **settings: Value,
) -> Plan:
    """These are the global settings; with `apply_hostname` the host has its name now, too. With `require_reboot`,
    nothing is restarted."""
    settings.pop("test", None)
    if unknown := sorted(settings.keys() - KNOWN):
        raise StateFailed(f"there is no global setting {' or '.join(unknown)}")
    given = {**settings, "retain_settings": retain_settings}
    if hostname:
        given["hostname"] = checked_host(hostname)
    elif apply_hostname:
        raise StateFailed("apply_hostname needs a hostname")
    found = global_settings(machine, given)
    changes = []
    if found.files:
        added = "Added global network settings."
        reported = diff_of(found.there, found.wanted) or added if found.there else added
        changes.append(
            Change(key="network_settings", reported=reported, act=lambda machine: write_all(machine, found.files))
        )
    if hostname and apply_hostname:
        changes += named(machine, hostname)
    if "enabled" in settings and is_ubuntu(machine):
        changes += _services(machine, enabled=bool(settings["enabled"]))
    if any(file.path != HOSTNAME for file in found.files) and not require_reboot:
        changes.append(applied(machine))
    pending = "Global network settings are set to be updated"
    shown = str(changes[0].reported) if found.files else ""
    return Plan(
        changes=tuple(changes),
        comment="Global network settings are up to date.",
        pending=f"{pending}:\n{shown}" if found.there and shown else "Global network settings are set to be added.",
        done="Global network settings are up to date.",
    )


def _services(machine: Reader, *, enabled: bool) -> list[Change]:
    """What starts the network of Ubuntu at boot is switched on or off."""
    manager, changes = service_manager(machine), []
    for name in ("NetworkManager", "networking"):
        found = manager.service(machine, name)
        if found is None or found.enabled == enabled:
            continue

        def act(machine: Machine, name: str = name) -> None:
            require(manager.enable(machine, name, enabled=enabled), f"{name} cannot be switched", "systemctl")

        changes.append(Change(key=name, old=not enabled, new=enabled, act=act))
    return changes
