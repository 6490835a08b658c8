"""A machine on which new files, directories and commands follow a umask.

Made by the engine for chunks that have `umask`. The process's own umask is not touched: parallel chunks share it.
"""

from __future__ import annotations

import posixpath
import shlex
import stat
from collections.abc import Mapping, Sequence
from typing import Any

from minion.machine.failure import StateFailed
from minion.machine.plan import Completed, Machine, Value


def umask_of(value: Value) -> int:
    """`umask` as Salt reads it: octal digits, text or number."""
    try:
        mask = int(str(value), 8)
    except ValueError:
        mask = -1
    if not 0 <= mask <= 0o777:
        raise StateFailed(f"Invalid umask: {value}")
    return mask


class MaskedMachine:
    """The machine given, everything new on it masked."""

    def __init__(self, machine: Machine, mask: int) -> None:
        self._machine = machine
        self._mask = mask

    def __getattr__(self, name: str) -> Any:
        return getattr(self._machine, name)

    def write(self, path: str, data: bytes, *, mode: str | None = None) -> None:
        """A new file without a mode gets 0666 less the mask."""
        if mode is None and self._machine.stat(path) is None:
            mode = f"{0o666 & ~self._mask:04o}"
        self._machine.write(path, data, mode=mode)

    def mkdir(self, path: str, *, parents: bool = False, mode: str | None = None) -> None:
        """A new directory without a mode gets 0777 less the mask, and the setgid bit of the one that it is in."""
        if mode is not None or self._machine.stat(path) is not None:
            self._machine.mkdir(path, parents=parents, mode=mode)
            return
        if parents:
            self.mkdir(posixpath.dirname(path), parents=True)
        self._machine.mkdir(path)
        made = self._machine.stat(path)
        inherited = 0 if made is None else int(made.mode, 8) & stat.S_ISGID
        self._machine.chmod(path, f"{0o777 & ~self._mask | inherited:04o}")

    def run(self, argv: Sequence[str] | str, *, env: Mapping[str, str] | None = None, **options: Any) -> Completed:
        """The command starts with the mask."""
        command = argv if isinstance(argv, str) else "exec " + shlex.join(argv)
        return self._machine.run(f"umask {self._mask:04o}\n{command}", env=env, **options)
