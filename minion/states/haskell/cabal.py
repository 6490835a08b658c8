"""The state module `cabal`: packages of Haskell.

Behaviour: doc/ref/states/all/salt.states.cabal. Only what lacks is installed; what is to be had is read anew then.
"""

from __future__ import annotations

from collections.abc import Mapping

from minion.arguments.types import ListOfTexts, TextPairs
from minion.machine.failure import StateFailed
from minion.machine.plan import Change, Machine, Plan, Reader, StateFunction
from minion.providers.haskell.cabal import cabal_of, parted


def installed(
    machine: Reader, name: str, *, pkgs: ListOfTexts | None = None, user: str | None = None,
    install_global: bool = False, env: TextPairs | None = None,
) -> Plan:  # fmt: skip
    """Libraries are there: `lens`, or `lens-5.2` for one version; for a user, or for all."""
    cabal, wanted = cabal_of(user, env), pkgs or (name,)
    try:
        there = cabal.listed(machine, installed=True)
    except StateFailed as error:
        raise StateFailed(f"Error looking up '{name}': {error}") from error
    lacking = []
    for spec in wanted:
        package, version = parted(spec)
        if package not in there or (version and version not in there[package]):
            lacking.append(spec)
    if not lacking:
        return Plan(comment=f"Packages(s) '{', '.join(wanted)}' satisfied by {', '.join(wanted)}")

    def act(machine: Machine) -> None:
        try:
            cabal.update(machine)
        except StateFailed as error:
            raise StateFailed(f"Could not run cabal update {error}") from error
        try:
            cabal.install(machine, lacking, install_global=install_global)
        except StateFailed as error:
            raise StateFailed(f"Error installing '{', '.join(wanted)}': {error}") from error

    return Plan(
        changes=(
            Change(key="old", reported=[], act=act),
            Change(key="new", reported=lacking, act=lambda machine: None),
        ),
        pending=f"Packages(s) '{', '.join(lacking)}' are set to be installed",
        done=f"Packages(s) '{', '.join(lacking)}' successfully installed",
    )


def removed(machine: Reader, name: str, *, user: str | None = None, env: TextPairs | None = None) -> Plan:
    """GHC knows no such package."""
    cabal = cabal_of(user, env)
    try:
        there = cabal.listed(machine, installed=True)
    except StateFailed as error:
        raise StateFailed(f"Error looking up '{name}': {error}") from error
    if parted(name)[0] not in there:
        return Plan(comment=f"Package '{name}' is not installed")

    def act(machine: Machine) -> None:
        try:
            cabal.uninstall(machine, name)
        except StateFailed as error:
            raise StateFailed(f"Error removing package '{name}': {error}") from error

    return Plan(
        changes=(Change(key=name, reported="Removed", act=act),),
        pending=f"Package '{name}' is set to be removed",
        done=f"Package '{name}' was successfully removed",
    )


STATES: Mapping[str, StateFunction] = {"installed": installed, "removed": removed}
