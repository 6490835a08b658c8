"""The beacons `wtmp` and `btmp`: logins, and logins that failed, woken by inotify."""

from __future__ import annotations

import contextlib
import os
import struct
from collections.abc import Iterator, Mapping, Sequence
from datetime import datetime
from functools import partial
from typing import Any

from minion.beacons import inotify_calls as calls
from minion.beacons.beacon import BeaconKind, Complaint, Found, Options, World
from reactors.datetimes import parse_datetime

WTMP, BTMP = "/var/log/wtmp", "/var/log/btmp"

_RECORD = struct.Struct("hi32s4s32s256shhiii4i20x")
"""utmp(5), on Linux."""
_FIELDS = ("type", "PID", "line", "inittab", "user", "hostname", "exit_status", "session", "time", "addr")
_MOST_RECORDS = 2000
"""That are read at once; the rest is read at the next look."""


def _check(options: Options) -> Iterator[Complaint]:
    ranges: list[tuple[tuple[str, ...], Any]] = [(("defaults",), options.get("defaults"))]
    users = options.get("users", {})
    if not isinstance(users, dict):
        yield ("users",), "users must be a mapping of names of users"
    else:
        ranges += [(("users", str(name)), given) for name, given in users.items()]
    for inside, given in ranges:
        if given is None:
            continue
        if not isinstance(given, dict):
            yield inside, f"{inside[-1]} must be a mapping, as `time_range: {{start: 8am, end: 4pm}}`"
            continue
        times = given.get("time_range", {"start": "0:00", "end": "0:00"})
        if not isinstance(times, dict) or not _are_times(times.get("start"), times.get("end")):
            yield (*inside, "time_range"), "time_range must have start and end, as `{start: 8am, end: 4pm}`"


def _are_times(*texts: object) -> bool:
    try:
        return all(text is not None and parse_datetime(text, datetime.min) is not None for text in texts)
    except ValueError:
        return False


class LoginsWatch:
    """One file of records."""

    def __init__(self, path: str, options: Options, world: World) -> None:
        self._path, self._options, self._world = path, options, world
        self._inotify = calls.Inotify()
        self._inotify.add(os.path.dirname(path), calls.CREATE | calls.MOVED_TO)  # noqa: PTH120  (text for inotify)
        self._file: int | None = None
        self._offset = 0
        self._more = False
        self._open(at_end=True)

    def readers(self) -> Sequence[int]:
        """See `Watch`."""
        return (self._inotify.fd,)

    @property
    def waits(self) -> bool:
        """See `Watch`."""
        return self._more

    def look(self) -> Found:
        """See `Watch`."""
        for _ in self._inotify.read():
            pass
        found = list(self._read())
        if not self._more and self._replaced():
            self._open(at_end=False)
            found += self._read()
        return found

    def close(self) -> None:
        """See `Watch`."""
        self._inotify.close()
        if self._file is not None:
            os.close(self._file)

    def _open(self, *, at_end: bool) -> None:
        if self._file is not None:
            os.close(self._file)
            self._file = None
        with contextlib.suppress(OSError):
            self._file = os.open(self._path, os.O_RDONLY | os.O_CLOEXEC)
            self._inotify.add(self._path, calls.MODIFY)
            self._offset = os.fstat(self._file).st_size if at_end else 0

    def _replaced(self) -> bool:
        try:
            there = os.stat(self._path)  # noqa: PTH116
        except OSError:
            return False
        return self._file is None or os.fstat(self._file).st_ino != there.st_ino

    def _read(self) -> Iterator[dict[str, Any]]:
        self._more = False
        if self._file is None:
            return
        size = os.fstat(self._file).st_size
        if size < self._offset:
            self._offset = 0
        data = os.pread(self._file, _MOST_RECORDS * _RECORD.size, self._offset)
        whole = len(data) // _RECORD.size * _RECORD.size
        self._offset += whole
        self._more = self._offset + _RECORD.size <= size
        for record in _RECORD.iter_unpack(data[:whole]):
            event = {name: _plain(value) for name, value in zip(_FIELDS, record, strict=False)}
            if self._wanted(event["user"]):
                yield event

    def _wanted(self, user: str) -> bool:
        users = self._options.get("users")
        if users and user not in users:
            return False
        of_user = (users or {}).get(user) or {}
        times = of_user.get("time_range") or (self._options.get("defaults") or {}).get("time_range")
        if not times:
            return True
        now = datetime.fromtimestamp(self._world.now())
        return parse_datetime(times["start"], now) <= now <= parse_datetime(times["end"], now)


def _plain(value: Any) -> Any:
    return value.rstrip(b"\0").decode("utf-8", "replace") if isinstance(value, bytes) else value


_KNOWN = frozenset(("users", "defaults"))
_WTMP_KIND = BeaconKind(check=_check, watch=partial(LoginsWatch, WTMP), interval=0.0, known=_KNOWN)
_BTMP_KIND = BeaconKind(check=_check, watch=partial(LoginsWatch, BTMP), interval=0.0, known=_KNOWN)

BEACONS: Mapping[str, BeaconKind] = {"wtmp": _WTMP_KIND, "btmp": _BTMP_KIND}
