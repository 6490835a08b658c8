"""The state module `zabbix_mediatype`: ways by which Zabbix tells people.

Behaviour: doc/ref/states/all/salt.states.zabbix_mediatype.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from minion.arguments.types import NumberOrText
from minion.machine.plan import Plan, Reader, StateFunction, Value
from minion.providers.zabbix.api import Zabbix
from minion.providers.zabbix.definitions import differing
from minion.states.zabbix.plans import created, deleted, deleting, exists, parted, updated


def present(machine: Reader, name: str, mediatype: NumberOrText, **given: Value) -> Plan:
    """There is such a type of media (0: mail, 1: script, 2: SMS, 4: webhook), with these properties of it."""
    connection, properties = parted(given)
    if "exec_params" in properties:  # a text with an end of line behind each
        lines = properties["exec_params"]
        properties["exec_params"] = "".join(f"{one}\n" for one in (lines if isinstance(lines, list) else [lines]))
    zabbix, what = Zabbix(machine, connection), f"Mediatype {name}"
    wanted = {"type": mediatype, **properties}
    found = _found(zabbix, name)
    if found is None:
        return created(what, name, lambda: zabbix.call("mediatype.create", {_key(zabbix): name, **wanted}))
    different = differing(wanted, found)
    if not different:
        return exists(what)
    params = {"mediatypeid": found["mediatypeid"], **different}
    shown = {key: "***" if key == "passwd" else one for key, one in different.items()}
    return updated(what, shown, lambda: zabbix.call("mediatype.update", params))


def absent(machine: Reader, name: str, **given: Value) -> Plan:
    """There is no such type of media."""
    zabbix = Zabbix(machine, given)
    found = _found(zabbix, name)
    return deleted(f"Mediatype {name}", name, deleting(zabbix, "mediatype", found))


def _key(zabbix: Zabbix) -> str:
    return "name" if zabbix.version >= (4, 4) else "description"


def _found(zabbix: Zabbix, name: str) -> dict[str, Any] | None:
    found = zabbix.call("mediatype.get", {"output": "extend", "filter": {_key(zabbix): name}})
    return found[0] if found else None


STATES: Mapping[str, StateFunction] = {"absent": absent, "present": present}
