"""The beacon `log`: lines of a file that match, woken by inotify, across rotation.

It starts at the end of the file. A file that is replaced is read to its end before the new one is read from its
beginning; one that is cut is read from its beginning. A pattern is compared from the beginning of a line, as by Salt.
"""

from __future__ import annotations

import contextlib
import os
import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from matching import bounded_regex
from matching.linear_regex import PatternRefused
from minion.beacons import inotify_calls as calls
from minion.beacons.beacon import BeaconKind, Complaint, Found, Options, World

MOST_READ = 1024 * 1024
"""Bytes that are read at once; the rest is read at the next look."""

LONGEST_LINE = 16 * 1024
"""Characters of a line that are compared and sent."""

_MASK = calls.MODIFY | calls.ATTRIB | calls.MOVE_SELF | calls.DELETE_SELF


def _check(options: Options) -> Iterator[Complaint]:
    if not isinstance(options.get("file"), str) or not options["file"].startswith("/"):
        yield (
            (("file",) if "file" in options else ()),
            "file is missing: the absolute path of a log, as `- file: /var/log/syslog`",
        )
    tags = options.get("tags", {})
    if not isinstance(tags, Mapping):
        yield ("tags",), "tags must be a mapping of tags to `regex: PATTERN`"
        return
    for tag, given in tags.items():
        if not isinstance(given, Mapping) or not isinstance(given.get("regex"), str) or not given["regex"]:
            yield ("tags", str(tag)), f"{tag} must have a `regex: PATTERN`"
            continue
        try:
            bounded_regex.check(given["regex"])
        except (re.error, PatternRefused) as error:
            yield ("tags", str(tag), "regex"), f"{given['regex']} is no regular expression: {error}"


class LogWatch:
    """One file that is followed."""

    def __init__(self, options: Options, world: World) -> None:
        self._path: str = options["file"]
        self._tags = {str(tag): given["regex"] for tag, given in options.get("tags", {}).items()}
        self._inotify = calls.Inotify()
        self._folder = os.path.dirname(self._path) or "/"  # noqa: PTH120  (text for inotify)
        self._watch_folder()
        self._file: int | None = None
        self._offset = 0
        self._rest = b""
        self._open(at_end=True)
        self._more = False

    def readers(self) -> Sequence[int]:
        """See `Watch`."""
        return (self._inotify.fd,)

    @property
    def waits(self) -> bool:
        """Whether the folder is not there, or there is more to read."""
        return self._folder_watch is None or self._more

    def look(self) -> Found:
        """See `Watch`."""
        for _ in self._inotify.read():
            pass
        if self._folder_watch is None:
            self._watch_folder()
        found = self._read()
        if not self._more and self._replaced():
            self._open(at_end=False)
            found += self._read()
        return found

    def close(self) -> None:
        """See `Watch`."""
        self._inotify.close()
        self._close_file()

    def _watch_folder(self) -> None:
        try:
            self._folder_watch: int | None = self._inotify.add(self._folder, calls.CREATE | calls.MOVED_TO)
        except OSError:
            self._folder_watch = None

    def _open(self, *, at_end: bool) -> None:
        self._close_file()
        try:
            self._file = os.open(self._path, os.O_RDONLY | os.O_CLOEXEC | os.O_NONBLOCK)
        except OSError:
            return
        with contextlib.suppress(OSError):
            self._inotify.add(self._path, _MASK)
        self._offset = os.fstat(self._file).st_size if at_end else 0
        self._rest = b""

    def _close_file(self) -> None:
        if self._file is not None:
            os.close(self._file)
            self._file = None

    def _replaced(self) -> bool:
        """Whether there is another file at the path."""
        try:
            there = os.stat(self._path)  # noqa: PTH116  (many of them)
        except OSError:
            return False
        if self._file is None:
            return True
        ours = os.fstat(self._file)
        return (there.st_dev, there.st_ino) != (ours.st_dev, ours.st_ino)

    def _read(self) -> Found:
        self._more = False
        if self._file is None:
            return []
        size = os.fstat(self._file).st_size
        if size < self._offset:
            self._offset, self._rest = 0, b""
        data = os.pread(self._file, MOST_READ, self._offset)
        self._offset += len(data)
        self._more = self._offset < size
        *lines, self._rest = (self._rest + data).split(b"\n")
        if len(self._rest) > LONGEST_LINE:
            self._rest = self._rest[:LONGEST_LINE]
        return [event for line in lines for event in self._matching(line)]

    def _matching(self, line: bytes) -> Iterator[dict[str, Any]]:
        text = line.rstrip(b"\r").decode("utf-8", "replace")[:LONGEST_LINE]
        for tag, pattern in self._tags.items():
            try:
                if bounded_regex.match(pattern, text) is not None:
                    yield {"tag": tag, "match": "yes", "raw": text, "error": ""}
            except PatternRefused as error:
                yield {"tag": tag, "match": "no", "raw": "", "error": str(error)}


_KIND = BeaconKind(check=_check, watch=LogWatch, interval=0.0, known=frozenset(("file", "tags")))

BEACONS: Mapping[str, BeaconKind] = {"log": _KIND}
