"""Triggers that a run left for the next one: watchers and listeners that have not yet acted on a change.

    cachedir/triggers    a JSON list of chunk keys

The file is written only when it changes, under a lock of its own, since runs may go on beside each other. A damaged
one counts as empty. Read and written by runs of states; the agent tells the controller of it.
"""

from __future__ import annotations

import json
import logging
import os
from collections.abc import Collection, Mapping
from pathlib import Path

from highstate.run.triggers import listener_key
from highstate.types import Chunk
from minion.machine.durable_files import write_durably
from minion.machine.file_locks import take_lock

log = logging.getLogger(__name__)

FILE_NAME = "triggers"


class TriggerFile:
    """`highstate.run.Triggers` on disk."""

    def __init__(self, cachedir: Path, *, whole: Collection[str] | None = None) -> None:
        """`whole`: keys of all chunks that this minion has; triggers of others are forgotten."""
        self._path = cachedir / FILE_NAME
        self._whole = whole

    def pending_triggers(self) -> frozenset[str]:
        """What is remembered."""
        try:
            keys = json.loads(self._path.read_bytes())
        except (OSError, ValueError):
            return frozenset()
        return frozenset(key for key in keys if isinstance(key, str)) if isinstance(keys, list) else frozenset()

    def forget_others(self, chunks: Mapping[str, Chunk]) -> bool:
        """Forget triggers of states that the minion no longer has; whether there were any.

        `chunks`: all that it has, by key.
        """
        known = self.pending_triggers()
        gone = known - chunks.keys()
        if gone:
            gone -= {listener_key(chunk) for chunk in chunks.values()}
        if gone:
            self.settle(frozenset(), gone)
        return bool(gone)

    def settle(self, more: frozenset[str], less: frozenset[str]) -> None:
        """Remember more of them, and less; what other runs have settled meanwhile stays."""
        if self._left(self.pending_triggers(), more, less) == self.pending_triggers():
            return
        try:
            lock = take_lock(self._path.with_name(f"{FILE_NAME}.lock"), wait=True)
            try:
                left = self._left(self.pending_triggers(), more, less)
                write_durably(self._path, json.dumps(sorted(left)).encode())
            finally:
                if lock is not None:
                    os.close(lock)
        except OSError as error:
            log.error("event=triggers_not_stored error=%s", error)

    def _left(self, pending_triggers: frozenset[str], more: frozenset[str], less: frozenset[str]) -> frozenset[str]:
        left = (pending_triggers - less) | more
        if self._whole is None:
            return left
        return frozenset(key for key in left if key in self._whole or "_|-listener_" in key)
