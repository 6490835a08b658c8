"""The beacon `inotify`: what happens to files and folders, woken by the kernel."""

from __future__ import annotations

import fnmatch
import os
import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, NamedTuple

from matching import bounded_regex
from matching.linear_regex import PatternRefused
from minion.beacons import inotify_calls as calls
from minion.beacons.beacon import BeaconFailed, BeaconKind, Complaint, Found, Options, World

MOST_WATCHES = 8192
"""Files and folders that one beacon watches; of more, it says so and watches no further ones."""

MOST_READ = 20_000
"""Events that are read at once; what comes beyond them waits in the kernel's queue, which is bounded itself."""

_DEFAULT_MASK = ("create", "delete", "modify")
_OF_FILE = frozenset(("mask", "recurse", "auto_add", "exclude"))
_EXAMPLE = "`- files:` with a mapping for each path, as `/etc/hosts: {mask: [modify]}`"


def _check(options: Options) -> Iterator[Complaint]:
    files = options.get("files")
    if not isinstance(files, Mapping) or not files:
        yield (("files",) if "files" in options else ()), f"files are missing: {_EXAMPLE}"
        return
    if not isinstance(options.get("coalesce", False), bool):
        yield ("coalesce",), "coalesce must be true or false"
    for path, given in files.items():
        inside = ("files", str(path))
        if not isinstance(path, str) or not path.startswith("/"):
            yield inside, f"{path!r} must be an absolute path"
        elif not isinstance(given, Mapping | None):
            yield inside, f"{path} must be a mapping with mask, recurse or auto_add, not {given!r}"
        else:
            for where, what in _check_file(given or {}):
                yield (*inside, *where), what


def _check_file(given: Mapping[str, Any]) -> Iterator[Complaint]:
    for key, value in given.items():
        if key not in _OF_FILE:
            yield (key,), f"{key} is no option of a file: {', '.join(sorted(_OF_FILE))} are"
        elif key in ("recurse", "auto_add"):
            if not isinstance(value, bool):
                yield (key,), f"{key} must be true or false, not {value!r}"
        elif not isinstance(value, list):
            yield (key,), f"{key} must be a list, not {value!r}"
        elif key == "mask":
            for name in value:
                if name not in calls.EVENTS and name not in calls.FLAGS:
                    yield (key,), f"{name!r} is no event of inotify: {', '.join(sorted({*calls.EVENTS, *calls.FLAGS}))}"
        else:
            yield from _check_exclude(value)


def _check_exclude(given: Sequence[Any]) -> Iterator[Complaint]:
    for one in given:
        pattern = next(iter(one)) if isinstance(one, Mapping) and one else one
        if not isinstance(pattern, str):
            yield ("exclude",), f"exclude: {one!r} must be a path, or a pattern with `regex: True`"
        elif isinstance(one, Mapping) and (one[pattern] or {}).get("regex"):
            try:
                bounded_regex.check(pattern)
            except (re.error, PatternRefused) as error:
                yield ("exclude",), f"exclude: {pattern} is no regular expression: {error}"


class _Root(NamedTuple):
    """A path of the configuration."""

    path: str
    mask: int
    recurse: bool
    auto_add: bool
    exclude: Sequence[Any]

    def excludes(self, path: str) -> bool:
        """Whether nothing is said of a path."""
        return any(_excluded(one, path) for one in self.exclude)


def _excluded(one: Any, path: str) -> bool:
    if isinstance(one, Mapping):
        pattern = next(iter(one))
        if (one[pattern] or {}).get("regex"):
            return bounded_regex.search(pattern, path) is not None
        one = pattern
    return fnmatch.fnmatchcase(path, one) if "*" in one else path.startswith(one)


class _Watch(NamedTuple):
    """A watch of the kernel."""

    path: str
    root: _Root


class InotifyWatch:
    """All paths of one beacon."""

    def __init__(self, options: Options, world: World) -> None:
        self._inotify = calls.Inotify()
        self._coalesce = options.get("coalesce", False) is True
        self._roots = [_root(path, given or {}) for path, given in options["files"].items()]
        self._watches: dict[int, _Watch] = {}
        self._refused = ""
        self._missing: list[_Root] = []
        for root in self._roots:
            self._add_root(root)

    def readers(self) -> Sequence[int]:
        """See `Watch`."""
        return (self._inotify.fd,)

    @property
    def waits(self) -> bool:
        """Whether a path is not there yet, or not any more."""
        return bool(self._missing)

    def look(self) -> Found:
        """See `Watch`."""
        found: Found = []
        for number, event in enumerate(self._inotify.read()):
            found += self._said(event)
            if number >= MOST_READ:
                break
        missing, self._missing = self._missing, []
        for root in missing:
            self._add_root(root)
        if self._refused:
            refused, self._refused = self._refused, ""
            raise BeaconFailed(refused)
        return _unique(found) if self._coalesce else found

    def close(self) -> None:
        """See `Watch`."""
        self._inotify.close()

    def _said(self, event: calls.Happened) -> Iterator[dict[str, Any]]:
        if event.mask & calls.Q_OVERFLOW:
            yield {"tag": "overflow", "path": "", "change": "IN_Q_OVERFLOW"}
            return
        watch = self._watches.get(event.watch)
        if watch is None:
            return
        path = os.path.join(watch.path, event.name) if event.name else watch.path  # noqa: PTH118  (many of them)
        if event.mask & calls.IGNORED:
            self._gone(event.watch)
        wanted = event.mask & (watch.root.mask | calls.IGNORED | calls.UNMOUNT) & 0xFFFF
        if wanted and not watch.root.excludes(path):
            yield {"tag": watch.path, "path": path, "change": calls.change_name(event.mask)}
        if event.mask & calls.MOVE_SELF and watch.path == watch.root.path:
            self._inotify.remove(event.watch)  # what is at the path from now on is something else
        if event.mask & calls.ISDIR and event.mask & (calls.CREATE | calls.MOVED_TO) and watch.root.auto_add:
            yield from self._enter(path, watch.root)

    def _gone(self, number: int) -> None:
        watch = self._watches.pop(number)
        if watch.path == watch.root.path:
            self._missing.append(watch.root)

    def _enter(self, folder: str, root: _Root) -> Iterator[dict[str, Any]]:
        """Watch a new folder; what was made in it before it was watched is said as made."""
        if root.excludes(folder) or not self._add(folder, root):
            return
        for entry in _entries(folder):
            is_folder = entry.is_dir(follow_symlinks=False)
            if not root.excludes(entry.path) and root.mask & calls.CREATE:
                change = "IN_CREATE|IN_ISDIR" if is_folder else "IN_CREATE"
                yield {"tag": folder, "path": entry.path, "change": change}
            if is_folder:
                yield from self._enter(entry.path, root)

    def _add_root(self, root: _Root) -> None:
        if not self._add(root.path, root):
            self._missing.append(root)
        elif root.recurse:
            self._add_below(root.path, root)

    def _add_below(self, folder: str, root: _Root) -> None:
        waiting = [folder]
        while waiting:
            for entry in _entries(waiting.pop()):
                if entry.is_dir(follow_symlinks=False) and not root.excludes(entry.path):
                    if not self._add(entry.path, root):
                        return
                    waiting.append(entry.path)

    def _add(self, path: str, root: _Root) -> bool:
        """Watch a path; False when it is not there, or no more can be watched."""
        if len(self._watches) >= MOST_WATCHES:
            self._refused = f"{root.path}: {MOST_WATCHES} files and folders are watched, and that is the most"
            return True
        mask = root.mask | calls.CREATE | calls.MOVED_TO if root.auto_add else root.mask
        mask |= calls.DELETE_SELF | calls.MOVE_SELF
        try:
            number = self._inotify.add(path, mask)
        except FileNotFoundError:
            return False
        except OSError as error:
            self._refused = f"{path} cannot be watched: {error.strerror}"
            return True
        self._watches[number] = _Watch(path, root)
        return True


def _root(path: str, given: Mapping[str, Any]) -> _Root:
    mask = 0
    for name in given.get("mask", _DEFAULT_MASK):
        mask |= calls.EVENTS.get(name, 0) | calls.FLAGS.get(name, 0)
    path = path.rstrip("/") or "/"
    return _Root(path, mask, given.get("recurse", False), given.get("auto_add", False), given.get("exclude", ()))


def _entries(folder: str) -> list[os.DirEntry[str]]:
    try:
        with os.scandir(folder) as found:
            return list(found)
    except OSError:
        return []


def _unique(found: Found) -> Found:
    return list({(one["path"], one["change"]): one for one in found}.values())


_KIND = BeaconKind(check=_check, watch=InotifyWatch, interval=0.0, known=frozenset(("files", "coalesce")))

BEACONS: Mapping[str, BeaconKind] = {"inotify": _KIND}
