"""The state module `network`: of Salt's, network.system as far as it is the name of the host.

Behaviour: doc/ref/states/all/salt.states.network. Interfaces and routes are files of the system's own network manager:
file.managed with a watching service.running does what Salt's network.managed is for.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Annotated

from minion.arguments.types import Ignored, Path
from minion.machine.failure import StateFailed
from minion.machine.plan import Change, Machine, Plan, Reader, StateFunction, Value

HOSTNAME = "/etc/hostname"
LIVE = "/proc/sys/kernel/hostname"
_LABEL = re.compile(r"(?!-)[A-Za-z0-9-]{1,63}(?<!-)")


def system(
    machine: Reader,
    name: str,
    *,
    hostname: Path = "",
    apply_hostname: bool = False,
    retain_settings: Annotated[Value, Ignored("settings that are not named are kept")] = None,
    **arguments: Value,
) -> Plan:
    """The host has this name: in /etc/hostname, and with `apply_hostname` now too."""
    refused = sorted(key for key in arguments if key not in ("enabled", "require_reboot"))
    if refused:
        raise StateFailed(f"network.system sets the name of the host only: {', '.join(refused)} is not supported")
    if not all(_LABEL.fullmatch(part) for part in hostname.split(".")):
        raise StateFailed(f"hostname must be the name of a host, not {hostname!r}")
    changes = []
    noted = machine.read(HOSTNAME).decode().strip() if machine.stat(HOSTNAME) is not None else None
    if noted != hostname:
        text = f"{hostname}\n".encode()
        changes.append(
            Change(key="hostname", old=noted, new=hostname, act=lambda machine: machine.write(HOSTNAME, text))
        )
    live = machine.read(LIVE).decode().strip() if apply_hostname else hostname
    if live != hostname:
        changes.append(
            Change(key="apply_hostname", old=live, new=hostname, act=lambda machine: _apply(machine, hostname))
        )
    return Plan(
        changes=tuple(changes),
        comment="Global network settings are up to date.",
        pending="Global network settings are set to be updated.",
        done="Global network settings are up to date.",
    )


def _apply(machine: Machine, hostname: str) -> None:
    done = machine.run(["hostname", hostname])
    if done.returncode != 0:
        raise StateFailed(f"The name of the host cannot be set to {hostname}: {done.stderr.strip()}")


STATES: Mapping[str, StateFunction] = {"system": system}
