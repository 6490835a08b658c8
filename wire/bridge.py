"""Carries the connections of a minion through one pair of pipes: the two ends of a bridge over ssh.

The end on the target (`minion.visit.bridge_end`) listens on unix sockets and carries what connects there; the end on
the controller (`controller.ssh.visit`) dials the controller's own ports. Between the two go frames: kind, channel and
length, then so many bytes. What they carry is CURVE, so a bridge is trusted with nothing: neither end reads it.

Both ends bound what the other may cost: bytes of a frame, and channels that are open. A side that does not read holds
the other up (`drain`), and nothing is kept without bound.
"""

from __future__ import annotations

import asyncio
import contextlib
import enum
import struct
from collections.abc import Awaitable, Callable
from typing import TypeAlias

MOST_FRAME = 64 * 1024
"""Bytes of the data of a frame."""
MOST_CHANNELS = 16
"""Connections that are open at the same time: a minion has two, and for a moment four."""
_HEAD = struct.Struct("!BII")

Streams: TypeAlias = tuple[asyncio.StreamReader, asyncio.StreamWriter]
Dial: TypeAlias = Callable[[str], Awaitable[Streams]]


class BrokenBridge(Exception):
    """The other end sent what is no frame, or more than it may."""


class BridgeFrame(enum.IntEnum):
    """What a frame is."""

    OPEN = 1
    """A new channel; the data is the name of the port that it leads to."""
    DATA = 2
    CLOSE = 3
    NOTE = 4
    """For the other end itself (channel 0)."""


class Bridge:
    """One end.

    Args:
        reader: of the other end's frames.
        writer: to the other end.
        dial: connects to a port by its name, for channels that the other end opens; None: it may open none. OSError:
            nothing listens there.
        noted: is given each note of the other end.
    """

    def __init__(
        self,
        reader: asyncio.StreamReader,
        writer: asyncio.StreamWriter,
        *,
        dial: Dial | None = None,
        noted: Callable[[bytes], None] = lambda _: None,
    ) -> None:
        self._reader, self._writer = reader, writer
        self._dial, self._noted = dial, noted
        self._channels: dict[int, asyncio.StreamWriter] = {}
        self._tasks: set[asyncio.Task[None]] = set()
        self._newest = 0

    async def run(self) -> None:
        """Carry until the other end is gone. Raises BrokenBridge and OSError."""
        try:
            while (frame := await self._next()) is not None:
                await self._take(*frame)
        finally:
            for task in self._tasks:
                task.cancel()
            for channel in self._channels.values():
                channel.close()
            self._channels.clear()

    async def note(self, text: bytes) -> None:
        """Tell the other end something."""
        await self._send(BridgeFrame.NOTE, 0, text)

    async def carry(self, port: str, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        """Carry a connection that was accepted here, until it ends."""
        if len(self._channels) >= MOST_CHANNELS:
            writer.close()
            return
        self._newest += 1
        channel = self._newest
        self._channels[channel] = writer
        await self._send(BridgeFrame.OPEN, channel, port.encode())
        await self._pump(channel, reader)

    async def _next(self) -> tuple[int, int, bytes] | None:
        try:
            kind, channel, length = _HEAD.unpack(await self._reader.readexactly(_HEAD.size))
            if length > MOST_FRAME:
                raise BrokenBridge(f"a frame of {length} bytes")
            return kind, channel, await self._reader.readexactly(length)
        except asyncio.IncompleteReadError:
            return None

    async def _take(self, kind: int, channel: int, data: bytes) -> None:
        match kind:
            case BridgeFrame.OPEN:
                await self._open(channel, data)
            case BridgeFrame.DATA:
                writer = self._channels.get(channel)
                if writer is not None:
                    await self._give(channel, writer, data)
            case BridgeFrame.CLOSE:
                writer = self._channels.pop(channel, None)
                if writer is not None:
                    writer.close()
            case BridgeFrame.NOTE:
                self._noted(data)
            case _:
                raise BrokenBridge(f"a frame of the kind {kind}")

    async def _give(self, channel: int, writer: asyncio.StreamWriter, data: bytes) -> None:
        try:
            writer.write(data)
            await writer.drain()
        except OSError:
            self._channels.pop(channel, None)
            await self._send(BridgeFrame.CLOSE, channel)

    async def _open(self, channel: int, name: bytes) -> None:
        if self._dial is None or channel in self._channels or len(self._channels) >= MOST_CHANNELS:
            raise BrokenBridge(f"the other end opens channel {channel}, which it may not")
        try:
            reader, writer = await self._dial(name.decode("ascii", "replace"))
        except OSError:
            await self._send(BridgeFrame.CLOSE, channel)
            return
        self._channels[channel] = writer
        task = asyncio.create_task(self._pump(channel, reader))
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    async def _pump(self, channel: int, reader: asyncio.StreamReader) -> None:
        """Give the other end what this connection has, until its end."""
        with contextlib.suppress(OSError):
            while data := await reader.read(MOST_FRAME):
                if channel not in self._channels:
                    return  # the other end has closed it
                await self._send(BridgeFrame.DATA, channel, data)
        writer = self._channels.pop(channel, None)
        if writer is not None:
            writer.close()
            await self._send(BridgeFrame.CLOSE, channel)

    async def _send(self, kind: BridgeFrame, channel: int, data: bytes = b"") -> None:
        self._writer.write(_HEAD.pack(kind, channel, len(data)) + data)
        await self._writer.drain()
