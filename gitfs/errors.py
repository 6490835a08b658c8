"""What can go wrong between a git remote and a tree of files.

GitfsError
├── BadRemoteSettings   a remote that cannot be used as it is written; says where and what to write
├── FetchFailed         a remote gave nothing usable, or its fetch was ended; what was accepted before stays
├── UnknownRef          no mirror has such a branch, tag or commit, or not all that it needs
├── DamagedMirror       an accepted object cannot be read any more; the next fetch rebuilds the mirror (an OSError too)
├── BadTree             a tree that is refused whole: too many files, too deep, or with names that lead out of it
└── StaleSnapshot       a file of a folder changed after its snapshot was taken (an OSError too)

Errors of one module that never leave this room are defined there: `Busy`, `ConnectionRefused`, `LfsFailed`,
`Unsuitable`, `WorkerLost`. `WorkerFault` is a fault of ours and no GitfsError: nobody handles it.
"""

from __future__ import annotations

from collections.abc import Sequence


class GitfsError(Exception):
    """Base of this room's errors."""


class BadRemoteSettings(GitfsError):
    """A remote in the configuration that cannot be used as it is written."""


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
    """A tree that no snapshot is made of."""


class StaleSnapshot(GitfsError, OSError):
    """A file under `file_roots` is no longer what the snapshot saw; take a new snapshot."""


def _fetch_failed(remote: str, reason: str, retryable: bool) -> FetchFailed:
    return FetchFailed(remote, reason, retryable=retryable)
