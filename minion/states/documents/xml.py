"""The state module `xml`: elements of XML documents.

Behaviour: doc/ref/states/all/salt.states.xml.
"""

from __future__ import annotations

from collections.abc import Mapping

from minion.machine.failure import StateFailed
from minion.machine.plan import Change, Machine, Plan, Reader, StateFunction
from minion.providers.xml_documents import XmlDocument


def value_present(machine: Reader, name: str, xpath: str, value: str) -> Plan:
    """The first element that `xpath` leads to has this text."""
    try:
        document = XmlDocument(machine.read(name), name)
    except OSError as error:
        raise StateFailed(f"{name}: {error.strerror}") from error
    found = document.find(xpath)
    if found is None:
        raise StateFailed(f"xpath query {xpath} not found in {name}")
    old = found.text or ""
    if old == value:
        return Plan(comment=f"{value} is already present")
    changed = document.with_text(found, value)

    def act(machine: Machine) -> None:
        machine.write(name, changed)

    return Plan(
        changes=(Change(key=name, old=old, new=value, act=act),),
        pending=f"{name} will be updated",
        done=f"{name} updated",
    )


STATES: Mapping[str, StateFunction] = {"value_present": value_present}
