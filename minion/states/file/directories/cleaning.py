"""`clean` of file.directory and file.recurse: what is taken away below a folder, and what stays."""

from __future__ import annotations

import posixpath
from collections.abc import Iterable, Iterator, Sequence

from minion.machine.failure import StateFailed
from minion.machine.plan import Change, Reader
from minion.states.file.directories.folder import nothing, remove_later
from minion.states.file.paths import below, is_part


def check_cleanable(machine: Reader, path: str) -> None:
    """Cleaning deletes what it finds, so it must be where the author said.

    Salt follows a symlink here: a user who may write the folder above could then have root empty any directory.
    """
    found = machine.stat(path)
    if found is not None and found.kind == "symlink":
        raise StateFailed(f"Refusing to clean {path}: it is a symlink to {found.target}; name the directory itself")
    if path == "/":
        raise StateFailed('Refusing to clean "/"')


def cleaned_away(machine: Reader, top: str, kept: Iterable[str], exclude_pat: Sequence[str]) -> Iterator[Change]:
    """Removal of everything below that is neither kept, nor above something kept, nor excluded."""
    everything = list(below(machine, top))
    stay = {path for path, _ in everything if not is_part(path[len(top) :].lstrip("/"), (), exclude_pat)}
    stay |= set(kept)
    for path in list(stay):
        while len(path) > len(top) and (path := posixpath.dirname(path)) != top:
            stay.add(path)
    gone: set[str] = set()
    for path, _ in everything:
        if path in stay and posixpath.dirname(path) not in gone:
            continue
        is_within = posixpath.dirname(path) in gone
        gone.add(path)
        yield Change(
            key=path, reported={"removed": "Removed due to clean"}, act=nothing if is_within else remove_later(path)
        )


def kept_by_others(machine: Reader, required: Sequence[tuple[str, str]]) -> set[str]:
    """What other file states manage: their path, and everything below it when it is a directory (Salt's rule)."""
    kept = {posixpath.normpath(name) for state, name in required if state == "file" and name.startswith("/")}
    for path in list(kept):
        found = machine.stat(path)
        if found is not None and found.kind == "directory":
            kept |= {inner for inner, _ in below(machine, path)}
    return kept
