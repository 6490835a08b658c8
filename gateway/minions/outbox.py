"""Results of one stock minion for the controller: on disk until they are acknowledged, and said again until then.

Nearly all are acknowledged within milliseconds, which is less than a disk takes to keep one through a power loss. So
those alone outlast one that still wait some time later; all outlast the gateway.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable
from pathlib import Path

import msgspec

from minion.machine.durable_files import make_durable, whole_files, write_whole
from minion.spool.journal import folder_name
from minion.worker.results import fitting
from wire.messages import RunResult

log = logging.getLogger(__name__)

SEND_AGAIN_AFTER = 30.0
LONGEST_AGAIN = 600.0
MOST_WAITING = 200
"""Results that may wait for a controller that is away; the oldest are dropped, and said."""

_DECODER = msgspec.msgpack.Decoder(RunResult)


class ResultOutbox:
    """The results.

    Args:
        folder: where they are kept.
        send: says one to the controller; False: it cannot be said now.
    """

    def __init__(self, folder: Path, send: Callable[[RunResult], bool]) -> None:
        self._folder = folder
        self._send = send
        self._waiting: dict[str, RunResult] = {}
        self._due: dict[str, tuple[float, float]] = {}
        """Run id -> when it is said again, and after how long the time after that."""
        self._fresh: set[str] = set()
        """Run ids of results that a power loss would take."""
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        for path in sorted(whole_files(folder), key=lambda each: each.stat().st_mtime):
            try:
                result = _DECODER.decode(path.read_bytes())
                self._waiting[result.run_id] = result
            except (msgspec.MsgspecError, OSError) as error:
                log.warning("event=result_unreadable path=%s error=%s", path, error)
                path.unlink(missing_ok=True)

    def __contains__(self, run_id: str) -> bool:
        return run_id in self._waiting

    @property
    def has_room(self) -> bool:
        """Whether results that nobody has asked for are kept as well."""
        return len(self._waiting) < MOST_WAITING // 2

    def add(self, result: RunResult, now: float) -> None:
        """Keep a result, and say it; of one that is too large to be said, long texts are cut."""
        result = fitting(result)
        write_whole(self._path(result.run_id), msgspec.msgpack.encode(result))
        self._waiting[result.run_id] = result
        self._fresh.add(result.run_id)
        while len(self._waiting) > MOST_WAITING:
            dropped = next(iter(self._waiting))
            log.warning("event=result_dropped run_id=%s why=%s", dropped, "too many wait for the controller")
            self.acknowledged(dropped)
        self.say(result.run_id, now)

    def acknowledged(self, run_id: str) -> None:
        """The controller has it, or wants it no more."""
        if self._waiting.pop(run_id, None) is not None:
            self._due.pop(run_id, None)
            self._fresh.discard(run_id)
            self._path(run_id).unlink(missing_ok=True)

    def say(self, run_id: str, now: float) -> None:
        """Say one now."""
        wait = min(LONGEST_AGAIN, 2 * self._due.get(run_id, (0.0, SEND_AGAIN_AFTER / 2))[1])
        self._send(self._waiting[run_id])
        self._due[run_id] = now + wait, wait

    def say_all(self, now: float) -> None:
        """Say all: there is a new connection."""
        for run_id in self._waiting:
            self.say(run_id, now)

    async def make_durable(self) -> None:
        """Have what waits outlast a power loss, too. Called now and then."""
        paths, self._fresh = [self._path(run_id) for run_id in self._fresh], set()
        if paths:
            await asyncio.to_thread(_make_durable, paths)

    def tick(self, now: float) -> None:
        """Say again what is due."""
        for run_id in [each for each, (due, _) in self._due.items() if due <= now]:
            self.say(run_id, now)

    def _path(self, run_id: str) -> Path:
        return self._folder / folder_name(run_id)


def _make_durable(paths: list[Path]) -> None:
    for path in paths:
        try:
            make_durable(path)
        except FileNotFoundError:  # acknowledged meanwhile
            continue
        except OSError as error:
            log.error("event=result_not_durable path=%s error=%s", path, error)
