"""The port of network managers: what states and execution functions ask of one, and the types it answers with.

Implemented by `ifupdown` (Debian's /etc/network/interfaces), `ifcfg` (Red Hat's network-scripts), `netplan` and
`keyfiles` (NetworkManager); `detection` chooses one.
"""

from __future__ import annotations

import difflib
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple, Protocol

from minion.machine.failure import StateFailed
from minion.machine.plan import Completed, Machine, Reader, Value

Settings = Mapping[str, Value]
_MISSING = 127


class NetworkFile(NamedTuple):
    """A file as it has to be; None: it has to be gone."""

    path: str
    text: str | None
    mode: str = "0644"


@dataclass(frozen=True, slots=True, kw_only=True)
class InterfaceWish:
    """An interface as a state wants it."""

    name: str
    kind: str = "eth"
    enabled: bool = True
    settings: Settings = field(default_factory=dict)


class WantedFiles(NamedTuple):
    """What is written, and how it is shown: as lines, of which a diff is made."""

    shown: tuple[str, ...]
    files: tuple[NetworkFile, ...]


class NetworkFiles(Protocol):
    """Where a network manager keeps its configuration, and how it puts it into effect."""

    follow: tuple[str, ...]
    """Kinds of interfaces that come up and go down with another one."""

    def interface(self, machine: Reader, name: str) -> list[str]:
        """The lines of an interface, as they are shown; none where it is not there."""

    def wanted_interface(self, machine: Reader, wish: InterfaceWish) -> WantedFiles:
        """An interface as a state wants it. Raises StateFailed for settings that are not taken."""

    def routes(self, machine: Reader, name: str) -> list[str]:
        """The lines of the routes of an interface."""

    def wanted_routes(self, machine: Reader, name: str, routes: Sequence[Settings]) -> WantedFiles:
        """These routes and no others."""

    def up(self, machine: Machine, name: str, kind: str) -> Completed | None:
        """Bring an interface up; None where that is another interface's matter."""

    def down(self, machine: Machine, name: str, kind: str) -> Completed | None:
        """Take an interface down; None as of `up`."""

    def services(self, machine: Reader) -> tuple[str, ...]:
        """The services that a restart puts all of it into effect with."""


def write_all(machine: Machine, files: Iterable[NetworkFile]) -> None:
    """Write what differs; StateFailed where the folder of a file is not there."""
    for file in files:
        folder = file.path.rpartition("/")[0]
        if file.text is None:
            machine.remove(file.path)
        elif machine.stat(folder) is None:
            raise StateFailed(f"{file.path} cannot be written. {folder} does not exist")
        else:
            machine.write(file.path, file.text.encode(), mode=file.mode)


def text_of(machine: Reader, path: str) -> str:
    """What a file holds; nothing where it is not there."""
    try:
        return machine.read(path).decode("utf-8", "surrogateescape") if machine.stat(path) is not None else ""
    except FileNotFoundError:  # a link that leads nowhere
        return ""


def is_folder(machine: Reader, path: str) -> bool:
    """Whether a path is a folder."""
    found = machine.stat(path)
    return found is not None and found.kind == "directory"


def diff_of(old: Sequence[str], new: Sequence[str]) -> str:
    """A unified diff of lines."""
    return "\n".join(difflib.unified_diff([line.rstrip("\n") for line in old], [one.rstrip("\n") for one in new],
                                          lineterm=""))  # fmt: skip


def require(done: Completed | None, what: str, program: str) -> None:
    """StateFailed where a program did not do it, with what it said."""
    if done is not None and done.returncode == _MISSING:
        raise StateFailed(f"{what}: there is no program {program}")
    if done is not None and done.returncode != 0:
        raise StateFailed(f"{what}: {done.stderr.strip() or done.stdout.strip() or done.returncode}")
