"""Settings of an interface as the options of a stanza of interfaces(5), and of the files beside it.

Called by `ifupdown`. Pure. Which option stands in which stanza, and in which order, is as Salt's debian_ip has it;
where that drops what was given (a 0, a number of a bond, dns-search), it is written.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence

from minion.machine.plan import Value
from minion.providers.network.files import InterfaceWish, Settings
from minion.providers.network.values import (
    bond_mode,
    ethtool_options,
    is_ip,
    is_mac,
    line,
    switch,
    whole,
    words,
    wrong,
)

KINDS = ("eth", "bond", "alias", "clone", "ipsec", "dialup", "bridge", "slave", "vlan", "pppoe", "source")

Stanza = list[tuple[str, str]]
"""Option and value, in the order of the file."""

_OWN_NAMES = {
    "dns": "dns-nameservers",
    "search": "dns-search",
    "hwaddr": "hwaddress",
    "ipaddr": "address",
    "ipaddrs": "addresses",
}
_IPV4_ALONE = ("ipaddr", "address", "ipaddresses", "addresses", "gateway", "proto")
"""Settings that are IPv4's where no family stands before them."""

_IN_ORDER = """
    autoconf privext dhcp hwaddress vlan-raw-device address netmask broadcast metric gateway pointopoint scope
    hostname media leasehours leasetime vendor client bootfile server mode endpoint dstaddr local ttl mtu
    provider unit options bond-master dns-nameservers dns-search wireless-essid wireless-mode wpa-ap-scan wpa-
    conf wpa-driver wpa-group wpa-key-mgmt wpa-pairwise wpa-proto wpa-psk wpa-roam wpa-ssid accept_ra preferred-
    lifetime dad-attempts dad-interval up down pre-up post-up pre-down post-down
"""
_ORDER = tuple(_IN_ORDER.split())
_ETHTOOL = {
    "speed": "link-speed",
    "duplex": "link-duplex",
    "autoneg": "ethernet-autoneg",
    **{name: f"offload-{name}" for name in ("rx", "tx", "sg", "tso", "ufo", "gso", "gro", "lro")},
}
_COMMANDS = ("up", "down", "pre-up", "post-up", "pre-down", "post-down")
_PROTOCOLS = {
    "inet": ("bootp", "dhcp", "static", "manual", "loopback", "ppp"),
    "inet6": ("auto", "loopback", "static", "manual", "dhcp", "v4tunnel", "6to4"),
}
_SCOPES = {"inet": ("global", "link", "host"), "inet6": ("global", "site", "link", "host")}


def rank(option: str) -> tuple[int, int, str]:
    """Where an option stands in its stanza: those of ethtool, bonds and bridges after the others, by their names."""
    if option in _ORDER:
        return 0, _ORDER.index(option), ""
    if option.startswith(("link-", "ethernet-", "offload-", "hardware-", "driver-")):
        return 1, 0, option
    for place, start in enumerate(("bond-", "bridge_"), 2):
        if option.startswith(start):
            return place, 0, option
    return 9, 0, option


def normal_option(option: str) -> str:
    """The name as it is written here: `bond_mode` is `bond-mode`, `bridge-ports` is `bridge_ports`."""
    if found := re.fullmatch(r"(bond|bridge)[_-](.+)", option):
        return f"{found[1]}{'-' if found[1] == 'bond' else '_'}{found[2]}"
    return option if option == "accept_ra" else option.replace("_", "-")


def stanzas(wish: InterfaceWish, *, has_use_carrier: bool) -> dict[str, tuple[str, Stanza]]:
    """Family → method and options. A family without a method has no stanza."""
    settings, iface = dict(wish.settings), wish.name
    options: dict[str, dict[str, list[str]]] = {"inet": {}, "inet6": {}}
    common = _of_kind(wish, settings, has_use_carrier=has_use_carrier)
    if wish.kind == "slave":
        settings["proto"] = "manual"
    if wish.kind in ("bond", "bridge"):
        settings.pop("mode", None)
    shared: dict[str, dict[str, list[str]]] = {"inet": {}, "inet6": {}}
    for setting, value in settings.items():
        if value is None:
            continue
        _take(iface, setting, value, options, shared)
    made = {}
    for family, switch_name in (("inet", "enable_ipv4"), ("inet6", "enable_ipv6")):
        merged = {**common, **shared[family], **options[family]}
        method = merged.pop("proto", None)
        if method is None or settings.get(switch_name) is False:
            continue
        made[family] = (method[0], [(name, one) for name in sorted(merged, key=rank) for one in merged[name]])
    return made


def _take(
    iface: str,
    setting: str,
    value: Value,
    own: Mapping[str, dict[str, list[str]]],
    shared: Mapping[str, dict[str, list[str]]],
) -> None:
    """Note a setting where it belongs: to one family, or to each that takes the value."""
    family = {"ipv4": "inet", "ipv6": "inet6"}.get(setting[:4])
    bare = setting[4:] if family else setting
    if family is None and setting in _IPV4_ALONE:
        family = "inet"
    option = _OWN_NAMES.get(bare, bare)
    if option.replace("-", "_").endswith("_cmds"):
        option = option.replace("_", "-").removesuffix("-cmds")
        commands = [line(iface, setting, one) for one in ([value] if isinstance(value, str) else value)]
        for each in ("inet", "inet6"):
            shared[each][option] = commands
        return
    places = (family,) if family else ("inet", "inet6")
    found = {each: read(value) for each in places if (read := _reader(option, each)) is not None}
    if found and all(texts is None for texts in found.values()):
        raise wrong(iface, setting, _expected(option, places[0]))
    name = "address" if option == "addresses" else normal_option(option)
    for each, texts in found.items():
        if texts is not None:
            target = own if family else shared
            kept = target[each].get(name, []) if name == "address" else []
            target[each][name] = [*kept, *(line(iface, setting, one) for one in texts)]


Read = Callable[[Value], list[str] | None]
"""The values of an option; None where it does not take this one."""


def _reader(option: str, family: str) -> Read | None:
    """How a value of an option is read in a family; None where it has no such option."""
    version, name = 4 if family == "inet" else 6, option.replace("_", "-")
    if name in ("dns-nameservers", "dns-search"):
        return lambda value: [" ".join(words(value))] if words(value) else None
    if name == "addresses":
        return words
    if name in ("address", "gateway", "broadcast"):
        return _if(lambda value: is_ip(value, version))
    if name in ("pointopoint", "server", "dstaddr") and version == 4:
        return _if(lambda value: is_ip(value, 4))
    if name in ("endpoint", "local"):
        return _if(lambda value: is_ip(value, 4))
    if name in ("hwaddress",):
        return _if(is_mac)
    if name == "netmask":
        return _if(_is_netmask if version == 4 else lambda value: _is_number(value, range(129)))
    if name in ("proto", "scope"):
        return _if(lambda value: str(value) in (_PROTOCOLS if name == "proto" else _SCOPES)[family])
    return _plain(name, version)


_NUMBERS: Mapping[str, range] = {
    "mtu": range(1 << 32), "ttl": range(256), "metric": range(1 << 32), "leasehours": range(1 << 32),
    "leasetime": range(1 << 32), "unit": range(1 << 16), "wpa-ap-scan": range(3),
}  # fmt: skip
_NUMBERS6: Mapping[str, range] = {
    "mtu": range(1 << 32), "ttl": range(256), "privext": range(3), "dhcp": range(2), "accept-ra": range(3),
    "autoconf": range(2), "preferred-lifetime": range(1 << 32), "dad-attempts": range(1 << 16),
    "wpa-ap-scan": range(3),
}  # fmt: skip
_TEXTS = frozenset(("hostname", "vendor", "client", "bootfile", "provider", "options"))
_WIRELESS = ("wireless-", "wpa-")


def _plain(name: str, version: int) -> Read | None:
    numbers = _NUMBERS if version == 4 else _NUMBERS6
    if name in numbers:
        return _if(lambda value: _is_number(value, numbers[name]))
    if name == "dad-interval" and version == 6:
        return _if(lambda value: re.fullmatch(r"\d+(\.\d+)?", str(value)) is not None)
    if name == "mode":
        return _if(lambda value: str(value).lower() in ("gre", "ipip"))
    if (name in _TEXTS and version == 4) or (name == "media" and version == 6) or name.startswith(_WIRELESS):
        return lambda value: [str(value)]
    return (lambda value: [str(value)]) if name == "vlan-raw-device" else None


def _if(fits: Callable[[Value], bool]) -> Read:
    return lambda value: [str(value)] if fits(value) else None


def _is_number(value: Value, numbers: range) -> bool:
    return not isinstance(value, bool) and str(value).isdigit() and int(value) in numbers


def _is_netmask(value: Value) -> bool:
    return _is_number(value, range(33)) or (is_ip(f"0.0.0.0/{value}", 4) and "." in str(value))


def _expected(option: str, family: str) -> Sequence[str]:
    if option in ("proto", "scope"):
        return (_PROTOCOLS if option == "proto" else _SCOPES)[family]
    version = "IPv4" if family == "inet" else "IPv6"
    kinds = {"netmask": "netmask", "hwaddress": "MAC address"}
    addresses = ("address", "gateway", "broadcast", "pointopoint", "server", "dstaddr", "endpoint", "local")
    return [f"{version} address" if option in addresses else kinds.get(option, "a value of this option")]


def _of_kind(wish: InterfaceWish, settings: Settings, *, has_use_carrier: bool) -> dict[str, list[str]]:
    """The options that an interface has for what it is, in each family."""
    iface, kind = wish.name, wish.kind
    found: dict[str, list[str]] = {}
    if kind != "bridge":
        options = ethtool_options(iface, settings)
        found |= {_ETHTOOL[name]: [value] for name, value in options.items()}
    if kind == "bridge":
        found |= {f"bridge_{name}": [value] for name, value in _bridge(iface, settings).items()}
    if kind == "bond":
        options = {**bond_options(iface, settings, has_use_carrier=has_use_carrier),
                   "slaves": " ".join(words(settings["slaves"]))}  # fmt: skip
        found |= {f"bond-{name}": [line(iface, name, value)] for name, value in options.items()}
    if kind == "slave":
        found["bond-master"] = [line(iface, "master", settings["master"])]
    if kind == "vlan":
        found["vlan-raw-device"] = [re.sub(r"\.\d*", "", iface)]
    if kind == "pppoe" and "provider" in settings:
        found["provider"] = [line(iface, "provider", settings["provider"])]
    return found


_CARRIER_MODES, _MII_MODES, _ARP_MODES = "13456", "13456", "02"


def bond_options(iface: str, settings: Settings, *, has_use_carrier: bool = True) -> dict[str, str]:
    """The parameters of a bond, in Salt's order; what is not given has Salt's defaults for Debian."""
    mode = bond_mode(iface, settings)
    found = {"mode": mode}
    if mode in _ARP_MODES:
        targets = settings.get("arp_ip_target")
        if not isinstance(targets, list) or not 1 <= len(targets) <= 16:
            raise wrong(iface, "arp_ip_target", ["list of ips (up to 16)"])
        found["arp_ip_target"] = ",".join(map(str, targets))
        found["arp_interval"] = str(whole(iface, "arp_interval", settings.get("arp_interval", 250)))
    if mode in _MII_MODES:
        defaults = {"miimon": "100", "downdelay": "200", "updelay": "0"}
        if mode == "4":
            defaults |= {"lacp_rate": "0", "ad_select": "0"}
        for name, default in defaults.items():
            value = settings.get(name, default)
            value = {"slow": "0", "fast": "1"}.get(str(value), value) if name == "lacp_rate" else value
            found[name] = str(whole(iface, name, value))
    if mode == "1" and "primary" in settings:
        found["primary"] = str(settings["primary"])
    if mode in _CARRIER_MODES and (mode != "1" or has_use_carrier):
        given = settings.get("use_carrier")
        found["use_carrier"] = "on" if given is None else "1" if switch(iface, "use_carrier", given) else "0"
    if mode in "24" and "hashing-algorithm" in settings:
        valid = ("layer2", "layer2+3", "layer3+4")
        algorithm = str(settings["hashing-algorithm"])
        if algorithm not in valid:
            raise wrong(iface, "hashing-algorithm", valid)
        found["xmit_hash_policy"] = algorithm
    if mode in "56" and "primary" in settings:
        found["primary"] = str(settings["primary"])
    return found


def _bridge(iface: str, settings: Settings) -> dict[str, str]:
    found = {}
    if "ports" in settings:
        found["ports"] = " ".join(words(settings["ports"]))
    for name in ("ageing", "fd", "gcint", "hello", "maxage"):
        if name in settings:
            if not re.fullmatch(r"\d+(\.\d+)?", str(settings[name])):
                raise wrong(iface, name, ["float"])
            found[name] = str(settings[name])
    for name in ("bridgeprio", "maxwait"):
        if name in settings:
            found[name] = str(whole(iface, name, settings[name]))
    if "hw" in settings:
        if not is_mac(settings["hw"]):
            raise wrong(iface, "hw", ["valid MAC address"])
        found["hw"] = str(settings["hw"])
    for name in ("pathcost", "portprio"):
        if name in settings:
            parts = str(settings[name]).split()
            if len(parts) != 2 or not parts[1].isdigit():
                raise wrong(iface, name, ["interface integer"])
            found[name] = " ".join(parts)
    if "stp" in settings:
        found["stp"] = "on" if switch(iface, "stp", settings["stp"]) else "off"
    if "waitport" in settings:
        seconds, *ports = str(settings["waitport"]).split()
        if not seconds.isdigit():
            raise wrong(iface, "waitport", ["integer [interfaces]"])
        found["waitport"] = " ".join((seconds, *ports))
    return found


def peer_file(iface: str, settings: Settings) -> str:
    """The file of pppd below /etc/ppp/peers."""
    lines = [f"user {line(iface, 'user', settings['user'])}"] if settings.get("user") else []
    if settings.get("password"):
        lines.append(f"password {line(iface, 'password', settings['password'])}")
    lines.append(f"plugin rp-pppoe.so {settings.get('pppoe_iface', 'eth0')}")
    for name in ("noipdefault", "usepeerdns", "defaultroute", "hide-password", "noauth", "persist", "noaccomp"):
        if name not in settings or switch(iface, name, settings[name]):
            lines.append(name)
    numbers = {"holdoff": 15, "maxfail": 0, "lcp-echo-interval": 20, "lcp-echo-failure": 3, "mtu": 1492}
    lines += [f"{name} {line(iface, name, settings.get(name, default))}" for name, default in numbers.items()]
    lines += [f"{name} {line(iface, name, settings[name])}" for name in ("connect", "linkname") if settings.get(name)]
    return "".join(f"{one}\n" for one in lines)
