"""Keys of simulated minions: made in memory, and kept in one file where a swarm is to be the same at its next start.

A file for each of ten thousand keys, written durably, takes a minute; `wire.keys` does that for real minions. The file
`swarm.keys` has a line `ID PUBLIC SECRET` for each, mode 0600.
"""

from __future__ import annotations

import os
import stat
from collections.abc import Sequence
from pathlib import Path

import zmq

from minion.swarm.member import MemberIdentity
from wire.errors import BadKey
from wire.keys import KeyPair, valid_minion_id

FILE_NAME = "swarm.keys"


def identities(ids: Sequence[str], folder: Path | None) -> list[MemberIdentity]:
    """The members with these ids. BadKey when the file of keys cannot be used.

    Args:
        ids: of the members.
        folder: that keeps their keys; None: they have new ones.
    """
    kept = {} if folder is None else _load(folder / FILE_NAME)
    members = [MemberIdentity(id=each, keys=kept.get(each) or _new_pair()) for each in ids]
    if folder is not None and any(each.id not in kept for each in members):
        _keep(folder, {**kept, **{each.id: each.keys for each in members}})
    return members


def numbered(prefix: str, count: int) -> list[str]:
    """Ids of so many members: `PREFIX1`, `PREFIX2`, ..., with zeros before so that they sort. BadKey for a prefix
    that makes no ids."""
    width = len(str(count))
    ids = [f"{prefix}{number:0{width}}" for number in range(1, count + 1)]
    check_ids(ids[:1])
    return ids


def check_ids(ids: Sequence[str]) -> None:
    """BadKey for what cannot be the id of a minion, or comes twice."""
    for each in ids:
        if not valid_minion_id(each):
            raise BadKey(f"{each[:80]!r} cannot be the id of a minion: letters, digits and _ . - @ : are allowed")
    if len(set(ids)) < len(ids):
        twice = next(each for each in ids if ids.count(each) > 1)
        raise BadKey(f"the id {twice!r} comes twice")


def _new_pair() -> KeyPair:
    public, secret = (key.decode("ascii") for key in zmq.curve_keypair())
    return KeyPair(public=public, secret=secret)


def _load(path: Path) -> dict[str, KeyPair]:
    try:
        with os.fdopen(os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_CLOEXEC | os.O_NONBLOCK)) as file:
            if stat.S_IMODE(os.fstat(file.fileno()).st_mode) & 0o077:
                raise BadKey(f"{path}: others may read the secret keys; run: chmod 600 {path}")
            rows = [line.split() for line in file]
    except FileNotFoundError:
        return {}
    except (OSError, UnicodeDecodeError) as error:
        raise BadKey(f"{path}: cannot read the keys: {error}") from error
    for number, row in enumerate(rows, 1):
        if len(row) != 3 or not all(len(key) == 40 for key in row[1:]):
            raise BadKey(f"{path}, line {number}: no `ID PUBLIC SECRET`; remove the file for new keys")
    return {minion: KeyPair(public=public, secret=secret) for minion, public, secret in rows}


def _keep(folder: Path, keys: dict[str, KeyPair]) -> None:
    path, draft = folder / FILE_NAME, folder / f".{FILE_NAME}.new"
    lines = "".join(f"{minion} {pair.public} {pair.secret}\n" for minion, pair in keys.items())
    try:
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        flags = os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_NOFOLLOW | os.O_CLOEXEC
        with os.fdopen(os.open(draft, flags, 0o600), "w") as file:
            file.write(lines)
        draft.replace(path)
    except OSError as error:
        raise BadKey(f"{path}: cannot keep the keys: {error.strerror}") from error
