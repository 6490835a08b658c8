"""Functions of `zabbix` about hosts, their groups, interfaces and inventory."""

from __future__ import annotations

from typing import Any

from minion.arguments.types import AnyValue, Each
from minion.execution.context import Context
from minion.execution.errors import CallFailed
from minion.modules.zabbix.ask import OldNodes, as_list, connected, deleted, gotten, properties


def host_create(context: Context, host: str, groups: Each, interfaces: Each, **given: AnyValue) -> Any:
    """Make a host; its id. `groups` are ids, `interfaces` and other params the API's, `visible_name` its `name`."""
    where = [{"groupid": one} for one in groups]
    params = {"host": host, "groups": where, "interfaces": interfaces, **properties(given, "visible_name")}
    return connected(context, given).call("host.create", params)["hostids"]


def host_delete(context: Context, hostids: Each, **given: AnyValue) -> Any:
    """Delete hosts by their ids."""
    return deleted(context, "host.delete", hostids, given)


def host_exists(
    context: Context, host: str | None = None, hostid: AnyValue = None, name: str | None = None,
    node: OldNodes = None, nodeids: OldNodes = None, **given: AnyValue,
) -> bool:  # fmt: skip
    """Whether there is a host: by its technical name, id or visible name."""
    if not host and not hostid and not name:
        raise CallFailed("Please submit hostid, host or name parameter to check if at least one host exists.")
    return bool(gotten(context, "host", {"host": host, "name": name}, given, hostids=hostid))


def host_get(
    context: Context, host: str | None = None, name: str | None = None, hostids: AnyValue = None, **given: AnyValue
) -> Any:
    """Hosts by technical or visible name, or ids; false where there is none."""
    if not host and not name and not hostids:
        return False
    return gotten(context, "host", {"host": host, "name": name}, given, hostids=hostids)


def host_inventory_get(context: Context, hostids: AnyValue, **given: AnyValue) -> Any:
    """The inventory of a host; false where there is none."""
    found = connected(context, given).call("host.get", {"hostids": hostids, "selectInventory": "extend"})
    return found[0]["inventory"] or False if found else False


def host_inventory_set(
    context: Context, hostid: AnyValue, clear_old: bool = False, inventory_mode: AnyValue = "0", **given: AnyValue
) -> Any:
    """Set fields of a host's inventory; with `clear_old` all others are emptied."""
    zabbix = connected(context, given)
    if clear_old:
        zabbix.call("host.update", {"hostid": hostid, "inventory_mode": "-1"})
    params = {"hostid": hostid, "inventory_mode": inventory_mode, "inventory": properties(given)}
    return zabbix.call("host.update", params)


def host_list(context: Context, **given: AnyValue) -> Any:
    """All hosts."""
    return connected(context, given).call("host.get", {"output": "extend"})


def host_update(context: Context, hostid: AnyValue, **given: AnyValue) -> Any:
    """Change a host; its id. `groups` are ids, `visible_name` is the API's `name`."""
    params = properties(given, "visible_name")
    if "groups" in params:
        params["groups"] = [{"groupid": one} for one in as_list(params["groups"])]
    return connected(context, given).call("host.update", {"hostid": hostid, **params})["hostids"]


def hostgroup_create(context: Context, name: str, **given: AnyValue) -> Any:
    """Make a group of hosts; its id."""
    return connected(context, given).call("hostgroup.create", {"name": name, **properties(given)})["groupids"]


def hostgroup_delete(context: Context, hostgroupids: Each, **given: AnyValue) -> Any:
    """Delete groups of hosts by their ids."""
    return deleted(context, "hostgroup.delete", hostgroupids, given)


def hostgroup_exists(
    context: Context, name: str | None = None, groupid: AnyValue = None, node: OldNodes = None,
    nodeids: OldNodes = None, **given: AnyValue,
) -> bool:  # fmt: skip
    """Whether there is a group of hosts."""
    if not name and not groupid:
        raise CallFailed("Please submit groupid or name parameter to check if at least one host group exists.")
    return bool(gotten(context, "hostgroup", {"name": name}, given, groupids=groupid))


def hostgroup_get(
    context: Context, name: str | None = None, groupids: AnyValue = None, hostids: AnyValue = None, **given: AnyValue
) -> Any:
    """Groups of hosts by name, ids, or hosts in them; false where there is none."""
    if not name and not groupids and not hostids:
        return False
    return gotten(context, "hostgroup", {"name": name}, given, groupids=groupids, hostids=hostids)


def hostgroup_list(context: Context, **given: AnyValue) -> Any:
    """All groups of hosts."""
    return connected(context, given).call("hostgroup.get", {"output": "extend"})


def hostgroup_update(context: Context, groupid: AnyValue, name: str | None = None, **given: AnyValue) -> Any:
    """Give a group of hosts another name; its id."""
    named = {"name": name} if name else {}
    return connected(context, given).call("hostgroup.update", {"groupid": groupid, **named, **properties(given)})[
        "groupids"
    ]


def hostinterface_create(
    context: Context, hostid: AnyValue, ip_: str, dns: str = "", main: int = 1, if_type: int = 1, useip: int = 1,
    port: AnyValue = None, **given: AnyValue,
) -> Any:  # fmt: skip
    """Make an interface of a host (1: agent, 2: SNMP, 3: IPMI, 4: JMX); its id."""
    ports = ("10050", "161", "623", "12345")
    place = {"hostid": hostid, "ip": ip_, "dns": dns, "port": port or ports[if_type - 1]}
    details = properties(given).get("details") or []
    params = {**place, "main": main, "type": if_type, "useip": useip, "details": details, **properties(given)}
    return connected(context, given).call("hostinterface.create", params)["interfaceids"]


def hostinterface_delete(context: Context, interfaceids: Each, **given: AnyValue) -> Any:
    """Delete interfaces by their ids."""
    return deleted(context, "hostinterface.delete", interfaceids, given)


def hostinterface_get(context: Context, hostids: AnyValue, **given: AnyValue) -> Any:
    """The interfaces of hosts; false where there is none."""
    return gotten(context, "hostinterface", {}, given, hostids=hostids)


def hostinterface_update(context: Context, interfaceid: AnyValue, **given: AnyValue) -> Any:
    """Change an interface; its id."""
    params = {"interfaceid": interfaceid, **properties(given)}
    return connected(context, given).call("hostinterface.update", params)["interfaceids"]
