"""The beacon `haproxy`: servers with more sessions than a threshold, as haproxy's stats socket says."""

from __future__ import annotations

import csv
import socket
from collections.abc import Iterator, Mapping

from minion.beacons.beacon import BeaconFailed, BeaconKind, Complaint, Found, Memory, Options, World

SOCKET = "/var/run/haproxy.sock"
"""Where the configuration names none (Salt's)."""

_SECONDS = 10.0
_MOST_BYTES = 4 * 1024 * 1024


def _check(options: Options) -> Iterator[Complaint]:
    backends = options.get("backends")
    if not isinstance(backends, dict) or not backends:
        yield (("backends",) if "backends" in options else ()), "backends are missing: a mapping of backends"
        return
    if not isinstance(options.get("socket", SOCKET), str):
        yield ("socket",), "socket must be the path of haproxy's stats socket"
    for name, given in backends.items():
        inside = ("backends", str(name))
        if not isinstance(given, dict) or not isinstance(given.get("servers"), list):
            yield inside, f"{name} must have a list of servers"
        elif isinstance(given.get("threshold"), bool) or not str(given.get("threshold", "")).isdigit():
            yield inside, f"{name} must have a threshold, a number of sessions"


def _look(options: Options, memory: Memory, world: World) -> Found:
    sessions = _sessions(options.get("socket", SOCKET))
    return [
        {"server": server, "scur": sessions[name, server], "threshold": given["threshold"]}
        for name, given in options["backends"].items()
        for server in given["servers"]
        if sessions.get((name, server), 0) > int(given["threshold"])
    ]


def _sessions(path: str) -> dict[tuple[str, str], int]:
    """Backend and server -> current sessions."""
    try:
        with socket.socket(socket.AF_UNIX) as sock:
            sock.settimeout(_SECONDS)
            sock.connect(path)
            sock.sendall(b"show stat\n")
            data = b""
            while len(data) < _MOST_BYTES and (part := sock.recv(65536)):
                data += part
    except OSError as error:
        raise BeaconFailed(f"haproxy's socket {path}: {error}") from error
    rows = csv.DictReader(data.decode("utf-8", "replace").removeprefix("# ").splitlines())
    return {
        (row["pxname"], row["svname"]): int(row["scur"])
        for row in rows
        if str(row.get("scur", "")).isdigit() and row.get("svname")
    }


_KIND = BeaconKind(
    check=_check,
    look=_look,
    interval=10.0,
    slow=True,
    known=frozenset(("backends", "socket", "emitatstartup", "onchangeonly")),
)

BEACONS: Mapping[str, BeaconKind] = {"haproxy": _KIND}
