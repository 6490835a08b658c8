"""A machine that notes, before each write, what a state makes that was not there.

The engine of a run of the desired document gets it in place of the machine. It hands everything on unchanged.
"""

from __future__ import annotations

import contextlib
import hashlib
import posixpath
import threading
import time
from collections.abc import Callable, Iterator
from typing import Any

from highstate.types import Chunk
from minion.machine.plan import FileStat, Machine
from minion.ownership.inventory import FOLDER, PIPE, Inventory, Owned
from minion.ownership.resources import WITH_FILES, file_key

_INVERSE = "file.absent"
_PIECE = 1 << 20


class FileRecorder:
    """Which paths the state that acts now makes. Parallel states act in threads of their own."""

    def __init__(self, inventory: Inventory, look: Machine, clock: Callable[[], float] = time.time) -> None:
        self._inventory = inventory
        self._look = look
        self._clock = clock
        self._acting = threading.local()

    @contextlib.contextmanager
    def state(self, chunk: Chunk) -> Iterator[None]:
        """A state acts, in this thread."""
        self._acting.chunk = chunk
        try:
            yield
        finally:
            self._acting.chunk = None

    def makes(self, path: str, content: str) -> None:
        """Something with this content is about to be at a path."""
        chunk: Chunk | None = getattr(self._acting, "chunk", None)
        path = posixpath.normpath(path)
        if chunk is None or chunk.state not in WITH_FILES or not _is_about(chunk, path):
            return
        known = self._inventory.entries.get((file_key(path), _INVERSE))
        was_there = self._look.stat(path) is not None
        if known is None and (was_there or self._is_replaced(path)):
            return
        if known is not None and was_there:
            made = Owned(**{**_fields(known), "content": content, "begun": False})
        else:
            made = Owned(
                key=file_key(path),
                inverse=_INVERSE,
                name=path,
                id=chunk.id,
                sls=chunk.sls,
                fun=f"{chunk.state}.{chunk.fun}",
                at=self._clock(),
                content=content,
            )
        self._inventory.own(made)

    def takes_away(self, path: str) -> None:
        """What is at a path is about to go."""
        chunk: Chunk | None = getattr(self._acting, "chunk", None)
        path = posixpath.normpath(path)
        owned = [each for each in self._inventory if each.resource.is_file and _below(each.resource.path, path)]
        found = self._look.stat(path)
        if found is None:
            return
        for each in owned:
            self._inventory.gone(each)
        own = any(each.resource.path == path for each in owned)
        if not own and chunk is not None and chunk.state in WITH_FILES and _is_about(chunk, path):
            self._inventory.replace(path)

    def _is_replaced(self, path: str) -> bool:
        return any(_below(path, each) for each in self._inventory.replaced)


class RecordedMachine:
    """The machine given; `recorder` is told before each write."""

    def __init__(self, machine: Machine, recorder: FileRecorder) -> None:
        self._machine = machine
        self._recorder = recorder

    def __getattr__(self, name: str) -> Any:
        return getattr(self._machine, name)

    def write(self, path: str, data: bytes, *, mode: str | None = None) -> None:
        """As `Machine.write`."""
        self._recorder.makes(path, hashlib.sha256(data).hexdigest())
        self._machine.write(path, data, mode=mode)

    def copy(self, source: str, path: str, *, mode: str | None = None) -> None:
        """As `Machine.copy`."""
        self._recorder.makes(path, content_of(self._machine, source))
        self._machine.copy(source, path, mode=mode)

    def mkdir(self, path: str, *, parents: bool = False, mode: str | None = None) -> None:
        """As `Machine.mkdir`."""
        above = list(_missing_above(self._machine, path)) if parents else []
        for folder in (*reversed(above), path):
            self._recorder.makes(folder, FOLDER)
        self._machine.mkdir(path, parents=parents, mode=mode)

    def symlink(self, target: str, path: str) -> None:
        """As `Machine.symlink`."""
        self._recorder.makes(path, link_content(target))
        self._machine.symlink(target, path)

    def link(self, target: str, path: str) -> None:
        """As `Machine.link`."""
        self._recorder.makes(path, content_of(self._machine, target))
        self._machine.link(target, path)

    def mknod(self, path: str, mode: int, device: tuple[int, int]) -> None:
        """As `Machine.mknod`."""
        self._recorder.makes(path, PIPE)
        self._machine.mknod(path, mode, device)

    def remove(self, path: str) -> None:
        """As `Machine.remove`."""
        self._recorder.takes_away(path)
        self._machine.remove(path)

    def rename(self, source: str, path: str) -> None:
        """As `Machine.rename`: what is moved was there before."""
        self._recorder.takes_away(source)
        self._recorder.takes_away(path)
        self._machine.rename(source, path)


def content_of(machine: Any, path: str) -> str:
    """What is at a path, as `Owned.content` has it; empty where that is not known."""
    found: FileStat | None = machine.stat(path)
    if found is None:
        return ""
    if found.kind == "symlink":
        return link_content(found.target)
    if found.kind == "directory":
        return FOLDER
    if found.kind != "file":
        return PIPE
    if found.size <= _PIECE or type(machine).__name__ != "LocalMachine":
        return hashlib.sha256(machine.read(path)).hexdigest()
    with open(path, "rb") as file:  # noqa: PTH123
        return hashlib.file_digest(file, "sha256").hexdigest()


def link_content(target: str) -> str:
    """That of a symlink."""
    return f"symlink:{target}"


def _missing_above(machine: Machine, path: str) -> Iterator[str]:
    folder = posixpath.dirname(posixpath.normpath(path))
    while folder not in ("", "/") and machine.stat(folder) is None:
        yield folder
        folder = posixpath.dirname(folder)


def _is_about(chunk: Chunk, path: str) -> bool:
    """Whether a path is that of a state, below it or above it: a copy that it keeps beside its file is not."""
    own = posixpath.normpath(chunk.name)
    return _below(path, own) or _below(own, path)


def _below(path: str, folder: str) -> bool:
    return path == folder or path.startswith(f"{folder.rstrip('/')}/")


def _fields(owned: Owned) -> dict[str, Any]:
    return {name: getattr(owned, name) for name in owned.__struct_fields__}
