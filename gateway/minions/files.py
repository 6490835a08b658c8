"""The file server of a stock minion: files of the revision that its document was compiled from, and its state files.

What is asked for goes to the controller as our own minions ask. A content has an id, so that it is had once for all
minions: small ones stay in memory, and of large ones the digest, which is what a minion asks first.

Source: `Fileserver` in `salt/fileserver/__init__.py`, `roots` beside it; `RemoteClient` in `salt/fileclient.py`.
"""

from __future__ import annotations

import hashlib
from collections import OrderedDict
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import PurePosixPath
from typing import Any

from gateway.minions.questions import OpenQuestions
from highstate.salt_urls import plain_path
from wire.messages import BLOB_CHUNK, Blob, FileFound, FileList, FindFile, GetBlob, ListFiles

HASH_TYPE = "sha256"
_REGULAR = 0o100000
_USUAL_MODE = 0o644
_UNKNOWN = -1
"""Size of a content of which the document says the id alone."""
_MOST_PATH = 4096
_STATE_FILE = ".sls"
_NOT_THERE: Mapping[str, str] = {"path": "", "rel": ""}
_NOTHING: Mapping[str, Any] = {"data": "", "dest": ""}


@dataclass(slots=True)
class KeptContents:
    """KeptContents by their id, for all minions of the gateway.

    Args:
        most_bytes: of contents that are kept.
    """

    most_bytes: int = 16 * 1024 * 1024
    _kept: OrderedDict[str, bytes] = field(default_factory=OrderedDict)
    _digests: OrderedDict[str, str] = field(default_factory=OrderedDict)
    _bytes: int = 0

    def get(self, oid: str) -> bytes | None:
        """A content that is kept."""
        found = self._kept.get(oid)
        if found is not None:
            self._kept.move_to_end(oid)
        return found

    def put(self, oid: str, data: bytes) -> None:
        """Keep a whole content; the ones that were asked for longest ago make room."""
        if len(data) * 4 > self.most_bytes or oid in self._kept:
            return
        self._kept[oid] = data
        self._bytes += len(data)
        while self._bytes > self.most_bytes:
            self._bytes -= len(self._kept.popitem(last=False)[1])

    def digest(self, oid: str) -> str:
        """The digest of a content; empty: it is not known."""
        return self._digests.get(oid, "")

    def know(self, oid: str, digest: str) -> None:
        """Keep a digest."""
        self._digests[oid] = digest
        while len(self._digests) > 100_000:
            self._digests.popitem(last=False)


@dataclass(slots=True, kw_only=True)
class StockFiles:
    """Files for one minion.

    Args:
        questions: to the controller.
        contents: see `KeptContents`.
        own: path -> content of files that this minion alone gets.
        document: saltenv -> path -> content of the document that runs: the newest revision may have others by now.
        in_shadow: whether the minion may only be looked at: it gets no state file of the tree, so that what it has in
            its own schedule or `startup_states` applies nothing from here.
    """

    questions: OpenQuestions
    contents: KeptContents
    in_shadow: Callable[[], bool]
    own: dict[str, bytes] = field(default_factory=dict)
    document: Mapping[str, Mapping[str, str]] = field(default_factory=dict)

    async def find(self, load: Mapping[str, Any]) -> Mapping[str, Any]:
        """`_file_find`."""
        path, saltenv = _place(load)
        if path in self.own:
            return {"path": path, "rel": path, "stat": [_REGULAR | 0o600]}
        found = await self._found(path, saltenv)
        if not found.oid:
            return _NOT_THERE
        return {"path": path, "rel": path, "stat": [_REGULAR | (found.mode or _USUAL_MODE)]}

    async def hash(self, load: Mapping[str, Any]) -> Mapping[str, Any] | str:
        """`_file_hash`; empty of what is not there."""
        path, saltenv = _place(load)
        if path in self.own:
            return {"hsum": hashlib.sha256(self.own[path]).hexdigest(), "hash_type": HASH_TYPE}
        found = await self._found(path, saltenv)
        return {"hsum": await self._digest(found), "hash_type": HASH_TYPE} if found.oid else ""

    async def hash_and_stat(self, load: Mapping[str, Any]) -> list[Any]:
        """`_file_hash_and_stat`."""
        hashed = await self.hash(load)
        return [hashed, (await self.find(load)).get("stat")] if hashed else ["", None]

    async def serve(self, load: Mapping[str, Any]) -> Mapping[str, Any]:
        """`_serve_file`: a piece of a file from `loc` on; without data it is over."""
        path, saltenv = _place(load)
        offset = load.get("loc")
        if not isinstance(offset, int) or offset < 0:
            return _NOTHING
        if path in self.own:
            return {"data": self.own[path][offset : offset + BLOB_CHUNK], "dest": path, "hash_type": HASH_TYPE}
        found = await self._found(path, saltenv)
        if not found.oid:
            return _NOTHING
        data = await self._piece(found, offset)
        return {"data": data, "dest": path, "hash_type": HASH_TYPE}

    async def listed(self, load: Mapping[str, Any]) -> list[str]:
        """`_file_list`. Its own files are in none: they are had by their names."""
        listed = await self._below(load)
        return sorted(path for path in listed.files if not (path.endswith(_STATE_FILE) and self.in_shadow()))

    async def folders(self, load: Mapping[str, Any]) -> list[str]:
        """`_dir_list`."""
        listed = await self._below(load)
        found = {str(parent) for path in listed.files for parent in PurePosixPath(path).parents}
        return sorted(found - {"."})

    async def symlinks(self, load: Mapping[str, Any]) -> Mapping[str, str]:
        """`_symlink_list`."""
        return (await self._below(load)).links or {}

    async def saltenvs(self) -> list[str]:
        """`_file_envs`: the names of all environments."""
        answer: FileList = await self.questions.ask(lambda number: ListFiles(request=number, saltenvs=True))
        return sorted({"base", *answer.saltenvs})

    async def _found(self, path: str, saltenv: str) -> FileFound:
        if not path:
            return FileFound(request=0)
        pinned = self.document.get(saltenv, {}).get(path)
        if pinned is not None:
            return FileFound(request=0, oid=pinned, size=_UNKNOWN)
        if self.in_shadow() and path.endswith(_STATE_FILE):
            return FileFound(request=0)
        answer: FileFound = await self.questions.ask(
            lambda number: FindFile(request=number, path=path, saltenv=saltenv)
        )
        return answer

    async def _below(self, load: Mapping[str, Any]) -> FileList:
        prefix, saltenv = _prefix(load), _saltenv(load)
        answer: FileList = await self.questions.ask(
            lambda number: ListFiles(request=number, prefix=prefix, saltenv=saltenv)
        )
        return answer

    async def _piece(self, found: FileFound, offset: int) -> bytes:
        kept = self.contents.get(found.oid)
        if kept is not None:
            return kept[offset : offset + BLOB_CHUNK]
        if offset >= found.size != _UNKNOWN:
            return b""
        blob: Blob = await self.questions.ask(lambda number: GetBlob(request=number, oid=found.oid, offset=offset))
        if offset == 0 and len(blob.data) == blob.total:
            self.contents.put(found.oid, blob.data)
        return blob.data

    async def _digest(self, found: FileFound) -> str:
        """The digest of a content. One that is not known yet is read through, a piece at a time."""
        known = self.contents.digest(found.oid)
        if known:
            return known
        hashed, offset = hashlib.sha256(), 0
        while piece := await self._piece(found, offset):
            hashed.update(piece)
            offset += len(piece)
        self.contents.know(found.oid, hashed.hexdigest())
        return hashed.hexdigest()


def _place(load: Mapping[str, Any]) -> tuple[str, str]:
    path = load.get("path")
    if not isinstance(path, str) or len(path) > _MOST_PATH:
        return "", "base"
    path, _, query = path.removeprefix("salt://").partition("?")
    asked = dict(part.split("=", 1) for part in query.split("&") if "=" in part)
    return plain_path(path.lstrip("|")), asked.get("saltenv") or _saltenv(load)


def _saltenv(load: Mapping[str, Any]) -> str:
    return str(load.get("saltenv") or "base")[:256]


def _prefix(load: Mapping[str, Any]) -> str:
    prefix = load.get("prefix")
    return plain_path(prefix.strip("/")[:_MOST_PATH]) if isinstance(prefix, str) else ""
