"""The state module `composer`: a project of PHP has its dependencies.

Behaviour: doc/ref/states/all/salt.states.composer. What would be done is asked of composer itself, by a trial run.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated

from minion.arguments.types import Ignored, Value
from minion.machine.failure import StateFailed
from minion.machine.plan import Change, Machine, Plan, Reader, StateFunction
from minion.providers.composer import ComposerOptions, carry_out, is_installed, operations

_Quiet = Annotated[Value, Ignored("what changes is what composer foretells; its output is not shown")]


def installed(
    machine: Reader, name: str, *, user: str | None = None, quiet: _Quiet = False, always_check: bool = True,
    options: ComposerOptions,
) -> Plan:  # fmt: skip
    """The folder has what its composer.lock names, or its composer.json; without `always_check` once only."""
    there = is_installed(machine, name)
    if there and not always_check:
        return Plan(comment="Composer already installed this directory")
    return _brought(machine, "install", name, user, options, there=there)


def update(
    machine: Reader, name: str, *, user: str | None = None, quiet: _Quiet = False, options: ComposerOptions
) -> Plan:
    """The folder has the newest dependencies that its composer.json allows."""
    return _brought(machine, "update", name, user, options, there=is_installed(machine, name))


def _brought(
    machine: Reader, action: str, name: str, user: str | None, options: ComposerOptions, *, there: bool
) -> Plan:
    try:
        lacking = operations(machine, action, name, user, options)
    except StateFailed as error:
        raise StateFailed(f"Error executing composer in '{name}': {error}") from error
    if there and not lacking:
        return Plan(comment="Composer already installed this directory")

    def act(machine: Machine) -> None:
        try:
            carry_out(machine, action, name, user, options)
        except StateFailed as error:
            raise StateFailed(f"Error executing composer in '{name}': {error}") from error

    old = f"composer install has {'' if there else 'not '}been run in {name}"
    new = list(lacking) or f"composer {action} will be run in {name}"
    return Plan(
        changes=(
            Change(key="old", reported=old, act=act),
            Change(key="new", reported=new, act=lambda machine: None),
        ),
        pending=f'The state of "{name}" will be changed.',
        done=f"Composer {action} completed successfully",
    )


STATES: Mapping[str, StateFunction] = {"installed": installed, "update": update}
