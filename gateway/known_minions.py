"""Minions that were accepted here: which key each has, and by which one the controller knows it. A folder each.

A key by which the controller knows a minion is made of the gateway's own key, the id and the minion's key
(`OwnKey.minion_keys`), until the controller asks for another: so a key that waits, or was rejected, needs no file.

Files of a folder: `minion.json` has the id and the minion's key; `minion.key` the key for the controller, and
`minion.key.next` the one that takes its place (`minion.agent.controllers.key_rotation`).
"""

from __future__ import annotations

import hashlib
import json
import logging
import shutil
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from gateway.protocol.rsa_keys import MinionKey
from minion.machine.durable_files import write_durably
from wire.errors import BadKey
from wire.keys import KeyPair, load_or_create

log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True, kw_only=True)
class KnownMinion:
    """A minion and its keys."""

    id: str
    key: MinionKey
    wire_keys: KeyPair
    folder: Path
    """Of its keys, where it is kept."""


class KnownStockMinions:
    """The folders.

    Args:
        folder: of these.
    """

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)

    def all(self) -> Iterator[KnownMinion]:
        """Those that were kept."""
        for path in sorted(self._folder.glob("*/minion.json")):
            try:
                found = json.loads(path.read_bytes())
                keys = load_or_create(path.parent / "minion.key")
                yield self.new(found["id"], MinionKey(found["pub"]), keys)
            except (OSError, ValueError, KeyError, TypeError, BadKey) as error:
                log.error("event=known_minion_unreadable path=%s error=%s", path, error)

    def new(self, minion_id: str, key: MinionKey, wire_keys: KeyPair) -> KnownMinion:
        """A minion that is not kept yet."""
        name = hashlib.sha256(minion_id.encode()).hexdigest()[:32]
        return KnownMinion(id=minion_id, key=key, wire_keys=wire_keys, folder=self._folder / name)

    def keep(self, minion: KnownMinion) -> None:
        """Know it from now on."""
        minion.folder.mkdir(mode=0o700, exist_ok=True)
        keys = minion.wire_keys
        write_durably(minion.folder / "minion.key", f"public: {keys.public}\nsecret: {keys.secret}\n".encode("ascii"))
        kept = {"id": minion.id, "pub": minion.key.pem}
        write_durably(minion.folder / "minion.json", json.dumps(kept).encode())

    def forget(self, minion: KnownMinion) -> None:
        """Know it no more."""
        shutil.rmtree(minion.folder, ignore_errors=True)
