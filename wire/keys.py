"""CURVE keys: their file, their fingerprint, and which minion ids there can be.

Called by both composition roots for the own key, and by the CLI and the registry for fingerprints and ids.
Must not decide who is accepted: that is the registry's affair.

The file holds two lines, `public: KEY` and `secret: KEY`, in Z85 (rfc.zeromq.org/spec/32).
"""

from __future__ import annotations

import hashlib
import os
import re
import secrets
import stat
import struct
from dataclasses import dataclass, field
from pathlib import Path

import zmq
from zmq.utils import z85

from wire.errors import BadKey

_LONGEST_FILE = 4096
_LONGEST_ID = 253  # bytes of the longest DNS name

_MINION_ID = re.compile(r"[A-Za-z0-9_](?:[A-Za-z0-9._@:-]*[A-Za-z0-9_@:-])?")


@dataclass(frozen=True, slots=True, kw_only=True)
class KeyPair:
    """A CURVE key in Z85, forty characters each."""

    public: str
    secret: str = field(repr=False)


def load_or_create(path: Path) -> KeyPair:
    """The key in the file at `path`; a new one is written when there is none, with its folder.

    BadKey when the file is a symlink, belongs to someone else, can be read by others, or holds no key.
    """
    try:
        return _load(path)
    except FileNotFoundError:
        _create(path)
    try:
        return _load(path)
    except FileNotFoundError as error:
        raise BadKey(f"{path}: the key was removed while it was being made") from error


def new_pair() -> KeyPair:
    """A key by chance, which is written nowhere."""
    public, secret = (key.decode("ascii") for key in zmq.curve_keypair())
    return KeyPair(public=public, secret=secret)


def write_public(path: Path, public: str) -> None:
    """Write a public key to a new file, as `read_public` reads it; BadKey when that cannot be."""
    try:
        _write(path, f"public: {public}\n".encode("ascii"))
    except OSError as error:
        raise BadKey(f"{path}: cannot write the public key: {error.strerror}") from error


def read_public(text: str) -> str:
    """The public key in the text of a file: alone, or in the line `public: KEY`. BadKey when there is none."""
    lines = [line.strip() for line in text.splitlines() if line.strip() and not line.startswith("secret:")]
    for line in lines:
        if line.startswith("public:") or len(lines) == 1:
            key = line.removeprefix("public:").strip()
            check_public_key(key)
            return key
    raise BadKey("there is no line `public: KEY`")


def fingerprint(public: str) -> str:
    """SHA-256 of the public key as pairs of hex digits; BadKey when `public` is no key."""
    return hashlib.sha256(check_public_key(public)).digest().hex(":")


def check_public_key(public: str) -> bytes:
    """The 32 bytes of a public key in Z85; BadKey when it is none."""
    try:
        raw = z85.decode(public.encode("ascii")) if len(public) == 40 else b""
    except (ValueError, KeyError, struct.error) as error:
        raise BadKey(f"{public[:60]!r} is no public key: it is not Z85") from error
    if len(raw) != 32:
        raise BadKey(f"{public[:60]!r} is no public key: forty characters of Z85 are expected")
    return raw


def valid_minion_id(minion_id: str) -> bool:
    """Whether this can be the id of a minion.

    Ids become names of files and parts of tags, so they are letters, digits and `_ . - @ :` in ASCII, start with a
    letter, digit or `_`, hold no `..`, do not end with a dot, and have 253 bytes at most.
    """
    return len(minion_id) <= _LONGEST_ID and ".." not in minion_id and _MINION_ID.fullmatch(minion_id) is not None


def _load(path: Path) -> KeyPair:
    try:
        # O_NONBLOCK: a FIFO that somebody put here must not hold the process.
        handle = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_CLOEXEC | os.O_NONBLOCK)
    except FileNotFoundError:
        raise
    except OSError as error:
        hint = "it is a symlink; put the key itself there" if path.is_symlink() else error.strerror
        raise BadKey(f"{path}: cannot read the key: {hint}") from error
    with os.fdopen(handle, "rb") as file:
        _check_owner(path, os.fstat(handle))
        content = file.read(_LONGEST_FILE)
    return _parse(path, content)


def _check_owner(path: Path, status: os.stat_result) -> None:
    if not stat.S_ISREG(status.st_mode):
        raise BadKey(f"{path}: is no regular file; move it away and start again")
    if status.st_uid != os.geteuid():
        raise BadKey(f"{path}: belongs to uid {status.st_uid}, not to {os.geteuid()} that runs this; change its owner")
    if status.st_mode & 0o077:
        mode = stat.S_IMODE(status.st_mode)
        raise BadKey(f"{path}: mode {mode:04o} lets others at the secret key; run: chmod 600 {path}")


def _parse(path: Path, content: bytes) -> KeyPair:
    lines = dict(line.split(": ", 1) for line in content.decode("ascii", "replace").splitlines() if ": " in line)
    if not {"public", "secret"} <= lines.keys():
        raise BadKey(f"{path}: holds no `public: KEY` and `secret: KEY`; restore it, or remove it for a new key")
    try:
        derived = zmq.curve_public(lines["secret"].encode("ascii", "replace")).decode("ascii")
    except (zmq.ZMQError, ValueError) as error:
        raise BadKey(f"{path}: the secret key is damaged; restore it, or remove it for a new key") from error
    if derived != lines["public"]:
        raise BadKey(f"{path}: the public key is not the secret key's; restore it, or remove it for a new key")
    return KeyPair(public=derived, secret=lines["secret"])


def _create(path: Path) -> None:
    """Writes a new key; leaves a file that another process wrote in the meantime as it is."""
    public, secret = (key.decode("ascii") for key in zmq.curve_keypair())
    draft = path.with_name(f".{path.name}.{secrets.token_hex(8)}")
    try:
        path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        _check_folder(path.parent)
        _write(draft, f"public: {public}\nsecret: {secret}\n".encode("ascii"))
        try:
            os.link(draft, path, follow_symlinks=False)  # unlike a rename, never replaces what is there
        except FileExistsError:
            return
        finally:
            draft.unlink()
        _sync(path.parent)
    except OSError as error:
        raise BadKey(f"{path}: cannot write a new key: {error.strerror}") from error


def _check_folder(folder: Path) -> None:
    mode = folder.stat().st_mode
    if mode & 0o002 and not mode & stat.S_ISVTX:
        raise BadKey(f"{folder}: everyone may write here, and so replace the key; run: chmod o-w {folder}")


def _write(path: Path, content: bytes) -> None:
    handle = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC, 0o600)
    with os.fdopen(handle, "wb") as file:
        os.fchmod(handle, 0o600)
        file.write(content)
        file.flush()
        os.fsync(handle)


def _sync(folder: Path) -> None:
    handle = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)
