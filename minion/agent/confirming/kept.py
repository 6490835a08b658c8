"""What a minion keeps on disk of what somebody has to confirm: the rules, what waits, the time that is left, and the
document to go back to.

Written by the agent when one of them changes. A file that cannot be read is as none: the controller tells it again.
"""

from __future__ import annotations

import contextlib
import logging
from pathlib import Path
from typing import Any

import msgspec

from minion.agent.autonomy.known_time import KnownTime
from minion.machine.durable_files import write_durably
from minion.spool.confirmed import FOLDER
from reactors.confirmation import ConfirmRules

log = logging.getLogger(__name__)

FILE_NAME = "confirming"


class Mark(msgspec.Struct, frozen=True, kw_only=True):
    """A moment by both clocks of the machine, in seconds."""

    wall: float = 0.0
    """Since the epoch."""
    steady: float = 0.0
    """By the clock of the kernel, which nobody sets."""
    boot: str = ""
    """Which start of the machine that counts from."""


def passed(since: Mark, now: Mark) -> float:
    """Seconds between two moments. After a restart of the machine its own clock tells, unless that was set back."""
    if since.boot == now.boot and now.steady >= since.steady:
        return now.steady - since.steady
    return max(0.0, now.wall - since.wall)


class KeptWait(msgspec.Struct, frozen=True, kw_only=True):
    """The content of the file."""

    digest: str = ""
    """Of the rules; empty: there are none."""
    rules: ConfirmRules | None = None
    waiting: str = ""
    """Digest of the document that nobody has confirmed; empty: there is none."""
    fresh: bool = False
    """Whether nothing waited before its run: where that changes nothing, nothing has to be confirmed."""
    begun: bool = False
    """Whether its run had not ended yet when this was written."""
    left: float = 0.0
    """Seconds that were left at `since`."""
    since: Mark = Mark()
    failures: int = 0
    """Runs by which it tried to go back, and that ended badly, in a row."""
    known: KnownTime = KnownTime()
    """The latest time that is known to have come."""


class KeptConfirmation:
    """The files in the minion's cache."""

    def __init__(self, cachedir: Path) -> None:
        self._path, self._documents = cachedir / FILE_NAME, cachedir / FOLDER
        self.kept = KeptWait()
        try:
            self.kept = msgspec.msgpack.decode(self._path.read_bytes(), type=KeptWait)
        except FileNotFoundError:
            pass
        except (OSError, msgspec.MsgspecError) as error:
            log.warning("event=confirming_unreadable path=%s treated_as=none error=%s", self._path, error)
        if self.kept.rules is not None and not self.document_path.exists():
            self.kept = msgspec.structs.replace(self.kept, digest="", rules=None)

    @property
    def document_path(self) -> Path:
        """Of the document to go back to."""
        return self._documents / (self.kept.rules.confirmed if self.kept.rules is not None else "none")

    def keep_document(self, digest: str, packed: bytes) -> None:
        """Keep a document, beside the one before it until the rules name this one. Raises OSError."""
        self._documents.mkdir(mode=0o700, exist_ok=True)
        write_durably(self._documents / digest, packed)

    def has_document(self, digest: str) -> bool:
        """Whether it is kept."""
        return (self._documents / digest).exists()

    def change(self, **fields: Any) -> bool:
        """Keep these; False when they cannot be written. They hold as long as the agent lives then."""
        changed = msgspec.structs.replace(self.kept, **fields)
        if changed == self.kept:
            return True
        self.kept = changed
        try:
            write_durably(self._path, msgspec.msgpack.encode(changed))
        except OSError as error:
            log.error("event=confirming_not_stored path=%s error=%s", self._path, error)
            return False
        return True

    def forget_others(self) -> None:
        """Remove documents that the rules do not name."""
        with contextlib.suppress(FileNotFoundError):
            for path in self._documents.iterdir():
                if path != self.document_path:
                    path.unlink(missing_ok=True)
