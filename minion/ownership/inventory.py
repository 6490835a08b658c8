"""What states brought into being on this machine, on disk: the inventory.

Only runs of the desired document write it, one at a time. An entry is there before the state acts, so that kill -9 at
any point leaves either nothing or an entry of something that may not have been made: the next run finds out which.
"""

from __future__ import annotations

import logging
import zlib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import msgspec

from minion.machine.durable_files import write_durably
from minion.ownership.resources import Resource
from minion.spool.record_file import RecordFile, records

log = logging.getLogger(__name__)

FILE_NAME = "inventory"
MOST_OWNED = 20_000
"""Resources of a machine. More are not recorded, and so never removed; reports say so."""
MOST_BYTES = 8192
"""Of one entry; a larger one is not recorded."""
_SPARE = 1000
"""Records beyond those that say something, after which the file is written anew."""

FOLDER, PIPE = "directory", "node"
"""Contents of what has none."""


class Owned(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """A resource that a state brought into being."""

    key: str
    inverse: str = ""
    name: str = ""
    arguments: dict[str, Any] = {}
    id: str = ""
    """ID of the state that made it."""
    sls: str = ""
    fun: str = ""
    """Its state function."""
    at: float = 0.0
    """Seconds since the epoch."""
    content: str = ""
    """Of a file its digest; of a symlink `symlink:` and its target; else what it is. Empty: not known."""
    begun: bool = False
    """Whether the state was about to act, and nobody has seen since what came of it."""

    @property
    def resource(self) -> Resource:
        """What it is on the machine."""
        return Resource(key=self.key, inverse=self.inverse, name=self.name, arguments=self.arguments)

    @property
    def maker(self) -> str:
        """The state that made it, for people."""
        return f"{self.id} ({self.fun}) of {self.sls}" if self.sls else f"{self.id} ({self.fun})"


class _Record(msgspec.Struct, frozen=True, array_like=True):
    what: str  # own, gone or replaced
    key: str
    inverse: str = ""
    owned: Owned | None = None


_ENCODER = msgspec.msgpack.Encoder(enc_hook=str)
_DECODER = msgspec.msgpack.Decoder(_Record)
_Id = tuple[str, str]


class Inventory:
    """That of this machine. Without a file to append to it is only looked at."""

    def __init__(self, path: Path, *, writes: bool) -> None:
        """Read it; one that cannot be read counts as empty. OSError where it is to be written and cannot be.

        Args:
            path: of its file.
            writes: whether it is going to be changed.
        """
        self.entries: dict[_Id, Owned] = {}
        """In the order in which they were made."""
        self.replaced: set[str] = set()
        """Paths that were there before a state of an open run took them away to make them anew."""
        self.full = False
        """Whether something was not recorded for want of room."""
        self._path = path
        self._file: RecordFile | None = None
        if writes:
            self._file = RecordFile(path)
        bodies = _bodies(path) if self._file is None else self._file.found
        for body in bodies:
            self._take(body)
        if self._file is None:
            return
        if len(bodies) > len(self.entries) + _SPARE:
            self._file.close()
            self._write_anew()
            self._file = RecordFile(path)
        self._file.found.clear()

    def __contains__(self, key: _Id) -> bool:
        return key in self.entries

    def __iter__(self) -> Iterator[Owned]:
        return iter(list(self.entries.values()))

    def __len__(self) -> int:
        return len(self.entries)

    def own(self, owned: Owned) -> None:
        """Record a resource, or what is known now of one that is recorded."""
        key = (owned.key, owned.inverse)
        if key not in self.entries and len(self.entries) >= MOST_OWNED:
            self.full = True
            return
        if self._append(_Record("own", *key, owned)):
            self.entries[key] = owned

    def gone(self, owned: Owned) -> None:
        """Forget a resource."""
        key = (owned.key, owned.inverse)
        if self.entries.pop(key, None) is not None:
            self._append(_Record("gone", *key))

    def replace(self, path: str) -> None:
        """Note that a path was there before this run took it away."""
        if path not in self.replaced:
            self.replaced.add(path)
            self._append(_Record("replaced", path))

    def settle(self) -> None:
        """A run has come to its end: what was made anew in it is made."""
        if self.replaced:
            self.replaced.clear()
            self._append(_Record("settled", ""))

    def _append(self, record: _Record) -> bool:
        body = _ENCODER.encode(record)
        if self._file is None or len(body) > MOST_BYTES:
            return False
        try:
            self._file.append(body, durable=False)
        except OSError as error:
            log.error("event=inventory_not_written key=%s error=%s", record.key, error)
            return False
        return True

    def _take(self, body: bytes) -> None:
        try:
            record = _DECODER.decode(body)
        except msgspec.MsgspecError as error:
            log.warning("event=inventory_record_unreadable error=%s", error)
            return
        key = (record.key, record.inverse)
        match record.what:
            case "own" if record.owned is not None:
                self.entries[key] = record.owned
            case "gone":
                self.entries.pop(key, None)
            case "replaced":
                self.replaced.add(record.key)
            case "settled":
                self.replaced.clear()

    def _write_anew(self) -> None:
        kept = [_Record("own", *key, owned) for key, owned in self.entries.items()]
        kept += [_Record("replaced", path) for path in self.replaced]
        write_durably(self._path, b"".join(_framed(_ENCODER.encode(record)) for record in kept))


def _bodies(path: Path) -> list[bytes]:
    try:
        return [body for body, _ in records(path.read_bytes())]
    except FileNotFoundError:
        return []
    except OSError as error:
        log.error("event=inventory_unreadable path=%s error=%s", path, error)
        return []


def _framed(body: bytes) -> bytes:
    return len(body).to_bytes(4, "big") + zlib.crc32(body).to_bytes(4, "big") + body
