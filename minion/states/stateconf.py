"""stateconf.set and stateconf.context: states without an effect, which the renderer `stateconf` writes and reads.

Called by the engine. Their arguments are the variables of an SLS; here they only stand in the order.
"""

from __future__ import annotations

from collections.abc import Mapping

from minion.machine.plan import Plan, Reader, StateFunction, Value


def nothing(machine: Reader, name: str, **arguments: Value) -> Plan:
    """Succeeds."""
    return Plan()


STATES: Mapping[str, StateFunction] = {"context": nothing, "set": nothing}
