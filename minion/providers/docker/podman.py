"""What podman shows of a container, where it is asked by its socket for Docker's API, in the form that Docker has.

Podman fills in by itself what nobody asks for (variables, limits, the runtime, a signal), by a configuration that its
API does not show: that is not compared, so that an argument of these that is taken away again is not seen.
Behaviour: https://docs.podman.io/en/latest/_static/api.html and containers.conf(5); tried with podman 4.3.
"""

from __future__ import annotations

import re
import signal
from collections.abc import Mapping
from typing import Any

_VARIABLES = ("HOSTNAME", "PATH", "TERM", "container")
_OWN_OF_CONTAINER = ("AttachStderr", "AttachStdout", "StopSignal", "StopTimeout", "WorkingDir")
_OWN_OF_HOST = (
    "CgroupParent", "IpcMode", "LogConfig", "MemorySwap", "MemorySwappiness", "OomScoreAdj", "PidMode", "PidsLimit",
    "Runtime", "SecurityOpt", "ShmSize", "Ulimits", "UsernsMode",
)  # fmt: skip
_UNNAMED = re.compile("[0-9a-f]{60,}:")
"""A volume that an image asks for, which podman shows as if somebody had bound it."""
_OF_MOUNTS = frozenset(("nodev", "noexec", "nosuid", "rbind", "rprivate", "rw"))
"""Options that podman gives a mount by itself."""


def container_as_docker(
    found: Mapping[str, Any], asked: Mapping[str, Any], expected: Mapping[str, Any]
) -> dict[str, Any]:
    """The `Config` of a container. `expected`: what Docker would make of what is `asked` for and of the image."""
    seen = dict(found)
    for key in _OWN_OF_CONTAINER:
        if not asked.get(key) or key.startswith("Attach"):
            seen[key] = expected.get(key)
    if asked.get("StopSignal") and _signal(found.get("StopSignal")) == _signal(asked["StopSignal"]):
        seen["StopSignal"] = expected.get("StopSignal")
    seen["Volumes"] = expected.get("Volumes")  # it shows none
    named = {str(each).partition("=")[0] for each in expected.get("Env") or ()}
    seen["Env"] = [
        each for each in found.get("Env") or () if (name := each.partition("=")[0]) in named or name not in _VARIABLES
    ]
    return seen


def host_as_docker(found: Mapping[str, Any], asked: Mapping[str, Any], expected: Mapping[str, Any]) -> dict[str, Any]:
    """The same of its `HostConfig`."""
    seen = dict(found)
    for key in _OWN_OF_HOST:
        if not asked.get(key):
            seen[key] = expected.get(key)
    if asked.get("Ulimits"):
        names = {one["Name"] for one in asked["Ulimits"]}
        limits = [{**one, "Name": _limit(one["Name"])} for one in found.get("Ulimits") or ()]
        seen["Ulimits"] = [one for one in limits if one["Name"] in names]
    spelled = {_bind(each): each for each in asked.get("Binds") or ()}
    binds = [_bind(each) for each in found.get("Binds") or () if not _UNNAMED.match(each)]
    seen["Binds"] = [spelled.get(each, each) for each in binds]
    seen["PortBindings"] = {port: places for port, places in (found.get("PortBindings") or {}).items() if places}
    return seen


def addresses_as_docker(found: Mapping[str, Any], wanted: Mapping[str, Any]) -> dict[str, Any]:
    """The addresses that were asked for of a connection: podman shows those that it has alone."""
    has = {"IPv4Address": found.get("IPAddress"), "IPv6Address": found.get("GlobalIPv6Address")}
    return {key: has[key] for key in wanted if has.get(key)}


def _limit(name: str) -> str:
    return name.lower().removeprefix("rlimit_")


def _bind(text: str) -> str:
    place, _, options = text.rpartition(":")
    if ":" not in place:
        return text
    return ":".join((place, *filter(None, [",".join(each for each in options.split(",") if each not in _OF_MOUNTS)])))


def _signal(value: Any) -> int:
    text = str(value or "").upper()
    if text.isdigit():
        return int(text)
    name = text if text.startswith("SIG") else f"SIG{text}"
    return int(signal.Signals[name]) if name in signal.Signals.__members__ else 0
