"""The state module `vault_secret`: secrets of key-value engines. No value is in a change or a comment.

Behaviour: salt.states.vault_secret of saltext-vault.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Literal

from minion.arguments.types import Map
from minion.machine.failure import StateFailed
from minion.machine.functions import Functions, KnownFunctions
from minion.machine.plan import Change, Machine, Plan, Reader, StateFunction
from minion.providers.vault.merge_patch import merged

_DONE = {"delete": "deleted", "destroy": "destroyed", "wipe": "wiped"}


def present(machine: Reader, name: str, *, values: Map, sync: bool = False, functions: Functions) -> Plan:
    """The secret has these values; null takes a key out. `sync`: it has no others."""
    there = _read(functions, name)
    if there is not None and (dict(values) if sync else merged(there, values)) == there:
        return Plan(comment="The secret is already present as specified")
    verb, done = ("patch", "patched") if there is not None and not sync else ("write", "written")

    def act(machine: Machine) -> None:
        machine.begin_elsewhere()
        functions.call(f"vault.{verb}_raw", (name, dict(values)))

    return Plan(
        changes=(Change(key=done, reported=name, act=act),),
        pending=f"Would have {done} the secret",
        done=f"The secret was {done}",
    )


def absent(
    machine: Reader,
    name: str,
    *,
    operation: Literal["delete", "destroy", "wipe"] = "delete",
    functions: Functions,
) -> Plan:
    """The secret cannot be read: its newest version is deleted or destroyed, or all of it wiped."""
    if _read(functions, name) is None:
        return Plan(comment="The secret is already absent")
    done = _DONE[operation]

    def act(machine: Machine) -> None:
        machine.begin_elsewhere()
        functions.call(f"vault.{operation}_secret", (name,))

    return Plan(
        changes=(Change(key=done, reported=name, act=act),),
        pending=f"Would have {done} the secret",
        done=f"The secret has been {done}",
    )


def _read(functions: KnownFunctions, name: str) -> Mapping[str, Any] | None:
    """The secret; None where there is none."""
    try:
        found: Mapping[str, Any] = functions.look("vault.read_secret", (name,))
    except StateFailed:
        raise
    except Exception as error:
        if str(error).startswith("there is nothing at"):
            return None
        raise StateFailed(str(error)) from error
    return found


STATES: Mapping[str, StateFunction] = {"absent": absent, "present": present}
