"""What a run under test=True would have switched on and off of Apache, in memory.

Part of `minion.machine.planned`: a2enmod(8) and its like performed there, as links of files.
"""

from __future__ import annotations

import os
import posixpath
import re
from collections.abc import Callable, Sequence

from minion.machine.plan import Completed
from minion.machine.planned.files import PlannedFiles

_DONE = Completed(returncode=0, stdout="", stderr="")
_FOLDERS = {"mod": ("mods", ".load"), "site": ("sites", ".conf"), "conf": ("conf", ".conf")}
_ESSENTIAL = frozenset(
    (
        *("alias", "auth_basic", "authn_file", "authz_host", "authz_user", "autoindex", "deflate", "dir", "env"),
        *("filter", "logio", "mime", "negotiation", "setenvif", "unixd", "version", "watchdog"),
    )
)
"""Modules that a2dismod asks about before it switches them off."""


class PlannedApache:
    """The links of modules, sites and configurations."""

    def __init__(self, files: PlannedFiles) -> None:
        """Args:
        files: get the links.
        """
        self._files = files

    def acts(self) -> dict[str, Callable[[Sequence[str], str], Completed]]:
        """What to do for each program."""
        return {
            **{f"a2en{word}": self._enable for word in _FOLDERS},
            **{f"a2dis{word}": self._disable for word in _FOLDERS},
        }

    def _enable(self, argv: Sequence[str], _: str) -> Completed:
        word = posixpath.basename(argv[0]).removeprefix("a2en")
        return self._enabled(word, argv[-1])

    def _enabled(self, word: str, name: str) -> Completed:
        if word == "mod" and name == "cgi" and self._is_on("mod", "mpm_event", "mpm_worker"):
            name = "cgid"
        available, enabled, suffix = _places(word)
        file = f"{available}/{name}{suffix}"
        if self._files.stat(file) is None:
            return _failed(f"{name} does not exist!")
        for other in self._named(file, "Depends"):
            if word != "mod" and not self._is_on("mod", other):
                return _failed(f"Module {other} is not enabled, but {name} depends on it, aborting")
            if word == "mod" and (done := self._enabled(word, other)).returncode:
                return done
        for other in self._named(file, "Conflicts") if word == "mod" else ():
            if self._is_on(word, other):
                return _failed(f"Module {other} is enabled - cannot proceed due to conflicts.")
        for each in dict.fromkeys((suffix, ".conf")):
            if self._files.stat(f"{available}/{name}{each}") and self._files.stat(f"{enabled}/{name}{each}") is None:
                target = posixpath.relpath(f"{available}/{name}{each}", enabled)
                self._files.symlink(target, f"{enabled}/{name}{each}")
        return _DONE

    def _disable(self, argv: Sequence[str], _: str) -> Completed:
        word, name = posixpath.basename(argv[0]).removeprefix("a2dis"), argv[-1]
        _available, enabled, suffix = _places(word)
        if word == "mod":
            files = [one for one in self._files.listdir(enabled) if one.endswith(suffix)]
            needing = [one for one in files if name in self._named(f"{enabled}/{one}", "Depends")]
            if needing:
                shown = " ".join(one.removesuffix(suffix) for one in needing)
                return _failed(f"The following modules depend on {name} and need to be disabled first: {shown}")
            if name in _ESSENTIAL:
                return _failed(f"{name} is a module that Debian's server needs")
        for each in dict.fromkeys((suffix, ".conf")):
            if self._files.stat(f"{enabled}/{name}{each}") is not None:
                self._files.remove(f"{enabled}/{name}{each}")
        return _DONE

    def _is_on(self, word: str, *names: str) -> bool:
        _available, enabled, suffix = _places(word)
        return any(self._files.stat(f"{enabled}/{name}{suffix}") is not None for name in names)

    def _named(self, file: str, what: str) -> list[str]:
        """Names in the line `# Depends: …` or `# Conflicts: …` above the directives of a file."""
        text = self._read(file)
        head = re.match(r"(?:[ \t]*(?:#.*)?\n)*", text)
        found = re.search(rf"^# {what}:\s+(.*?)\s*$", head[0] if head else "", re.MULTILINE)
        return found[1].split() if found else []

    def _read(self, file: str) -> str:
        for _ in range(8):
            found = self._files.stat(file)
            if found is None or found.kind != "symlink":
                break
            file = posixpath.normpath(posixpath.join(posixpath.dirname(file), found.target))
        return "" if found is None else self._files.read(file).decode("utf-8", "replace")


def _places(word: str) -> tuple[str, str, str]:
    """What there is, what is on, and the end of the names."""
    folder, suffix = _FOLDERS[word]
    top = os.environ.get("APACHE_CONFDIR") or "/etc/apache2"
    return f"{top}/{folder}-available", f"{top}/{folder}-enabled", suffix


def _failed(text: str) -> Completed:
    return Completed(returncode=1, stdout="", stderr=f"ERROR: {text}\n")
