"""`Decrypt` by GnuPG: the private keys in a folder of the controller's (`gpg_keydir`).

Plain texts are kept in memory for as long as that process lives, because the same
message is met for each minion; they are never written anywhere.
"""

from __future__ import annotations

from pathlib import Path

from highstate.ports import DecryptFailed

_KEPT = 4096


class Keyring:
    """The keys in `folder`, which nobody but the controller's user may read."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._known: dict[str, str] = {}

    def decrypt(self, ciphertext: str) -> str:
        """The plain text of an armored message; DecryptFailed without its key, or without GnuPG."""
        if ciphertext not in self._known:
            if len(self._known) >= _KEPT:
                self._known.clear()
            self._known[ciphertext] = self._ask(ciphertext)
        return self._known[ciphertext]

    def _ask(self, ciphertext: str) -> str:
        import gnupg  # type: ignore[import-untyped]  # it has no type hints; loaded for trees that use it

        if not self._folder.is_dir():
            # Previews show this to those who may write a branch: where the folder is, is not for them.
            raise DecryptFailed("the controller has no folder of keys: make the one that the option gpg_keydir names")
        try:
            gpg = gnupg.GPG(gnupghome=str(self._folder), options=["--no-tty", "--pinentry-mode", "error"])
        except OSError as error:
            raise DecryptFailed("GnuPG is not installed here") from error
        gpg.encoding = "utf-8"
        answer = gpg.decrypt(ciphertext, always_trust=True)
        if not answer.ok:
            raise DecryptFailed(answer.status or "GnuPG gave no reason")
        try:
            return bytes(answer.data).decode()
        except UnicodeDecodeError as error:
            raise DecryptFailed("what it says is no UTF-8 text") from error
