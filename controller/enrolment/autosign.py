"""Salt's `autosign_file`, `autoreject_file`, `autosign_grains_dir` and the folder `minions_autosign` in `pki_dir`.

Called by `enrolment`, on the loop, for keys that ask. The files are the administrator's, so their size is; what a
stranger chooses are an id of 253 bytes at most and grains of a message of 4 KiB. Source: salt/daemons/masterapi.py,
`AutoKey`. Stricter than Salt: a regular expression that could take long is not run, and is told.
"""

from __future__ import annotations

import os
import re
import stat
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path

import structlog

from matching.linear_regex import PatternRefused
from matching.matcher import person_matcher

log = structlog.get_logger("saltern.enrolment")

MOST_BYTES = 16 * 1024 * 1024
"""Of a file; of a larger one nothing counts."""


@dataclass(frozen=True, slots=True, kw_only=True)
class AutosignSettings:
    """The options."""

    auto_accept: bool = False
    autosign_file: Path | None = None
    autoreject_file: Path | None = None
    autosign_grains_dir: Path | None = None
    autosign_dir: Path | None = None
    """A file in it with the name of an id accepts that id once."""
    autosign_timeout: float = 120.0
    """Minutes that such a file counts; 0: for ever."""
    permissive_pki_access: bool = False
    """Whether files count that a group may write."""


@dataclass(slots=True)
class _Lines:
    version: tuple[int, int, int]
    lines: tuple[str, ...]


@dataclass(slots=True)
class Autosign:
    """The files, as they are when a key asks."""

    settings: AutosignSettings
    _read: dict[Path, _Lines] = field(default_factory=dict)
    _told: dict[Path, str] = field(default_factory=dict)
    """File -> what was said about it last."""

    def rejects(self, minion_id: str) -> bool:
        """Whether `autoreject_file` names the id."""
        return self._names(self.settings.autoreject_file, minion_id)

    def accepts(self, minion_id: str, grains: Mapping[str, str], now: float) -> tuple[str, Callable[[], None]] | None:
        """By what an id is accepted, and what is to be done when it has been; None: by nothing.

        Args:
            minion_id: that the key asks for.
            grains: that the minion says it has.
            now: seconds since the epoch.
        """
        if self.settings.auto_accept:
            return "auto_accept", lambda: None
        if self._names(self.settings.autosign_file, minion_id):
            return "autosign_file", lambda: None
        stub = self._stub(minion_id, now)
        if stub is not None:
            return "minions_autosign", lambda: stub.unlink(missing_ok=True)
        if grain := self._grain(grains):
            return f"autosign_grains {grain}", lambda: None
        return None

    def _names(self, path: Path | None, minion_id: str) -> bool:
        return path is not None and any(self._fits(path, line, minion_id) for line in self._lines(path))

    def _fits(self, path: Path, line: str, minion_id: str) -> bool:
        """A line is an id, a glob or a regular expression for a whole id."""
        matcher = person_matcher()
        try:
            return line == minion_id or matcher.glob(line, minion_id) or matcher.matches(rf"(?:{line})\Z", minion_id)
        except PatternRefused as error:
            self._tell(path, f"line {line!r} is not used: {error}")
        except re.error:
            return False  # a glob that is no regular expression
        return False

    def _stub(self, minion_id: str, now: float) -> Path | None:
        folder, minutes = self.settings.autosign_dir, self.settings.autosign_timeout
        if folder is None or not self._is_safe(folder):
            return None
        stub = folder / minion_id
        try:
            written = stub.lstat().st_mtime
        except OSError:
            return None
        if minutes > 0 and written < now - 60 * minutes:
            log.warning("autosign file has expired", path=str(stub), autosign_timeout=minutes)
            stub.unlink(missing_ok=True)
            return None
        return stub

    def _grain(self, grains: Mapping[str, str]) -> str:
        """The grain whose file has its value; empty: none."""
        folder = self.settings.autosign_grains_dir
        if folder is None or not grains:
            return ""
        try:
            there = {path.name for path in folder.iterdir()}
        except OSError as error:
            self._tell(folder, error.strerror or "cannot be read")
            return ""
        return next((name for name in grains if name in there and grains[name] in self._lines(folder / name)), "")

    def _lines(self, path: Path) -> tuple[str, ...]:
        """The lines that say something; none when others may write the file."""
        try:
            with path.open("rb") as file:
                status = os.fstat(file.fileno())
                version = status.st_mtime_ns, status.st_size, status.st_mode
                if not self._may_count(path, status):
                    return ()
                known = self._read.get(path)
                if known is None or known.version != version:
                    text = file.read(MOST_BYTES).decode("utf-8", "replace")
                    lines = (line.strip() for line in text.splitlines())
                    known = _Lines(version, tuple(line for line in lines if line and not line.startswith("#")))
                    self._read[path] = known
        except FileNotFoundError:
            self._tell(path, "there is no such file, so that it names nobody; a relative path begins at root_dir")
            return ()
        except OSError as error:
            self._tell(path, error.strerror or "cannot be read")
            return ()
        return known.lines

    def _is_safe(self, folder: Path) -> bool:
        try:
            return self._may_count(folder, folder.stat())
        except OSError:
            return False

    def _may_count(self, path: Path, status: os.stat_result) -> bool:
        """Salt's `check_permissions`: who may write the file decides who is accepted."""
        if status.st_mode & stat.S_IWOTH:
            self._tell(path, f"everyone may write it; run: chmod o-w {path}")
            return False
        if status.st_mode & stat.S_IWGRP:
            if not self.settings.permissive_pki_access:
                self._tell(path, f"its group may write it; run: chmod g-w {path}, or set permissive_pki_access: True")
                return False
            if os.getuid() == 0 and status.st_gid not in {os.getegid(), *os.getgroups()}:
                self._tell(path, "a group may write it that the controller is not in")
                return False
        if status.st_size > MOST_BYTES and stat.S_ISREG(status.st_mode):
            self._tell(path, f"it has more than {MOST_BYTES} bytes")
            return False
        return True

    def _tell(self, path: Path, why: str) -> None:
        if self._told.get(path) != why:
            self._told[path] = why
            log.warning("file of enrolment is ignored", path=str(path), why=why)
