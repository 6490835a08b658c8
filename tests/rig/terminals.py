"""A process on a terminal of its own, which has a size, gets keys, and whose output is kept."""

from __future__ import annotations

import fcntl
import os
import pty
import re
import select
import struct
import subprocess
import sys
import termios
import time
from collections.abc import Mapping

_CODES = re.compile(r"\x1b(\[[0-9;?]*[A-Za-z]|[=>])")
_COMMAND = (
    "import fcntl, termios; fcntl.ioctl(0, termios.TIOCSCTTY, 0); from controller.cli import main; main()"  # its own
)


class Terminal:
    """Runs `saltern` with these words; use it as a context manager."""

    def __init__(self, *words: str, env: Mapping[str, str], size: tuple[int, int] = (80, 24)) -> None:
        self._master, slave = pty.openpty()
        self.resize(*size, slave)
        self.process = subprocess.Popen(
            [sys.executable, "-c", _COMMAND, *words],
            stdin=slave,
            stdout=slave,
            stderr=slave,
            env={
                "TERM": "xterm-256color",
                **{name: value for name, value in os.environ.items() if name not in _COLOUR},
                **env,
            },
            start_new_session=True,
        )
        os.close(slave)
        self.text = ""
        """All that was written, with its control codes."""

    def __enter__(self) -> Terminal:
        return self

    def __exit__(self, *_: object) -> None:
        if self.process.poll() is None:
            self.process.kill()
        self.process.wait(30)
        os.close(self._master)

    def resize(self, columns: int, lines: int, descriptor: int | None = None) -> None:
        """Make it so large."""
        size = struct.pack("HHHH", lines, columns, 0, 0)
        fcntl.ioctl(self._master if descriptor is None else descriptor, termios.TIOCSWINSZ, size)

    def type(self, keys: str) -> None:
        """Press keys."""
        os.write(self._master, keys.encode())

    def wait_for(self, wanted: str, *, after: int = 0, seconds: float = 60) -> int:
        """Wait until this text is written, behind so many characters; how many there are then."""
        end = time.monotonic() + seconds
        while wanted not in self.text[after:]:
            assert time.monotonic() < end, f"no {wanted!r} in {self.text[after:]!r}"
            if not self._read(0.1) and self.process.poll() is not None:
                while self._read(0.1):
                    pass
                assert wanted in self.text[after:], f"it ended without {wanted!r}: {self.text[after:]!r}"
        return len(self.text)

    def end(self, seconds: float = 60) -> int:
        """Wait until it has ended; its exit code."""
        end = time.monotonic() + seconds
        while self.process.poll() is None:
            assert time.monotonic() < end, f"it goes on: {self.text!r}"
            self._read(0.1)
        while self._read(0.1):
            pass
        return self.process.returncode

    def _read(self, seconds: float) -> bool:
        if not select.select([self._master], [], [], seconds)[0]:
            return False
        try:
            data = os.read(self._master, 65536)
        except OSError:  # nobody has the other end any more
            return False
        self.text += data.decode(errors="replace")
        return bool(data)


_COLOUR = ("NO_COLOR", "CLICOLOR_FORCE", "FORCE_COLOR", "TERM", "COLUMNS", "LINES")
"""Variables of whoever runs the tests that this is not to depend on."""


def plain(text: str) -> str:
    """The text without control codes."""
    return _CODES.sub("", text).replace("\r", "")
