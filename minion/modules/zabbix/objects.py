"""Functions of `zabbix` about macros, types of media, templates, and any object of the API."""

from __future__ import annotations

from typing import Any

from minion.arguments.types import AnyValue, Each, Map
from minion.execution.context import Context
from minion.machine.failure import StateFailed
from minion.modules.zabbix.ask import connected, deleted, gotten, properties
from minion.providers.zabbix.api import IDS
from minion.providers.zabbix.definitions import differing, filled, fits

_RULES: dict[str, tuple[str, ...]] = {
    "discoveryRules": ("createMissing", "updateExisting"), "graphs": ("createMissing", "updateExisting"),
    "hosts": ("createMissing", "updateExisting"), "httptests": ("createMissing", "updateExisting"),
    "images": ("createMissing",), "items": ("createMissing", "updateExisting"), "maps": ("createMissing",),
    "templateLinkage": ("createMissing",), "templates": ("createMissing", "updateExisting"),
    "triggers": ("createMissing", "updateExisting"), "valueMaps": ("createMissing",),
}  # fmt: skip
"""What an import does where its caller does not say it."""


def apiinfo_version(context: Context, **given: AnyValue) -> str:
    """The version of the API."""
    return ".".join(map(str, connected(context, given).version))


def compare_params(context: Context, defined: AnyValue, existing: AnyValue, return_old_value: bool = False) -> Any:
    """What of a definition does not hold of an object; with `return_old_value` as `new`, and what does as `old`."""
    if isinstance(defined, dict) and isinstance(existing, dict):
        different: Any = differing(defined, existing)
        old: Any = {key: existing.get(key) for key in different}
    else:
        different, old = (None, None) if fits(defined, existing) else (defined, existing)
    return {"new": different, "old": old} if return_old_value and different else different


def configuration_import(
    context: Context, config_file: str, rules: Map | None = None, file_format: str = "xml", **given: AnyValue
) -> dict[str, Any]:
    """Import a file of this machine, or of `salt://`: templates, hosts, and what else it has."""
    data = (
        context.machine.source(config_file[7:])
        if config_file.startswith("salt://")
        else context.machine.read(config_file)
    )
    known: dict[str, dict[str, Any]] = {kind: dict.fromkeys(what, True) for kind, what in _RULES.items()}
    for kind, rule in (rules or {}).items():
        known[kind] = {**known.get(kind, {}), **rule}
    try:
        connected(context, given).call(
            "configuration.import", {"format": file_format, "rules": known, "source": data.decode()}
        )
    except (StateFailed, UnicodeDecodeError) as error:
        return {"name": config_file, "result": False, "message": str(error)}
    done = 'Zabbix API "configuration.import" method called successfully.'
    return {"name": config_file, "result": True, "message": done}


def get_object_id_by_params(context: Context, obj: str, params: Map | None = None, **given: AnyValue) -> str:
    """The id of the one object that params of the API find."""
    return connected(context, given).id_of(obj, params or {})


def get_zabbix_id_mapper(context: Context) -> dict[str, str]:
    """Kinds of objects, and the names of their ids."""
    return dict(IDS)


def mediatype_create(context: Context, name: str, mediatype: AnyValue, **given: AnyValue) -> Any:
    """Make a type of media; its id."""
    zabbix = connected(context, given)
    key = "name" if zabbix.version >= (4, 4) else "description"
    return zabbix.call("mediatype.create", {key: name, "type": mediatype, **properties(given)})["mediatypeids"]


def mediatype_delete(context: Context, mediatypeids: Each, **given: AnyValue) -> Any:
    """Delete types of media by their ids."""
    return deleted(context, "mediatype.delete", mediatypeids, given)


def mediatype_get(context: Context, name: str | None = None, mediatypeids: AnyValue = None, **given: AnyValue) -> Any:
    """Types of media, by name or ids; false where there is none."""
    key = "name" if connected(context, given).version >= (4, 4) else "description"
    return gotten(context, "mediatype", {key: name}, given, mediatypeids=mediatypeids)


def mediatype_update(
    context: Context, mediatypeid: AnyValue, name: str | None = None, mediatype: AnyValue = None, **given: AnyValue
) -> Any:
    """Change a type of media; its id."""
    zabbix = connected(context, given)
    named = {"name" if zabbix.version >= (4, 4) else "description": name} if name else {}
    kind = {} if mediatype in (None, False) else {"type": mediatype}
    params = {"mediatypeid": mediatypeid, **named, **kind, **properties(given)}
    return zabbix.call("mediatype.update", params)["mediatypeids"]


def run_query(context: Context, method: str, params: AnyValue, **given: AnyValue) -> Any:
    """The result of any method of the API; false for an empty one."""
    asked = {**params, **properties(given)} if isinstance(params, dict) else params
    return connected(context, given).call(method, asked) or False


def substitute_params(
    context: Context,
    input_object: AnyValue,
    extend_params: Map | None = None,
    filter_key: str = "name",
    **given: AnyValue,
) -> Any:
    """A definition with ids in place of `{query_object: KIND, query_name: NAME}`, and texts in place of numbers."""
    return filled(connected(context, given), input_object, extend_params, filter_key)


def template_get(
    context: Context, name: str | None = None, host: str | None = None, templateids: AnyValue = None, **given: AnyValue
) -> Any:
    """Templates by visible or technical name, or ids; false where there is none."""
    return gotten(context, "template", {"name": name, "host": host}, given, templateids=templateids)


def usermacro_create(context: Context, macro: str, value: str, hostid: AnyValue, **given: AnyValue) -> str:
    """Make a macro of a host; its id."""
    params = {"macro": macro, "value": value, "hostid": hostid, **properties(given)}
    return str(connected(context, given).call("usermacro.create", params)["hostmacroids"][0])


def usermacro_createglobal(context: Context, macro: str, value: str, **given: AnyValue) -> str:
    """Make a macro of all hosts; its id."""
    params = {"macro": macro, "value": value, **properties(given)}
    return str(connected(context, given).call("usermacro.createglobal", params)["globalmacroids"][0])


def usermacro_delete(context: Context, macroids: Each, **given: AnyValue) -> Any:
    """Delete macros of hosts by their ids."""
    return deleted(context, "usermacro.delete", macroids, given)


def usermacro_deleteglobal(context: Context, macroids: Each, **given: AnyValue) -> Any:
    """Delete macros of all hosts by their ids."""
    return deleted(context, "usermacro.deleteglobal", macroids, given)


def usermacro_get(
    context: Context, macro: str | None = None, hostids: AnyValue = None, templateids: AnyValue = None,
    hostmacroids: AnyValue = None, globalmacroids: AnyValue = None, globalmacro: bool = False, **given: AnyValue,
) -> Any:  # fmt: skip
    """Macros by name, hosts, templates or ids, or with `globalmacro` those of all hosts; false where there is none."""
    ids = {"hostmacroids": hostmacroids, "globalmacroids": globalmacroids, "globalmacro": globalmacro}
    where = _owners(hostids, templateids)
    return gotten(context, "usermacro", {"macro": macro}, given, hostids=where, **ids)


def _owners(hostids: AnyValue, templateids: AnyValue) -> list[Any]:
    """Ids of hosts and templates: to macros both are hosts."""
    return [one for each in (hostids, templateids) if each for one in (each if isinstance(each, list) else [each])]


def usermacro_update(context: Context, hostmacroid: AnyValue, value: str, **given: AnyValue) -> str:
    """Give a macro of a host another value; its id."""
    params = {"hostmacroid": hostmacroid, "value": value, **properties(given)}
    return str(connected(context, given).call("usermacro.update", params)["hostmacroids"][0])


def usermacro_updateglobal(context: Context, globalmacroid: AnyValue, value: str, **given: AnyValue) -> str:
    """Give a macro of all hosts another value; its id."""
    params = {"globalmacroid": globalmacroid, "value": value, **properties(given)}
    return str(connected(context, given).call("usermacro.updateglobal", params)["globalmacroids"][0])
