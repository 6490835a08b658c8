"""A new key for this minion: made here, told by the session of the old one, and taken when the controller has it.

Part of the agent. A minion has one key for all its controllers until one of them asks for another: then that one has a
key of its own, in a folder of its own where there are several. Two files of the folder say where a rotation stands, so
that a kill at any line loses no key:

    minion.key alone            there is none, or it is over
    minion.key.next beside it   the controller may have the new key: while it accepts the old one that is used, and when
                                it does not, the new one is tried. Accepted, it becomes `minion.key` by a rename.
"""

from __future__ import annotations

import logging
import os
from collections.abc import Callable
from pathlib import Path

from wire.errors import BadKey
from wire.keys import KeyPair, fingerprint, load_or_create
from wire.messages import KeyState, NewKey

log = logging.getLogger(__name__)


class KeyRotation:
    """The two files, and which of them is used.

    Args:
        folder: holds them.
        pki_dir: has the key that is used where the folder has none. Both may be one.
        use: connects again with a key.
    """

    def __init__(self, folder: Path, pki_dir: Path, use: Callable[[KeyPair], None]) -> None:
        self._key, self._next = folder / "minion.key", folder / "minion.key.next"
        self._shared = pki_dir / "minion.key"
        self._use = use
        self._trying = False

    def begin(self) -> KeyPair:
        """The key to begin with. Raises BadKey."""
        self._trying = False
        return load_or_create(self._key if self._key.exists() else self._shared)

    def new_key(self) -> NewKey | None:
        """Make the next key, or take that of a rotation which did not come to its end; None when it cannot be kept."""
        try:
            return NewKey(public=load_or_create(self._next).public)
        except BadKey as error:
            log.error("event=new_key_not_made error=%s", error)
            return None

    def takes(self, message: KeyState) -> bool:
        """Take what the controller says of the key of this connection; True when another key is tried because of it."""
        if message.state == "accepted":
            if self._trying:
                self._finish()
            return False
        if self._trying:
            # The controller never had it: the old one is still ours.
            log.warning("event=new_key_not_accepted state=%s do=%s", message.state, "rotate the key again")
            self._trying = False
            self._next.unlink(missing_ok=True)
            self._use(self.begin())
            return True
        if not self._next.exists():
            return False
        try:
            keys = load_or_create(self._next)
        except BadKey as error:
            log.error("event=new_key_not_read error=%s", error)
            return False
        self._trying = True
        self._use(keys)
        return True

    def _finish(self) -> None:
        self._trying = False
        self._next.replace(self._key)
        folder = os.open(self._key.parent, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
        try:
            os.fsync(folder)
        finally:
            os.close(folder)
        log.warning("event=key_rotated fingerprint=%s", fingerprint(load_or_create(self._key).public))
