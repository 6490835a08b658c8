"""Netplan: a file of its own below /etc/netplan for each interface, and one for its routes. A `NetworkFiles`.

Salt has none of its kind. Behaviour: netplan-yaml(5).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import yaml

from minion.machine.failure import StateFailed
from minion.machine.plan import Completed, Machine, Reader
from minion.providers.network.common_settings import (
    CommonSettings,
    bond_mode_name,
    common_routes,
    common_settings,
    vlan_of,
)
from minion.providers.network.files import InterfaceWish, NetworkFile, Settings, WantedFiles, text_of
from minion.providers.network.values import switch, whole, words, wrong

FOLDER = "/etc/netplan"
_SECTIONS = {"eth": "ethernets", "slave": "ethernets", "bond": "bonds", "bridge": "bridges", "vlan": "vlans"}
_PLACES = {"eth": 90, "slave": 90, "bond": 91, "vlan": 92, "bridge": 93}
"""Kind → with what its file begins: netplan reads the files by their names, and knows no interface before its own."""
_BOND = {"miimon": "mii-monitor-interval", "downdelay": "down-delay", "updelay": "up-delay", "lacp_rate": "lacp-rate",
         "primary": "primary", "hashing-algorithm": "transmit-hash-policy", "arp_interval": "arp-interval"}  # fmt: skip
_BRIDGE = {"fd": "forward-delay", "hello": "hello-time", "maxage": "max-age", "ageing": "ageing-time",
           "bridgeprio": "priority"}  # fmt: skip


class Netplan:
    """The files of one machine."""

    follow: tuple[str, ...] = ()

    def interface(self, machine: Reader, name: str) -> list[str]:
        """The lines of its file."""
        return [each for path in _own(machine, name) for each in text_of(machine, path).splitlines()]

    def wanted_interface(self, machine: Reader, wish: InterfaceWish) -> WantedFiles:
        """Its file."""
        if wish.kind not in _SECTIONS:
            raise wrong(wish.name, wish.kind, list(_SECTIONS))
        for path, sections in _others(machine, wish.name):
            if any(wish.name in (of_kind or {}) for of_kind in sections.values() if isinstance(of_kind, Mapping)):
                raise StateFailed(f"{wish.name} is in {path}, too, and netplan would merge both: take it from there")
        path = f"{FOLDER}/{_PLACES[wish.kind]}-saltern-{wish.name}.yaml"
        made = _files(path, {_SECTIONS[wish.kind]: {wish.name: _device(wish)}})
        gone = [NetworkFile(each, None) for each in _own(machine, wish.name) if each != path]
        return made._replace(files=(*gone, *made.files))

    def routes(self, machine: Reader, name: str) -> list[str]:
        """The lines of the file of its routes."""
        return text_of(machine, _routes_path(name)).splitlines()

    def wanted_routes(self, machine: Reader, name: str, routes: Sequence[Settings]) -> WantedFiles:
        """The file of its routes, in the section that the interface stands in."""
        made = [
            {"to": one.target, **({"via": one.gateway} if one.gateway else {"scope": "link"}),
             **({"metric": int(one.metric)} if one.metric else {})}
            for one in common_routes(name, routes)
        ]  # fmt: skip
        if not made:
            return WantedFiles((), (NetworkFile(_routes_path(name), None),))
        section = next(
            (key for path in _paths(machine) for sections in [_sections(machine, path)]
             for key, of_kind in sections.items() if isinstance(of_kind, Mapping) and name in of_kind),
            "ethernets",
        )  # fmt: skip
        return _files(_routes_path(name), {section: {name: {"routes": made}}})

    def up(self, machine: Machine, name: str, kind: str) -> Completed | None:
        """By `netplan apply`, which puts all files into effect."""
        return machine.run(["netplan", "apply"])

    def down(self, machine: Machine, name: str, kind: str) -> Completed | None:
        """By ip(8): netplan takes nothing down."""
        return machine.run(["ip", "link", "set", "dev", name, "down"])

    def services(self, machine: Reader) -> tuple[str, ...]:
        """None: `netplan apply` restarts what it has to."""
        return ()


def _device(wish: InterfaceWish) -> dict[str, Any]:
    found = common_settings(wish)
    device: dict[str, Any] = {}
    if not wish.enabled:
        device["activation-mode"] = "off"
    device |= _of_kind(wish)
    if wish.kind == "slave":
        return device
    device["dhcp4"] = found.ip4.dhcp
    if found.ip6.dhcp:
        device["dhcp6"] = True
    device["accept-ra"] = found.ip6.auto or found.ip6.dhcp
    if addresses := [*found.ip4.addresses, *found.ip6.addresses]:
        device["addresses"] = addresses
    if gateways := [one for one in (found.ip4.gateway, found.ip6.gateway) if one]:
        device["routes"] = [{"to": "0.0.0.0/0" if "." in one else "::/0", "via": one} for one in gateways]
    return device | _shared(found)


def _shared(found: CommonSettings) -> dict[str, Any]:
    device: dict[str, Any] = {}
    if found.dns or found.search:
        device["nameservers"] = {**({"addresses": list(found.dns)} if found.dns else {}),
                                 **({"search": list(found.search)} if found.search else {})}  # fmt: skip
    if found.mtu is not None:
        device["mtu"] = found.mtu
    if found.hardware_address:
        device["macaddress"] = found.hardware_address
    return device


def _of_kind(wish: InterfaceWish) -> dict[str, Any]:
    settings, iface = wish.settings, wish.name
    if wish.kind == "vlan":
        number, below = vlan_of(wish)
        return {"id": number, "link": below}
    if wish.kind == "bond":
        if not settings.get("slaves"):
            raise StateFailed("slaves is a required setting for bond interfaces")
        parameters: dict[str, Any] = {"mode": bond_mode_name(iface, settings)}
        parameters |= {key: _parameter(name, settings[name]) for name, key in _BOND.items() if name in settings}
        if settings.get("arp_ip_target"):
            parameters["arp-ip-targets"] = words(settings["arp_ip_target"])
        return {"interfaces": words(settings["slaves"]), "parameters": parameters}
    if wish.kind == "bridge":
        if not settings.get("ports"):
            raise StateFailed("ports is a required setting for bridge interfaces")
        ports = [] if settings["ports"] == "none" else words(settings["ports"])
        parameters = {key: whole(iface, name, settings[name]) for name, key in _BRIDGE.items() if name in settings}
        parameters["stp"] = "stp" in settings and switch(iface, "stp", settings["stp"])
        return {"interfaces": ports, "parameters": parameters}
    return {}


def _parameter(name: str, value: Any) -> Any:
    if name == "lacp_rate":
        return {"0": "slow", "1": "fast"}.get(str(value), str(value))
    return int(value) if str(value).isdigit() else str(value)


def _own(machine: Reader, name: str) -> list[str]:
    """The files of an interface: one, unless it has become of another kind."""
    places = sorted(set(_PLACES.values()))
    paths = [f"{FOLDER}/{place}-saltern-{name}.yaml" for place in places]
    return [path for path in paths if machine.stat(path) is not None]


def _routes_path(name: str) -> str:
    return f"{FOLDER}/95-saltern-routes-{name}.yaml"


def _files(path: str, sections: Mapping[str, Any]) -> WantedFiles:
    text = yaml.safe_dump({"network": {"version": 2, **sections}}, sort_keys=False, default_flow_style=False)
    return WantedFiles(tuple(text.splitlines()), (NetworkFile(path, text, "0600"),))


def _others(machine: Reader, name: str) -> list[tuple[str, Mapping[str, Any]]]:
    """The files that are not of this interface, and what is in them."""
    own = (*_own(machine, name), _routes_path(name))
    return [(path, _sections(machine, path)) for path in _paths(machine) if path not in own]


def _paths(machine: Reader) -> list[str]:
    return [f"{FOLDER}/{each}" for each in machine.listdir(FOLDER) if each.endswith(".yaml")]


def _sections(machine: Reader, path: str) -> Mapping[str, Any]:
    try:
        found = yaml.safe_load(text_of(machine, path)) or {}
    except yaml.YAMLError as error:
        raise StateFailed(f"{path} cannot be read: {error}") from error
    sections = found.get("network") if isinstance(found, Mapping) else None
    return sections if isinstance(sections, Mapping) else {}
