"""A file that is replaced when it is closed: behind `salt.utils.atomicfile.atomic_open`."""

from __future__ import annotations

import os
import tempfile
from types import TracebackType
from typing import Any, Self


class Replacement:
    """Written beside the file, and put in its place by `close`; an error in a `with` leaves the old one."""

    def __init__(self, path: str, mode: str = "w") -> None:
        self._path = path
        folder = os.path.dirname(path) or "."  # noqa: PTH120
        self._file = tempfile.NamedTemporaryFile(mode=mode, dir=folder, delete=False)  # noqa: SIM115

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        if kind is None:
            self.close()
            return
        self._file.close()
        os.unlink(self._file.name)  # noqa: PTH108

    def __getattr__(self, name: str) -> Any:
        return getattr(self._file, name)

    def close(self) -> None:
        """Put it in place."""
        if self._file.closed:
            return
        self._file.flush()
        os.fsync(self._file.fileno())
        self._file.close()
        if os.path.exists(self._path):  # noqa: PTH110
            old = os.stat(self._path)  # noqa: PTH116
            os.chmod(self._file.name, old.st_mode & 0o7777)  # noqa: PTH101
        os.replace(self._file.name, self._path)  # noqa: PTH105
