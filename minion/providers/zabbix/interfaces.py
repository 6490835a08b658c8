"""Interfaces of hosts, as SLS has them and as the API takes them. Pure.

Called by the state `zabbix_host`. Source: https://www.zabbix.com/documentation/current/en/manual/api/reference/hostinterface/object.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from minion.machine.failure import StateFailed

_TYPES = {"agent": ("1", "10050"), "snmp": ("2", "161"), "ipmi": ("3", "623"), "jmx": ("4", "12345")}
_SNMP3 = ("securitylevel", "securityname", "contextname")
_AUTH, _PRIVACY = ("authpassphrase", "authprotocol"), ("privpassphrase", "privprotocol")
_NUMBERS = frozenset(("securitylevel", "authprotocol", "privprotocol"))


def interfaces_of(given: Sequence[Any]) -> list[dict[str, Any]]:
    """Of a list of mappings of a name to its attributes; main ones first. Raises StateFailed."""
    found = []
    for each in given:
        if not isinstance(each, Mapping):
            raise StateFailed(f"interfaces: {each!r} is no mapping of a name to its attributes")
        for name, parts in each.items():
            found.append(_interface(str(name), _merged(parts)))
    return sorted(found, key=lambda one: str(one["main"]), reverse=True)


def paired(wanted: Sequence[Mapping[str, Any]], existing: Sequence[Mapping[str, Any]]) -> list[dict[str, Any]]:
    """Interfaces with the ids of those that are there, of the same kind: these are changed, and others deleted."""
    left: dict[str, list[str]] = {}
    for one in sorted(existing, key=lambda each: str(each["main"]), reverse=True):
        left.setdefault(str(one["type"]), []).append(str(one["interfaceid"]))
    return [{**one, **({"interfaceid": left[one["type"]].pop(0)} if left.get(one["type"]) else {})} for one in wanted]


def _interface(name: str, given: Mapping[str, Any]) -> dict[str, Any]:
    kind = str(given.get("type", "")).lower()
    if kind not in _TYPES:
        raise StateFailed(f"interfaces: {name}: type is one of {', '.join(_TYPES)}")
    number, port = _TYPES[kind]
    return {
        "type": number,
        "main": _flag(given.get("main", True)),
        "useip": _flag(given.get("useip", True)),
        "ip": str(given.get("ip", "")),
        "dns": str(given.get("dns", name)),
        "port": str(given.get("port", port)),
        "details": _details(_merged(given.get("details"))) if kind == "snmp" else [],
    }


def _details(given: Mapping[str, Any]) -> dict[str, str]:
    found = {
        "version": str(given.get("version", "2")),
        "bulk": str(given.get("bulk", "1")),
        "community": str(given.get("community", "{$SNMP_COMMUNITY}")),
    }
    if found["version"] == "3":
        level = int(given.get("securitylevel", 0))
        for key in (*_SNMP3, *(_AUTH if level > 0 else ()), *(_PRIVACY if level > 1 else ())):
            found[key] = str(given.get(key, "0" if key in _NUMBERS else ""))
    return found


def _merged(parts: Any) -> dict[str, Any]:
    if isinstance(parts, Mapping):
        return dict(parts)
    return {key: one for part in parts or () for key, one in part.items()}


def _flag(value: Any) -> str:
    return "1" if str(value).lower() in ("true", "1") else "0"
