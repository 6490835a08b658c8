"""Values of network settings: what is taken for true, for an address, for a list; and the errors in Salt's words.

Called by all network managers.
"""

from __future__ import annotations

import ipaddress
import re
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from minion.machine.failure import StateFailed
from minion.machine.plan import Value

TRUE: tuple[Value, ...] = ("yes", "on", "true", "1", True)
FALSE: tuple[Value, ...] = ("no", "off", "false", "0", False)
_MAC = re.compile(r"[0-9A-F]{1,2}([-:.])([0-9A-F]{1,2}\1){4}[0-9A-F]{1,2}", re.IGNORECASE)

MODES = {
    "balance-rr": "0",
    "active-backup": "1",
    "balance-xor": "2",
    "broadcast": "3",
    "802.3ad": "4",
    "balance-tlb": "5",
    "balance-alb": "6",
}
"""Mode of a bond → its number."""


def wrong(iface: str, option: str, expected: Iterable[Any] | str) -> StateFailed:
    """What is said of a setting that is not taken."""
    listed = expected if isinstance(expected, str) else "|".join(map(str, expected))
    return StateFailed(f"Invalid option -- Interface: {iface}, Option: {option}, Expected: [{listed}]")


def switch(iface: str, option: str, value: Value) -> bool:
    """True or false, in any of the words for them."""
    text = value.lower() if isinstance(value, str) else value
    if text in TRUE or text in FALSE:
        return text in TRUE
    raise wrong(iface, option, TRUE + FALSE)


def whole(iface: str, option: str, value: Value) -> int:
    """A whole number, or its text."""
    try:
        return int(value)
    except (TypeError, ValueError):
        raise wrong(iface, option, ["integer"]) from None


def one_of(iface: str, option: str, value: Value, valid: Sequence[str]) -> str:
    """One of these words."""
    if str(value) not in valid:
        raise wrong(iface, option, valid)
    return str(value)


def words(value: Value) -> list[str]:
    """The words of a text, or the texts of a list."""
    if isinstance(value, str):
        return value.split()
    return (
        [str(one) for one in value] if isinstance(value, Iterable) and not isinstance(value, Mapping) else [str(value)]
    )


def line(iface: str, option: str, value: Value) -> str:
    """Text of one line."""
    text = str(value)
    if "\n" in text or "\0" in text:
        raise wrong(iface, option, "text of one line")
    return text


def is_ip(value: Value, version: int) -> bool:
    """Whether it is an address of this version, with or without the length of a prefix."""
    try:
        return ipaddress.ip_interface(str(value)).version == version
    except ValueError:
        return False


def is_mac(value: Value) -> bool:
    """Whether it is a hardware address."""
    return _MAC.fullmatch(str(value)) is not None


def prefix_length(iface: str, value: Value) -> int:
    """Of a netmask, which may be a number or have dots."""
    try:
        return ipaddress.ip_network(f"0.0.0.0/{value}").prefixlen
    except ValueError:
        raise wrong(iface, "netmask", "dotted quad or integer CIDR (0->32)") from None


def bond_mode(iface: str, settings: Mapping[str, Value]) -> str:
    """The number of a bond's mode."""
    mode = str(settings.get("mode", ""))
    if mode not in MODES and mode not in MODES.values():
        raise wrong(iface, "mode", [*MODES.values(), *MODES])
    return MODES.get(mode, mode)


def checked_name(name: str) -> str:
    """The name of an interface, which becomes part of paths and commands."""
    if not re.fullmatch(r"[A-Za-z0-9_][A-Za-z0-9_.:@+-]*", name) or ".." in name:
        raise StateFailed(f"{name!r} is no name of an interface")
    return name


ETHTOOL = ("rx", "tx", "sg", "tso", "ufo", "gso", "gro", "lro")


def ethtool_options(iface: str, settings: Mapping[str, Value]) -> dict[str, str]:
    """What ethtool(8) sets, by its own words."""
    found = {}
    if "autoneg" in settings:
        found["autoneg"] = "on" if switch(iface, "autoneg", settings["autoneg"]) else "off"
    if "duplex" in settings:
        found["duplex"] = one_of(iface, "duplex", settings["duplex"], ("full", "half"))
    if "speed" in settings:
        speeds = ("10", "100", "1000", "10000")
        if str(settings["speed"]) not in speeds:
            raise wrong(iface, str(settings["speed"]), speeds)
        found["speed"] = str(settings["speed"])
    for option in ETHTOOL:
        if option in settings:
            found[option] = "on" if switch(iface, option, settings[option]) else "off"
    return found
