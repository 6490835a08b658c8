"""NetworkManager's keyfiles below /etc/NetworkManager/system-connections: a `NetworkFiles`.

Salt has none of its kind. Behaviour: nm-settings-keyfile(5). The routes of an interface stand in its own file.
"""

from __future__ import annotations

import uuid
from collections.abc import Mapping, Sequence

from minion.machine.failure import StateFailed
from minion.machine.plan import Completed, Machine, Reader
from minion.providers.network.common_settings import (
    Family,
    Route,
    bond_mode_name,
    common_routes,
    common_settings,
    vlan_of,
)
from minion.providers.network.files import InterfaceWish, NetworkFile, Settings, WantedFiles, text_of
from minion.providers.network.values import switch, whole, words

FOLDER = "/etc/NetworkManager/system-connections"
_NAMES = uuid.UUID("6ba7b811-9dad-11d1-80b4-00c04fd430c8")
"""The space of names that ids of connections are made of, so that an interface has the same one each time."""
_TYPES = {"eth": "ethernet", "slave": "ethernet", "bond": "bond", "bridge": "bridge", "vlan": "vlan"}
_BOND = ("miimon", "downdelay", "updelay", "lacp_rate", "primary", "arp_interval", "ad_select")
_BRIDGE = {"fd": "forward-delay", "hello": "hello-time", "maxage": "max-age", "ageing": "ageing-time",
           "bridgeprio": "priority"}  # fmt: skip
Sections = dict[str, dict[str, str]]


class Keyfiles:
    """The files of one machine."""

    follow: tuple[str, ...] = ()

    def interface(self, machine: Reader, name: str) -> list[str]:
        """The lines of its file, but for those of its routes."""
        return _shown(text_of(machine, _path(name)))

    def wanted_interface(self, machine: Reader, wish: InterfaceWish) -> WantedFiles:
        """Its file; routes that are there stay."""
        sections = _sections(wish)
        shown = _shown(_text(sections))
        for version, routes in _routes_in(text_of(machine, _path(wish.name))).items():
            if version in sections:
                sections[version] |= routes
        return WantedFiles(tuple(shown), (NetworkFile(_path(wish.name), _text(sections), "0600"),))

    def routes(self, machine: Reader, name: str) -> list[str]:
        """The lines of its routes."""
        found = _routes_in(text_of(machine, _path(name)))
        return [f"{key}={value}" for section in found.values() for key, value in section.items()]

    def wanted_routes(self, machine: Reader, name: str, routes: Sequence[Settings]) -> WantedFiles:
        """Its file with these routes."""
        text = text_of(machine, _path(name))
        if not text:
            raise StateFailed(f"{_path(name)} is not there: manage the interface by network.managed first")
        made: dict[str, dict[str, str]] = {"ipv4": {}, "ipv6": {}}
        for route in common_routes(name, routes):
            section = made[f"ipv{route.version}"]
            section[f"route{len(section) + 1}"] = _route(route)
        sections = _parsed(text)
        for version, lines in made.items():
            kept = {key: value for key, value in sections.get(version, {}).items() if not key.startswith("route")}
            sections[version] = {**kept, **lines}
        shown = [f"{key}={value}" for lines in made.values() for key, value in lines.items()]
        return WantedFiles(tuple(shown), (NetworkFile(_path(name), _text(sections), "0600"),))

    def up(self, machine: Machine, name: str, kind: str) -> Completed | None:
        """By nmcli(1), which reads the file first."""
        loaded = machine.run(["nmcli", "connection", "load", _path(name)])
        return loaded if loaded.returncode != 0 else machine.run(["nmcli", "connection", "up", "id", name])

    def down(self, machine: Machine, name: str, kind: str) -> Completed | None:
        """By nmcli(1)."""
        return machine.run(["nmcli", "device", "disconnect", name])

    def services(self, machine: Reader) -> tuple[str, ...]:
        """NetworkManager."""
        return ("NetworkManager",)


def _sections(wish: InterfaceWish) -> Sections:
    settings, name = wish.settings, wish.name
    common = common_settings(wish)
    connection = {"id": name, "uuid": str(uuid.uuid5(_NAMES, f"saltern:{name}")), "type": _TYPES[wish.kind],
                  "interface-name": name, "autoconnect": "true" if wish.enabled else "false"}  # fmt: skip
    if settings.get("zone"):
        connection["zone"] = str(settings["zone"])
    sections: Sections = {"connection": connection}
    link = {"mtu": str(common.mtu)} if common.mtu is not None else {}
    if common.hardware_address:
        link["cloned-mac-address"] = common.hardware_address
    if link:
        sections["ethernet"] = link
    sections |= _of_kind(wish)
    above, kind = settings.get("master") or settings.get("bridge"), "bridge" if settings.get("bridge") else "bond"
    if wish.kind == "slave" and not above:
        raise StateFailed("master is a required setting for slave interfaces")
    if above:
        connection |= {"master": str(above), "slave-type": kind}
        return sections
    sections["ipv4"] = _ip(common.ip4)
    sections["ipv6"] = _ip(common.ip6)
    for version, mark in (("ipv4", "."), ("ipv6", ":")):
        if dns := [one for one in common.dns if mark in one]:
            sections[version]["dns"] = "".join(f"{one};" for one in dns)
        if common.search and sections[version]["method"] != "disabled":
            sections[version]["dns-search"] = "".join(f"{one};" for one in common.search)
    return sections


def _of_kind(wish: InterfaceWish) -> Sections:
    settings, iface = wish.settings, wish.name
    if wish.kind == "vlan":
        number, below = vlan_of(wish)
        return {"vlan": {"id": str(number), "parent": below, "flags": "1"}}
    if wish.kind == "bond":
        options = {"mode": bond_mode_name(iface, settings)}
        options |= {name: str(settings[name]) for name in _BOND if name in settings}
        if settings.get("arp_ip_target"):
            options["arp_ip_target"] = ",".join(words(settings["arp_ip_target"]))
        if settings.get("hashing-algorithm"):
            options["xmit_hash_policy"] = str(settings["hashing-algorithm"])
        return {"bond": options}
    if wish.kind == "bridge":
        options = {key: str(whole(iface, name, settings[name])) for name, key in _BRIDGE.items() if name in settings}
        options["stp"] = "true" if "stp" in settings and switch(iface, "stp", settings["stp"]) else "false"
        return {"bridge": options}
    return {}


def _ip(family: Family) -> dict[str, str]:
    found = {"method": "auto" if family.dhcp or family.auto else "manual" if family.addresses else "disabled"}
    for place, address in enumerate(family.addresses, 1):
        found[f"address{place}"] = address
    if family.gateway:
        found["gateway"] = family.gateway
    return found


def _route(route: Route) -> str:
    parts = [route.target, route.gateway or ("0.0.0.0" if route.version == 4 else "::")]  # noqa: S104  (no gateway)
    return ",".join((*parts, route.metric)) if route.metric else ",".join(parts)


def _path(name: str) -> str:
    return f"{FOLDER}/{name}.nmconnection"


def _text(sections: Mapping[str, Mapping[str, str]]) -> str:
    return "\n".join(
        f"[{name}]\n" + "".join(f"{key}={value}\n" for key, value in lines.items()) for name, lines in sections.items()
    )


def _parsed(text: str) -> Sections:
    sections: Sections = {}
    lines: dict[str, str] = {}
    for raw in text.splitlines():
        said = raw.strip()
        if said.startswith("[") and said.endswith("]"):
            lines = sections.setdefault(said[1:-1], {})
        elif said and not said.startswith("#"):
            key, _, value = said.partition("=")
            lines[key.strip()] = value.strip()
    return sections


def _routes_in(text: str) -> Sections:
    found = {
        name: {key: value for key, value in lines.items() if key.startswith("route")}
        for name, lines in _parsed(text).items()
        if name in ("ipv4", "ipv6")
    }
    return {name: lines for name, lines in found.items() if lines}


def _shown(text: str) -> list[str]:
    return [one for one in text.splitlines() if not one.startswith("route")]
