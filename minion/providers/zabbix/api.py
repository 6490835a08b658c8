"""Zabbix's API: JSON-RPC of its frontend.

Called by the states `zabbix_…` and the execution module `zabbix`. Source: https://www.zabbix.com/documentation/current/en/manual/api.
Names that changed from one version to another (the user's name, the token's place) are chosen by the server's version.
"""

from __future__ import annotations

import functools
import json
import socket
import urllib.request
from collections.abc import Mapping
from typing import Any

from extmods.salt_compat.utils.http import answer_to
from highstate.redaction import without
from minion.machine.configured import configured
from minion.machine.failure import StateFailed
from minion.machine.plan import Reader

_SECONDS = 60
_ENDED = ("Session terminated", "Not authorised", "Not authorized")
"""How Zabbix says that a session is over."""
_WRONG_PASSWORD = ("Incorrect user name or password", "Login name or password is incorrect")
CONNECTION = ("_connection_user", "_connection_password", "_connection_url")

IDS: Mapping[str, str] = {
    "action": "actionid", "alert": "alertid", "application": "applicationid", "dcheck": "dcheckid", "dhost": "dhostid",
    "discoveryrule": "itemid", "drule": "druleid", "dservice": "dserviceid", "event": "eventid", "graph": "graphid",
    "graphitem": "gitemid", "graphprototype": "graphid", "history": "itemid", "host": "hostid", "hostgroup": "groupid",
    "hostinterface": "interfaceid", "hostprototype": "hostid", "httptest": "httptestid", "iconmap": "iconmapid",
    "image": "imageid", "item": "itemid", "itemprototype": "itemid", "maintenance": "maintenanceid", "map": "sysmapid",
    "mediatype": "mediatypeid", "proxy": "proxyid", "screen": "screenid", "screenitem": "screenitemid",
    "script": "scriptid", "service": "serviceid", "template": "templateid", "templategroup": "groupid",
    "templatescreen": "screenid", "templatescreenitem": "screenitemid", "trend": "itemid", "trigger": "triggerid",
    "triggerprototype": "triggerid", "user": "userid", "usergroup": "usrgrpid", "usermacro": "globalmacroid",
    "usermedia": "mediaid", "valuemap": "valuemapid",
}  # fmt: skip
"""Kind of objects -> the name of its id."""


class Zabbix:
    """One frontend, as one user, who is logged in when something is asked first."""

    def __init__(self, machine: Reader, given: Mapping[str, Any]) -> None:
        """`given` may have the arguments `_connection_…`; the options `zabbix.…` stand for those that are missing."""
        below = configured(machine, "zabbix", {})
        below = below if isinstance(below, Mapping) else {}
        user, password, url = (
            given.get(f"_connection_{one}") or configured(machine, f"zabbix.{one}", below.get(one))
            for one in ("user", "password", "url")
        )
        self._user, self._password = user, password
        url = str(url or f"http://{socket.gethostname()}/zabbix")
        self._url = url if url.endswith(".php") else f"{url.rstrip('/')}/api_jsonrpc.php"
        self._machine = machine

    @property
    def version(self) -> tuple[int, ...]:
        """Of the API: `(6, 0, 14)`."""
        self._machine.look_elsewhere(self._url)
        return _version(self._url)

    @property
    def username(self) -> str:
        """The field of users that has the name by which they log in."""
        return "username" if self.version >= (5, 4) else "alias"

    def call(self, method: str, params: Any) -> Any:
        """The result of a method. Raises StateFailed, in Zabbix's words."""
        version = self.version
        if not self._user or not self._password:
            raise StateFailed("zabbix.user and zabbix.password are missing, in the configuration or the arguments")
        login = (self._url, str(self._user), str(self._password))
        try:
            return _asked(self._url, method, params, _token(*login), version)
        except StateFailed as error:
            if not any(one in str(error) for one in _ENDED):
                raise
        _token.cache_clear()  # somebody ended the session
        return _asked(self._url, method, params, _token(*login), version)

    def takes(self, user: str, password: str) -> bool | None:
        """Whether a user has this password; null where the server does not say, as of one that may not log in."""
        self._machine.look_elsewhere(self._url)
        try:
            _login(self._url, user, password)
        except StateFailed as error:
            return False if any(one in str(error) for one in _WRONG_PASSWORD) else None
        return True

    def named(self, kind: str, name: str, **more: Any) -> dict[str, Any] | None:
        """The one object of a kind that has this name."""
        found = self.call(f"{kind}.get", {"output": "extend", "filter": {"name": name}, **more})
        if len(found) > 1:
            raise StateFailed(f"There are several objects {kind} named {name}")
        return found[0] if found else None

    def id_of(self, kind: str, params: Mapping[str, Any]) -> str:
        """The id of the one object that these params find. Raises StateFailed where there is none, or several."""
        if kind not in IDS:
            raise StateFailed(f"Zabbix has no objects {kind}")
        found = self.call(f"{kind}.get", dict(params))
        if len(found) != 1:
            raise StateFailed(
                "Zabbix API: Object does not exist or bad Zabbix user permissions or other unexpected result. "
                f"Called method {kind}.get with params {dict(params)}. Result: {found}"
            )
        return str(found[0][IDS[kind]])


@functools.lru_cache(maxsize=8)
def _version(url: str) -> tuple[int, ...]:
    """Asked once in a run."""
    said = str(_asked(url, "apiinfo.version", {}, "", ()))
    return tuple(int(one) for one in said.split(".") if one.isdigit())


@functools.lru_cache(maxsize=8)
def _token(url: str, user: str, password: str) -> str:
    """One session for all states of a run."""
    return _login(url, user, password)


def _login(url: str, user: str, password: str) -> str:
    name = "username" if _version(url) >= (5, 4) else "user"
    return str(_asked(url, "user.login", {name: user, "password": password}, "", ()))


def _asked(url: str, method: str, params: Any, token: str, version: tuple[int, ...]) -> Any:
    if not url.startswith(("http://", "https://")):
        raise StateFailed(f"{url} is no http:// or https:// address")
    headers = {"Content-Type": "application/json-rpc"}
    passwords = [str(params[one]) for one in ("password", "passwd") if isinstance(params, dict) and params.get(one)]
    body = {"jsonrpc": "2.0", "method": method, "params": params, "id": 1}
    if token and version >= (6, 4):
        headers["Authorization"] = f"Bearer {token}"
    elif token and method != "apiinfo.version":
        body["auth"] = token
    request = urllib.request.Request(url, data=json.dumps(body).encode(), headers=headers)  # noqa: S310  (checked)
    code, _, said, trouble = answer_to(request, _SECONDS, raise_error=True)
    if trouble:
        raise StateFailed(f"Zabbix API: {url}: {trouble}")
    try:
        answer = json.loads(said)
        if "error" in answer:
            told = f"{answer['error']['message']} ({answer['error']['data']})"
            raise StateFailed(f"Zabbix API: {without(told, (token, *passwords))}")
        return answer["result"]
    except (ValueError, KeyError, TypeError) as error:
        raise StateFailed(f"Zabbix API: {url} answers with no JSON-RPC, status {code}") from error
