"""Which blobs of a mirror are contents of Git LFS: a file of the repository with a line for each.

Written by `gitfs.mirror.lfs` and `gitfs.mirror.gc`, read by `gitfs.tree.objects`.
"""

from __future__ import annotations

import fcntl
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path

LFS_FILE = "saltern-lfs"
_PART = f"{LFS_FILE}.part-"
_WHOLE = ".whole"


def lfs_contents(repository: str) -> dict[str, str]:
    """Blob id of each pointer whose content was fetched -> blob id of the content."""
    try:
        lines = Path(repository, LFS_FILE).read_text(encoding="ascii").splitlines()
    except (OSError, UnicodeDecodeError):
        return {}
    return {line[:40]: line[41:] for line in lines if len(line) == 81}


def keep_lfs_contents(repository: Path, contents: Mapping[str, str]) -> None:
    """Write the file anew, whole or not at all."""
    if contents == lfs_contents(str(repository)):
        return
    new = repository / f"{LFS_FILE}.new"
    new.write_text("".join(f"{pointer} {oid}\n" for pointer, oid in sorted(contents.items())), encoding="ascii")
    new.replace(repository / LFS_FILE)


def part_of(repository: str, sha256: str) -> Path:
    """Where a content lies that has not come whole."""
    return Path(repository, f"{_PART}{sha256}")


def whole_part_of(repository: str, sha256: str) -> Path:
    """Where a content lies that has come whole, and is no blob yet."""
    return Path(repository, f"{_PART}{sha256}{_WHOLE}")


def drop_parts(repository: str) -> None:
    """Remove all contents that are no blobs yet; a completion that waits for one brings it again."""
    for path in Path(repository).glob(f"{_PART}*"):
        path.unlink(missing_ok=True)


def drop_whole_parts(repository: str) -> None:
    """Remove contents that have come whole, after somebody died who may have made blobs of them."""
    for path in Path(repository).glob(f"{_PART}*{_WHOLE}"):
        path.unlink(missing_ok=True)


def drop_unused_parts(repository: str) -> None:
    """Remove contents that have not come whole and that nobody is bringing."""
    for path in Path(repository).glob(f"{_PART}*"):
        if not path.name.endswith(_WHOLE):
            with suppress(OSError), path.open("ab") as file:
                fcntl.lockf(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
                path.unlink(missing_ok=True)
