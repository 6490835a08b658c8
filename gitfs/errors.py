"""What can go wrong between a git remote and a tree of files.

GitfsError
├── BadRemoteSettings   remotes that cannot be used as they are written; says where and what to write
├── FetchFailed         a remote gave nothing usable, or its fetch was ended; what was accepted before stays
├── UnknownRef          no mirror has such a branch, tag or commit, or not all that it needs
├── DamagedMirror       an accepted object cannot be read any more; the next fetch rebuilds the mirror (an OSError too)
├── BadTree             a tree that is refused whole: too many files, too deep, or with names that lead out of it
├── UnreadableFolder    a folder of `file_roots` has something that may not be read
└── StaleSnapshot       a file of a folder changed after its snapshot was taken (an OSError too)

Errors of one module that never leave this room are defined there: `Busy`, `ConnectionRefused`, `LfsFailed`,
`Unsuitable`, `WorkerLost`. `WorkerFault` is a fault of ours: it is logged, and a FetchFailed
of its remote.
"""

from __future__ import annotations

import posixpath
from collections.abc import Sequence
from typing import TypeAlias

OptionPath: TypeAlias = tuple[str | int, ...]
"""The name of an option, and the keys and indexes that lead to a value in it."""


class GitfsError(Exception):
    """Base of this room's errors. Its text may be shown to whoever may write a branch: it names no local path."""

    @property
    def for_operator(self) -> str:
        """The text, with what only those may see who run the program."""
        return str(self)


class BadRemoteSettings(GitfsError):
    """Remotes in the configuration that cannot be used as they are written."""

    def __init__(self, message: str, path: OptionPath = (), faults: Sequence[BadRemoteSettings] = ()) -> None:
        super().__init__(message)
        self.path = path
        """Of the value that is wrong, such as ('gitfs_remotes', 2, 'https://…', 0, 'root'); empty when that is unknown.

        Of settings that were not read from options, it begins with the name of a field.
        """
        self._faults = tuple(faults)

    @property
    def faults(self) -> tuple[BadRemoteSettings, ...]:
        """This one, or all of which it consists."""
        return self._faults or (self,)


class FetchFailed(GitfsError):
    """A fetch that changed nothing. `reason` holds no secret and can be shown."""

    def __init__(self, remote: str, reason: str, *, retryable: bool) -> None:
        super().__init__(remote, reason, retryable)
        self.remote = remote
        self.reason = reason
        self.retryable = retryable
        """Whether waiting may help; otherwise a person has to change the settings or the remote."""

    def __str__(self) -> str:
        return f"{self.remote}: {self.reason}"

    def __reduce__(self) -> tuple[object, ...]:
        return _fetch_failed, (self.remote, self.reason, self.retryable)


class UnknownRef(GitfsError):
    """No branch, tag or commit of this name; `near` holds names that are close to it."""

    def __init__(self, ref: str, near: Sequence[str] = (), why: str = "") -> None:
        super().__init__(ref, tuple(near), why)
        self.ref = ref
        self.near = tuple(near)
        self.why = why

    def __str__(self) -> str:
        text = self.why or f"no remote has a branch, tag or commit {self.ref!r}"
        return f"{text}; is it {' or '.join(repr(name) for name in self.near)}?" if self.near else text


class DamagedMirror(GitfsError, OSError):
    """An accepted object cannot be read. The next fetch notices and rebuilds the mirror."""


class BadTree(GitfsError):
    """A tree that no snapshot is made of.

    Args:
        reason: why.
        limit: the limit that it exceeds (`tree-files`), which is then named in the text.
    """

    def __init__(self, reason: str, limit: str = "") -> None:
        super().__init__(f"{reason} (limit {limit})" if limit and "(limit " not in reason else reason)
        self.limit = limit


class UnreadableFolder(GitfsError):
    """A file or folder below `folder`, one of `file_roots`, may not be read."""

    def __init__(self, folder: str, path: str, reason: str) -> None:
        super().__init__(folder, path, reason)
        self.folder = folder
        self.path = path
        """Below the folder; `.` is the folder itself."""
        self.reason = reason

    def __str__(self) -> str:
        return self._text("a folder of file_roots" if self.path == "." else f"{self.path} below file_roots")

    @property
    def for_operator(self) -> str:
        """Names the folder, too."""
        return self._text(posixpath.normpath(f"{self.folder}/{self.path}"))

    def _text(self, where: str) -> str:
        return f"{where} cannot be read: {self.reason}; file_roots must be readable"


class StaleSnapshot(GitfsError, OSError):
    """A file under `file_roots` is no longer what the snapshot saw; take a new snapshot."""


def _fetch_failed(remote: str, reason: str, retryable: bool) -> FetchFailed:
    return FetchFailed(remote, reason, retryable=retryable)
