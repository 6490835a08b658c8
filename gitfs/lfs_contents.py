"""Which blobs of a mirror are contents of Git LFS: a file of the repository with a line for each.

Written by `gitfs.lfs` and `gitfs.expiry`, read by `gitfs.objects`.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

LFS_FILE = "saltern-lfs"


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
