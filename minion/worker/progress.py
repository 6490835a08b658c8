"""The progress of a run, from its worker to the agent, which reports it to the controller.

The agent makes a `ProgressSlot` before it forks; the worker writes there what it starts, and the agent reads it at
intervals. It is shared memory and not a message: writing takes a microsecond, and only the newest entry is kept. A slot
that is read while it is written counts as empty; the next read finds the entry.
"""

from __future__ import annotations

import mmap
import zlib

import msgspec

from wire.messages import RunProgress

INTERVAL = 1.0
"""Seconds between reads of a slot: at most one message in that time, however many states a run has."""

UNCHANGED_INTERVAL = 10.0
"""Seconds after which an unchanged entry is reported again, with the time that has passed."""

_SIZE = 4096
_HEADER = 6  # length, two bytes, and CRC-32 of what follows
_LONGEST_KEY = 1000
"""Characters of a chunk key; UTF-8 and msgpack make at most four times as many bytes of it."""


class Reached(msgspec.Struct, frozen=True, array_like=True):
    """How far a run is."""

    done: int
    """Chunks that have a result."""
    total: int
    key: str
    """Of the chunk that was started last."""


_ENCODER = msgspec.msgpack.Encoder()
_DECODER = msgspec.msgpack.Decoder(Reached)


class ProgressSlot:
    """One run's. Both processes have it after the fork."""

    def __init__(self) -> None:
        self._memory = mmap.mmap(-1, _SIZE)

    def write(self, key: str, done: int, total: int) -> None:
        """Record that a chunk starts (`highstate.run.RunHooks.on_start`)."""
        body = _ENCODER.encode(Reached(done, total, key[:_LONGEST_KEY]))
        self._memory[: _HEADER + len(body)] = len(body).to_bytes(2, "big") + zlib.crc32(body).to_bytes(4, "big") + body

    def read(self) -> Reached | None:
        """The last entry; None when there is none, or when it is being written."""
        size = int.from_bytes(self._memory[:2], "big")
        body = self._memory[_HEADER : _HEADER + size]
        if not size or zlib.crc32(body) != int.from_bytes(self._memory[2:_HEADER], "big"):
            return None
        try:
            return _DECODER.decode(body)
        except msgspec.MsgspecError:
            return None


class ProgressReporter:
    """What was reported of one worker's run."""

    def __init__(self, slot: ProgressSlot, now: float) -> None:
        """`now`: monotonic seconds, as everywhere below."""
        self._slot = slot
        self._started = self._sent_at = now
        self._sent: Reached | None = None
        self.due = now + INTERVAL
        """When to read the slot again."""

    def runs_states(self) -> bool:
        """Whether the worker has begun with a state."""
        return self._slot.read() is not None

    def due_message(self, run_id: str, now: float) -> RunProgress | None:
        """The message to send now, if any."""
        if now < self.due:
            return None
        self.due = now + INTERVAL
        reached = self._slot.read()
        if reached is None or (reached == self._sent and now < self._sent_at + UNCHANGED_INTERVAL):
            return None
        self._sent, self._sent_at = reached, now
        seconds = round(now - self._started, 3)
        return RunProgress(run_id=run_id, done=reached.done, total=reached.total, key=reached.key, seconds=seconds)
