"""A commit that changes the content of some files of another one, made without a ref, an index file or a work tree.

Called by `gitfs.fetching.worker` for a mirror, where garbage collection drops the objects when no snapshot shows them
any more, and by the command line for a clone of somebody. Equal arguments give an equal commit, wherever it is made.
"""

from __future__ import annotations

import email.header
import email.utils
from collections.abc import Mapping
from dataclasses import dataclass

import pygit2
from pygit2.enums import DiffOption, DiffStatsFormat, FileMode

from gitfs.errors import FetchFailed

_LFS = b"version https://git-lfs"
_FILES = (FileMode.BLOB, FileMode.BLOB_EXECUTABLE)


class NotEdited(Exception):
    """A file that is not there, or that is no file."""


@dataclass(frozen=True, slots=True, kw_only=True)
class CommitIdentity:
    """Whom a commit names."""

    name: str
    email: str


@dataclass(frozen=True, slots=True, kw_only=True)
class FileEdits:
    """What a commit changes."""

    base: str
    """Whole id of its parent."""
    files: Mapping[str, bytes]
    """Path in the repository -> new content. Each has to be a file there; its mode stays."""
    message: str
    author: CommitIdentity
    committer: CommitIdentity
    at: int
    """Seconds since the epoch."""


@dataclass(frozen=True, slots=True, kw_only=True)
class EditedCommit:
    """A commit that was made."""

    commit: str
    patch: bytes
    """As `git am` takes it."""


def edited(path: str, remote: str, edits: FileEdits) -> EditedCommit:
    """A commit in the mirror at a path; FetchFailed when it cannot be made. `remote`: its name, for the error."""
    try:
        repository = pygit2.Repository(path)
        made = write_commit(repository, edits)
        return EditedCommit(commit=made, patch=patch_of(repository, edits, made))
    except NotEdited as error:
        raise FetchFailed(remote, str(error), retryable=False) from error
    except (pygit2.GitError, KeyError, ValueError, OSError) as error:
        raise FetchFailed(remote, f"no commit can be made: {error}", retryable=True) from error


def write_commit(repository: pygit2.Repository, edits: FileEdits) -> str:
    """The id of the commit; no ref names it.

    Raises:
        NotEdited: a path is no file of the base.
        pygit2.GitError, KeyError, ValueError: the base cannot be read.
    """
    base = repository[edits.base].peel(pygit2.Commit)
    index = pygit2.Index()
    index.read_tree(base.tree)
    for path, content in edits.files.items():
        found = index[path] if path in index else None  # noqa: SIM401 - an index has no `get`
        if found is None or found.mode not in _FILES:
            raise NotEdited(f"{path} is no file of commit {edits.base[:8]}")
        if repository[found.id].peel(pygit2.Blob).data.startswith(_LFS):
            raise NotEdited(f"{path} is kept by Git LFS: change it in a clone that has git-lfs")
        index.add(pygit2.IndexEntry(path, repository.create_blob(content), found.mode))
    author, committer = (
        pygit2.Signature(each.name, each.email, edits.at, 0) for each in (edits.author, edits.committer)
    )
    tree = index.write_tree(repository)
    return str(repository.create_commit(None, author, committer, edits.message, tree, [base.id]))


def patch_of(repository: pygit2.Repository, edits: FileEdits, commit: str) -> bytes:
    """A commit of `write_commit` as a mail, in the form of git-format-patch(1)."""
    made = repository[commit].peel(pygit2.Commit)
    difference = repository.diff(made.parents[0].id, made.id, flags=DiffOption.SHOW_BINARY)
    changed = b"".join(patch.data for patch in difference if patch is not None)
    subject, _, body = edits.message.partition("\n")
    name, subject = (each if each.isascii() else _encoded(each) for each in (edits.author.name, subject))
    head = (
        f"From {commit} Mon Sep 17 00:00:00 2001",
        f"From: {name} <{edits.author.email}>",
        f"Date: {email.utils.formatdate(edits.at)}",
        f"Subject: [PATCH] {subject}",
        "MIME-Version: 1.0",
        "Content-Type: text/plain; charset=UTF-8",
        "Content-Transfer-Encoding: 8bit",
        "",
        body.strip("\n"),
        "---",
        difference.stats.format(DiffStatsFormat.FULL, 72).rstrip("\n"),
        "",
    )
    return "\n".join(head).encode() + b"\n" + changed + b"--\nsaltern\n"


def _encoded(text: str) -> str:
    return email.header.Header(text, "utf-8", maxlinelen=10_000).encode()
