"""Files of the controller's tree, as a worker reads them: `salt://` paths become contents, each fetched once.

    path  -> oid      from the held document where it names the file, otherwise asked of the controller
    oid   -> content  from the cache on disk, otherwise fetched in chunks, verified and kept

Made by the worker for `LocalMachine`. It speaks to the agent only, which forwards to the controller.
"""

from __future__ import annotations

import contextlib
import os
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Protocol, TypeVar

from extmods.store import KINDS, SALTENV
from highstate.desired import Desired
from highstate.files import blob_id
from highstate.salt_urls import split_salt_url
from highstate.types import ABSENT, Chunk
from minion.machine.durable_files import write_durably
from wire.messages import (
    Blob,
    FileFound,
    FileList,
    FilePushed,
    FindFile,
    GetBlob,
    GetMine,
    GetStates,
    ListFiles,
    PublishCall,
    Published,
    PushFile,
    Refused,
    ToMinion,
)

CACHE_BYTES = 512 * 1024 * 1024
"""Size of the cache; the least recently used contents are removed first."""

CACHE_SECONDS = 90 * 24 * 3600.0
"""Contents that were not used for so long are removed."""

LARGEST_FILE = 1024 * 1024 * 1024
"""Bytes; a larger file is refused, since states hold a content in memory."""

Question = FindFile | ListFiles | GetBlob | GetMine | GetStates | PublishCall | PushFile
AnswerT = TypeVar("AnswerT", FileFound, FileList, Blob)
OfferT = TypeVar("OfferT", Published, FilePushed)


class SourceUnavailable(OSError):
    """The file is not available: the controller cannot be reached, or its answer is wrong."""


class Controller(Protocol):
    """Answers questions."""

    def ask(self, question: Question) -> ToMinion:
        """The answer to one question, or `Refused` with the reason why there is none."""


def answer_of(controller: Controller, question: Question, wanted: type[OfferT]) -> OfferT | Refused:
    """The answer to a question that is of no file of the tree; `Refused` also for one of another kind."""
    answer = controller.ask(question)
    return answer if isinstance(answer, wanted | Refused) else Refused(message="an answer of another kind came")


class BlobCache:
    """Contents by git's blob id, in `cachedir/blobs/ab/cdef...`. Several workers may use it at once."""

    def __init__(self, cachedir: Path, *, aside: Path | None = None) -> None:
        """`aside`: a folder for what is new; the cache itself stays as it is."""
        self.path = cachedir / "blobs"
        self._aside = aside

    def get(self, oid: str) -> bytes | None:
        """A content; a file whose content does not fit its name is removed."""
        if self._aside is None:
            return self._kept(self.path, oid)
        found = self._kept(self._aside, oid)
        return self._read_only(oid) if found is None else found

    def _read_only(self, oid: str) -> bytes | None:
        with contextlib.suppress(FileNotFoundError):
            data = _of(self.path, oid).read_bytes()
            return data if blob_id(data) == oid else None
        return None

    def _kept(self, folder: Path, oid: str) -> bytes | None:
        path = _of(folder, oid)
        try:
            data = path.read_bytes()
        except FileNotFoundError:
            return None
        if blob_id(data) != oid:
            path.unlink(missing_ok=True)
            return None
        with contextlib.suppress(OSError):
            os.utime(path)  # the time of the last use: what `trim` goes by
        return data

    def put(self, oid: str, data: bytes) -> None:
        """Keep a content that was verified."""
        place = self._aside or self.path
        path = _of(place, oid)
        for folder in (place, path.parent):  # `parents=True` would make the outer one with the umask alone
            folder.mkdir(mode=0o700, exist_ok=True)
        write_durably(path, data)

    def has(self, oid: str) -> bool:
        """Whether a content is there; it is checked when it is read."""
        return _of(self.path, oid).exists()

    def trim(
        self,
        now: float,
        *,
        most_bytes: int = CACHE_BYTES,
        most_seconds: float = CACHE_SECONDS,
        pinned: Collection[str] = (),
    ) -> int:
        """Remove what is too old or too much, the longest unused first. How many files went.

        `pinned`: contents that stay, and count.
        """
        found, kept = [], frozenset(_of(self.path, oid) for oid in pinned)
        for path in self.path.glob("*/*"):
            with contextlib.suppress(FileNotFoundError):
                status = path.stat()
                found.append((status.st_mtime, status.st_size, path))
        found.sort(key=lambda each: (each[2] in kept, *each), reverse=True)
        total = removed = 0
        for used, size, path in found:
            total += size
            if path not in kept and (total > most_bytes or now - used > most_seconds):
                path.unlink(missing_ok=True)
                removed += 1
        return removed


def _of(folder: Path, oid: str) -> Path:
    if len(oid) not in (40, 64) or not all(c in "0123456789abcdef" for c in oid):
        raise SourceUnavailable(f"{oid[:80]!r} is no content id")
    return folder / oid[:2] / oid[2:]


class HeldFiles:
    """The tree as far as a minion knows it: what its document names, and the controller for the rest."""

    def __init__(self, desired: Desired, cache: BlobCache, controller: Controller) -> None:
        self._held = desired.files
        self._held_modes = desired.modes
        self._held_links = desired.links
        self._whole = frozenset(_recursed(desired.chunks.values()))
        self._whole_links = frozenset(_recursed(one for one in desired.chunks.values() if _keeps_links(one)))
        self._cache = cache
        self._controller = controller
        self._modules = desired.modules
        self._found = {(SALTENV, path): oid for path, oid in desired.modules.items()}
        self._modes: dict[tuple[str, str], int] = {}
        self._listed = _listed(desired.modules) if desired.modules else {}
        self._linked: dict[tuple[str, str], Mapping[str, str]] = {}
        self._saltenvs: tuple[str, ...] = ()
        self._requests = 0

    @property
    def digest(self) -> str:
        """A minion does not know the whole tree, so nothing names it."""
        return ""

    def saltenvs(self) -> Sequence[str]:
        """All environments of the tree, by name; those that the document names where nobody can tell now."""
        if not self._saltenvs:
            found = self._controller.ask(ListFiles(request=self._next(), saltenvs=True))
            told = found.saltenvs if isinstance(found, FileList) else ()
            self._saltenvs = tuple(sorted({"base", *self._held, *told}))
        return self._saltenvs

    def read(self, path: str, saltenv: str = "base") -> bytes:
        """Content of a file. FileNotFoundError when there is none, SourceUnavailable when it cannot be had now."""
        oid = self.oid(path, saltenv)
        if oid is None:
            raise FileNotFoundError(f"salt://{path} (saltenv {saltenv})")
        data = self._cache.get(oid)
        if data is None:
            data = self._fetch(oid, f"salt://{path}")
            self._cache.put(oid, data)
        return data

    def keep(self, most_bytes: int = CACHE_BYTES) -> int:
        """Have every content that the document names in the cache, up to so many bytes. How many there are.

        Raises SourceUnavailable when one cannot be had.
        """
        wanted = contents_of(self._held, self._modules)
        total = 0
        for oid in wanted:
            if not self._cache.has(oid):
                data = self._fetch(oid, oid[:12])
                if (total := total + len(data)) > most_bytes:
                    raise SourceUnavailable(f"the files of a document are more than {most_bytes} bytes")
                self._cache.put(oid, data)
        return len(wanted)

    def oid(self, path: str, saltenv: str = "base") -> str | None:
        """Content id of a file, None when there is no such file."""
        held = self._held.get(saltenv, {}).get(path)
        if held is not None:
            return held or None
        if (saltenv, path) not in self._found:
            question = FindFile(request=self._next(), path=path, saltenv=saltenv)
            self._found[saltenv, path] = self._ask(question, FileFound, f"salt://{path}").oid
        return self._found[saltenv, path] or None

    def mode(self, path: str, saltenv: str = "base") -> int | None:
        """Permission bits of a file, None when there is no such file. SourceUnavailable when nobody can tell now."""
        held = self._held_modes.get(saltenv, {}).get(path)
        if held is not None:
            return held
        if self._held.get(saltenv, {}).get(path) == ABSENT:
            return None
        if (saltenv, path) not in self._modes:
            question = FindFile(request=self._next(), path=path, saltenv=saltenv)
            found = self._ask(question, FileFound, f"salt://{path}")
            self._modes[saltenv, path] = (found.mode or 0o644) if found.oid else 0
        return self._modes[saltenv, path] or None

    def list(self, prefix: str = "", saltenv: str = "base") -> Sequence[str]:
        """Paths at or below a folder, sorted."""
        folder = prefix.strip("/")
        if (saltenv, folder) not in self._listed:
            self._listed[saltenv, folder] = self._listing(folder, saltenv)
        return sorted(self._listed[saltenv, folder])

    def links(self, prefix: str = "", saltenv: str = "base") -> Mapping[str, str]:
        """Path -> target of the symlinks at or below a folder. SourceUnavailable when nobody can tell now."""
        folder = prefix.strip("/")
        if (saltenv, folder) in self._whole_links:
            held = self._held_links.get(saltenv, {})
            inside = folder + "/" if folder else ""
            return {path: target for path, target in held.items() if path.startswith(inside)}
        if (saltenv, folder) not in self._linked:
            question = ListFiles(request=self._next(), prefix=folder, saltenv=saltenv)
            found = self._ask(question, FileList, f"salt://{folder}").links
            if found is None:
                raise SourceUnavailable(f"salt://{folder}: the controller does not know of symlinks: upgrade it")
            self._linked[saltenv, folder] = found
        return self._linked[saltenv, folder]

    def _listing(self, folder: str, saltenv: str) -> Mapping[str, str]:
        if self._held.get(saltenv, {}).get(folder) == ABSENT:
            return {}
        if any(folder == whole or folder.startswith(whole + "/") for env, whole in self._whole if env == saltenv):
            # The compile names every file that a file.recurse takes: no need to ask, and right for this document.
            named = self._held.get(saltenv, {})
            inside = folder + "/"
            below = {path: oid for path, oid in named.items() if oid and (path == folder or path.startswith(inside))}
            if below:
                return below
        question = ListFiles(request=self._next(), prefix=folder, saltenv=saltenv)
        answer = self._ask(question, FileList, f"salt://{folder}")
        self._found.update({(saltenv, path): oid for path, oid in answer.files.items()})
        self._modes.update({(saltenv, path): answer.modes.get(path, 0o644) for path in answer.files})
        return answer.files

    def _fetch(self, oid: str, shown: str) -> bytes:
        data = bytearray()
        while True:
            blob = self._ask(GetBlob(request=self._next(), oid=oid, offset=len(data)), Blob, shown)
            if blob.total < 0:
                raise SourceUnavailable(f"{shown}: the controller does not have the content {oid[:12]} any more")
            if blob.total > LARGEST_FILE:
                raise SourceUnavailable(f"{shown}: {blob.total} bytes are more than the {LARGEST_FILE} that are read")
            if blob.offset != len(data) or (not blob.data and len(data) < blob.total):
                raise SourceUnavailable(f"{shown}: the controller sent another part of the file than was asked for")
            data += blob.data
            if len(data) >= blob.total:
                break
        if blob_id(bytes(data)) != oid:
            raise SourceUnavailable(f"{shown}: what arrived is not the content {oid[:12]}")
        return bytes(data)

    def _ask(self, question: Question, wanted: type[AnswerT], shown: str) -> AnswerT:
        answer = self._controller.ask(question)
        if isinstance(answer, Refused):
            raise SourceUnavailable(f"{shown}: {answer.message}")
        if not isinstance(answer, wanted):
            raise SourceUnavailable(f"{shown}: an answer of another kind came: {type(answer).__name__}")
        return answer

    def _next(self) -> int:
        self._requests += 1
        return self._requests


def contents_of(files: Mapping[str, Mapping[str, str]], modules: Mapping[str, str]) -> list[str]:
    """Ids of the contents that a document names, each once."""
    named = [oid for by_path in files.values() for oid in by_path.values()]
    return sorted({oid for oid in (*named, *modules.values()) if oid and oid != ABSENT})


def _listed(modules: Mapping[str, str]) -> dict[tuple[str, str], Mapping[str, str]]:
    """The folders of modules: a document that names any names all."""
    listed: dict[tuple[str, str], dict[str, str]] = {(SALTENV, f"_{kind}"): {} for kind in KINDS}
    for path, oid in modules.items():
        listed.setdefault((SALTENV, path.partition("/")[0]), {})[path] = oid
    return dict(listed)


def _keeps_links(chunk: Chunk) -> bool:
    return chunk.arguments.get("keep_symlinks") is True


def _recursed(chunks: Iterable[Chunk]) -> Iterator[tuple[str, str]]:
    """(saltenv, folder) of every folder that the chunks copy, as `highstate.compile.content` reads them."""
    for chunk in chunks:
        if (chunk.state, chunk.fun) != ("file", "recurse"):
            continue
        given = chunk.arguments.get("source")
        for source in given if isinstance(given, list) else [given]:
            if isinstance(source, str) and source.startswith("salt://"):
                path, saltenv = split_salt_url(source, chunk.saltenv)
                yield saltenv, path


def cache_needs_trim(cachedir: Path, now: float, *, every: float = 24 * 3600.0) -> bool:
    """Whether the cache was not trimmed for a day; says yes once."""
    stamp = cachedir / "blobs.trimmed"
    with contextlib.suppress(FileNotFoundError):
        if now - stamp.stat().st_mtime < every:
            return False
    stamp.touch(mode=0o600)
    return True
