"""Settings of an interface for the network managers that Salt does not know, in terms that they share.

Called by `netplan` and `keyfiles`. Pure. The settings are those of network.managed on Debian and Red Hat.
"""

from __future__ import annotations

import ipaddress
import re
from collections.abc import Sequence
from typing import NamedTuple

from minion.machine.failure import StateFailed
from minion.machine.plan import Value
from minion.providers.network.files import InterfaceWish, Settings
from minion.providers.network.values import (
    MODES,
    bond_mode,
    is_ip,
    is_mac,
    line,
    prefix_length,
    switch,
    whole,
    words,
    wrong,
)

KINDS = ("eth", "bond", "bridge", "slave", "vlan")
_METHODS4 = ("dhcp", "static", "none", "manual", "loopback", "bootp")
_METHODS6 = ("auto", "dhcp", "static", "none", "manual", "loopback")


class Family(NamedTuple):
    """What an interface has of one version of IP."""

    dhcp: bool = False
    auto: bool = False
    """Addresses that routers announce, of IPv6."""
    addresses: tuple[str, ...] = ()
    gateway: str = ""


class Route(NamedTuple):
    """A way to a network."""

    target: str
    gateway: str
    metric: str

    @property
    def version(self) -> int:
        """Of IP."""
        return ipaddress.ip_network(self.target).version


class CommonSettings(NamedTuple):
    """An interface, whatever the file that it stands in."""

    ip4: Family
    ip6: Family
    dns: tuple[str, ...]
    search: tuple[str, ...]
    mtu: int | None
    hardware_address: str


def common_settings(wish: InterfaceWish) -> CommonSettings:
    """Read them; StateFailed where one has no meaning."""
    settings, iface = wish.settings, wish.name
    if wish.kind not in KINDS:
        raise wrong(iface, wish.kind, KINDS)
    hardware = str(settings.get("macaddr") or settings.get("hwaddr") or "")
    if hardware not in ("", "auto", "none") and not is_mac(hardware):
        raise wrong(iface, hardware, ("AA:BB:CC:DD:EE:FF", "auto", "none"))
    return CommonSettings(
        _ip4(iface, settings),
        _ip6(iface, settings),
        tuple(line(iface, "dns", one) for one in words(settings.get("dns") or ())),
        tuple(line(iface, "search", one) for one in words(settings.get("search") or settings.get("domain") or ())),
        whole(iface, "mtu", settings["mtu"]) if "mtu" in settings else None,
        "" if hardware in ("auto", "none") else hardware,
    )


def _ip4(iface: str, settings: Settings) -> Family:
    method = str(settings.get("ipv4proto") or settings.get("proto") or "static")
    if method not in _METHODS4:
        raise wrong(iface, "proto", _METHODS4)
    length = settings.get("prefix") or settings.get("ipv4netmask") or settings.get("netmask")
    single = settings.get("ipv4addr") or settings.get("ipaddr") or settings.get("address")
    given = [single] if single else []
    given += [*words(settings.get("ipaddrs") or ()), *words(settings.get("addresses") or ())]
    addresses = [_interface(iface, one, 4, prefix_length(iface, length) if length else 32) for one in given]
    if settings.get("enable_ipv4") is False:
        return Family()
    return Family(method in ("dhcp", "bootp"), False, tuple(addresses), _gateway(iface, settings, "ipv4", 4))


def _ip6(iface: str, settings: Settings) -> Family:
    if not settings.get("enable_ipv6") and not settings.get("ipv6proto"):
        return Family()
    method = str(settings.get("ipv6proto") or "static")
    if method not in _METHODS6:
        raise wrong(iface, "ipv6proto", _METHODS6)
    length = settings.get("ipv6netmask") or 64
    given = [settings["ipv6addr"]] if settings.get("ipv6addr") else []
    given += words(settings.get("ipv6addrs") or settings.get("ipv6ipaddrs") or ())
    dhcp = method == "dhcp" or ("dhcpv6c" in settings and switch(iface, "dhcpv6c", settings["dhcpv6c"]))
    auto = method == "auto" or ("ipv6_autoconf" in settings and switch(iface, "autoconf", settings["ipv6_autoconf"]))
    addresses = tuple(_interface(iface, one, 6, int(length)) for one in given)
    return Family(dhcp, auto, addresses, _gateway(iface, settings, "ipv6", 6))


def _interface(iface: str, value: Value, version: int, length: int) -> str:
    if not is_ip(value, version):
        raise wrong(iface, "ipaddr" if version == 4 else "ipv6addr", f"IPv{version} address")
    return str(value) if "/" in str(value) else f"{value}/{length}"


def _gateway(iface: str, settings: Settings, family: str, version: int) -> str:
    value = settings.get(f"{family}gateway") or (settings.get("gateway") if version == 4 else "") or ""
    if value and not is_ip(value, version):
        raise wrong(iface, f"{family}gateway", f"IPv{version} address")
    return str(value)


def common_routes(iface: str, routes: Sequence[Settings]) -> list[Route]:
    """Read them; StateFailed where one has no target."""
    found = []
    for route in routes:
        target, mask = str(route.get("ipaddr") or ""), route.get("netmask")
        try:
            network = ipaddress.ip_network(f"{target}/{mask}" if mask and "/" not in target else target, strict=False)
        except ValueError:
            raise wrong(iface, "ipaddr", "a network of a route") from None
        gateway = str(route.get("gateway") or "")
        if gateway and not is_ip(gateway, network.version):
            raise wrong(iface, "gateway", f"IPv{network.version} address")
        metric = str(whole(iface, "metric", route["metric"])) if route.get("metric") else ""
        found.append(Route(str(network), gateway, metric))
    return found


def bond_mode_name(iface: str, settings: Settings) -> str:
    """The mode of a bond in words."""
    number = bond_mode(iface, settings)
    return next(name for name, each in MODES.items() if each == number)


def vlan_of(wish: InterfaceWish) -> tuple[int, str]:
    """The number of a VLAN and the interface below it: as given, or from a name such as `eth0.5` or `vlan5`."""
    named = re.fullmatch(r"(?:(?P<below>.+)\.|vlan)(?P<id>\d+)", wish.name)
    number = wish.settings.get("vlan_id") or (named["id"] if named else None)
    below = wish.settings.get("phys_dev") or wish.settings.get("vlan-raw-device") or (named["below"] if named else None)
    if not number or not below:
        raise StateFailed("vlan_id and phys_dev are required settings of a vlan whose name does not tell them")
    return whole(wish.name, "vlan_id", number), str(below)
