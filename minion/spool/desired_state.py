"""The desired document that this minion holds: kept on disk, patched by `DesiredUpdate`, read by every run.

The agent owns it. It keeps only the digest, the generation and the drift schedule in memory; a worker reads the
document itself from the file (or from the hard link in its run's folder). Nothing here runs a chunk.
"""

from __future__ import annotations

import contextlib
import logging
from collections.abc import Collection, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import msgspec

from highstate.desired import Desired
from minion.machine.durable_files import write_durably
from wire import patch
from wire.errors import PatchMismatch
from wire.messages import DesiredUpdate, Preview

log = logging.getLogger(__name__)

FILE_NAME = "desired.msgpack"

BY_ITSELF = "\tthe minion"
"""Stands for a controller where none asked for a run; no name of one begins like this."""


class _Stored(msgspec.Struct, frozen=True):
    generation: int
    digest: str
    document: msgspec.Raw  # packed as it is digested, so that the file can be checked without unpacking it


@dataclass(frozen=True, slots=True, kw_only=True)
class HeldDocument:
    """A document of the disk."""

    generation: int
    digest: str
    desired: Desired


class AppliedFile:
    """Which document was applied last, and for whom: a controller that did not ask for it need not run it again."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self.digest = self.controller = ""
        with contextlib.suppress(OSError, UnicodeDecodeError):
            self.digest, _, self.controller = path.read_text("utf-8").partition("\n")

    def put(self, digest: str, controller: str) -> None:
        """Keep it."""
        if (digest, controller) == (self.digest, self.controller):
            return
        self.digest, self.controller = digest, controller
        try:
            write_durably(self._path, f"{digest}\n{controller}".encode())
        except OSError as error:
            log.error("event=applied_not_stored error=%s", error)


class DesiredState:
    """The document in force. Without a file that can be read there is none, and the controller sends the whole."""

    def __init__(self, cachedir: Path) -> None:
        self.path = cachedir / FILE_NAME
        self.generation = 0
        self.digest = ""
        self.drift: Mapping[str, Any] = {}
        self.modules: Mapping[str, str] = {}
        self.schedule: Any = None
        self.whens: Any = None
        self.mine_functions: Any = None
        self.beacons: Any = None
        self._applied = AppliedFile(cachedir / "applied")
        try:
            held = read_document(self.path)
        except FileNotFoundError:
            return
        except (OSError, ValueError) as error:
            log.warning("event=desired_unreadable path=%s treated_as=empty error=%s", self.path, error)
            return
        self.remember(held)

    def accept(self, desire: DesiredUpdate) -> Desired | None:
        """Apply an update; it is on disk when this returns. PatchMismatch when it is based on another document.

        The new document; None when it is the one that was held before.
        """
        held = self.stored(desire)
        if held is None:
            self.generation = desire.generation
            return None
        self.remember(held)
        return held.desired

    def stored(self, desire: DesiredUpdate) -> HeldDocument | None:
        """The first half of `accept`, which a thread may do: on disk is the new document, in memory the one before.

        None when an update changes nothing. PatchMismatch as above.
        """
        if desire.digest == self.digest:
            return None
        document = self._patched(desire.base, desire.patch, desire.digest)
        held = HeldDocument(generation=desire.generation, digest=desire.digest, desired=_desired(document))
        write_durably(self.path, _pack(desire.generation, desire.digest, document))
        return held

    def hold(self, path: Path) -> Desired:
        """Hold the document of another file, without a controller; it is on disk when this returns.

        Raises OSError, and ValueError when it is damaged.
        """
        found, stored = read_document(path), _unpack(path)
        write_durably(self.path, msgspec.msgpack.encode(_Stored(self.generation, stored.digest, stored.document)))
        held = HeldDocument(generation=self.generation, digest=found.digest, desired=found.desired)
        self.remember(held)
        return held.desired

    def packed_patch(self, base: str, difference: Any, digest: str) -> bytes:
        """A document that is kept beside this one, as `read_document` reads it. PatchMismatch as above."""
        document = self._patched(base, difference, digest)
        _desired(document)
        return _pack(0, digest, document)

    def applies(self, what: str, controller: str) -> None:
        """A run of a document begins or has come to an end.

        Args:
            what: digest of the document that the machine has now, or `APPLIES_NOW` or `NOT_APPLIED`.
            controller: which of several asked for it, or `BY_ITSELF`.
        """
        self._applied.put(what, controller)

    @property
    def applied(self) -> str:
        """Digest of the document that was applied last, `APPLIES_NOW` or `NOT_APPLIED`; empty: it is not known."""
        return self._applied.digest

    def told_applied(self, controller: str) -> None:
        """A controller knows how the run has ended that the minion began by itself."""
        if self._applied.controller == BY_ITSELF:
            self._applied.put(self._applied.digest, controller)

    def moved(self, names: Collection[str], to: str) -> bool:
        """What the controllers of these names asked for is known to another of their cluster; False: it was nothing."""
        if self._applied.controller not in names:
            return False
        self._applied.put(self._applied.digest, to)
        return True

    def applied_for_others(self, controller: str) -> str:
        """What a controller does not know of the last run of a document; empty where it asked for that itself."""
        return self._applied.digest if self._applied.controller != controller else ""

    def packed_preview(self, preview: Preview) -> bytes:
        """The document of a preview, as `read_document` reads it. PatchMismatch as above. Nothing is stored."""
        document = self._patched(preview.base, preview.patch, preview.digest)
        _desired(document)
        return _pack(0, preview.digest, document)

    def _patched(self, base: str, difference: Any, digest: str) -> Any:
        if base and base != self.digest:
            raise PatchMismatch(f"the patch is for {base[:12]}, and {self.digest[:12] or 'nothing'} is held")
        old = _unpack(self.path).document if base else None
        document = patch.apply({} if old is None else msgspec.msgpack.decode(old), difference)
        if patch.digest(document) != digest:
            raise PatchMismatch(f"the patched document is not {digest[:12]}")
        return document

    def remember(self, held: HeldDocument) -> None:
        """The other half: what was `stored` is in force."""
        self.generation, self.digest, self.drift = held.generation, held.digest, held.desired.drift
        self.modules = held.desired.modules
        self.schedule = held.desired.pillar.get("schedule")
        self.whens = held.desired.pillar.get("whens")
        self.mine_functions = held.desired.pillar.get("mine_functions")
        self.beacons = held.desired.pillar.get("beacons")


def packed_document(document: bytes, digest: str) -> bytes:
    """A document that came with a call, as `read_document` reads it. PatchMismatch when it is another one."""
    if patch.digest_of_packed(document) != digest:
        raise PatchMismatch(f"the document of the call is not {digest[:12]}")
    return msgspec.msgpack.encode(_Stored(0, digest, msgspec.Raw(document)))


def read_document(path: Path) -> HeldDocument:
    """A document from disk, checked against its digest. OSError when there is none, ValueError when it is damaged."""
    stored = _unpack(path)
    document = msgspec.msgpack.decode(stored.document)
    if patch.digest(document) != stored.digest:
        raise ValueError("the content does not match its digest")
    try:
        desired = _desired(document)
    except PatchMismatch as error:
        raise ValueError(str(error)) from error
    return HeldDocument(generation=stored.generation, digest=stored.digest, desired=desired)


def _unpack(path: Path) -> _Stored:
    try:
        return msgspec.msgpack.decode(path.read_bytes(), type=_Stored)
    except msgspec.MsgspecError as error:
        raise ValueError(str(error)) from error


def _pack(generation: int, digest: str, document: Any) -> bytes:
    raw = msgspec.Raw(msgspec.msgpack.encode(document))
    return msgspec.msgpack.encode(_Stored(generation, digest, raw))


def _desired(document: Any) -> Desired:
    try:
        return Desired.from_document(document)
    except (KeyError, TypeError, AttributeError) as error:
        raise PatchMismatch(f"this is no desired document: {type(error).__name__} {error}") from error
