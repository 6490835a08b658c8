"""The execution module `haproxy`: frontends, backends and servers of haproxy, by its stats socket.

Behaviour: doc/ref/modules/all/salt.modules.haproxyconn; commands: haproxy's management guide. What haproxy refuses is a
failure.
"""

from __future__ import annotations

import csv
import re
import socket as sockets
import time
from collections.abc import Mapping
from typing import Any

from minion.arguments.types import Seconds
from minion.execution.context import Context
from minion.execution.errors import CallFailed

_SOCKET = "/var/run/haproxy.sock"
_SECONDS = 10.0
_BETWEEN = 0.5
"""Seconds between two looks at a state that is waited for."""
_MOST_BYTES = 16 * 1024 * 1024
_NAME = re.compile(r"[A-Za-z0-9_.:-]+")
_SHOWN = {"Name": "svname", "Status": "status", "Weight": "weight", "bIn": "bin", "bOut": "bout"}
_TOTALS = ("FRONTEND", "BACKEND")
_STATES = ("ready", "drain", "maint")
_WEIGHT = re.compile(r"\d{1,3}%?")


def list_servers(context: Context, backend: str, socket: str = _SOCKET, objectify: bool = False) -> Any:
    """Servers of a backend, a line each; with `objectify` a list of them."""
    lines = [
        " ".join(f"{title}: {row[column]}" for title, column in _SHOWN.items()) for row in _servers(socket, backend)
    ]
    return lines if objectify else "\n".join(lines)


def get_backend(context: Context, backend: str, socket: str = _SOCKET) -> dict[str, dict[str, Any]]:
    """Server of a backend → `status`, `weight`, and the bytes `bin` and `bout`."""
    return {
        row["svname"]: {"status": row["status"], **{name: int(row[name] or 0) for name in ("weight", "bin", "bout")}}
        for row in _servers(socket, backend)
    }


def wait_state(
    context: Context, backend: str, server: str, value: str = "up", timeout: Seconds = 300, socket: str = _SOCKET
) -> bool:
    """Wait until a server has a state; whether it has."""
    end = time.monotonic() + timeout
    while True:
        found = get_backend(context, backend, socket)
        if server not in found:
            raise CallFailed(f"the backend {backend} has no server {server}")
        if found[server]["status"].lower() == value.lower():
            return True
        if time.monotonic() >= end:
            return False
        time.sleep(_BETWEEN)


def enable_server(context: Context, name: str, backend: str, socket: str = _SOCKET) -> dict[str, str]:
    """Have a server take requests, of one backend or (`*`) of all that have it; backend → its servers."""
    return _switched(context, "enable", name, backend, socket)


def disable_server(context: Context, name: str, backend: str, socket: str = _SOCKET) -> dict[str, str]:
    """Have a server take no requests, of one backend or (`*`) of all that have it; backend → its servers."""
    return _switched(context, "disable", name, backend, socket)


def get_weight(context: Context, name: str, backend: str, socket: str = _SOCKET) -> str:
    """A server's weight: `10 (initial 20)`."""
    answer = _say(socket, f"get weight {_name(backend)}/{_name(name)}")
    if not answer[:1].isdigit():
        raise CallFailed(f"haproxy: {answer}")
    return answer


def set_weight(context: Context, name: str, backend: str, weight: str | int = 0, socket: str = _SOCKET) -> str:
    """Set a server's weight, a number or a part (`50%`) of the configured one; what it is then."""
    if not _WEIGHT.fullmatch(str(weight)):
        raise CallFailed("weight must be a number of 0 to 256, or a part such as 50%")
    _order(socket, f"set weight {_name(backend)}/{_name(name)} {weight}")
    return get_weight(context, name, backend, socket)


def set_state(context: Context, name: str, backend: str, state: str, socket: str = _SOCKET) -> str:
    """Have a server be `ready`, `drain` or `maint`."""
    if state not in _STATES:
        raise CallFailed(f"state must be one of {', '.join(_STATES)}")
    return _order(socket, f"set server {_name(backend)}/{_name(name)} state {state}")


def show_frontends(context: Context, socket: str = _SOCKET) -> str:
    """Names of frontends, one in a line."""
    return "\n".join(_named(socket, "FRONTEND"))


def list_frontends(context: Context, socket: str = _SOCKET) -> list[str]:
    """Names of frontends."""
    return _named(socket, "FRONTEND")


def show_backends(context: Context, socket: str = _SOCKET) -> str:
    """Names of backends, one in a line."""
    return "\n".join(_named(socket, "BACKEND"))


def list_backends(context: Context, servers: bool = True, socket: str = _SOCKET) -> Any:
    """Backend → its servers, as `get_backend` has them; without `servers` the names of backends."""
    names = _named(socket, "BACKEND")
    return {name: get_backend(context, name, socket) for name in names} if servers else names


def get_sessions(context: Context, name: str, backend: str, socket: str = _SOCKET) -> str:
    """How many sessions a server has now."""
    for row in _servers(socket, backend):
        if row["svname"] == name:
            return row["scur"]
    raise CallFailed(f"the backend {backend} has no server {name}")


def _switched(context: Context, switch: str, name: str, backend: str, socket: str) -> dict[str, str]:
    backends = [backend]
    if backend == "*":
        backends = [
            one for one in _named(socket, "BACKEND") if any(row["svname"] == name for row in _servers(socket, one))
        ]
        if not backends:
            raise CallFailed(f"no backend has a server {name}")
    found: dict[str, str] = {}
    for one in backends:
        _order(socket, f"{switch} server {_name(one)}/{_name(name)}")
        found[one] = list_servers(context, one, socket)
    return found


def _named(socket: str, total: str) -> list[str]:
    return [row["pxname"] for row in _rows(socket) if row["svname"] == total]


def _servers(socket: str, backend: str) -> list[dict[str, str]]:
    rows = [row for row in _rows(socket) if row["pxname"] == backend]
    if not rows:
        raise CallFailed(f"haproxy has no backend {backend}")
    return [row for row in rows if row["svname"] not in _TOTALS]


def _rows(socket: str) -> list[dict[str, str]]:
    text = _say(socket, "show stat").removeprefix("# ")
    return [row for row in csv.DictReader(text.splitlines()) if row.get("svname")]


def _order(socket: str, command: str) -> str:
    """Say what haproxy carries out without a word. CallFailed with what it says otherwise."""
    if answer := _say(socket, command):
        raise CallFailed(f"haproxy: {answer}")
    return ""


def _name(name: str) -> str:
    """The name. CallFailed where it would be more than that in a command."""
    if not _NAME.fullmatch(name):
        raise CallFailed(f"{name!r} is no name of a backend or a server")
    return name


def _say(path: str, command: str) -> str:
    try:
        with sockets.socket(sockets.AF_UNIX) as sock:
            sock.settimeout(_SECONDS)
            sock.connect(path)
            sock.sendall(f"{command}\n".encode())
            data = b""
            while len(data) < _MOST_BYTES and (part := sock.recv(65536)):
                data += part
    except OSError as error:
        raise CallFailed(f"haproxy's socket {path}: {error.strerror or error}") from error
    return data.decode(errors="replace").strip()


FUNCTIONS: Mapping[str, Any] = {
    "disable_server": disable_server,
    "enable_server": enable_server,
    "get_backend": get_backend,
    "get_sessions": get_sessions,
    "get_weight": get_weight,
    "list_backends": list_backends,
    "list_frontends": list_frontends,
    "list_servers": list_servers,
    "set_state": set_state,
    "set_weight": set_weight,
    "show_backends": show_backends,
    "show_frontends": show_frontends,
    "wait_state": wait_state,
}
