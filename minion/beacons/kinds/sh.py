"""The beacon `sh`: programs that shells start, as strace(1) sees them."""

from __future__ import annotations

import contextlib
import os
import pwd
import re
import shutil
import time
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from minion.beacons.beacon import BeaconFailed, BeaconKind, Found, Options, World
from minion.beacons.followed_program import FollowedProgram

SHELLS_AGAIN = 5.0
"""Seconds between two looks for shells."""

MOST_SHELLS = 64
"""That are traced at a time."""

_QUOTED = re.compile(r'"((?:[^"\\]|\\.)*)"')


class ShellsWatch:
    """All shells."""

    def __init__(self, options: Options, world: World) -> None:
        if shutil.which("strace") is None:
            raise BeaconFailed("strace is not installed: install it")
        self._traced: dict[int, tuple[FollowedProgram, str]] = {}
        self._looked = float("-inf")
        self._follow_shells()

    def readers(self) -> Sequence[int]:
        """See `Watch`."""
        return tuple(program.fd for program, _ in self._traced.values())

    @property
    def waits(self) -> bool:
        """Shells come and wake nobody."""
        return True

    def look(self) -> Found:
        """See `Watch`."""
        if time.monotonic() - self._looked >= SHELLS_AGAIN:
            self._follow_shells()
        found: Found = []
        for pid, (program, user) in list(self._traced.items()):
            lines, ended = program.lines()
            found += [event for line in lines for event in _started(pid, user, line.decode("utf-8", "replace"))]
            if ended:
                program.close()
                del self._traced[pid]
        return found

    def close(self) -> None:
        """See `Watch`."""
        for program, _ in self._traced.values():
            program.close()

    def _follow_shells(self) -> None:
        self._looked = time.monotonic()
        for pid, user in _shells():
            if pid not in self._traced and len(self._traced) < MOST_SHELLS:
                words = ("strace", "-f", "-s", "4096", "-e", "trace=execve", "-p", str(pid))
                self._traced[pid] = FollowedProgram(words, errors=True), user


def _shells() -> Iterator[tuple[int, str]]:
    """Processes of login shells, with their users."""
    try:
        known = {line for line in Path("/etc/shells").read_text(encoding="utf-8").splitlines() if line.startswith("/")}
    except OSError:
        known = {"/bin/sh", "/bin/bash"}
    names = {path.rpartition("/")[2] for path in known}
    own = os.getpid()
    for pid in os.listdir("/proc"):  # noqa: PTH208  (numbers, not paths)
        if not pid.isdigit() or int(pid) == own:
            continue
        with contextlib.suppress(OSError, KeyError):
            words = Path(f"/proc/{pid}/cmdline").read_bytes().rstrip(b"\0").split(b"\0")
            command = words[0].decode("utf-8", "replace").lstrip("-")
            if len(words) == 1 and command and (command in known or command in names):
                yield int(pid), pwd.getpwuid(os.stat(f"/proc/{pid}").st_uid).pw_name  # noqa: PTH116


def _started(pid: int, user: str, line: str) -> Iterator[dict[str, Any]]:
    """The event of a line as `execve("/bin/ls", ["ls", "-l"], 0x7ffc /* 20 vars */) = 0`."""
    _, found, rest = line.partition("execve(")
    if found:
        texts = _QUOTED.findall(rest.split("/*", 1)[0])
        if texts:
            yield {"tag": str(pid), "cmd": texts[0], "args": texts[1:], "user": user}


_KIND = BeaconKind(watch=ShellsWatch, interval=0.0, known=frozenset())

BEACONS: Mapping[str, BeaconKind] = {"sh": _KIND}
