"""The state module `pecl`: extensions of PHP.

Behaviour: doc/ref/states/all/salt.states.pecl.
"""

from __future__ import annotations

import posixpath
import re
from collections.abc import Mapping

from minion.arguments.types import NumberOrText
from minion.machine.failure import StateFailed
from minion.machine.plan import Change, Machine, Plan, Reader, StateFunction
from minion.providers.pecl import install, listed, named, uninstall

_ARCHIVE = re.compile(r"(?P<name>.+)-(?P<version>\d[^-]*)\.(?:tgz|tar)")


def installed(
    machine: Reader, name: str, *, version: NumberOrText | None = None, defaults: bool = False, force: bool = False,
    preferred_state: str = "stable",
) -> Plan:  # fmt: skip
    """The extension is there, in this version where one is given. The name may have a channel, or be an archive."""
    archive = _ARCHIVE.fullmatch(posixpath.basename(named(name))) if name.startswith("/") else None
    channel, _, package = ("", "", archive["name"]) if archive else name.rpartition("/")
    wanted = version or (archive["version"] if archive else None)
    there = listed(machine, channel or None).get(package)
    if there is not None and wanted in (None, there[0]):
        return Plan(comment=f"Pecl extension {name} is already installed.")
    full = f"{name}-{version}" if version else name

    def act(machine: Machine) -> None:
        try:
            install(machine, [full], defaults=defaults, force=force, preferred_state=preferred_state)
        except StateFailed as error:
            raise StateFailed(f"Could not install pecl extension {full}. {error}") from error

    return Plan(
        changes=(Change(key=full, reported="Installed", act=act),),
        pending=f"Pecl extension {full} would have been installed",
        done=f"Pecl extension {full} was successfully installed",
    )


def removed(machine: Reader, name: str) -> Plan:
    """The extension is not there."""
    channel, _, package = named(name).rpartition("/")
    if package not in listed(machine, channel or None):
        return Plan(comment=f"Pecl extension {name} is not installed.")

    def act(machine: Machine) -> None:
        try:
            uninstall(machine, [name])
        except StateFailed as error:
            raise StateFailed(f"Could not remove pecl extension {name}. {error}") from error

    return Plan(
        changes=(Change(key=name, reported="Removed", act=act),),
        pending=f"Pecl extension {name} would have been removed",
        done=f"Pecl extension {name} was successfully removed.",
    )


STATES: Mapping[str, StateFunction] = {"installed": installed, "removed": removed}
