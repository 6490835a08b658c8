"""What a run under test=True would have changed by now that is no file, and what of it nobody knows.

Part of `minion.machine.planned`.
"""

from __future__ import annotations

from highstate.records import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class PlannedPackage:
    """A package that would have been installed, changed or removed."""

    version: str | None
    """Empty: it is gone; None: as the machine has it."""
    held: bool | None = None
    """None: as the machine has it."""
    downloaded: str = ""
    """The version whose file would be in the cache."""


@dataclass(frozen=True, slots=True, kw_only=True)
class PlannedService:
    """A service that would have been started, stopped, enabled or disabled; None: as the machine has it."""

    running: bool | None = None
    enabled: bool | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Brought:
    """What a state would bring whose acts are not all known."""

    by: str
    """The state, as people name it."""
    paths: tuple[str, ...] = ()
    """Files and folders that it may change, with all below them; of one that ends
    with `/` only what is below it, of one that ends with `/.` only the folder itself."""
    anything: bool = False
    """Whether it may bring any file, command, user or service: a package, a command."""
    packages: tuple[str, ...] = ()
    """The packages that it would install: paths with their names are theirs."""
    state: str = ""
    name: str = ""
    """The state function's module and the name that it was called for, of a state whose acts are not known."""
