"""Events of this minion for the controller that belong to no run: on disk until they are acknowledged, in their order.

Beacons and `saltern call` add to the file `events/queue` of the cache, whichever process they are; the agent sends what
is there, and makes room for what was acknowledged. `events/wake` is a pipe by which they tell the agent, and learn that
there is one. Nothing is sent from here.

The file begins with the name of its stream, drawn by chance; its events are counted from 0. With that the controller
takes each once, however often it is sent.
"""

from __future__ import annotations

import contextlib
import errno
import fcntl
import os
import secrets
import stat
import zlib
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import msgspec

from minion.spool.record_file import records
from wire.errors import OverLimit
from wire.limits import MinionLimits
from wire.messages import MOST_RUN_EVENTS, MinionEvents, MinionEventsAck
from wire.values import check_value

FOLDER = "events"

MOST_EVENT_BYTES = 128 * 1024
"""Of one event, and of those in one message."""

MOST_QUEUE_BYTES = 4 * 1024 * 1024
"""Of the events that wait; more are dropped, and counted."""

LONGEST_TAG = 1024
"""Characters."""

SEND_AGAIN_AFTER = 30.0
"""Seconds without an acknowledgement."""

_COMPACTED_FROM = 256 * 1024
"""Bytes of acknowledged events that the file may hold."""

_READ = 2 * MOST_EVENT_BYTES


class _QueuedEvent(msgspec.Struct, frozen=True, array_like=True):
    tag: str
    data: dict[str, Any]


_ENCODER = msgspec.msgpack.Encoder()
_EVENT = msgspec.msgpack.Decoder(_QueuedEvent)


class EventNotQueued(Exception):
    """An event that the queue does not take; the text says why."""


class EventQueue:
    """The file, for those who add to it."""

    def __init__(self, cachedir: Path, minion_id: str) -> None:
        self._folder = cachedir / FOLDER
        self._path = self._folder / "queue"
        self._dropped = self._folder / "dropped"
        self._minion_id = minion_id

    def add(self, *events: tuple[str, Mapping[str, Any]]) -> None:
        """Put events, tags and data, on disk and wake the agent. EventNotQueued when one is too large, or has no room.

        Events for which there is no room are counted; the next that has room is preceded by one that says so.
        """
        bodies = [packed_event(tag, data) for tag, data in events]
        try:
            self._folder.mkdir(mode=0o700, parents=True, exist_ok=True)
            with self._locked():
                self._append_after_dropped(bodies)
        except OSError as error:
            raise EventNotQueued(f"it cannot be put on disk: {error}") from error
        self._wake()

    def count_dropped(self, count: int) -> None:
        """So many events are not sent; the controller is told with the next that is. Raises OSError."""
        self._folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        with self._locked():
            self._dropped.write_text(str(self._count() + count))

    def has_agent(self) -> bool:
        """Whether an agent sends what is added."""
        return self._wake()

    def _append_after_dropped(self, bodies: Sequence[bytes]) -> None:
        fd = os.open(self._path, os.O_RDWR | os.O_CREAT | os.O_APPEND | os.O_CLOEXEC, 0o600)
        try:
            size = os.fstat(fd).st_size
            if size + sum(map(len, bodies)) > MOST_QUEUE_BYTES:
                self._dropped.write_text(str(self._count() + len(bodies)))
                raise EventNotQueued(
                    f"{MOST_QUEUE_BYTES} bytes of events wait for the controller, and that is the most"
                )
            new = b"" if size else _record(new_stream())
            if dropped := self._count():
                told = {"id": self._minion_id, "count": dropped}
                new += _record(packed_event(f"saltern/minion/{self._minion_id}/events_dropped", told))
            _append(fd, size, new + b"".join(map(_record, bodies)))
            self._dropped.unlink(missing_ok=True)
        finally:
            os.close(fd)

    def _count(self) -> int:
        try:
            return int(self._dropped.read_text())
        except (OSError, ValueError):
            return 0

    def _wake(self) -> bool:
        try:
            fd = os.open(self._folder / "wake", os.O_WRONLY | os.O_NONBLOCK | os.O_CLOEXEC | os.O_NOFOLLOW)
        except OSError:  # ENXIO: nobody reads
            return False
        try:
            with contextlib.suppress(BlockingIOError):
                os.write(fd, b"\0")
        finally:
            os.close(fd)
        return True

    def _locked(self) -> contextlib.AbstractContextManager[None]:
        return _locked(self._folder)


class MinionEventsOutbox:
    """The file, for the agent, which sends from it."""

    def __init__(self, cachedir: Path) -> None:
        """Take over what an earlier agent left. Raises OSError."""
        self._folder = cachedir / FOLDER
        self._path = self._folder / "queue"
        self._folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        self._stream = ""
        self._number = 0
        """Of the first event that the controller does not have."""
        self._offset = 0
        """Where it begins in the file."""
        self.acknowledged = 0
        """Events that a controller has taken since this began."""
        self._sent_at: float | None = None
        with _locked(self._folder):
            self._cut_torn_end()
        self.fd = _open_pipe(self._folder / "wake")
        """Readable when something was added."""

    def woken(self) -> None:
        """Read what the pipe has."""
        with contextlib.suppress(BlockingIOError):
            while len(os.read(self.fd, 4096)) == 4096:
                pass

    def due(self, now: float) -> MinionEvents | None:
        """What to send now, if anything; tell `sent` of it."""
        if self._sent_at is not None and now - self._sent_at < SEND_AGAIN_AFTER:
            return None
        events: list[tuple[str, dict[str, Any]]] = []
        for body, end in self._read():
            if events and (end - self._offset > MOST_EVENT_BYTES or len(events) >= MOST_RUN_EVENTS):
                break
            event = _EVENT.decode(body)
            events.append((event.tag, event.data))
        if not events:
            return None
        end_number = self._number + len(events)
        return MinionEvents(stream=self._stream, first=self._number, end=end_number, events=tuple(events))

    def sent(self, now: float) -> None:
        """What `due` gave was sent."""
        self._sent_at = now

    def reconnected(self) -> None:
        """What was sent may be lost."""
        self._sent_at = None

    def acknowledge(self, ack: MinionEventsAck) -> None:
        """The controller has so many events of a stream. Raises OSError."""
        if ack.stream != self._stream:
            return
        self._sent_at = None
        while self._number < ack.taken:
            before = self._number
            for _, end in self._read():
                if self._number == ack.taken:
                    break
                self._number, self._offset = self._number + 1, end
                self.acknowledged += 1
            if self._number == before:
                break
        if self._offset >= _COMPACTED_FROM:
            self._compact()

    def waiting_bytes(self) -> int:
        """Bytes in the file of events that no controller has acknowledged."""
        try:
            return max(0, self._path.stat().st_size - self._offset)
        except FileNotFoundError:
            return 0

    def next_due(self, now: float) -> float:
        """When `due` may have something again; infinity when only a new event can change that."""
        if self._sent_at is not None:
            return self._sent_at + SEND_AGAIN_AFTER
        return now if next(self._read(), None) is not None else float("inf")

    def _read(self) -> Iterator[tuple[bytes, int]]:
        """What is not acknowledged, as far as it is read at once, with the offsets of their ends."""
        try:
            if self._path.stat().st_size <= self._offset:
                return
            with self._path.open("rb", buffering=0) as file:
                data = os.pread(file.fileno(), _READ, self._offset)
        except OSError:
            return
        start = self._offset
        for body, end in records(data):
            if not self._stream:
                self._stream = msgspec.msgpack.decode(body, type=str)
                self._offset = start + end
                continue
            yield body, start + end

    def _compact(self) -> None:
        """Begin a new file with what was not acknowledged, under the name of another stream."""
        with _locked(self._folder):
            rest = self._path.read_bytes()[self._offset :]
            fresh = self._path.with_name("queue.new")
            fd = os.open(fresh, os.O_RDWR | os.O_CREAT | os.O_TRUNC | os.O_CLOEXEC, 0o600)
            try:
                _append(fd, 0, _record(new_stream()) + rest)
            finally:
                os.close(fd)
            fresh.replace(self._path)
        self._stream, self._number, self._offset = "", 0, 0

    def _cut_torn_end(self) -> None:
        """Drop what a crash cut off, after which nothing could be read."""
        try:
            data = self._path.read_bytes()
        except FileNotFoundError:
            return
        whole = max((end for _, end in records(data)), default=0)
        if whole < len(data):
            os.truncate(self._path, whole)


def new_stream() -> bytes:
    """The packed name of a new stream."""
    return _ENCODER.encode(secrets.token_hex(8))


def packed_event(tag: str, data: Mapping[str, Any]) -> bytes:
    """The event as it is stored, with data as messages may have it. EventNotQueued."""
    if len(tag) > LONGEST_TAG:
        raise EventNotQueued(f"its tag is longer than {LONGEST_TAG} characters")
    try:
        plain = msgspec.to_builtins(dict(data), enc_hook=str, builtin_types=(bytes,))
        plain = check_value((("", {str(key): value for key, value in plain.items()}),), MinionLimits())[0][1]
        body = _ENCODER.encode(_QueuedEvent(tag, plain))
    except (TypeError, ValueError, OverflowError, RecursionError, OverLimit) as error:
        raise EventNotQueued(f"its data cannot be sent: {error}") from error
    if len(body) > MOST_EVENT_BYTES:
        raise EventNotQueued(f"its data takes {len(body)} bytes, and {MOST_EVENT_BYTES} is the most")
    return body


def _record(body: bytes) -> bytes:
    return len(body).to_bytes(4, "big") + zlib.crc32(body).to_bytes(4, "big") + body


def _append(fd: int, size: int, data: bytes) -> None:
    """Append to a file of a size, durably; an error leaves it as it was."""
    try:
        if os.write(fd, data) < len(data):
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
    except OSError:
        os.ftruncate(fd, size)
        raise
    os.fdatasync(fd)


@contextlib.contextmanager
def _locked(folder: Path) -> Iterator[None]:
    """Alone with the file; never held for longer than a write takes."""
    fd = os.open(folder / "lock", os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
    try:
        fcntl.flock(fd, fcntl.LOCK_EX)
        yield
    finally:
        os.close(fd)


def _open_pipe(path: Path) -> int:
    """The reading end of a pipe with a name; it stays open for writing too, so that it never reads as ended."""
    if not path.exists() or not stat.S_ISFIFO(path.stat().st_mode):
        path.unlink(missing_ok=True)
        os.mkfifo(path, 0o600)
    return os.open(path, os.O_RDWR | os.O_NONBLOCK | os.O_CLOEXEC)
