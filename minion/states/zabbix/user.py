"""The state module `zabbix_user`.

Behaviour: doc/ref/states/all/salt.states.zabbix_user.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from minion.arguments.types import Each, List, NumberOrText
from minion.machine.configured import configured
from minion.machine.failure import StateFailed
from minion.machine.plan import Change, Plan, Reader, StateFunction, Value
from minion.providers.zabbix.api import Zabbix
from minion.providers.zabbix.definitions import differing, fits
from minion.states.zabbix.plans import act_of, created, deleted, deleting, exists, parted, updated

_MEDIA_TYPES = {"mail": "1", "jabber": "2", "sms": "3"}
_SEVERITIES = "DHAWIN"
"""From the highest bit to the lowest: disaster, high, average, warning, information, not classified."""
_ADMIN, _FIRST_PASSWORD = "Admin", "zabbix"
"""The password of an installation that nobody has changed."""


def present(
    machine: Reader, name: str, alias: str, passwd: NumberOrText, usrgrps: Each, *, medias: List | None = None,
    password_reset: bool = False, **given: Value,
) -> Plan:  # fmt: skip
    """There is such a user, in these groups (ids or names), with these media; `firstname` is the user's `name`.

    The password is that of a new user; with `password_reset` one that has another gets it.
    """
    connection, properties = parted(given)
    if "firstname" in properties:
        properties["name"] = properties.pop("firstname")
    zabbix, what = Zabbix(machine, connection), f"User {alias}"
    groups = [{"usrgrpid": _group(zabbix, one)} for one in usrgrps]
    media = [_media(zabbix, *one) for one in _named(medias or ())]
    key = "medias" if zabbix.version >= (5, 2) else "user_medias"
    found = _found(zabbix, alias)
    if found is None:
        params = {zabbix.username: alias, "passwd": passwd, "usrgrps": groups, key: media, **properties}
        return created(what, alias, lambda: zabbix.call("user.create", params))
    params = differing(properties, found)
    shown = dict(params)
    if not fits(groups, [{"usrgrpid": one["usrgrpid"]} for one in found["usrgrps"]]):
        params["usrgrps"] = groups
        shown["usrgrps"] = ", ".join(str(one["usrgrpid"]) for one in groups)
    if not fits(media, [_plain(one) for one in found["medias"]]):
        params[key] = media
        shown["medias"] = str(media)
    known = zabbix.takes(alias, passwd) if password_reset else True
    if not known:
        params["passwd"], shown["passwd"] = passwd, "updated"
    if not params:
        return exists(what)
    plan = updated(what, shown, lambda: zabbix.call("user.update", {"userid": found["userid"], **params}))
    if known is None:  # nor is it known afterwards
        return Plan(changes=plan.changes, pending=plan.pending, done=plan.done, converges=False, each_time=True)
    return plan


def absent(machine: Reader, name: str, **given: Value) -> Plan:
    """There is no such user."""
    zabbix = Zabbix(machine, given)
    return deleted(f"User {name}", name, deleting(zabbix, "user", _found(zabbix, name)))


def admin_password_present(machine: Reader, name: str, *, password: NumberOrText | None = None, **given: Value) -> Plan:
    """The user Admin has this password: the argument, `_connection_password` or the option `zabbix.password`.

    One that has another of these, or the one of a new installation, gets it.
    """
    below = configured(machine, "zabbix", {})
    option = configured(machine, "zabbix.password", below.get("password") if isinstance(below, Mapping) else None)
    passwords = [str(one) for one in (password, given.get("_connection_password"), option) if one]
    if not passwords:
        raise StateFailed("Could not find any Zabbix Admin password setting! See documentation.")
    wanted, asking = passwords[0], Zabbix(machine, given)
    works = next((one for one in (*passwords, _FIRST_PASSWORD) if asking.takes(_ADMIN, one)), None)
    if works == wanted:
        return Plan(comment="Admin password is correct.")
    if works is None:
        raise StateFailed("Admin can be logged in with none of the passwords that are known")
    login = {**given, "_connection_user": _ADMIN, "_connection_password": works}
    zabbix = Zabbix(machine, login)

    def ask() -> None:
        found = _found(zabbix, _ADMIN)
        if found is None:
            raise StateFailed("There is no user Admin")
        now = {"current_passwd": works} if zabbix.version >= (6, 4) else {}
        zabbix.call("user.update", {"userid": found["userid"], "passwd": wanted, **now})

    return Plan(
        changes=(Change(key="passwd", reported="changed", act=act_of(ask)),),
        pending=f"Password for user {_ADMIN} updated",
        done=f"Password for user {_ADMIN} updated",
    )


def _found(zabbix: Zabbix, alias: str) -> dict[str, Any] | None:
    parts = {"selectUsrgrps": "extend", "selectMedias": "extend"}
    found = zabbix.call("user.get", {"output": "extend", "filter": {zabbix.username: alias}, **parts})
    return found[0] if found else None


def _group(zabbix: Zabbix, group: Any) -> str:
    if str(group).isdigit():
        return str(group)
    return zabbix.id_of("usergroup", {"filter": {"name": group}})


def _named(medias: Sequence[Any]) -> list[tuple[str, dict[str, Any]]]:
    """Media as SLS has them: mappings of a name to a list of mappings."""
    found = []
    for each in medias:
        if not isinstance(each, Mapping):
            raise StateFailed(f"medias: {each!r} is no mapping of a name to its attributes")
        for name, parts in each.items():
            found.append((str(name), {key: one for part in parts or () for key, one in part.items()}))
    return found


def _media(zabbix: Zabbix, name: str, given: Mapping[str, Any]) -> dict[str, Any]:
    kind = str(given.get("mediatype", "mail"))
    sendto = given.get("sendto", name)
    bits = "".join("1" if one in str(given.get("severity", "HD")) else "0" for one in _SEVERITIES)
    return {
        "active": "0" if str(given.get("active", "true")).lower() == "true" else "1",
        "mediatypeid": _MEDIA_TYPES.get(kind.lower()) or zabbix.id_of("mediatype", {"filter": {"name": kind}}),
        "period": str(given.get("period", "1-7,00:00-24:00")),
        "sendto": sendto if isinstance(sendto, list) else [str(sendto)],
        "severity": str(int(bits, 2)),
    }


def _plain(media: Mapping[str, Any]) -> dict[str, Any]:
    sendto = media["sendto"]
    return {**media, "sendto": sendto if isinstance(sendto, list) else [sendto]}


STATES: Mapping[str, StateFunction] = {
    "absent": absent,
    "admin_password_present": admin_password_present,
    "present": present,
}
