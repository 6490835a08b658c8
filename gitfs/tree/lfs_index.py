"""Which blobs of a mirror are contents of Git LFS: a file of the repository with a line for each.

Written by `gitfs.mirror.lfs` and `gitfs.mirror.gc`, read by `gitfs.tree.objects`.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from pathlib import Path

LFS_FILE = "saltern-lfs"
_PART = f"{LFS_FILE}.part-"


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


def drop_parts(repository: str, *, but: Collection[str] = ()) -> None:
    """Remove contents that have not come whole and that nobody waits for."""
    for path in Path(repository).glob(f"{_PART}*"):
        if path.name.removeprefix(_PART) not in but:
            path.unlink(missing_ok=True)
