"""Files of the trees for minions: found by path, sent by content. Called by the inbox; reads snapshots only.

Any accepted minion may read the states tree, as in Salt; nothing here reaches the pillar tree.
"""

from __future__ import annotations

import contextlib
from collections import OrderedDict

from gitfs import Snapshot
from wire.messages import BLOB_CHUNK, Blob, FileFound, FileList, FindFile, GetBlob, ListFiles


class TreeFiles:
    """The snapshots that minions may still ask about: the live one first, then the ones before and previews.

    Args:
        bound: snapshots that are remembered.
    """

    def __init__(self, *, bound: int = 4) -> None:
        self._bound = bound
        self._live: Snapshot | None = None
        self._others: OrderedDict[str, Snapshot] = OrderedDict()
        self._blobs: OrderedDict[str, bytes] = OrderedDict()

    def use(self, snapshot: Snapshot) -> None:
        """This snapshot is the live one from now on."""
        if self._live is not None:
            self.lend(self._live)
        self._live = snapshot

    def lend(self, snapshot: Snapshot) -> None:
        """Contents of this snapshot may be asked for too (a preview); paths are still found in the live one."""
        self._others[snapshot.digest] = snapshot
        self._others.move_to_end(snapshot.digest)
        if len(self._others) > self._bound:
            self._others.popitem(last=False)

    def answer(self, message: FindFile | ListFiles | GetBlob) -> FileFound | FileList | Blob:
        """The answer to a minion's question; what is not there, or names no place in the tree, is not found."""
        with contextlib.suppress(OSError, ValueError):
            match message:
                case FindFile():
                    return self._find(message)
                case ListFiles():
                    return self._list(message)
                case GetBlob():
                    return self._blob(message)
        return _nothing(message)

    def _find(self, message: FindFile) -> FileFound:
        oid = self._live.oid(message.path, message.saltenv) if self._live else None
        if oid is None:
            return FileFound(request=message.request)
        return FileFound(request=message.request, oid=oid, size=len(self._content(oid) or b""))

    def _list(self, message: ListFiles) -> FileList:
        if self._live is None:
            return FileList(request=message.request, files={})
        paths = self._live.list(message.prefix, message.saltenv)
        oids = {path: self._live.oid(path, message.saltenv) for path in paths}
        return FileList(request=message.request, files={path: oid for path, oid in oids.items() if oid})

    def _blob(self, message: GetBlob) -> Blob:
        data = self._content(message.oid)
        if data is None:
            return Blob(request=message.request, oid=message.oid, offset=message.offset, total=-1, data=b"")
        part = data[message.offset : message.offset + BLOB_CHUNK]
        return Blob(request=message.request, oid=message.oid, offset=message.offset, total=len(data), data=part)

    def _content(self, oid: str) -> bytes | None:
        """A content by its id; the last few stay at hand, as large ones are asked for piece by piece."""
        if oid in self._blobs:
            self._blobs.move_to_end(oid)
            return self._blobs[oid]
        for snapshot in (self._live, *self._others.values()):
            data = snapshot.read_blob(oid) if snapshot else None
            if data is not None:
                self._blobs[oid] = data
                if len(self._blobs) > 8:
                    self._blobs.popitem(last=False)
                return data
        return None


def _nothing(message: FindFile | ListFiles | GetBlob) -> FileFound | FileList | Blob:
    match message:
        case FindFile():
            return FileFound(request=message.request)
        case ListFiles():
            return FileList(request=message.request, files={})
        case _:
            return Blob(request=message.request, oid=message.oid, offset=message.offset, total=-1, data=b"")
