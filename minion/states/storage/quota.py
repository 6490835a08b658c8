"""The state module `quota`: whether a file system has quotas that count.

Behaviour: doc/ref/states/all/salt.states.quota.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated

from minion.arguments.types import Reads, as_word
from minion.machine.failure import StateFailed
from minion.machine.plan import Change, Machine, Plan, Reader, StateFunction
from minion.providers.storage import quotas

OnOff = Annotated[bool, Reads(as_word)]


def mode(machine: Reader, name: str, *, mode: OnOff, quotatype: str) -> Plan:
    """Quotas of users, or of groups (`quotatype`), are on or off for the file system that is mounted at `name`."""
    quotas.sign_of(quotatype)
    word = "on" if mode else "off"
    found = quotas.quota_mode(machine, name)
    if found is None or quotatype not in found.kinds:
        raise StateFailed(
            f"Failed to set quota for {name} to {word}: it is not mounted with quotas of type {quotatype}"
        )
    if found.kinds[quotatype] == word:
        return Plan(comment=f"Quota for {name} already set to {word}")

    def act(machine: Machine) -> None:
        try:
            quotas.turn(machine, name, word, quotatype)
        except StateFailed as failed:
            raise StateFailed(f"Failed to set quota for {name} to {word}: {failed}") from failed

    return Plan(
        changes=(Change(key="quota", reported=name, act=act),),
        pending=f"Quota for {name} needs to be set to {word}",
        done=f"Set quota for {name} to {word}",
    )


STATES: Mapping[str, StateFunction] = {"mode": mode}
