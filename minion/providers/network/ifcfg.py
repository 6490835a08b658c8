"""Red Hat's files below /etc/sysconfig/network-scripts: a `NetworkFiles`.

Behaviour: salt.modules.rh_ip. Where that writes what has no meaning (HWADDR="auto", DOMAIN="e x a m p l e"), it is the
value that was meant.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence

from minion.machine.failure import StateFailed
from minion.machine.plan import Completed, Machine, Reader, Value
from minion.providers.network.files import InterfaceWish, NetworkFile, Settings, WantedFiles, text_of
from minion.providers.network.links import links
from minion.providers.network.values import (
    bond_mode,
    ethtool_options,
    is_ip,
    is_mac,
    line,
    one_of,
    switch,
    whole,
    words,
    wrong,
)

FOLDER = "/etc/sysconfig/network-scripts"
KINDS = (
    "eth",
    "bond",
    "team",
    "alias",
    "clone",
    "ipsec",
    "dialup",
    "bridge",
    "slave",
    "teamport",
    "vlan",
    "ipip",
    "ib",
)
_BUILT = frozenset(("eth", "bond", "team", "teamport", "bridge", "slave", "vlan", "ipip", "ib", "alias"))
_TYPES = {"bond": "Bond", "eth": "Ethernet", "bridge": "Bridge", "ipip": "IPIP", "ib": "InfiniBand"}
_IN_ORDER = """
    DEVICE NAME HWADDR MACADDR UUID USERCTL MASTER SLAVE VLAN REORDER_HDR VID PHYSDEV TYPE DEVICETYPE
    TEAM_CONFIG TEAM_PORT_CONFIG TEAM_MASTER BOOTPROTO ONBOOT ONPARENT IPV4_FAILURE_FATAL IPADDR IPADDR_START
    IPADDR_END CLONENUM_START NETMASK PREFIX IPADDRS GATEWAY ARPCHECK IPV6INIT IPV6_AUTOCONF DHCPV6C IPV6ADDR
    IPV6_DEFAULTGW IPV6ADDR_SECONDARIES IPV6_PEERDNS IPV6_DEFROUTE IPV6_PEERROUTES SRCADDR PEERDNS PEERROUTES
    PEERNTP DEFROUTE BRIDGE STP DELAY MTU ZONE MY_INNER_IPADDR MY_OUTER_IPADDR BONDING_OPTS ETHTOOL_OPTS DOMAIN
    NM_CONTROLLED DNS
"""
_ORDER = tuple(_IN_ORDER.split())
_PLAIN = {
    "nickname": "NAME", "macaddr": "MACADDR", "uuid": "UUID", "master": "MASTER", "ipaddr": "IPADDR",
    "ipaddr_start": "IPADDR_START", "ipaddr_end": "IPADDR_END", "clonenum_start": "CLONENUM_START",
    "netmask": "NETMASK", "prefix": "PREFIX", "gateway": "GATEWAY", "srcaddr": "SRCADDR", "delay": "DELAY",
    "zone": "ZONE",
}  # fmt: skip
_SWITCHES = {
    "onparent": "ONPARENT", "peerdns": "PEERDNS", "peerroutes": "PEERROUTES", "peerntp": "PEERNTP", "slave": "SLAVE",
    "defroute": "DEFROUTE", "stp": "STP", "ipv4_failure_fatal": "IPV4_FAILURE_FATAL", "userctl": "USERCTL",
    "nm_controlled": "NM_CONTROLLED",
}  # fmt: skip
_SWITCHES6 = {
    "ipv6_peerdns": "IPV6_PEERDNS", "ipv6_defroute": "IPV6_DEFROUTE", "ipv6_peerroutes": "IPV6_PEERROUTES",
    "ipv6_autoconf": "IPV6_AUTOCONF", "dhcpv6c": "DHCPV6C",
}  # fmt: skip
_UNQUOTED = ("ONPARENT", "MY_INNER_IPADDR", "MY_OUTER_IPADDR")
_SINGLE = ("TEAM_CONFIG", "TEAM_PORT_CONFIG")
_ADVERTISED = (
    "0x001", "0x002", "0x004", "0x008", "0x010", "0x020", "0x20000", "0x8000", "0x1000", "0x40000", "0x80000",
    "0x200000", "0x400000", "0x800000", "0x1000000", "0x2000000", "0x4000000",
)  # fmt: skip


class Ifcfg:
    """The files of one machine."""

    follow: tuple[str, ...] = ("slave", "teamport")

    def __init__(self, *, major: int, processors: int) -> None:
        self._major, self._processors = major, processors

    def interface(self, machine: Reader, name: str) -> list[str]:
        """The lines of its file."""
        return _lines(text_of(machine, f"{FOLDER}/ifcfg-{name}"))

    def wanted_interface(self, machine: Reader, wish: InterfaceWish) -> WantedFiles:
        """Its file."""
        if wish.kind not in KINDS:
            raise wrong(wish.name, wish.kind, KINDS)
        if wish.kind not in _BUILT:
            raise StateFailed(f"interfaces of the kind {wish.kind} are not written: manage the file with file.managed")
        variables = self._variables(machine, wish)
        text = ""
        for key in _ORDER:
            if key == "IPADDRS":
                text += _numbered(wish)
            elif key == "DNS":
                servers = words(wish.settings["dns"]) if wish.settings.get("dns") else []
                text += "".join(f'DNS{place}="{one}"\n' for place, one in enumerate(servers, 1))
            elif key in variables:
                value = line(wish.name, key, variables[key])
                quote = "" if key in _UNQUOTED else "'" if key in _SINGLE else '"'
                if quote and quote in value:
                    raise wrong(wish.name, key, f"text without {quote}")
                text += f"{key}={quote}{value}{quote}\n"
        return WantedFiles(tuple(_lines(text)), (NetworkFile(f"{FOLDER}/ifcfg-{wish.name}", text),))

    def _variables(self, machine: Reader, wish: InterfaceWish) -> dict[str, Value]:
        settings, iface, kind = dict(wish.settings), wish.name, wish.kind
        _check_pairs(settings)
        found: dict[str, Value] = {"DEVICE": iface, "ONBOOT": "yes" if wish.enabled else "no", "USERCTL": "no",
                                   "NM_CONTROLLED": "no"}  # fmt: skip
        found |= {_PLAIN[name]: value for name, value in settings.items()
                  if name in _PLAIN and (value or name == "delay") and value is not None}  # fmt: skip
        for name, key in _SWITCHES.items():
            if name in settings:
                found[key] = "yes" if switch(iface, name, settings[name]) else "no"
        if settings.get("dns"):
            found.setdefault("PEERDNS", "yes")
        if "proto" in settings:
            found["BOOTPROTO"] = one_of(iface, "proto", settings["proto"], ("none", "bootp", "dhcp"))
        if "mtu" in settings:
            found["MTU"] = whole(iface, "mtu", settings["mtu"])
        if settings.get("domain"):
            found["DOMAIN"] = " ".join(words(settings["domain"]))
        if "arpcheck" in settings and not switch(iface, "arpcheck", settings["arpcheck"]):
            found["ARPCHECK"] = "no"
        if kind != "bridge":
            if settings.get("bridge"):
                found["BRIDGE"] = settings["bridge"]
            if options := self._ethtool(iface, settings):
                found["ETHTOOL_OPTS"] = " ".join(f"{name} {value}" for name, value in options.items())
        found |= _ipv6(iface, settings)
        found |= self._of_kind(wish, settings)
        if hardware := _hardware_address(machine, wish):
            found["HWADDR"] = hardware
        return found

    def _of_kind(self, wish: InterfaceWish, settings: Settings) -> dict[str, Value]:
        """What an interface has for what it is."""
        iface, kind = wish.name, wish.kind
        found: dict[str, Value] = {"TYPE": _TYPES[kind]} if kind in _TYPES else {}
        if kind == "slave":
            if not settings.get("master"):
                raise StateFailed("master is a required setting for slave interfaces")
            found |= {"SLAVE": "yes", "BOOTPROTO": "none"}
        elif kind == "bond":
            if "mode" not in settings:
                raise StateFailed("mode is required for bond interfaces")
            options = bonding(iface, settings, self._major)
            found["BONDING_OPTS"] = " ".join(f"{name}={value}" for name, value in options.items())
        elif kind == "team":
            found["DEVICETYPE"] = "Team"
            if "team_config" in settings:
                found["TEAM_CONFIG"] = json.dumps(settings["team_config"])
        elif kind == "teamport":
            master = settings.get("team_master") or settings.get("master")
            if not master:
                raise StateFailed("master or team_master is a required setting for teamport interfaces")
            found |= {"DEVICETYPE": "TeamPort", "TEAM_MASTER": master}
            if "team_port_config" in settings:
                found["TEAM_PORT_CONFIG"] = json.dumps(settings["team_port_config"])
        elif kind == "ipip":
            for name in ("my_inner_ipaddr", "my_outer_ipaddr"):
                if not settings.get(name):
                    raise wrong(iface, name, "1.2.3.4")
                found[name.upper()] = settings[name]
        if kind == "vlan" or "vlan" in settings:
            found |= _vlan(iface, kind, settings)
        return found

    def _ethtool(self, iface: str, settings: Settings) -> dict[str, str]:
        options = ethtool_options(iface, settings)
        found: dict[str, str] = {}
        found |= {name: options[name] for name in ("autoneg", "duplex", "speed") if name in options}
        if "advertise" in settings:
            found["advertise"] = one_of(iface, "advertise", settings["advertise"], _ADVERTISED)
        channels = settings.get("channels") or {}
        told = []
        for name in ("rx", "tx", "other", "combined"):
            if name in channels:
                if channels[name] not in range(1, self._processors + 1):
                    raise wrong(iface, str(channels[name]), f"1 to {self._processors}")
                told.append(f"{name} {channels[name]}")
        if told:
            found[f"-L {iface}"] = " ".join(told)
        return found | {name: value for name, value in options.items() if name not in found}

    # --- routes and effect ------------------------------------------------------------------------------------------

    def routes(self, machine: Reader, name: str) -> list[str]:
        """The lines of both files."""
        return [each for start in ("route", "route6") for each in _lines(text_of(machine, f"{FOLDER}/{start}-{name}"))]

    def wanted_routes(self, machine: Reader, name: str, routes: Sequence[Settings]) -> WantedFiles:
        """A file for IPv4, and one for IPv6."""
        six = [route for route in routes if is_ip(route.get("ipaddr", ""), 6)]
        four = [route for route in routes if route not in six]
        files = [
            NetworkFile(f"{FOLDER}/{start}-{name}", "".join(_route(name, one) for one in chosen))
            for start, chosen in (("route", four), ("route6", six))
        ]
        return WantedFiles(tuple(each for file in files for each in _lines(file.text or "")), tuple(files))

    def up(self, machine: Machine, name: str, kind: str) -> Completed | None:
        """By ifup(8)."""
        return None if kind in self.follow else machine.run(["ifup", name])

    def down(self, machine: Machine, name: str, kind: str) -> Completed | None:
        """By ifdown(8)."""
        return None if kind in self.follow else machine.run(["ifdown", name])

    def services(self, machine: Reader) -> tuple[str, ...]:
        """NetworkManager, and `network` before Red Hat 8."""
        return ("NetworkManager" if self._major >= 8 else "network",)


def bonding(iface: str, settings: Settings, major: int) -> dict[str, str]:
    """The options of a bond, in Salt's order for Red Hat."""
    mode = bond_mode(iface, settings)
    found = {"mode": mode, **_miimon(iface, settings)}
    if mode in "02":
        found |= _arp(iface, settings)
        if "miimon" not in settings and "arp_interval" not in settings:
            raise wrong(iface, "miimon or arp_interval", "at least one of these is required")
    elif "miimon" not in settings:
        raise wrong(iface, "miimon", "integer")
    if mode == "4":
        rate = str(settings.get("lacp_rate", "0"))
        one_of(iface, "lacp_rate", rate, ("fast", "1", "slow", "0"))
        found["lacp_rate"] = {"fast": "1", "slow": "0"}.get(rate, rate)
        found["ad_select"] = str(whole(iface, "ad_select", settings.get("ad_select", "0")))
    if mode in "156" and "primary" in settings:
        found["primary"] = str(settings["primary"])
    if mode in "24" and "hashing-algorithm" in settings:
        valid = ("layer2", "layer2+3", "layer3+4")
        if mode == "4":
            valid += ("encap2+3", "encap3+4", *(("vlan+srcmac",) if major >= 8 else ()))
        found["xmit_hash_policy"] = one_of(iface, "hashing-algorithm", settings["hashing-algorithm"], valid)
    return found


def _miimon(iface: str, settings: Settings) -> dict[str, str]:
    found = {
        name: whole(iface, name, settings[name]) for name in ("miimon", "downdelay", "updelay") if name in settings
    }
    if "miimon" not in found:
        return {name: str(value) for name, value in found.items()}
    interval = found["miimon"]
    if not interval:
        raise wrong(iface, "miimon", "nonzero integer")
    found.setdefault("downdelay", interval * 2)
    for name in ("downdelay", "updelay"):
        if found.get(name, 0) % interval:
            raise wrong(iface, name, f"0 or a multiple of miimon ({interval})")
    carrier = "use_carrier" in settings and switch(iface, "use_carrier", settings["use_carrier"])
    return {**{name: str(value) for name, value in found.items()}, "use_carrier": "1" if carrier else "0"}


def _arp(iface: str, settings: Settings) -> dict[str, str]:
    if "arp_interval" not in settings:
        return {}
    targets = settings.get("arp_ip_target")
    if not isinstance(targets, list) or not 1 <= len(targets) <= 16:
        raise wrong(iface, "arp_ip_target", "list of ips (up to 16)")
    interval = whole(iface, "arp_interval", settings["arp_interval"])
    return {"arp_interval": str(interval), "arp_ip_target": ",".join(map(str, targets))}


def _vlan(iface: str, kind: str, settings: Settings) -> dict[str, Value]:
    found: dict[str, Value] = {"VLAN": "yes"}
    if kind != "vlan":
        return {"VLAN": "yes" if switch(iface, "vlan", settings["vlan"]) else "no"}
    if "reorder_hdr" in settings:
        switch(iface, "reorder_hdr", settings["reorder_hdr"])
        found["REORDER_HDR"] = settings["reorder_hdr"]
    if "vlan_id" in settings:
        found["VID"] = whole(iface, "vlan_id", settings["vlan_id"])
        if found["VID"] <= 0:
            raise wrong(iface, "vlan_id", "Positive integer")
    if "phys_dev" in settings:
        if not settings["phys_dev"]:
            raise wrong(iface, "phys_dev", "Non-empty string")
        found["PHYSDEV"] = settings["phys_dev"]
    return found | ({"TYPE": "Vlan"} if len(found) > 1 else {})


def _ipv6(iface: str, settings: Settings) -> dict[str, Value]:
    """Nothing without `enable_ipv6`, as in Salt."""
    if not settings.get("enable_ipv6"):
        return {}
    found: dict[str, Value] = {"IPV6INIT": "yes"}
    for name, key in _SWITCHES6.items():
        if name in settings:
            found[key] = "yes" if switch(iface, name, settings[name]) else "no"
    found |= {key: settings[name] for name, key in (("ipv6addr", "IPV6ADDR"), ("ipv6gateway", "IPV6_DEFAULTGW"))
              if settings.get(name)}  # fmt: skip
    if settings.get("ipv6addrs"):
        if not all(is_ip(one, 6) for one in settings["ipv6addrs"]):
            raise StateFailed("ipv6 CIDR is invalid")
        found["IPV6ADDR_SECONDARIES"] = " ".join(settings["ipv6addrs"])
    return found


def _numbered(wish: InterfaceWish) -> str:
    text = ""
    for place, given in enumerate(wish.settings.get("ipaddrs") or (), 1):
        address, slash, prefix = (part.strip() for part in str(given).partition("/"))
        if not slash or not is_ip(f"{address}/{prefix}", 4):
            raise StateFailed("ipv4 CIDR is invalid")
        text += f'IPADDR{place}="{address}"\nPREFIX{place}="{prefix}"\n'
    return text


def _hardware_address(machine: Reader, wish: InterfaceWish) -> str:
    """As it is given; `auto`, or nothing, is that of the interface, `none` none at all."""
    if wish.kind in ("bond", "team", "vlan", "bridge", "ipip"):
        return str(wish.settings.get("hwaddr") or "")
    given = str(wish.settings.get("hwaddr", "auto"))
    if is_mac(given):
        return given
    if given not in ("auto", "none"):
        raise wrong(wish.name, given, ("AA:BB:CC:DD:EE:FF", "auto", "none"))
    card = None if given == "none" or wish.kind == "slave" else links(machine).get(wish.name)
    return card.hardware_address if card else ""


def _check_pairs(settings: Mapping[str, Value]) -> None:
    if "hwaddr" in settings and "macaddr" in settings:
        raise StateFailed("Cannot pass both hwaddr and macaddr. Must use either hwaddr or macaddr")
    if "prefix" in settings and "netmask" in settings:
        raise StateFailed("Cannot use prefix and netmask together")
    if "bypassfirewall" in settings:
        raise StateFailed("bypassfirewall is not supported: set net.bridge.bridge-nf-call-* by sysctl.present")


def _route(iface: str, route: Settings) -> str:
    text = f"# {line(iface, 'name', route['name'])}\n" if route.get("name") else "\n"
    text += line(iface, "ipaddr", route.get("ipaddr") or "") + (f"/{route['netmask']}" if route.get("netmask") else "")
    text += f" via {route['gateway']}" if route.get("gateway") else f" dev {iface}"
    return text + (f" metric {route['metric']}" if route.get("metric") else "") + "\n"


def _lines(text: str) -> list[str]:
    """As Salt shows a file: without the first line that is empty."""
    found = text.splitlines()
    if "" in found:
        found.remove("")
    return found
