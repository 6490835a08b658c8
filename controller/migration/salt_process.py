"""The process of real Salt, asked from here: one line a minion, each with a deadline. Called by `compare`.

It is ended and begun anew when it hangs, crashes, or has compiled so many minions that it has grown.
"""

from __future__ import annotations

import os
import resource
import select
import subprocess
import time
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from types import TracebackType
from typing import IO, Any, Self

import msgspec

from controller.migration.limits import ANSWER_BYTES, SALT_MINIONS, SALT_START_SECONDS
from controller.migration.salt_install import SaltInstall, environment

_INSIDE = Path(__file__).with_name("salt_side.py")
_PIECE = 1 << 16


class SaltFailed(Exception):
    """Salt gave no answer; the text says why."""


class SaltWorld(msgspec.Struct, frozen=True, kw_only=True):
    """What Salt's process is told once."""

    folder: str
    """Scratch, where all that it writes lies."""
    master: str
    """The master's configuration file."""
    root: str
    """Stands before absolute paths of the configuration."""
    file_roots: Mapping[str, list[str]]
    pillar_roots: Mapping[str, list[str]]
    live: list[str]
    """Modules whose functions ask the machine."""
    pure: list[str]
    """Functions of these that do not."""
    watched: list[str]
    """State modules that react to `watch`."""
    facts: list[dict[str, Any]] = []
    """Recorded answers of functions that ask the machine."""


class SaltAnswer(msgspec.Struct, frozen=True, kw_only=True):
    """What Salt makes of a minion."""

    low: list[dict[str, Any]] | None = None
    errors: list[str] = []
    asked: list[str] = []
    """Functions of the machine that were not run."""


class _Started(msgspec.Struct, frozen=True, kw_only=True):
    version: str = ""
    ordered: bool = True
    fatal: str = ""


@dataclass(slots=True, kw_only=True)
class SaltProcess:
    """Real Salt, for as long as the `with` lasts.

    Args:
        install: which Salt.
        world: what it compiles.
        timeout: seconds for a minion.
        memory: bytes of address space that it may use; 0: no bound.
    """

    install: SaltInstall
    world: SaltWorld
    timeout: float
    memory: int = 0
    ordered: bool = True
    """Whether this Salt compiles chunks in the order in which they run, as Salt 3008 does; told when it has started."""
    _process: subprocess.Popen[bytes] | None = None
    _answered: int = 0
    _read: bytearray = field(default_factory=bytearray)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._end()

    def start(self) -> None:
        """Start Salt, so that one that does not start is told before any minion. Raises SaltFailed."""
        self._started()

    def ask(self, minion_id: str, grains: Mapping[str, Any]) -> SaltAnswer:
        """Salt's answer about a minion. Raises SaltFailed, after which a new process is used."""
        if self._answered >= SALT_MINIONS:
            self._end()
        process = self._process or self._started()
        self._answered += 1
        try:
            self._send(process, {"id": minion_id, "grains": grains})
            return msgspec.json.decode(self._line(process, self.timeout), type=SaltAnswer)
        except (msgspec.DecodeError, msgspec.ValidationError) as error:
            self._end()
            raise SaltFailed(f"Salt's answer cannot be read: {error}") from None
        except SaltFailed:
            self._end()
            raise

    def _started(self) -> subprocess.Popen[bytes]:
        self._read.clear()
        self._answered = 0
        process = self._process = subprocess.Popen(
            [self.install.python, "-s", "-B", _INSIDE],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            cwd="/",
            env=environment(),
        )
        if self.memory:
            resource.prlimit(process.pid, resource.RLIMIT_AS, (self.memory, self.memory))
        self._send(process, msgspec.to_builtins(self.world))
        told = msgspec.json.decode(self._line(process, SALT_START_SECONDS), type=_Started)
        if told.fatal:
            raise SaltFailed(f"Salt does not start: {told.fatal}")
        self.ordered = told.ordered
        return process

    def _send(self, process: subprocess.Popen[bytes], data: Any) -> None:
        try:
            pipe = _there(process.stdin)
            pipe.write(msgspec.json.encode(data) + b"\n")
            pipe.flush()
        except OSError:
            raise SaltFailed("Salt's process has ended") from None

    def _line(self, process: subprocess.Popen[bytes], seconds: float) -> bytes:
        deadline = time.monotonic() + seconds
        pipe, looked_at = _there(process.stdout), 0
        while (end := self._read.find(b"\n", looked_at)) < 0:
            looked_at = len(self._read)
            if len(self._read) > ANSWER_BYTES:
                raise SaltFailed(f"Salt's answer has more than {ANSWER_BYTES >> 20} MiB")
            left = deadline - time.monotonic()
            if left <= 0 or not select.select([pipe], [], [], left)[0]:
                raise SaltFailed(f"Salt took more than {seconds:g} s")
            piece = os.read(pipe.fileno(), _PIECE)
            if not piece:
                raise SaltFailed("Salt's process has ended: out of memory, or a fault in it")
            self._read += piece
        line = bytes(self._read[:end])
        del self._read[: end + 1]
        return line

    def _end(self) -> None:
        if self._process is not None:
            self._process.kill()
            self._process.communicate()
        self._process = None


def _there(pipe: IO[bytes] | None) -> IO[bytes]:
    assert pipe is not None  # noqa: S101  (it was asked for)
    return pipe
