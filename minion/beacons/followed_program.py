"""A program whose output is followed line by line, for beacons that have to ask one: journalctl, strace."""

from __future__ import annotations

import contextlib
import os
import subprocess
from collections.abc import Sequence

from minion.beacons.beacon import BeaconFailed
from minion.processes import kill_tree

LONGEST_LINE = 256 * 1024
"""Bytes of a line; a longer one is left out."""

_READ = 1024 * 1024
"""Bytes that are read at once."""


class FollowedProgram:
    """One program that runs."""

    def __init__(self, words: Sequence[str], *, errors: bool = False) -> None:
        """Start it. `errors`: follow what it writes to stderr. BeaconFailed when it cannot be started."""
        reader, writer = os.pipe2(os.O_CLOEXEC | os.O_NONBLOCK)
        os.set_blocking(writer, True)
        self.fd = reader
        self._rest = b""
        try:
            self._child = subprocess.Popen(
                words,
                stdin=subprocess.DEVNULL,
                stdout=subprocess.DEVNULL if errors else writer,
                stderr=writer if errors else subprocess.DEVNULL,
                env={**os.environ, "LC_ALL": "C"},
            )
        except OSError as error:
            os.close(reader)
            raise BeaconFailed(f"{words[0]}: {error.strerror}") from error
        finally:
            os.close(writer)

    def lines(self) -> tuple[list[bytes], bool]:
        """Lines that have come, and whether the program has ended."""
        ended, data = False, self._rest
        while len(data) < _READ:
            try:
                part = os.read(self.fd, 65536)
            except BlockingIOError:
                break
            if not part:
                ended = True
                break
            data += part
        *lines, self._rest = data.split(b"\n")
        if len(self._rest) > LONGEST_LINE:
            self._rest = b""
        return [line for line in lines if len(line) <= LONGEST_LINE], ended

    def close(self) -> None:
        """End it."""
        kill_tree(self._child.pid)
        with contextlib.suppress(OSError):
            os.close(self.fd)
        self._child.wait()
