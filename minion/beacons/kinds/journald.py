"""The beacon `journald`: entries of the journal that fit, followed by `journalctl`."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from minion.beacons.beacon import BeaconFailed, BeaconKind, Complaint, Found, Options, World, check_mapping
from minion.beacons.followed_program import FollowedProgram

_FOLLOW = ("journalctl", "--follow", "--lines=0", "--output=json", "--all", "--quiet")
_EXAMPLE = "`- services:` with a mapping of fields for each, as `sshd: {SYSLOG_IDENTIFIER: sshd}`"


def _check(options: Options) -> Iterator[Complaint]:
    yield from check_mapping(options, "services", _EXAMPLE)


class JournalWatch:
    """The journal from now on."""

    def __init__(self, options: Options, world: World) -> None:
        self._services: Mapping[str, Mapping[str, Any]] = {
            str(name): given or {} for name, given in options["services"].items()
        }
        self._program: FollowedProgram | None = FollowedProgram(_FOLLOW)

    def readers(self) -> Sequence[int]:
        """See `Watch`."""
        return () if self._program is None else (self._program.fd,)

    @property
    def waits(self) -> bool:
        """Whether journalctl has to be started again."""
        return self._program is None

    def look(self) -> Found:
        """See `Watch`."""
        if self._program is None:
            self._program = FollowedProgram(_FOLLOW)
        lines, ended = self._program.lines()
        found = [event for line in lines for event in self._fitting(line)]
        if ended:
            self._program.close()
            self._program = None
            if not found:
                raise BeaconFailed("journalctl has ended; it is started again")
        return found

    def close(self) -> None:
        """See `Watch`."""
        if self._program is not None:
            self._program.close()

    def _fitting(self, line: bytes) -> Iterator[dict[str, Any]]:
        try:
            entry = json.loads(line)
        except ValueError:
            return
        for name, wanted in self._services.items():
            if all(str(entry.get(key)) == str(value) for key, value in wanted.items()):
                yield {**{key: _typed(key, value) for key, value in entry.items()}, "tag": name}


_NUMBERS = frozenset(("PRIORITY", "_PID", "_UID", "_GID", "SYSLOG_FACILITY", "SYSLOG_PID", "ERRNO", "CODE_LINE"))
"""Fields that systemd's own library, which Salt uses, gives as numbers."""


def _typed(key: str, value: Any) -> Any:
    return int(value) if key in _NUMBERS and str(value).isdigit() else value


_KIND = BeaconKind(check=_check, watch=JournalWatch, interval=0.0, known=frozenset(("services",)))

BEACONS: Mapping[str, BeaconKind] = {"journald": _KIND}
