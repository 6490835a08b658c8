"""Passwords and their hashes, through the system's own crypt(3), so that every method that it knows is known here.

Called by the user state. A password is in memory alone: it reaches no command line and no file.
"""

from __future__ import annotations

import ctypes
import secrets
import threading

from minion.machine.failure import StateFailed

_LIBRARIES = ("libcrypt.so.1", "libcrypt.so.2", "libcrypt.so")
_ALPHABET = "./0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz"
_SALT_LENGTH = 16
_LOCK = threading.Lock()


def matches(password: str, hashed: str) -> bool:
    """Whether this hash is one of this password."""
    return "$" in hashed and secrets.compare_digest(_crypt(password, hashed).encode(), hashed.encode())


def hash_of(password: str) -> str:
    """A new hash, by SHA-512 as Salt makes it, with a salt of its own."""
    salt = "".join(secrets.choice(_ALPHABET) for _ in range(_SALT_LENGTH))
    made = _crypt(password, f"$6${salt}$")
    if not made.startswith("$6$"):
        raise StateFailed("The system's crypt(3) cannot make a SHA-512 hash")
    return made


def _crypt(password: str, setting: str) -> str:
    """Empty when the library does not know the method."""
    library = _library()
    library.crypt.restype = ctypes.c_char_p
    library.crypt.argtypes = [ctypes.c_char_p, ctypes.c_char_p]
    with _LOCK:  # the answer stands in one place for all threads
        answer = library.crypt(password.encode(), setting.encode())
    return answer.decode(errors="replace") if answer else ""


def _library() -> ctypes.CDLL:
    for name in _LIBRARIES:
        try:
            return ctypes.CDLL(name)
        except OSError:
            continue
    raise StateFailed("hash_password needs libcrypt, which is not here: put the hash itself into 'password'")
