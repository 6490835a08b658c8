"""A machine whose files lie below a folder of the test, while programs, /proc and /sys are the machine's own."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from highstate.files import MemoryFiles
from minion.machine.machine import LocalMachine
from minion.machine.plan import FileStat

_SHARED = ("/proc/", "/sys/", "/dev/")


class BelowRoot(LocalMachine):
    """Absolute paths are looked for, and written, below `top`; a link there leads to what stands in it."""

    top: Path

    @classmethod
    def of(cls, top: Path, **grains: Any) -> BelowRoot:
        """A machine with these grains."""
        machine = cls(sources_port=MemoryFiles({}), grains=grains)
        machine.top = top
        return machine

    def _at(self, path: str) -> str:
        outside = not path.startswith("/") or path.startswith(_SHARED) or path.startswith(f"{self.top}/")
        return path if outside else f"{self.top}{path}"

    def put(self, path: str, text: str) -> Path:
        """A file of the test, with the folders above it."""
        file = Path(self._at(path))
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text)
        return file

    def text(self, path: str) -> str:
        """What a file holds."""
        return Path(self._at(path)).read_text()

    def stat(self, path: str) -> FileStat | None:
        return super().stat(self._at(path))

    def read(self, path: str) -> bytes:
        return super().read(self._at(path))

    def listdir(self, path: str) -> Sequence[str]:
        return super().listdir(self._at(path))

    def write(self, path: str, data: bytes, *, mode: str | None = None) -> None:
        super().write(self._at(path), data, mode=mode)

    def mkdir(self, path: str, *, parents: bool = False, mode: str | None = None) -> None:
        super().mkdir(self._at(path), parents=parents, mode=mode)

    def chmod(self, path: str, mode: str) -> None:
        super().chmod(self._at(path), mode)

    def remove(self, path: str) -> None:
        super().remove(self._at(path))
