"""The beacon `network_settings`: settings of network interfaces that change, woken by rtnetlink(7)."""

from __future__ import annotations

import contextlib
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from matching import bounded_regex
from matching.linear_regex import PatternRefused
from minion.beacons.beacon import BeaconKind, Complaint, Found, Options, World
from minion.machine import netlink

_FILES: Mapping[str, tuple[str, Callable[[str], Any]]] = {
    "address": ("address", str),
    "broadcast": ("broadcast", str),
    "carrier": ("carrier", int),
    "carrier_changes": ("carrier_changes", int),
    "flags": ("flags", lambda text: int(text, 16)),
    "group": ("netdev_group", int),
    "ifi_type": ("type", int),
    "index": ("ifindex", int),
    "linkmode": ("link_mode", int),
    "mtu": ("mtu", int),
    "operstate": ("operstate", str.upper),
    "txqlen": ("tx_queue_len", int),
}
"""Salt's names -> files of /sys/class/net, and what makes their values of the texts."""

_ELSEWHERE = ("family", "ifname", "ipaddr", "num_rx_queues", "num_tx_queues", "promiscuity")
_NOT_HERE = ("ipdb_priority", "ipdb_scope", "kind", "neighbours", "ports", "qdisc")
"""Attributes of pyroute2 that no file has."""

_PROMISCUOUS = 0x100
_EXAMPLE = "`- interfaces:` with a mapping for each, as `eth0: {ipaddr: }`"


def _check(options: Options) -> Iterator[Complaint]:
    interfaces = options.get("interfaces")
    if not isinstance(interfaces, dict) or not interfaces:
        yield (("interfaces",) if "interfaces" in options else ()), f"interfaces are missing: {_EXAMPLE}"
        return
    for name, given in interfaces.items():
        inside = ("interfaces", str(name))
        if not isinstance(given, dict) or not given:
            yield inside, f"{name} must be a mapping of settings: {_EXAMPLE}"
            continue
        try:
            bounded_regex.check(str(name))
        except (re.error, PatternRefused) as error:
            yield inside, f"{name} is no interface and no regular expression: {error}"
        for key in given:
            if key in _NOT_HERE:
                yield (*inside, key), f"{key} is not looked at here"
            elif key not in _FILES and key not in _ELSEWHERE:
                yield (*inside, str(key)), f"{key} is no setting: {', '.join(sorted((*_FILES, *_ELSEWHERE)))} are"


class SettingsWatch:
    """The settings of all interfaces, and when they change."""

    def __init__(self, options: Options, world: World) -> None:
        self._options = options
        self._told = netlink.changes()
        self._settings = _all_settings()

    def readers(self) -> Sequence[int]:
        """See `Watch`."""
        return (self._told.fileno(),)

    @property
    def waits(self) -> bool:
        """See `Watch`."""
        return False

    def look(self) -> Found:
        """See `Watch`."""
        with contextlib.suppress(OSError):  # nothing more, or more than the kernel keeps, which all is looked at anyway
            while self._told.recv(65536):
                pass
        before, self._settings = self._settings, _all_settings()
        changes: dict[str, dict[str, Any]] = {}
        for pattern, given in self._options["interfaces"].items():
            for name in _fitting(pattern, self._settings):
                changed = dict(_changed(given, before.get(name, {}), self._settings[name]))
                if changed and name in before:
                    changes.setdefault(name, {}).update(changed)
        if self._options.get("coalesce", False):
            return [{"tag": "result", "changes": changes}] if changes else []
        return [{"tag": name, "interface": name, "change": changed} for name, changed in changes.items()]

    def close(self) -> None:
        """See `Watch`."""
        self._told.close()


def _fitting(pattern: str, names: Mapping[str, Any]) -> list[str]:
    return [pattern] if pattern in names else [one for one in names if bounded_regex.search(pattern, one)]


def _changed(given: dict[str, Any], before: dict[str, Any], now: dict[str, Any]) -> Iterator[tuple[str, Any]]:
    for key, wanted in given.items():
        value = now.get(key)
        on_value = wanted.get("onvalue") if isinstance(wanted, dict) else None
        if value != before.get(key) and (not on_value or value == on_value):
            yield key, value


def _all_settings() -> dict[str, dict[str, Any]]:
    addresses = netlink.interfaces()
    with contextlib.suppress(OSError):
        names = sorted(each.name for each in Path("/sys/class/net").iterdir() if each.is_dir())
        return {name: _settings(name, addresses.get(name, netlink.Interface())) for name in names}
    return {}


def _settings(name: str, addresses: netlink.Interface) -> dict[str, Any]:
    folder = Path("/sys/class/net") / name
    found: dict[str, Any] = {"ifname": name}
    for key, (file, convert) in _FILES.items():
        with contextlib.suppress(OSError, ValueError):  # a file that is there need not be readable: carrier of one down
            found[key] = convert((folder / file).read_text(encoding="ascii").strip())
    found["promiscuity"] = int(bool(found.get("flags", 0) & _PROMISCUOUS))
    for kind in ("rx", "tx"):
        found[f"num_{kind}_queues"] = len(list((folder / "queues").glob(f"{kind}-*")))
    found["ipaddr"] = [*addresses.ip4, *addresses.ip6]
    return found


_KIND = BeaconKind(
    check=_check, watch=SettingsWatch, interval=0.0, known=frozenset(("interfaces", "coalesce")), own_changes=True
)

BEACONS: Mapping[str, BeaconKind] = {"network_settings": _KIND}
