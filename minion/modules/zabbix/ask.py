"""What the functions of `zabbix` share: the connection, and the params that callers give by their names."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Any

from minion.arguments.types import AnyValue, Ignored
from minion.execution.context import Context
from minion.providers.zabbix.api import CONNECTION, Zabbix

OldNodes = Annotated[AnyValue, Ignored("servers have no nodes since Zabbix 2.4")]


def connected(context: Context, given: Mapping[str, Any]) -> Zabbix:
    """The server that the arguments `_connection_…` name, or the options `zabbix.…`."""
    return Zabbix(context.machine, given)


def properties(given: Mapping[str, Any], name: str | None = None) -> dict[str, Any]:
    """Params of the API that a caller gives; `name` is the argument that stands for the API's `name`."""
    found = {key: one for key, one in given.items() if key not in CONNECTION and one is not None}
    if name and name in found:
        found["name"] = found.pop(name)
    return found


def gotten(context: Context, kind: str, wanted: Mapping[str, Any], given: Mapping[str, Any], **params: Any) -> Any:
    """The objects whose fields have these values; those of params that are none do not count. False for none."""
    fields = {key: one for key, one in wanted.items() if one}
    asked = {"output": "extend", "filter": fields, **{key: one for key, one in params.items() if one}}
    return connected(context, given).call(f"{kind}.get", {**asked, **properties(given)}) or False


def deleted(context: Context, method: str, ids: Any, given: Mapping[str, Any]) -> Any:
    """The ids of what was deleted."""
    found = connected(context, given).call(method, ids if isinstance(ids, list) else [ids])
    return next(iter(found.values()))


def as_list(value: Any) -> list[Any]:
    """A list; one value is a list of it."""
    return value if isinstance(value, list) else [value]
