"""What states of the desired document manage, watched: whose files somebody else has changed.

Part of the process of the beacons, opted in by `drift: watch: true` of the policy. Folders of managed files are watched
by inotify(7); changes are gathered for a moment, and those that a run of states says it has made are left out. It only
says which states were touched: the agent checks them (`minion.agent.drift_watch`).
"""

from __future__ import annotations

import math
import os
from collections.abc import Iterable, Mapping, Sequence
from typing import NamedTuple

from highstate.types import Chunk
from minion.beacons import inotify_calls as calls
from minion.beacons.active import made_by_run

MOST_FOLDERS = 2048
"""Folders that are watched; files in others are checked on the schedule alone."""

GATHERED = 0.03
"""Seconds for which changes are gathered after the first."""
PAUSE = 0.2
"""Seconds until the kernel is asked again, so that a busy folder wakes the process no more often."""
MISSING_AGAIN = 2.0
"""Seconds until a folder is looked for that is not there."""

_MASK = (
    calls.CLOSE_WRITE | calls.MODIFY | calls.ATTRIB | calls.CREATE | calls.DELETE | calls.MOVED_FROM | calls.MOVED_TO
)
_SELF = calls.DELETE_SELF | calls.MOVE_SELF | calls.ONLYDIR

_STATES = frozenset(("file", "ini"))
_NO_PATH = frozenset(("accumulated", "cached", "not_cached", "decode"))


class ManagedPaths(NamedTuple):
    """Which states manage which paths."""

    files: Mapping[str, tuple[str, ...]]
    """Path -> keys of its states."""
    trees: Mapping[str, tuple[str, ...]]
    """Folder -> keys of the states that manage all that is in it and below."""


def managed_paths(chunks: Mapping[str, Chunk]) -> ManagedPaths:
    """The files and folders that the states of a document are about."""
    files: dict[str, tuple[str, ...]] = {}
    trees: dict[str, tuple[str, ...]] = {}
    for key, chunk in chunks.items():
        path = chunk.name.rstrip("/") if isinstance(chunk.name, str) else ""
        if chunk.state not in _STATES or chunk.fun in _NO_PATH or not path.startswith("/"):
            continue
        files[path] = (*files.get(path, ()), key)
        if chunk.fun == "recurse" or (chunk.fun == "directory" and chunk.arguments.get("clean")):
            trees[path] = (*trees.get(path, ()), key)
    return ManagedPaths(files, trees)


class WatchedStates:
    """The watches of one document. Times are monotonic seconds."""

    def __init__(self) -> None:
        self.digest = ""
        """Of the document that is watched."""
        self.problems: tuple[str, ...] = ()
        """What is not watched, for people."""
        self._paths = ManagedPaths({}, {})
        self._inotify: calls.Inotify | None = None
        self._folders: dict[int, str] = {}
        self._missing: set[str] = set()
        self._touched: set[str] = set()
        self._running = False
        self._again = 0.0
        self._tell_at = math.inf
        self._look_for_missing = math.inf

    def follow(self, digest: str, chunks: Mapping[str, Chunk], now: float) -> None:
        """Watch what this document has. What happened before, and is not yet told, still is."""
        before = self._inotify
        if before is not None:
            self._read()
        self.digest, self._paths = digest, managed_paths(chunks)
        self._folders, self._missing, self.problems = {}, set(), ()
        try:
            self._inotify = calls.Inotify()
            self._add_all(_folders_of(self._paths))
        except OSError as error:
            self._inotify = None
            self.problems = (f"drift.watch: files cannot be watched: {error}",)
        if before is not None:
            before.close()
        self._look_for_missing = now + MISSING_AGAIN if self._missing else math.inf

    def close(self) -> None:
        """Watch nothing any more."""
        if self._inotify is not None:
            self._inotify.close()
            self._inotify = None

    def readers(self, now: float) -> Sequence[int]:
        """Descriptors to poll."""
        return () if self._inotify is None or now < self._again else (self._inotify.fd,)

    def due_at(self, now: float) -> float:
        """When `look` has something to do without a descriptor."""
        waits = self._again if now < self._again else math.inf
        told = math.inf if self._running else self._tell_at
        return min(waits, told, self._look_for_missing)

    def look(self, now: float) -> frozenset[str]:
        """Read what happened; keys of the states that were touched, once they are to be told."""
        if self._inotify is None:
            return frozenset()
        if now >= self._look_for_missing:
            self._find_missing(now)
        if now >= self._again and self._read() and self._tell_at == math.inf:
            self._tell_at = now + GATHERED
        if self._running or now < self._tell_at:
            return frozenset()
        self._tell_at, self._again = math.inf, now + PAUSE
        touched, self._touched = self._touched, set()
        return frozenset(key for path in touched for key in self._keys(path))

    def state_run(self, *, running: bool, changed: Sequence[str], now: float) -> None:
        """States run, or have ended and changed these paths."""
        if self._running and not running:
            self._read()
            self._touched = {path for path in self._touched if not made_by_run(path, changed)}
            self._tell_at = now if self._touched else math.inf
        self._running = running

    def _read(self) -> bool:
        """Take what the kernel has; whether something is touched."""
        if self._inotify is None:
            return False
        for event in self._inotify.read():
            folder = self._folders.get(event.watch)
            if event.mask & calls.Q_OVERFLOW:
                self._touched.update(self._paths.files)
            elif folder is None:
                continue
            elif event.mask & (calls.IGNORED | calls.DELETE_SELF | calls.MOVE_SELF):
                self._gone(event.watch, folder)
            elif event.name:
                path = f"{folder.rstrip('/')}/{event.name}"
                if self._is_managed(path):
                    self._touched.add(path)
                if event.mask & calls.ISDIR and event.mask & (calls.CREATE | calls.MOVED_TO):
                    self._add_all([path for path in [path] if self._tree_of(path)])
        return bool(self._touched)

    def _gone(self, watch: int, folder: str) -> None:
        """A watched folder is no longer there, or not at its path."""
        if self._inotify is not None:
            self._inotify.remove(watch)
        del self._folders[watch]
        if self._tree_of(folder) and folder not in self._paths.trees:
            return  # its entry in the folder above was told
        self._missing.add(folder)
        self._look_for_missing = 0.0
        self._touched.update(path for path in self._paths.files if path.rpartition("/")[0] == folder.rstrip("/"))

    def _find_missing(self, now: float) -> None:
        """Watch folders that are there by now; what is in them is touched."""
        missing, self._missing = self._missing, set()
        self._add_all(sorted(missing))
        there = {folder.rstrip("/") for folder in missing - self._missing}
        self._touched.update(path for path in self._paths.files if path.rpartition("/")[0] in there)
        if there and self._tell_at == math.inf:
            self._tell_at = now + GATHERED
        self._look_for_missing = now + MISSING_AGAIN if self._missing else math.inf

    def _add_all(self, folders: Iterable[str]) -> None:
        for folder in folders:
            if len(self._folders) >= MOST_FOLDERS:
                self.problems = (
                    f"drift.watch: {MOST_FOLDERS} folders are watched, and that is the most; files in others are "
                    "checked on the schedule",
                )
                return
            self._add(folder)

    def _add(self, folder: str) -> None:
        if self._inotify is None:
            return
        try:
            number = self._inotify.add(folder, _MASK | _SELF)
        except (FileNotFoundError, NotADirectoryError):
            self._missing.add(folder)
        except OSError as error:
            self.problems = (f"drift.watch: {folder} cannot be watched: {error.strerror}",)
        else:
            self._folders[number] = folder

    def _keys(self, path: str) -> tuple[str, ...]:
        return (*self._paths.files.get(path, ()), *self._paths.trees.get(self._tree_of(path), ()))

    def _is_managed(self, path: str) -> bool:
        return path in self._paths.files or bool(self._tree_of(path))

    def _tree_of(self, path: str) -> str:
        """The nearest managed tree that has a path; empty: none."""
        if not self._paths.trees:
            return ""
        while path:
            if path in self._paths.trees:
                return path
            path = path.rpartition("/")[0]
        return ""


def _folders_of(paths: ManagedPaths) -> Iterable[str]:
    """Folders of the files, each once, and all below the trees."""
    found = dict.fromkeys(path.rpartition("/")[0] or "/" for path in paths.files)
    yield from found
    for tree in paths.trees:
        for folder, _, _ in os.walk(tree):
            if folder not in found:
                found[folder] = None
                yield folder
