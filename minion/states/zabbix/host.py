"""The state module `zabbix_host`: hosts that Zabbix watches, and their templates.

Behaviour: doc/ref/states/all/salt.states.zabbix_host.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from minion.arguments.types import AnyValue, Each, List, Pairs
from minion.machine.failure import StateFailed
from minion.machine.plan import Change, Plan, Reader, StateFunction, Value
from minion.providers.zabbix.api import Zabbix
from minion.providers.zabbix.definitions import differing, fits
from minion.providers.zabbix.interfaces import interfaces_of, paired
from minion.states.zabbix.plans import act_of, created, deleted, deleting, exists, parted, updated

_WRITTEN_ONLY = frozenset(("tls_psk", "tls_psk_identity"))
"""Properties that Zabbix does not tell: they are those of a new host, or go along with other changes."""
_SECRET = frozenset(("tls_psk", "ipmi_password"))


def present(
    machine: Reader, name: str, host: str, groups: Each, interfaces: List, *, proxy_host: AnyValue = None,
    inventory: Pairs | None = None, inventory_clean: bool = True, visible_name: str | None = None, **given: Value,
) -> Plan:  # fmt: skip
    """There is such a host, in these groups (ids or names), with these interfaces, inventory and other properties."""
    connection, properties = parted(given)
    zabbix, what = Zabbix(machine, connection), f"Host {host}"
    if visible_name:
        properties["name"] = visible_name
    where = [{"groupid": _group(zabbix, one)} for one in groups]
    wanted, proxy = interfaces_of(interfaces), _proxy(zabbix, proxy_host)
    found = _found(zabbix, host)
    if found is None:
        kept = {"inventory_mode": 0, "inventory": dict(inventory)} if inventory else {}
        params = {"host": host, "groups": where, "interfaces": wanted, **proxy, **kept, **properties}
        return created(what, host, lambda: zabbix.call("host.create", params))
    params = differing({key: one for key, one in properties.items() if key not in _WRITTEN_ONLY}, found)
    shown = {"host": str({key: "***" if key in _SECRET else one for key, one in params.items()})} if params else {}
    if change := _inventory(found, properties, inventory, inventory_clean):
        params |= {"inventory_mode": params.get("inventory_mode", _mode(found)), "inventory": change}
        shown["inventory"] = str(dict(inventory or {}))
    if different := differing(proxy, found):
        params |= different
        shown["proxy_hostid"] = str(next(iter(different.values())))
    if not fits(where, [{"groupid": one["groupid"]} for one in found[_groups_key(zabbix)]]):
        params["groups"] = where
        shown["groups"] = str([int(one["groupid"]) for one in where])
    if not fits(wanted, found["interfaces"]):
        params["interfaces"] = paired(wanted, found["interfaces"])
        shown["interfaces"] = str([{**one, "details": _shown(one["details"])} for one in wanted])
    if not params:
        return exists(what)
    params |= {key: one for key, one in properties.items() if key in _WRITTEN_ONLY}
    return updated(what, shown, lambda: zabbix.call("host.update", {"hostid": found["hostid"], **params}))


def absent(machine: Reader, name: str, **given: Value) -> Plan:
    """There is no such host."""
    zabbix = Zabbix(machine, given)
    return deleted(f"Host {name}", name, deleting(zabbix, "host", _found(zabbix, name)))


def assign_templates(machine: Reader, name: str, host: str, templates: Each, **given: Value) -> Plan:
    """The host has these templates, and no others; what others brought stays."""
    zabbix = Zabbix(machine, given)
    found = zabbix.call(
        "host.get", {"output": ["hostid"], "selectParentTemplates": ["templateid"], "filter": {"host": host}}
    )
    if not found:
        raise StateFailed(f"Unable to update templates on host: {host}.")
    now = sorted(str(one["templateid"]) for one in found[0]["parentTemplates"])
    wanted = sorted({_template(zabbix, str(one)) for one in templates})
    if now == wanted:
        return Plan(comment="Templates already synced.")
    params = {"hostid": found[0]["hostid"], "templates": [{"templateid": one} for one in wanted]}
    act = act_of(lambda: zabbix.call("host.update", params), f"Unable to update templates on host: {host}. ")
    old, new = (f"Host templates: {', '.join(one)}" for one in (now, wanted))
    return Plan(
        changes=(Change(key=host, old=old, new=new, act=act),),
        pending="Templates updated.",
        done="Templates updated.",
    )


def _found(zabbix: Zabbix, host: str) -> dict[str, Any] | None:
    parts = {"selectInterfaces": "extend", "selectInventory": "extend"}
    groups = "selectHostGroups" if zabbix.version >= (6, 2) else "selectGroups"
    found = zabbix.call("host.get", {"output": "extend", "filter": {"host": host}, groups: ["groupid"], **parts})
    return found[0] if found else None


def _shown(details: Any) -> Any:
    """Details of an interface without what is secret in them."""
    return {key: "***" if key.endswith("phrase") else one for key, one in details.items()} if details else details


def _groups_key(zabbix: Zabbix) -> str:
    return "hostgroups" if zabbix.version >= (6, 2) else "groups"


def _group(zabbix: Zabbix, group: Any) -> str:
    if not isinstance(group, str) or group.isdigit():
        return str(group)
    found = zabbix.named("hostgroup", group)
    if found is None:
        raise StateFailed(f"Invalid group {group}")
    return str(found["groupid"])


def _proxy(zabbix: Zabbix, proxy: Any) -> dict[str, str]:
    """The properties that name the proxy; without one they say that there is none."""
    new = zabbix.version >= (7, 0)
    if not proxy:
        return {"monitored_by": "0"} if new else {"proxy_hostid": "0"}
    by_name = {"filter": {"name" if new else "host": proxy}}
    found = zabbix.call(
        "proxy.get", {"output": ["proxyid"], **(by_name if isinstance(proxy, str) else {"proxyids": proxy})}
    )
    if not found:
        raise StateFailed(f"Invalid proxy_host {proxy}")
    identity = str(found[0]["proxyid"])
    return {"monitored_by": "1", "proxyid": identity} if new else {"proxy_hostid": identity}


def _template(zabbix: Zabbix, template: str) -> str:
    found = zabbix.call("template.get", {"output": ["templateid"], "filter": {"host": template}})
    if not found:
        raise StateFailed(f"Unable to find template: {template}.")
    return str(found[0]["templateid"])


def _mode(found: Mapping[str, Any]) -> str:
    """Of the inventory: by hand, where it was off."""
    mode = str(found.get("inventory_mode", "-1"))
    return "0" if mode == "-1" else mode


def _inventory(
    found: Mapping[str, Any], properties: Mapping[str, Any], wanted: Mapping[str, Any] | None, clean: bool
) -> dict[str, str]:
    """The fields to set; with `clean` others are emptied. None where nothing is said of them, or they are off."""
    if wanted is None or str(properties.get("inventory_mode", "")) == "-1":
        return {}
    now = found["inventory"] if isinstance(found["inventory"], Mapping) else {}
    fields = {key: str(one) for key, one in wanted.items() if str(now.get(key, "")) != str(one)}
    if clean:
        fields |= {
            key: "" for key, one in now.items() if one and key not in wanted and key not in ("hostid", "inventory_mode")
        }
    return fields


STATES: Mapping[str, StateFunction] = {"absent": absent, "assign_templates": assign_templates, "present": present}
