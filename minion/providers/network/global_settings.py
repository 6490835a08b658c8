"""The global settings of the network: whether it is started at boot, the name of the host, domains.

Called by network.system and the execution module `ip`. Debian's are shown as Salt's `ip.get_network_settings` shows
them; Red Hat's stand in /etc/sysconfig/network.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import NamedTuple

from minion.machine.failure import StateFailed
from minion.machine.plan import Reader
from minion.providers.network.detection import is_ubuntu
from minion.providers.network.files import NetworkFile, Settings, text_of
from minion.providers.network.values import FALSE, TRUE, line

HOSTNAME = "/etc/hostname"
_NETWORKING, _RESOLV, _SYSCONFIG = "/etc/default/networking", "/etc/resolv.conf", "/etc/sysconfig/network"
_LABEL = re.compile(r"(?!-)[A-Za-z0-9-]{1,63}(?<!-)")
_NAMES = {
    "networking": "NETWORKING", "networking_ipv6": "NETWORKING_IPV6", "hostname": "HOSTNAME", "gateway": "GATEWAY",
    "gatewaydev": "GATEWAYDEV", "nisdomain": "NISDOMAIN", "networkdelay": "NETWORKDELAY", "devtimeout": "DEVTIMEOUT",
    "nozeroconf": "NOZEROCONF", "enable_ipv6": "IPV6INIT", "ipv6gateway": "IPV6_DEFAULTGW",
}  # fmt: skip
"""Settings of Red Hat → their variables, in the order of the file."""
KNOWN = frozenset((*_NAMES, "enabled", "search", "require_reboot", "apply_hostname", "retain_settings"))


class GlobalSettings(NamedTuple):
    """How they are shown before and after, and what is written for it."""

    there: tuple[str, ...]
    wanted: tuple[str, ...]
    files: tuple[NetworkFile, ...]


def checked_host(hostname: str) -> str:
    """The name of a host; StateFailed for what is none."""
    if not all(_LABEL.fullmatch(part) for part in hostname.split(".")):
        raise StateFailed(f"hostname must be the name of a host, not {hostname!r}")
    return hostname


def global_settings(machine: Reader, settings: Settings) -> GlobalSettings:
    """Those that are there, and as they are wanted."""
    hostname = settings.get("hostname")
    if hostname:
        checked_host(str(hostname))
    family = machine.grains.get("os_family")
    own = _red_hat(machine, settings) if family == "RedHat" else _debian(machine, settings)
    noted = text_of(machine, HOSTNAME).strip()
    if hostname and noted != hostname:
        return own._replace(files=(*own.files, NetworkFile(HOSTNAME, f"{hostname}\n")))
    return own


def shown(machine: Reader) -> list[str]:
    """The global settings, a line each."""
    return list(global_settings(machine, {}).there)


# --- Debian -----------------------------------------------------------------------------------------------------------


def _debian(machine: Reader, settings: Settings) -> GlobalSettings:
    """Ubuntu has no /etc/default/networking: there `enabled` is a matter of its services."""
    text, resolv = text_of(machine, _NETWORKING), text_of(machine, _RESOLV)
    found = re.search(r"^CONFIGURE_INTERFACES=(.*)$", text, re.MULTILINE)
    there = {"NETWORKING": found[1].strip() if found else "", "HOSTNAME": text_of(machine, HOSTNAME).strip(),
             "DOMAIN": _resolver(resolv, "domain"), "SEARCH": _resolver(resolv, "search")}  # fmt: skip
    wanted, files = dict(there), []
    if "enabled" in settings and not is_ubuntu(machine):
        wanted["NETWORKING"] = "yes" if _switch(settings["enabled"]) else "no"
        if there["NETWORKING"] != wanted["NETWORKING"]:
            files.append(NetworkFile(_NETWORKING, _configuring(text, wanted["NETWORKING"])))
    if hostname := str(settings.get("hostname") or ""):
        wanted["HOSTNAME"] = hostname
        if there["DOMAIN"] and "." in hostname:
            wanted["DOMAIN"] = hostname.partition(".")[2]
    if "search" in settings:
        given = settings["search"]
        wanted["SEARCH"] = line("resolv.conf", "search", given if isinstance(given, str) else " ".join(given))
    new = _with_line(_with_line(resolv, "domain", wanted["DOMAIN"]), "search", wanted["SEARCH"])
    if new != resolv:
        found_file = machine.stat(_RESOLV)
        if found_file is not None and found_file.kind == "symlink":
            raise StateFailed(f"{_RESOLV} is a link to {found_file.target}, which something else writes")
        files.append(NetworkFile(_RESOLV, new))
    return GlobalSettings(_said(there), _said(wanted), tuple(files))


def _said(values: Mapping[str, str]) -> tuple[str, ...]:
    return tuple(f"{name}={value}" for name, value in values.items() if value)


def _configuring(text: str, value: str) -> str:
    new, count = re.subn(r"(?m)^CONFIGURE_INTERFACES=.*$", f"CONFIGURE_INTERFACES={value}", text)
    if count:
        return new
    return f"{text}{'' if text.endswith(chr(10)) or not text else chr(10)}CONFIGURE_INTERFACES={value}\n"


def _resolver(text: str, word: str) -> str:
    found = re.findall(rf"^{word}\s+(.*)$", text, re.MULTILINE)
    return found[-1].strip() if found else ""


def _with_line(text: str, word: str, value: str) -> str:
    if _resolver(text, word) == value:
        return text
    others = [one for one in text.splitlines() if not re.match(rf"{word}\s", one)]
    return "".join(f"{one}\n" for one in ([f"{word} {value}"] if value else []) + others)


# --- Red Hat ----------------------------------------------------------------------------------------------------------


def _red_hat(machine: Reader, settings: Settings) -> GlobalSettings:
    """Without `retain_settings` the file has what is given and no more; what it says of both stays."""
    text = text_of(machine, _SYSCONFIG)
    there = tuple(one for one in text.splitlines() if one)
    current = dict(re.findall(r"^\s*([A-Za-z0-9_]+)=(.*?)\s*$", text, re.MULTILINE))
    given = dict(settings)
    quote = '"' if "enabled" not in given and current.get("NETWORKING", "").startswith('"') else ""
    enabled = given.get("enabled", current.get("NETWORKING", "").strip("\"'"))
    networking = "yes" if _switch(enabled) else "no"
    hostname = given.get("hostname") or current.get("HOSTNAME", "").strip("\"'")
    if not hostname:
        raise StateFailed("Invalid network setting -- Setting: hostname, Expected: [server1.example.com]")
    wanted = dict(current) if given.get("retain_settings") else {}
    wanted |= {"NETWORKING": f"{quote}{networking}{quote}", "HOSTNAME": f"{quote}{hostname}{quote}"}
    for name, variable in _NAMES.items():
        if name in ("networking", "hostname") or name not in given:
            continue
        value = given[name]
        if name == "nozeroconf":
            value = "yes" if _switch(value) else "no"
        if name == "enable_ipv6":
            wanted |= {variable: '"yes"'} if value else {}
        else:
            sign = '"' if name == "ipv6gateway" else quote
            wanted[variable] = f"{sign}{line('network', name, value)}{sign}"
    ordered = [variable for variable in _NAMES.values() if variable in wanted]
    lines = tuple(f"{name}={wanted[name]}" for name in (*ordered, *(one for one in wanted if one not in ordered)))
    if lines == there:
        return GlobalSettings(there, lines, ())
    return GlobalSettings(there, lines, (NetworkFile(_SYSCONFIG, "".join(f"{one}\n" for one in lines)),))


def _switch(value: object) -> bool:
    text = value.lower() if isinstance(value, str) else value
    if text in TRUE or text in FALSE:
        return text in TRUE
    expected = "|".join(map(str, TRUE + FALSE))
    raise StateFailed(f"Invalid network setting -- Setting: networking, Expected: [{expected}]")
