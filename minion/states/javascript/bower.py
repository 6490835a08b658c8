"""The state module `bower`: packages of a project.

Behaviour: doc/ref/states/all/salt.states.bower. Only what lacks is installed.
"""

from __future__ import annotations

from collections.abc import Mapping

from minion.arguments.types import ListOfTexts, TextPairs, Value
from minion.machine.failure import StateFailed
from minion.machine.plan import Change, Machine, Plan, Reader, StateFunction
from minion.providers.bower import Bower, bower_of, extraneous, have, lacking


def installed(
    machine: Reader, name: str, dir: str, *, pkgs: ListOfTexts | None = None, user: str | None = None,  # noqa: A002
    env: TextPairs | None = None,
) -> Plan:  # fmt: skip
    """A folder has packages: `jquery`, `jquery#2.0`, a path, an address of git."""
    bower, wanted = bower_of(dir, user, env), pkgs or (name,)
    there = _listed(bower, machine, f"Error looking up '{name}'")
    found = {spec: have(there, spec) for spec in wanted}
    missing = [spec for spec, known in found.items() if not known]
    if not missing:
        return Plan(comment=f"Package(s) '{', '.join(wanted)}' satisfied by {', '.join(found.values())}")
    return _changing(
        bower, "install", missing, {"old": [], "new": missing},
        pending=f"Bower package(s) '{', '.join(missing)}' are set to be installed",
        done=f"Package(s) '{', '.join(missing)}' successfully installed",
        failed=f"Error installing '{', '.join(wanted)}'",
    )  # fmt: skip


def removed(machine: Reader, name: str, dir: str, *, user: str | None = None) -> Plan:  # noqa: A002  (Salt's name)
    """A folder has no such package."""
    bower = bower_of(dir, user)
    there = _listed(bower, machine, f"Error removing '{name}'")
    if name not in there or there[name].get("missing"):
        return Plan(comment=f"Package '{name}' is not installed")
    return _changing(
        bower, "uninstall", [name], {name: "Removed"}, pending=f"Package '{name}' is set to be removed",
        done=f"Package '{name}' was successfully removed", failed=f"Error removing '{name}'",
    )  # fmt: skip


def bootstrap(machine: Reader, name: str, *, user: str | None = None) -> Plan:
    """A folder has all that its bower.json names."""
    bower = bower_of(name, user)
    if not lacking(_listed(bower, machine, f"Error bootstrapping '{name}'")):
        return Plan(comment="Directory is already bootstrapped")
    return _changing(
        bower, "install", [], {name: "Bootstrapped"}, pending=f"Directory '{name}' is set to be bootstrapped",
        done="Directory was successfully bootstrapped", failed=f"Error bootstrapping '{name}'",
    )  # fmt: skip


def pruned(machine: Reader, name: str, *, user: str | None = None, env: TextPairs | None = None) -> Plan:
    """A folder has no packages but those that its bower.json names."""
    bower = bower_of(name, user, env)
    found = extraneous(_listed(bower, machine, f"Error pruning '{name}'"))
    if not found:
        return Plan(comment=f"No packages were pruned from directory '{name}'")
    return _changing(
        bower, "prune", [], {"old": [], "new": found}, pending=f"Directory '{name}' is set to be pruned",
        done=f"Directory '{name}' was successfully pruned", failed=f"Error pruning '{name}'",
    )  # fmt: skip


def _listed(bower: Bower, machine: Reader, failed: str) -> dict[str, Value]:
    try:
        return bower.listed(machine)
    except StateFailed as error:
        raise StateFailed(f"{failed}: {error}") from error


def _changing(
    bower: Bower, action: str, specs: list[str], reported: Mapping[str, Value], *, pending: str, done: str, failed: str
) -> Plan:
    def act(machine: Machine) -> None:
        try:
            bower.tell(machine, action, specs)
        except StateFailed as error:
            raise StateFailed(f"{failed}: {error}") from error

    first, *others = reported
    changes = [Change(key=first, reported=reported[first], act=act)]
    changes += [Change(key=key, reported=reported[key], act=lambda machine: None) for key in others]
    return Plan(changes=tuple(changes), pending=pending, done=done)


STATES: Mapping[str, StateFunction] = {
    "bootstrap": bootstrap,
    "installed": installed,
    "pruned": pruned,
    "removed": removed,
}
