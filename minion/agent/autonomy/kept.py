"""What a minion keeps on disk of its autonomy: the rules that its controller gave it, and how its remediations went.

Written by the agent when one of them changes. A file that cannot be read is as none: nothing is done by itself.
"""

from __future__ import annotations

import contextlib
import logging
from pathlib import Path
from typing import Any

import msgspec

from minion.agent.autonomy.known_time import KnownTime
from minion.machine.durable_files import write_durably
from reactors.remediation import AutonomyRules

log = logging.getLogger(__name__)

FILE_NAME = "autonomy"

MOST_ACTING = 256
"""States that are remembered as acting each time."""


class Kept(msgspec.Struct, frozen=True, kw_only=True):
    """The content of the file. Counts are in a row; when the last was is not kept, as clocks begin anew."""

    digest: str = ""
    """Of the rules; empty: there are none."""
    rules: AutonomyRules | None = None
    failures: int = 0
    """Remediations that failed."""
    failed: str = ""
    """Digest of their document."""
    remediations: int = 0
    """Of what whole checks have found."""
    touched: int = 0
    """Of what checks of touched states have found."""
    acting: tuple[str, ...] = ()
    """Keys of states that would have changed something again after each remediation."""
    known: KnownTime = KnownTime()
    """The latest time that is known to have come."""


class KeptFile:
    """The file in the minion's cache."""

    def __init__(self, cachedir: Path) -> None:
        self._path = cachedir / FILE_NAME
        self.kept = Kept()
        self._written = True
        try:
            self.kept = msgspec.msgpack.decode(self._path.read_bytes(), type=Kept)
        except FileNotFoundError:
            pass
        except (OSError, msgspec.MsgspecError) as error:
            log.warning("event=autonomy_unreadable path=%s treated_as=none error=%s", self._path, error)

    def change(self, **fields: Any) -> None:
        """Keep these. What cannot be written holds as long as the agent lives; the next agent has no rules then."""
        changed = msgspec.structs.replace(self.kept, **fields)
        if changed == self.kept and self._written:
            return
        self.kept = changed
        try:
            write_durably(self._path, msgspec.msgpack.encode(changed))
            self._written = True
        except OSError as error:
            self._written = False
            log.error("event=autonomy_not_stored path=%s error=%s", self._path, error)
            with contextlib.suppress(OSError):
                self._path.unlink(missing_ok=True)  # older rules may allow what these do not
