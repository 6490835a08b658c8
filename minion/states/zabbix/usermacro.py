"""The state module `zabbix_usermacro`: macros of a host, or of all.

Behaviour: doc/ref/states/all/salt.states.zabbix_usermacro.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from minion.arguments.types import NumberOrText
from minion.machine.plan import Plan, Reader, StateFunction, Value
from minion.providers.zabbix.api import Zabbix
from minion.providers.zabbix.definitions import differing
from minion.states.zabbix.plans import created, deleted, exists, parted, updated


def present(
    machine: Reader, name: str, value: NumberOrText, *, hostid: NumberOrText | None = None, **given: Value
) -> Plan:
    """The macro has this value, of one host or of all, and other properties: `description`, `type`."""
    connection, more = parted(given)
    zabbix, what = Zabbix(machine, connection), _what(name, hostid)
    found = _found(zabbix, name, hostid)
    if found is None:
        owner = {"hostid": hostid} if hostid else {}
        params = {"macro": name, "value": value, **owner, **more}
        method = "usermacro.create" if hostid else "usermacro.createglobal"
        return created(what, name, lambda: zabbix.call(method, params))
    hidden = "value" not in found  # a secret text is not told: that it is another one is not known
    different = differing(more if hidden else {"value": value, **more}, found)
    if not different:
        return exists(what)
    key, method = ("hostmacroid", "usermacro.update") if hostid else ("globalmacroid", "usermacro.updateglobal")
    params = {key: found[key], **different, "value": value}
    secret = str(more.get("type", found.get("type"))) == "1"
    shown = {one: "***" if one == "value" and secret else each for one, each in different.items()}
    return updated(what, shown, lambda: zabbix.call(method, params))


def absent(machine: Reader, name: str, *, hostid: NumberOrText | None = None, **given: Value) -> Plan:
    """There is no such macro, of one host or of all."""
    zabbix = Zabbix(machine, given)
    found = _found(zabbix, name, hostid)
    key, method = ("hostmacroid", "usermacro.delete") if hostid else ("globalmacroid", "usermacro.deleteglobal")
    ask = None if found is None else lambda: zabbix.call(method, [found[key]])
    return deleted(_what(name, hostid), name, ask)


def _found(zabbix: Zabbix, name: str, hostid: str | None) -> dict[str, Any] | None:
    where = {"hostids": hostid} if hostid else {"globalmacro": True}
    found = zabbix.call("usermacro.get", {"output": "extend", "filter": {"macro": name}, **where})
    return found[0] if found else None


def _what(name: str, hostid: str | None) -> str:
    return f"Usermacro {name} on hostid {hostid}" if hostid else f"Usermacro {name}"


STATES: Mapping[str, StateFunction] = {"absent": absent, "present": present}
