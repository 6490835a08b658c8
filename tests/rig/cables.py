"""A controller and its minions in two network namespaces, with a cable between: the kernel loses packets, unsaid.

In a network namespace a partition is what it is between machines: connections stay open on both sides and are silent.
"""

from __future__ import annotations

import itertools
import os
import re
import subprocess
from collections.abc import Sequence

from rig import Rig

_NUMBERS = itertools.count()
_CONTROLLER, _MINIONS = "c", "m"


class NoNamespaces(Exception):
    """This kernel, or this user, makes none."""


class Cable:
    """A pair of network devices, each in a namespace of its own."""

    def __init__(self) -> None:
        number = next(_NUMBERS) + (os.getpid() % 20_000) * 4
        self._net = f"10.{200 + number // 65536 % 50}.{number // 256 % 256}"
        self._host = number % 60 * 4
        self.address = f"{self._net}.{self._host + 1}"
        """Of the controller."""
        self._namespaces = {end: f"saltern-{os.getpid()}-{number}{end}" for end in (_CONTROLLER, _MINIONS)}
        self._devices = {end: f"sn{number}{end}" for end in self._namespaces}
        for namespace in self._namespaces.values():
            _run("ip", "netns", "add", namespace)
        here, there = self._devices.values()
        peer = ("peer", "name", there, "netns", self._namespaces[_MINIONS])
        self._ip(_CONTROLLER, "link", "add", here, "type", "veth", *peer)
        for end, device in self._devices.items():
            self._ip(end, "link", "set", "lo", "up")
            # A packet is what fits into a frame: otherwise one that is lost would be 64 KiB of a stream.
            self._ip(end, "link", "set", device, "gso_max_segs", "1")
        self._ip(_CONTROLLER, "addr", "add", f"{self.address}/29", "dev", here)
        self.plug_in()
        self.give(2)

    def inside(self, *, controller: bool) -> tuple[str, ...]:
        """The command that runs another one at this end."""
        return ("ip", "netns", "exec", self._namespaces[_CONTROLLER if controller else _MINIONS])

    def give(self, last: int) -> None:
        """The minions have another address, as after a move to another network: connections of the old one are dead."""
        device = self._devices[_MINIONS]
        self._ip(_MINIONS, "addr", "flush", "dev", device)
        self._ip(_MINIONS, "addr", "add", f"{self._net}.{self._host + last}/29", "dev", device)
        self._ip(_MINIONS, "link", "set", device, "up")

    def pull(self) -> None:
        """Nothing passes from now on."""
        self._ip(_CONTROLLER, "link", "set", self._devices[_CONTROLLER], "down")

    def plug_in(self) -> None:
        """As before."""
        self._ip(_CONTROLLER, "link", "set", self._devices[_CONTROLLER], "up")

    def lose(self, share: float) -> None:
        """This share of the packets is lost by chance from now on, in both directions; 0: none."""
        for end, device in self._devices.items():
            self._iptables(end, "-F", "INPUT")
            if share:
                chance = ("-m", "statistic", "--mode", "random", "--probability", f"{share:g}")
                self._iptables(end, "-A", "INPUT", "-i", device, *chance, "-j", "DROP")

    def lost(self) -> int:
        """Packets that were lost since `lose`."""
        listed = "".join(self._iptables(end, "-nvxL", "INPUT") for end in self._devices)
        return sum(int(found) for found in re.findall(r"^\s*(\d+)\s+\d+\s+DROP\b", listed, re.MULTILINE))

    def remove(self) -> None:
        """Nothing of it is left."""
        for namespace in self._namespaces.values():
            subprocess.run(["ip", "netns", "del", namespace], capture_output=True, check=False)

    def _ip(self, end: str, *words: str) -> None:
        _run("ip", "-n", self._namespaces[end], *words)

    def _iptables(self, end: str, *words: str) -> str:
        return _run(*self.inside(controller=end == _CONTROLLER), "iptables", "-w", *words)


class FarRig(Rig):
    """Its minions are at the other end of a cable."""

    cable: Cable

    def _start(self, name: str, *arguments: str, before: Sequence[str] = ()) -> None:
        where = self.cable.inside(controller=name not in self.minions)
        super()._start(name, *arguments, before=(*where, *before))


def _run(*words: str) -> str:
    done = subprocess.run(words, capture_output=True, text=True, check=False)
    if done.returncode:
        raise NoNamespaces(f"{' '.join(words)}: {done.stderr.strip()}")
    return done.stdout
