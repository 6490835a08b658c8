"""Which key the controller has to prove: that of the configuration, or the one that has taken its place.

Part of the agent. The controller announces its next key by the session that its present one has authenticated
(`NextControllerKey`). It is tried when what answers does not prove the present one, and kept once it was proved. The
file `controller_key` of the controller's folder has both, for one `controller_key` of the configuration: another one
there is new.
"""

from __future__ import annotations

import logging
import os
from collections.abc import Callable
from pathlib import Path

import msgspec

from wire.errors import BadKey
from wire.keys import check_public_key, fingerprint

log = logging.getLogger(__name__)


class _Kept(msgspec.Struct, frozen=True, kw_only=True):
    configured: str
    current: str
    following: str = ""


class ControllerKeys:
    """The keys that the controller may prove.

    Args:
        folder: where they are kept.
        pki_dir: where they were kept while the minion had this controller alone.
        configured: `controller_key`.
    """

    def __init__(self, folder: Path, pki_dir: Path, configured: str) -> None:
        self._path = folder / "controller_key"
        self._kept = _Kept(configured=configured, current=configured)
        self._trying = False
        path = self._path if self._path.exists() else pki_dir / "controller_key"
        try:
            kept = msgspec.json.decode(path.read_bytes(), type=_Kept)
        except FileNotFoundError:
            return
        except (OSError, msgspec.MsgspecError) as error:
            log.error("event=controller_key_not_read path=%s error=%s", path, error)
            return
        if kept.configured == configured:
            self._kept = kept

    @property
    def known(self) -> tuple[str, ...]:
        """The present key, and the next one where it was announced."""
        return tuple(filter(None, (self._kept.current, self._kept.following)))

    def begin(self) -> str:
        """The key to begin with, and again after a while without a connection."""
        self._trying = False
        return self._kept.current

    def announced(self, public: str) -> None:
        """The controller says which key it will have next."""
        try:
            check_public_key(public)
        except BadKey as error:
            log.error("event=next_controller_key_refused error=%s", error)
            return
        if public not in (self._kept.current, self._kept.following):
            self._keep(_Kept(configured=self._kept.configured, current=self._kept.current, following=public))
            log.warning("event=next_controller_key fingerprint=%s", fingerprint(public))

    def failed(self, use: Callable[[str], None]) -> bool:
        """What answered did not prove the key that was tried: `use` the other one next, where there is one.

        False when all were tried.
        """
        if self._kept.following:
            self._trying = not self._trying
            use(self._kept.following if self._trying else self._kept.current)
        return self._trying

    def proved(self) -> None:
        """What answered has proved the key that was tried."""
        if self._trying:
            self._trying = False
            self.has_proved(self._kept.following)

    def has_proved(self, public: str) -> None:
        """The controller has proved this key: if it was the next one, it is the present one now."""
        if public and public == self._kept.following:
            self._keep(_Kept(configured=self._kept.configured, current=public))
            log.warning("event=controller_key_changed fingerprint=%s", fingerprint(public))

    def _keep(self, kept: _Kept) -> None:
        self._kept = kept
        draft = self._path.with_name(".controller_key.new")
        try:
            self._path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
            with os.fdopen(os.open(draft, os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_NOFOLLOW, 0o600), "wb") as file:
                file.write(msgspec.json.encode(kept))
                file.flush()
                os.fsync(file.fileno())
            draft.replace(self._path)
        except OSError as error:
            log.error("event=controller_key_not_kept path=%s error=%s", self._path, error)
