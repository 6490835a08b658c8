"""The interfaces as the kernel has them. Called by the states of the network."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import NamedTuple

from minion.machine.plan import Reader


class KernelLink(NamedTuple):
    """An interface, or a label of an address."""

    up: bool
    hardware_address: str


def links(machine: Reader) -> Mapping[str, KernelLink]:
    """Name → the interface; a label such as `eth0:1` is one that is up. Without ip(8) none is known."""
    done = machine.query(["ip", "-json", "address", "show"])
    if done.returncode != 0:
        return {}
    found: dict[str, KernelLink] = {}
    for card in json.loads(done.stdout or "[]"):
        name = card.get("ifname", "")
        found[name] = KernelLink("UP" in card.get("flags", ()), card.get("address", ""))
        for address in card.get("addr_info", ()):
            label = address.get("label", name)
            if label != name:
                found[label] = KernelLink(True, card.get("address", ""))
    return found


def slaves_of(machine: Reader, bond: str) -> list[str]:
    """The members of a bond that the kernel has."""
    path = f"/sys/class/net/{bond}/bonding/slaves"
    return machine.read(path).decode().split() if machine.stat(path) is not None else []
