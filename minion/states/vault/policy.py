"""The state module `vault`: policies of a Vault or OpenBao server, with the token of this minion.

Behaviour: salt.states.vault of saltext-vault.
"""

from __future__ import annotations

import difflib
from collections.abc import Mapping

from minion.machine.failure import StateFailed
from minion.machine.functions import Functions, KnownFunctions
from minion.machine.plan import Change, Machine, Plan, Reader, StateFunction


def policy_present(machine: Reader, name: str, *, rules: str, functions: Functions) -> Plan:
    """The policy has these rules, as they are written."""
    there = _rules(functions, name)
    if there == rules:
        return Plan(comment="Policy exists, and has the correct content")
    diff = "".join(difflib.unified_diff((there or "").splitlines(True), rules.splitlines(True)))
    done = "created" if there is None else "updated"

    def act(machine: Machine) -> None:
        machine.begin_elsewhere()
        functions.call("vault.policy_write", (name, rules))

    return Plan(
        changes=(Change(key=name, reported=diff, act=act),),
        pending=f"Policy would be {done}",
        done=f"Policy has been {done}",
    )


def policy_absent(machine: Reader, name: str, *, functions: Functions) -> Plan:
    """There is no such policy."""
    if _rules(functions, name) is None:
        return Plan(comment="Policy is already absent")

    def act(machine: Machine) -> None:
        machine.begin_elsewhere()
        if not functions.call("vault.policy_delete", (name,)):
            raise StateFailed("the policy was there, and was gone when it was to be deleted")

    return Plan(
        changes=(Change(key="deleted", reported=name, act=act),),
        pending="Policy would be deleted",
        done="Policy has been deleted",
    )


def _rules(functions: KnownFunctions, name: str) -> str | None:
    try:
        found: str | None = functions.look("vault.policy_fetch", (name,))
    except StateFailed:
        raise
    except Exception as error:
        raise StateFailed(f"Failed to read policy: {error}") from error
    return found


STATES: Mapping[str, StateFunction] = {"policy_absent": policy_absent, "policy_present": policy_present}
