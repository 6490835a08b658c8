"""Files of the trees for minions: found by path, sent by content. Reads snapshots only.

Called by `controller.sessions.file_answers` in a thread, which is told of new snapshots from others.

Any accepted minion may read the states tree, as in Salt; nothing here reaches the pillar tree.
"""

from __future__ import annotations

import contextlib
from collections import OrderedDict
from collections.abc import Collection, Iterator
from pathlib import Path

from gitfs.tree.snapshot import BlobStart, Snapshot
from wire.messages import BLOB_CHUNK, Blob, FileFound, FileList, FindFile, GetBlob, ListFiles


class FileServer:
    """The snapshots that minions may still ask about: the live one, those that are held, the ones before and previews.

    Args:
        bound: snapshots that are remembered.
    """

    def __init__(self, *, bound: int = 4) -> None:
        self._bound = bound
        self._live: Snapshot | None = None
        self._others: OrderedDict[str, Snapshot] = OrderedDict()
        self._held: dict[str, Snapshot] = {}
        """By the digest of the revision: of pull requests that are applied."""
        self._shown: tuple[Snapshot, ...] = ()
        """All of them, replaced as a whole: a thread that answers sees the ones before or the ones after."""
        self._offered: dict[str, list[Path]] = {}
        """Files beside the trees, by the id of their content: once for each who offers it."""

    def use(self, snapshot: Snapshot) -> None:
        """This snapshot is the live one from now on."""
        if self._live is not None:
            self.add_preview(self._live)
        self._live = snapshot
        self._show()

    def add_preview(self, snapshot: Snapshot) -> None:
        """Contents of this snapshot may be asked for too (a preview); paths are still found in the live one."""
        self._others[snapshot.digest] = snapshot
        self._others.move_to_end(snapshot.digest)
        if len(self._others) > self._bound:
            self._others.popitem(last=False)
        self._show()

    def hold(self, revision: str, snapshot: Snapshot) -> None:
        """Contents of this snapshot may be asked for as long as minions hold a revision of it."""
        self._held[revision] = snapshot
        self._show()

    def keep_held(self, revisions: Collection[str]) -> None:
        """Forget the snapshots of all other revisions that were held."""
        self._held = {revision: snapshot for revision, snapshot in self._held.items() if revision in revisions}
        self._show()

    def _show(self) -> None:
        live = () if self._live is None else (self._live,)
        self._shown = (*live, *self._held.values(), *self._others.values())

    @contextlib.contextmanager
    def offered(self, oid: str, path: Path) -> Iterator[None]:
        """While inside, minions may ask for the content of this file by this id. It is no secret."""
        self._offered.setdefault(oid, []).append(path)
        try:
            yield
        finally:
            self._offered[oid].pop()
            if not self._offered[oid]:
                del self._offered[oid]

    def blob_start(self, oid: str, length: int) -> BlobStart | None:
        """The first bytes of a content of these snapshots; None for every other id. For any thread."""
        return next((found for each in self._shown if (found := each.blob_start(oid, length))), None)

    def answer(self, message: FindFile | ListFiles | GetBlob) -> FileFound | FileList | Blob:
        """The answer to a minion's question; what is not there, or names no place in the tree, is not found."""
        with contextlib.suppress(OSError, ValueError, OverflowError):
            match message:
                case FindFile():
                    return self._find(message)
                case ListFiles():
                    return self._list(message)
                case GetBlob():
                    return self._blob(message)
        return _nothing(message)

    def _find(self, message: FindFile) -> FileFound:
        live = self._live
        oid = live.oid(message.path, message.saltenv) if live else None
        if live is None or oid is None:
            return FileFound(request=message.request)
        size = live.blob_size(oid) or 0
        mode = live.mode(message.path, message.saltenv) or 0
        return FileFound(request=message.request, oid=oid, size=size, mode=mode)

    def _list(self, message: ListFiles) -> FileList:
        live = self._live
        if live is None:
            return FileList(request=message.request, files={})
        if message.saltenvs:
            return FileList(request=message.request, files={}, saltenvs=tuple(live.saltenvs()))
        oids = {path: live.oid(path, message.saltenv) for path in live.list(message.prefix, message.saltenv)}
        found = {path: oid for path, oid in oids.items() if oid}
        modes = {path: live.mode(path, message.saltenv) or 0 for path in found}
        modes = {path: mode for path, mode in modes.items() if mode != 0o644}
        links = dict(live.links(message.prefix, message.saltenv))
        return FileList(request=message.request, files=found, modes=modes, links=links)

    def _blob(self, message: GetBlob) -> Blob | FileFound | FileList:
        """Part of a content by its id; a large one is never held whole."""
        if offered := self._offered.get(message.oid):
            with offered[0].open("rb") as file:
                file.seek(message.offset)
                piece, size = file.read(BLOB_CHUNK), file.seek(0, 2)
            return Blob(request=message.request, oid=message.oid, offset=message.offset, total=size, data=piece)
        for snapshot in self._shown:
            total = snapshot.blob_size(message.oid)
            if total is not None:
                data = snapshot.read_range(message.oid, message.offset, BLOB_CHUNK) or b""
                return Blob(request=message.request, oid=message.oid, offset=message.offset, total=total, data=data)
        return _nothing(message)


def _nothing(message: FindFile | ListFiles | GetBlob) -> FileFound | FileList | Blob:
    match message:
        case FindFile():
            return FileFound(request=message.request)
        case ListFiles():
            return FileList(request=message.request, files={})
        case _:
            return Blob(request=message.request, oid=message.oid, offset=message.offset, total=-1, data=b"")
