"""The state module `gem`: packages of Ruby, and the servers that they come from.

Behaviour: doc/ref/states/all/salt.states.gem.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Annotated

from minion.arguments.types import NumberOrText, Unsupported, Value
from minion.machine.plan import Change, Machine, Plan, Reader, StateFunction
from minion.providers.gems import GemOptions, Gems, checked, in_file, satisfies, without_password

_OtherRuby = Annotated[Value, Unsupported("name the program gem of that Ruby by gem_bin")]


def installed(
    machine: Reader,
    name: str,
    *,
    ruby: _OtherRuby = None,
    gem_bin: str | None = None,
    user: str | None = None,
    version: NumberOrText | None = None,
    rdoc: bool = False,
    ri: bool = False,
    pre_releases: bool = False,
    proxy: str | None = None,
    source: str | None = None,
) -> Plan:
    """The package is there, in this version or as conditions (`>= 2`, `~> 1.4`) want it. The name may be a file."""
    gems = Gems(program=gem_bin or "gem", user=user)
    package, of_file = in_file(checked(name))
    there = gems.installed(machine).get(package, [])
    wanted = version or of_file
    if there and (not wanted or any(satisfies(one, wanted) for one in there)):
        compared = version is not None and not version[:1].isdigit()
        return Plan(comment="Installed Gem meets version requirements." if compared else "Gem is already installed.")
    options = GemOptions(version, rdoc, ri, pre_releases, proxy, source and without_password(source))
    return _changing(
        name,
        "Installed",
        lambda machine: gems.install(machine, [name], options),
        pending=f"The gem {name} would have been installed",
        done="Gem was successfully installed",
    )


def removed(
    machine: Reader, name: str, *, ruby: _OtherRuby = None, user: str | None = None, gem_bin: str | None = None
) -> Plan:
    """The package is not there, in no version."""
    gems = Gems(program=gem_bin or "gem", user=user)
    if checked(name) not in gems.installed(machine):
        return Plan(comment="Gem is not installed.")
    return _changing(
        name,
        "Removed",
        lambda machine: gems.tell(machine, "uninstall", name, "-a", "-x"),
        pending=f"The gem {name} would have been removed",
        done="Gem was successfully removed.",
    )


def sources_add(machine: Reader, name: str, *, ruby: _OtherRuby = None, user: str | None = None) -> Plan:
    """Packages come from this server, too."""
    gems = Gems(program="gem", user=user)
    if without_password(checked(name)) in gems.sources(machine):
        return Plan(comment="Gem source is already added.")
    return _changing(
        name,
        "Installed",
        lambda machine: gems.tell(machine, "sources", "--add", name),
        pending=f"The gem source {name} would have been added.",
        done="Gem source was successfully added.",
    )


def sources_remove(machine: Reader, name: str, *, ruby: _OtherRuby = None, user: str | None = None) -> Plan:
    """Packages do not come from this server."""
    gems = Gems(program="gem", user=user)
    if without_password(checked(name)) not in gems.sources(machine):
        return Plan(comment="Gem source is already removed.")
    return _changing(
        name,
        "Removed",
        lambda machine: gems.tell(machine, "sources", "--remove", name),
        pending="The gem source would have been removed.",
        done="Gem source was successfully removed.",
    )


def _changing(name: str, reported: str, tell: Callable[[Machine], str], *, pending: str, done: str) -> Plan:
    def act(machine: Machine) -> None:
        tell(machine)

    return Plan(changes=(Change(key=name, reported=reported, act=act),), pending=pending, done=done)


STATES: Mapping[str, StateFunction] = {
    "installed": installed,
    "removed": removed,
    "sources_add": sources_add,
    "sources_remove": sources_remove,
}
