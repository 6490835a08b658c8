"""A folder of a commit as a layer of a snapshot.

Made by `gitfs.source` and by those who compile a ref by hand; holds ids and reads through `gitfs.tree.objects`.
"""

from __future__ import annotations

from dataclasses import dataclass

from gitfs.tree import blob_cache, objects
from gitfs.tree.listing import Listing


@dataclass(frozen=True, slots=True, kw_only=True)
class GitLayer:
    """A folder of a commit, shown at a mountpoint."""

    mirror: str
    """Path of the bare repository."""
    remote: str
    commit: str
    tree: str
    """Id of the tree at `root`; empty when the commit has no such folder."""
    root: str = ""
    mountpoint: str = ""
    lfs: bool = False
    """Whether contents that are kept by Git LFS stand in place of their pointers."""

    @classmethod
    def of(
        cls, mirror: str, remote: str, commit: str, root: str = "", mountpoint: str = "", *, lfs: bool = False
    ) -> GitLayer:
        """The layer of a commit that the mirror has; `lfs`: with the contents of Git LFS, if it uses that."""
        tree = objects.subtree(mirror, commit, root)
        lfs = lfs and objects.declares_lfs(mirror, objects.subtree(mirror, commit, ""))
        return cls(mirror=mirror, remote=remote, commit=commit, tree=tree, root=root, mountpoint=mountpoint, lfs=lfs)

    def path_in_repository(self, path: str) -> str:
        """Where a file of `listing` lies in the repository."""
        return f"{self.root}/{path}" if self.root else path

    @property
    def key(self) -> str:
        """Equal keys mean equal files."""
        return f"git:{self.tree}:{self.mountpoint}" + (":lfs" if self.lfs else "")

    @property
    def listing(self) -> Listing:
        """Its files, by their paths below `root`."""
        return objects.listing(self.mirror, self.tree, self.lfs)

    def read(self, path: str, oid: str) -> bytes:
        """Content of a blob; DamagedMirror when the mirror cannot give it."""
        return objects.blob(self.mirror, oid)

    def read_range(self, path: str, oid: str, offset: int, length: int) -> bytes:
        """Part of a blob; a large one is not held. DamagedMirror as for `read`."""
        return blob_cache.read_range(self.mirror, oid, offset, length)

    def size(self, path: str, oid: str) -> int:
        """Bytes of a blob. DamagedMirror as for `read`."""
        return objects.blob_size(self.mirror, oid)
