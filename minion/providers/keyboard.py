"""Where a machine keeps the layout of its keyboard: a file of its own, localectl(1), or the X server that runs.

Called by the states and the execution module `keyboard`. On Debian, whose localectl refuses to set a layout of the
console, it is /etc/default/keyboard, which console-setup reads.
"""

from __future__ import annotations

import re
from typing import NamedTuple, Protocol

from minion.machine.failure import StateFailed
from minion.machine.plan import Completed, Machine, Reader

_LAYOUT = re.compile(r"[A-Za-z0-9_+][A-Za-z0-9_+,.()-]*")


class Keyboard(Protocol):
    """A layout that can be asked for and set."""

    def layout(self, machine: Reader) -> str:
        """The layout that there is; empty where none is set."""

    def set(self, machine: Machine, layout: str) -> None:
        """Set it. Raises StateFailed."""


class _Variable(NamedTuple):
    """A variable of a file that a shell reads."""

    path: str
    name: str

    def layout(self, machine: Reader) -> str:
        found = self._line().search(self._text(machine))
        return found[1].strip().strip("\"'") if found else ""

    def set(self, machine: Machine, layout: str) -> None:
        line, text = f'{self.name}="{_checked(layout)}"', self._text(machine)
        new, count = self._line().subn(lambda _: line, text)
        if not count:
            new = f"{text}{'' if text.endswith(chr(10)) or not text else chr(10)}{line}\n"
        machine.write(self.path, new.encode())

    def _line(self) -> re.Pattern[str]:
        return re.compile(rf"^{self.name}=(.*)$", re.MULTILINE)

    def _text(self, machine: Reader) -> str:
        return machine.read(self.path).decode() if machine.stat(self.path) is not None else ""


class _Program(NamedTuple):
    """A program that tells and sets the layout."""

    ask: tuple[str, ...]
    title: str
    """What stands before the layout in what it tells."""
    tell: tuple[str, ...]

    def layout(self, machine: Reader) -> str:
        told = _said(machine.query(list(self.ask)), self.ask[0])
        found = re.search(rf"^\s*{self.title}:\s*(\S+)", told, re.MULTILINE)
        return found[1] if found else ""

    def set(self, machine: Machine, layout: str) -> None:
        machine.begin_elsewhere()
        _said(machine.run([*self.tell, _checked(layout)]), self.tell[0])


def console_of(machine: Reader) -> Keyboard:
    """Of the console of this system."""
    family = machine.grains.get("os_family")
    if family == "Debian":
        return _Variable("/etc/default/keyboard", "XKBLAYOUT")
    if family == "Gentoo" and machine.stat("/usr/bin/localectl") is None:
        return _Variable("/etc/conf.d/keymaps", "keymap")
    if family == "RedHat" and machine.stat("/usr/bin/localectl") is None:
        return _Variable("/etc/sysconfig/keyboard", "LAYOUT")
    return _Program(("localectl", "status"), "VC Keymap", ("localectl", "set-keymap"))


def x_server() -> Keyboard:
    """Of the X server that DISPLAY of the minion names."""
    return _Program(("setxkbmap", "-query"), "layout", ("setxkbmap",))


def _checked(layout: str) -> str:
    if not _LAYOUT.fullmatch(layout):
        raise StateFailed(f"{layout!r} is no layout of a keyboard")
    return layout


def _said(done: Completed, program: str) -> str:
    if done.returncode != 0:
        raise StateFailed(f"{program} failed: {done.stderr.strip() or done.returncode}")
    return done.stdout
