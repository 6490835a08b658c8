"""Packages of Flatpak and the remotes that they come from. Called by the states and the module `flatpak`."""

from __future__ import annotations

import re

from minion.machine.failure import StateFailed
from minion.machine.plan import Completed, Machine, Reader

_MISSING = 127
_ENGLISH = {"LC_ALL": "C.UTF-8"}


def checked(word: str, what: str) -> str:
    """A word that flatpak does not take for an option."""
    if not re.fullmatch(r"[^\s-]\S*", word):
        raise StateFailed(f"{word!r} is no {what}")
    return word


def version_of(machine: Reader, name: str) -> str | None:
    """The version of a package, which may be empty; None where it is not installed."""
    done = _there(machine.query(["flatpak", "info", checked(name, "package")], env=_ENGLISH))
    if done.returncode != 0:
        return None
    found = re.search(r"^\s*Version:\s*(.*)$", done.stdout, re.MULTILINE)
    return found[1].strip() if found else ""


def remotes(machine: Reader) -> list[str]:
    """Names of the remotes."""
    listed = _said(machine.query(["flatpak", "remotes", "--columns=name"], env=_ENGLISH))
    return [line.strip() for line in listed.splitlines() if line.strip()]


def install(machine: Machine, remote: str, name: str) -> str:
    """Install a package from a remote; what flatpak says."""
    words = [checked(remote, "remote"), checked(name, "package")]
    return _said(machine.run(["flatpak", "install", "--noninteractive", "-y", *words], env=_ENGLISH))


def uninstall(machine: Machine, name: str) -> str:
    """Remove a package; what flatpak says."""
    return _said(
        machine.run(["flatpak", "uninstall", "--noninteractive", "-y", checked(name, "package")], env=_ENGLISH)
    )


def add_remote(machine: Machine, name: str, location: str) -> str:
    """Have packages come from a remote, too: an address, or a file that describes it."""
    words = [checked(name, "remote"), checked(location, "address")]
    return _said(machine.run(["flatpak", "remote-add", *words], env=_ENGLISH))


def _there(done: Completed) -> Completed:
    if done.returncode == _MISSING:
        raise StateFailed("flatpak is not there: install the package flatpak")
    return done


def _said(done: Completed) -> str:
    if _there(done).returncode != 0:
        raise StateFailed(f"flatpak failed: {done.stderr.strip() or done.stdout.strip()}")
    return done.stdout
