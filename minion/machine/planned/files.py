"""Files, folders and links that a run under test=True would have made, changed or removed by now, in memory.

Part of `minion.machine.planned`. A path is looked up as the system does: symlinks above it are followed, planned ones
too. What nobody has planned is looked up on the machine.
"""

from __future__ import annotations

import copy
import itertools
import os
import posixpath
import stat
import time
from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import Any

from highstate.records import dataclass
from minion.machine.failure import ContentUnknown, StateFailed
from minion.machine.plan import FileStat, Machine

MOST_BYTES = 32 * 1024 * 1024
"""Of the contents that are kept; those that are planned later are not known."""

MOST_MOVED = 10_000
"""Files and folders in a folder that is moved; of a larger one it is not known what is below it."""

_MOST_LINKS = 40


@dataclass(frozen=True, slots=True)
class PlannedStat(FileStat):
    """That of a path that is planned; an owner may be planned too, and then has no number."""

    owner: str = ""
    owning_group: str = ""

    @property
    def user(self) -> str:
        """Name of the owner."""
        return self.owner or FileStat(self.found).user

    @property
    def group(self) -> str:
        """Name of the group."""
        return self.owning_group or FileStat(self.found).group


@dataclass(frozen=True, slots=True, kw_only=True)
class _Node:
    """What is planned for a path."""

    mode: int
    """Kind and permissions, as of lstat."""
    uid: int
    gid: int
    inode: tuple[int, int]
    """As of `FileStat`; what a run would make has numbers of a device that there is not."""
    owner: str = ""
    owning_group: str = ""
    data: bytes | None = None
    """None: not known, or that of `original`."""
    original: str = ""
    """The path on the machine that has the content."""
    target: str = ""
    device: int = 0
    size: int = 0
    times: tuple[float, float]
    fresh: bool = True
    """Whether nothing of the machine is below it."""


class PlannedFiles:
    """What is planned, by path."""

    def __init__(self, machine: Machine) -> None:
        self._machine = machine
        self._nodes: dict[str, _Node | None] = {}
        """None: it is removed."""
        self._linked: dict[tuple[int, int], _Node] = {}
        """Files that have several names, by inode: what is planned of one name's owner, mode and times is so of all."""
        self._numbers = itertools.count(1)
        self._bytes = 0

    def over(self, machine: Machine) -> PlannedFiles:
        """The same plans over another view of the machine."""
        other = copy.copy(self)
        other._machine = machine
        return other

    # --- look -------------------------------------------------------------------------------------------------------

    def stat(self, path: str) -> FileStat | None:
        """Lstat; None when there is nothing."""
        return self._lstat(self._place(path)) if self._nodes else self._machine.stat(path)

    def read(self, path: str) -> bytes:
        """Content of a file."""
        if not self._nodes:
            return self._machine.read(path)
        place = self._followed(path)
        node = self._nodes.get(place)
        if node is None:
            if self._hidden(place):
                raise FileNotFoundError(2, "No such file or directory", path)
            return self._machine.read(place)
        if stat.S_ISDIR(node.mode):
            raise IsADirectoryError(21, "Is a directory", path)
        if node.data is not None:
            return node.data
        if node.original:
            return self._machine.read(node.original)
        raise ContentUnknown(f"content of {path}, which an earlier state of this run would make")

    def listdir(self, path: str) -> Sequence[str]:
        """Names in a directory, sorted."""
        if not self._nodes:
            return self._machine.listdir(path)
        place = self._followed(path)
        found = self._lstat(place)
        if found is None:
            raise FileNotFoundError(2, "No such file or directory", path)
        names = set() if self._hidden(place) else set(self._machine.listdir(place))
        for each, node in self._nodes.items():
            if posixpath.dirname(each) == place and each != place:
                (names.discard if node is None else names.add)(posixpath.basename(each))
        return sorted(names)

    def touches(self, path: str) -> bool:
        """Whether something is planned for a path or above it."""
        if not self._nodes:
            return False
        return self.is_circle(path) or any(each in self._nodes for each in _with_parents(self._followed(path)))

    def behind(self, path: str) -> FileStat | None:
        """As `stat`, symlinks followed; None for those that lead in a circle."""
        return None if self.is_circle(path) else self._lstat(self._followed(path))

    def is_circle(self, path: str) -> bool:
        """Whether symlinks lead in a circle."""
        try:
            self._followed(path)
        except OSError:
            return True
        return False

    def is_new(self, path: str) -> bool:
        """Whether only this run would make what is there."""
        node = self._nodes.get(self._place(path))
        return node is not None and node.fresh

    def may_be_missing(self, path: str) -> Iterator[str]:
        """The folders above a path that are not there, or that only this run would make, the lowest first."""
        above = posixpath.dirname(path)
        while above.strip("/") and (self.behind(above) is None or self.is_new(above)):
            yield above
            above = posixpath.dirname(above)

    def changed(self) -> Iterator[str]:
        """Paths whose content, being there or not being there is planned."""
        for place, node in self._nodes.items():
            if node is None or node.fresh or not node.original:
                yield place

    # --- plan -------------------------------------------------------------------------------------------------------

    def write(self, path: str, data: bytes, *, mode: str | None = None) -> None:
        """See `Machine.write`."""
        place = self._in_a_folder(path)
        found = self._lstat(place)
        node = self._file(found, mode)
        self._bytes += len(data)
        kept = data if self._bytes <= MOST_BYTES else None
        self._nodes[place] = replace(node, data=kept, size=len(data))

    def copy(self, source: str, path: str, *, mode: str | None = None) -> None:
        """See `Machine.copy`."""
        place, origin = self._in_a_folder(path), self._followed(source)
        found, source_stat = self._lstat(place), self._lstat(origin)
        if source_stat is None:
            raise FileNotFoundError(2, "No such file or directory", source)
        held = self._nodes.get(origin)
        content: dict[str, Any] = {"original": origin}
        if held is not None:
            content = {"data": held.data, "original": held.original}
        self._nodes[place] = replace(self._file(found, mode), size=source_stat.size, **content)

    def mkdir(self, path: str, *, parents: bool = False, mode: str | None = None) -> None:
        """See `Machine.mkdir`."""
        above = posixpath.dirname(posixpath.normpath(path))
        if parents and self._lstat(self._followed(above)) is None:
            self.mkdir(above, parents=True, mode=mode)
        place = self._in_a_folder(path)
        found = self._lstat(place)
        if found is not None:
            if self._kind_behind(place) != "directory":
                raise FileExistsError(17, "File exists", path)
            return
        parent = self._lstat(self._followed(above))
        inherited = 0 if parent is None else parent.found.st_mode & stat.S_ISGID
        bits = int(mode, 8) if mode else 0o755 | inherited
        gid = parent.gid if parent is not None and inherited else os.getegid()
        self._nodes[place] = replace(self._node(stat.S_IFDIR | bits), gid=gid)

    def chmod(self, path: str, mode: str) -> None:
        """See `Machine.chmod`."""
        place = self._place(path)
        node = self._edited(place, path)
        self._put(place, replace(node, mode=stat.S_IFMT(node.mode) | int(mode, 8)))

    def chown(self, path: str, owner: tuple[str, int] | None, group: tuple[str, int] | None) -> None:
        """Name and number of the owner and of the group; None leaves it."""
        place = self._place(path)
        node = self._edited(place, path)
        if owner is not None:
            node = replace(node, owner="" if owner[0].isdigit() else owner[0], uid=owner[1])
        if group is not None:
            node = replace(node, owning_group="" if group[0].isdigit() else group[0], gid=group[1])
        self._put(place, node)

    def symlink(self, target: str, path: str) -> None:
        """See `Machine.symlink`."""
        place = self._in_a_folder(path)
        found = self._lstat(place)
        if found is not None and found.kind != "symlink":
            raise StateFailed(f"File or directory exists where the symlink {path} should be")
        self._nodes[place] = replace(self._node(stat.S_IFLNK | 0o777), target=target)

    def remove(self, path: str) -> None:
        """See `Machine.remove`."""
        place = self._place(path)
        for each in [each for each in self._nodes if each.startswith(f"{place}/")]:
            del self._nodes[each]
        self._nodes[place] = None

    def link(self, target: str, path: str) -> None:
        """See `Machine.link`."""
        node = self._edited(self._place(target), target)
        self._nodes[self._place(target)] = self._linked[node.inode] = node
        self._nodes[self._in_a_folder(path)] = replace(node, fresh=True)

    def mknod(self, path: str, mode: int, device: tuple[int, int]) -> None:
        """See `Machine.mknod`."""
        self._nodes[self._in_a_folder(path)] = replace(self._node(mode), device=os.makedev(*device))

    def rename(self, source: str, path: str) -> None:
        """See `Machine.rename`."""
        origin, place = self._place(source), self._in_a_folder(path)
        self._move(origin, place, most=MOST_MOVED)
        self.remove(origin)

    def _move(self, origin: str, place: str, most: int) -> int:
        """Plan what is at and below a place elsewhere; how many more may be. ContentUnknown for too many."""
        node = self._edited(origin, origin)
        if most == 0:
            raise ContentUnknown(f"what is below {place}")
        self._nodes[place] = replace(node, fresh=True)
        most -= 1
        if stat.S_ISDIR(node.mode):
            for name in self.listdir(origin):
                most = self._move(posixpath.join(origin, name), posixpath.join(place, name), most)
        return most

    def utime(self, path: str, atime: float | None, mtime: float | None) -> None:
        """See `Machine.utime`."""
        place, now = self._place(path), time.time()
        times = (now if atime is None else atime, now if mtime is None else mtime)
        self._put(place, replace(self._edited(place, path), times=times))

    # --- paths ------------------------------------------------------------------------------------------------------

    def _place(self, path: str) -> str:
        """The path with the symlinks above it followed."""
        above, name = posixpath.split(posixpath.normpath(path))
        return posixpath.join(self._followed(above), name) if name else "/"

    def _followed(self, path: str, links: int = _MOST_LINKS) -> str:
        """The path with all symlinks followed."""
        place = "/"
        for part in posixpath.normpath(path).split("/"):
            place = posixpath.normpath(posixpath.join(place, part))
            found = self._lstat(place)
            if found is not None and found.kind == "symlink":
                if links == 0:
                    raise OSError(40, "Too many levels of symbolic links", path)
                place = self._followed(posixpath.join(posixpath.dirname(place), found.target), links - 1)
        return place

    def _in_a_folder(self, path: str) -> str:
        place = self._place(path)
        above = self._lstat(posixpath.dirname(place))
        if above is None:
            raise FileNotFoundError(2, "No such file or directory", path)
        if above.kind != "directory":
            raise NotADirectoryError(20, "Not a directory", path)
        return place

    def _kind_behind(self, place: str) -> str:
        found = self._lstat(self._followed(place))
        return "" if found is None else found.kind

    def _lstat(self, place: str) -> FileStat | None:
        if place in self._nodes:
            node = self._nodes[place]
            return None if node is None else _stat_of(self._as_linked(node))
        found = None if self._hidden(place) else self._machine.stat(place)
        if found is None or found.inode not in self._linked:
            return found
        return _stat_of(self._as_linked(self._there(place, found)))

    def _hidden(self, place: str) -> bool:
        """Whether what is on the machine at a path is not there as planned."""
        for each in _with_parents(place):
            if each in self._nodes:
                node = self._nodes[each]
                if node is None or node.fresh:
                    return True
        return False

    # --- nodes ------------------------------------------------------------------------------------------------------

    def _node(self, mode: int) -> _Node:
        now = time.time()
        return _Node(mode=mode, uid=os.geteuid(), gid=os.getegid(), inode=(0, next(self._numbers)), times=(now, now))

    def _file(self, found: FileStat | None, mode: str | None) -> _Node:
        """A file that takes the place of another, whose owner and mode it keeps, as the machine replaces files."""
        if found is None:
            return self._node(stat.S_IFREG | int(mode or "0644", 8))
        bits = int(mode, 8) if mode else int(found.mode, 8)
        owner, group = _names(found)
        node = self._node(stat.S_IFREG | bits)
        return replace(node, uid=found.uid, gid=found.gid, owner=owner, owning_group=group)

    def _edited(self, place: str, path: str) -> _Node:
        """What is planned for a path, or is there; FileNotFoundError when neither."""
        node = self._nodes.get(place)
        if node is not None:
            return self._as_linked(node)
        found = self._lstat(place)
        if found is None:
            raise FileNotFoundError(2, "No such file or directory", path)
        node = self._as_linked(self._there(place, found))
        if stat.S_ISREG(node.mode) and found.found.st_nlink > 1:
            self._linked.setdefault(node.inode, node)
        return node

    def _there(self, place: str, found: FileStat) -> _Node:
        """What is on the machine."""
        return replace(
            self._node(found.found.st_mode),
            inode=found.inode,
            uid=found.uid,
            gid=found.gid,
            original=place,
            target=found.target,
            device=found.found.st_rdev,
            size=found.size,
            times=found.times[:2],
            fresh=False,
        )

    def _as_linked(self, node: _Node) -> _Node:
        """With what is planned through another name of the same file."""
        other = self._linked.get(node.inode)
        if other is None:
            return node
        return replace(
            node,
            mode=other.mode,
            uid=other.uid,
            gid=other.gid,
            owner=other.owner,
            owning_group=other.owning_group,
            times=other.times,
        )

    def _put(self, place: str, node: _Node) -> None:
        """Plan this for a path, and for the other names of the file."""
        self._nodes[place] = node
        if node.inode in self._linked:
            self._linked[node.inode] = node


def _with_parents(place: str) -> Iterator[str]:
    while True:
        yield place
        if place == "/":
            return
        place = posixpath.dirname(place)


def _names(found: FileStat) -> tuple[str, str]:
    return (found.owner, found.owning_group) if isinstance(found, PlannedStat) else ("", "")


def _stat_of(node: _Node) -> PlannedStat:
    atime, mtime = node.times
    device, number = node.inode
    numbers = (node.mode, number, device, 1, node.uid, node.gid, node.size, int(atime), int(mtime), int(mtime))
    more = {"st_atime": atime, "st_mtime": mtime, "st_ctime": mtime, "st_rdev": node.device}
    return PlannedStat(os.stat_result(numbers, more), node.target, node.owner, node.owning_group)
