"""Functions of `zabbix` about users, their groups and media."""

from __future__ import annotations

from typing import Any

from minion.arguments.types import AnyValue, Each
from minion.execution.context import Context
from minion.execution.errors import CallFailed
from minion.modules.zabbix.ask import OldNodes, as_list, connected, deleted, gotten, properties


def user_create(context: Context, alias: str, passwd: str, usrgrps: Each, **given: AnyValue) -> Any:
    """Make a user; its id. `firstname` is the API's `name`; others are the API's."""
    zabbix = connected(context, given)
    params = {zabbix.username: alias, "passwd": passwd, "usrgrps": [{"usrgrpid": one} for one in usrgrps]}
    return zabbix.call("user.create", {**params, **properties(given, "firstname")})["userids"]


def user_delete(context: Context, users: Each, **given: AnyValue) -> Any:
    """Delete users by their ids."""
    return deleted(context, "user.delete", users, given)


def user_exists(context: Context, alias: str, **given: AnyValue) -> bool:
    """Whether there is a user."""
    zabbix = connected(context, given)
    return bool(zabbix.call("user.get", {"output": ["userid"], "filter": {zabbix.username: alias}}))


def user_get(context: Context, alias: str | None = None, userids: AnyValue = None, **given: AnyValue) -> Any:
    """Users by name or ids, with their groups and media; false where there is none."""
    if not alias and not userids:
        return {"result": False, "comment": "Please submit alias or userids parameter to retrieve users."}
    parts = {f"select{one}": "extend" for one in ("Usrgrps", "Medias", "Mediatypes")}
    wanted = {connected(context, given).username: alias}
    return gotten(context, "user", wanted, given, userids=userids, **parts)


def user_getmedia(context: Context, userids: AnyValue = None, **given: AnyValue) -> Any:
    """The media of users."""
    parts = {"selectMedias": "extend", **({"userids": userids} if userids else {})}
    users = connected(context, given).call("user.get", {"output": ["userid"], **parts})
    return [media for one in users for media in one["medias"]]


def user_list(context: Context, **given: AnyValue) -> Any:
    """All users."""
    return connected(context, given).call("user.get", {"output": "extend"})


def user_update(context: Context, userid: AnyValue, **given: AnyValue) -> Any:
    """Change a user; `usrgrps` are ids, `firstname` is the API's `name`, `medias` those that it then has."""
    zabbix, params = connected(context, given), properties(given, "firstname")
    medias = [*(params.pop("medias", None) or ()), *(params.pop("user_medias", None) or ())]
    if medias or "medias" in given or "user_medias" in given:
        params["medias" if zabbix.version >= (5, 2) else "user_medias"] = medias
    if "usrgrps" in params:
        params["usrgrps"] = [{"usrgrpid": one} for one in as_list(params["usrgrps"])]
    return zabbix.call("user.update", {"userid": userid, **params})["userids"]


def usergroup_create(context: Context, name: str, **given: AnyValue) -> Any:
    """Make a group of users; its id."""
    return connected(context, given).call("usergroup.create", {"name": name, **properties(given)})["usrgrpids"]


def usergroup_delete(context: Context, usergroupids: Each, **given: AnyValue) -> Any:
    """Delete groups of users by their ids."""
    return deleted(context, "usergroup.delete", usergroupids, given)


def usergroup_exists(
    context: Context, name: str | None = None, node: OldNodes = None, nodeids: OldNodes = None, **given: AnyValue
) -> bool:
    """Whether there is a group of users."""
    if not name:
        raise CallFailed("Please submit name parameter to check if the user group exists.")
    return connected(context, given).named("usergroup", name) is not None


def usergroup_get(
    context: Context, name: str | None = None, usrgrpids: AnyValue = None, userids: AnyValue = None, **given: AnyValue
) -> Any:
    """Groups of users by name, ids, or users in them; false where there is none."""
    if not name and not usrgrpids and not userids:
        return False
    new = connected(context, given).version >= (6, 2)
    parts = {f"select{one}": "extend" for one in (("HostGroupRights", "TemplateGroupRights") if new else ("Rights",))}
    return gotten(context, "usergroup", {"name": name}, given, usrgrpids=usrgrpids, userids=userids, **parts)


def usergroup_list(context: Context, **given: AnyValue) -> Any:
    """All groups of users."""
    return connected(context, given).call("usergroup.get", {"output": "extend"})


def usergroup_update(context: Context, usrgrpid: AnyValue, **given: AnyValue) -> Any:
    """Change a group of users; its id."""
    return connected(context, given).call("usergroup.update", {"usrgrpid": usrgrpid, **properties(given)})["usrgrpids"]
