"""Modules, sites and configurations that Debian's a2enmod(8), a2ensite and a2enconf switch on and off.

Each is a file below `mods-available` and the like, and on while a link to it is below `mods-enabled`. Called by the
states `apache_module`, `apache_site` and `apache_conf`, and by the execution module `apache`.
"""

from __future__ import annotations

import os
import posixpath
import shutil
from typing import NamedTuple

from minion.machine.failure import StateFailed
from minion.machine.plan import Completed, Machine, Reader

_THREADED = ("mpm_event", "mpm_worker")
_GLOB = frozenset("*?[]{}~\\")
"""Characters by which a2enmod takes a name for a pattern."""


class ApacheSwitch(NamedTuple):
    """One kind of what is switched."""

    title: str
    """As results have it: `module`, `site`, `conf`."""
    word: str
    """In the names of the programs, `a2enmod`: `mod`, `site`, `conf`."""
    folder: str
    """Below Apache's folder, before `-available`."""
    suffix: str
    """Of the file whose link counts."""
    other_suffixes: tuple[str, ...] = ()

    @property
    def shown(self) -> str:
        """As in what the programs did: `Mod`."""
        return self.word.capitalize()

    def enabled_path(self, name: str) -> str:
        """Where its link is while it is on."""
        return posixpath.join(_top(), f"{self.folder}-enabled", self._file(name))

    def available_path(self, name: str) -> str:
        """The file that is linked."""
        return posixpath.join(_top(), f"{self.folder}-available", self._file(name))

    def enabled_as(self, machine: Reader, name: str) -> str:
        """The name by which it is on; empty where it is off."""
        for one in (name, *self._other_names(machine, name)):
            found = machine.stat(self.enabled_path(one))
            if found is not None and found.kind == "symlink":
                return one
        return ""

    def is_available(self, machine: Reader, name: str) -> bool:
        """Whether there is such a file."""
        return machine.stat(self.available_path(name)) is not None

    def enable(self, machine: Machine, name: str) -> Completed:
        """What came of switching it on."""
        return machine.run([program(f"a2en{self.word}"), self._bare(name)])

    def disable(self, machine: Machine, name: str) -> Completed:
        """What came of switching it off."""
        return machine.run([program(f"a2dis{self.word}"), self._bare(name)])

    def _file(self, name: str) -> str:
        return name if name.endswith((self.suffix, *self.other_suffixes)) else f"{name}{self.suffix}"

    def _bare(self, name: str) -> str:
        for suffix in (self.suffix, *self.other_suffixes):
            name = name.removesuffix(suffix)
        return name

    def _other_names(self, machine: Reader, name: str) -> tuple[str, ...]:
        if self.word == "site" and name == "default":
            return ("000-default",)
        if self.word == "mod" and self._bare(name) == "cgi" and is_threaded(machine):
            return ("cgid",)  # a2enmod takes it instead
        return ()


MODULE = ApacheSwitch("module", "mod", "mods", ".load", (".conf",))
SITE = ApacheSwitch("site", "site", "sites", ".conf")
CONF = ApacheSwitch("conf", "conf", "conf", ".conf")


def checked(name: str) -> str:
    """The name. StateFailed where the programs would take it for an option, a path or a pattern."""
    if not name or name.startswith("-") or "/" in name or _GLOB & set(name) or any(char.isspace() for char in name):
        raise StateFailed(f"{name!r} is no name of something that Apache has")
    return name


def is_threaded(machine: Reader) -> bool:
    """Whether the server runs requests in threads, by the module that is on."""
    return any(machine.stat(MODULE.enabled_path(one)) is not None for one in _THREADED)


def program(name: str) -> str:
    """A program of Apache. StateFailed where it is not there."""
    found = shutil.which(name)
    if found is None:
        raise StateFailed(f"{name} is not installed on this machine: it comes with Debian's package apache2")
    return found


def control_program() -> str:
    """apache2ctl(8), apachectl elsewhere than on Debian and SUSE. StateFailed where it is not there."""
    return shutil.which("apache2ctl") or shutil.which("apachectl") or program("apache2ctl")


def _top() -> str:
    """Apache's folder, which the programs take from the same variable."""
    return os.environ.get("APACHE_CONFDIR") or "/etc/apache2"
