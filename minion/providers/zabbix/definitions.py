"""Definitions of objects as SLS has them, against objects as Zabbix gives them.

Called by the states `zabbix_…` and the execution module `zabbix`. Zabbix gives each value as a text.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from minion.machine.failure import StateFailed
from minion.providers.zabbix.api import Zabbix

_TOP_LEVEL = frozenset(
    (
        "action", "drule", "host", "hostgroup", "maintenance", "mediatype", "proxy", "screen", "script", "service",
        "template", "templategroup", "usergroup", "valuemap",
    )
)  # fmt: skip
"""Kinds whose names are unique: nothing else is needed to find one."""


def filled(zabbix: Zabbix, value: Any, extend: Mapping[str, Any] | None = None, key: str = "name") -> Any:
    """A definition with ids in place of `{query_object: KIND, query_name: NAME}`, and texts in place of numbers.

    Args:
        zabbix: is asked for the ids.
        value: the definition.
        extend: more params for questions about objects whose names are not unique.
        key: the field that `query_name` is looked for in.
    """
    if isinstance(value, list):
        return [filled(zabbix, one, extend, key) for one in value]
    if not isinstance(value, Mapping):
        return str(value)
    if "query_object" not in value:
        return {name: filled(zabbix, one, extend, key) for name, one in value.items()}
    if "query_name" not in value:
        raise StateFailed(f"Querying object ID requested but object name not provided: {dict(value)}")
    kind = str(value["query_object"])
    more = {} if kind in _TOP_LEVEL else extend or {}
    return zabbix.id_of(kind, {**more, "filter": {key: value["query_name"]}})


def fits(defined: Any, existing: Any) -> bool:
    """Whether all that is defined holds of what exists. The order of lists does not count."""
    if isinstance(defined, Mapping):
        return isinstance(existing, Mapping) and not differing(defined, existing)
    if isinstance(defined, list | tuple):
        if not isinstance(existing, list) or len(defined) != len(existing):
            return False
        left = list(existing)
        for one in defined:
            found = next((other for other in left if fits(one, other)), None)
            if found is None:
                return False
            left.remove(found)
        return True
    return not isinstance(existing, list | Mapping) and _text(defined) == _text(existing)


def differing(defined: Mapping[str, Any], existing: Mapping[str, Any]) -> dict[str, Any]:
    """The parts of a definition that do not hold."""
    return {key: one for key, one in defined.items() if key not in existing or not fits(one, existing[key])}


def _text(value: Any) -> str:
    return str(int(value)) if isinstance(value, bool) else str(value)
