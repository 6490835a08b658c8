"""A keychain of GnuPG: what is in it, and what is imported, fetched, trusted and deleted.

Called by the states and the execution module `gpg`. A look leaves the folder as it was: gpg makes a keyring and a trust
database wherever it finds none, so that it is not asked of what is not there.
"""

from __future__ import annotations

import os
import posixpath
import pwd
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any, NamedTuple

from minion.machine.failure import StateFailed
from minion.machine.plan import Completed, Machine, Reader
from minion.providers.gnupg.listing import Key, keys_in, plain_id, statuses

KEYSERVER = "keys.openpgp.org"
LEVELS: Mapping[str, tuple[str, str, str]] = {
    "expired": ("1", "e", "Expired"),
    "unknown": ("2", "q", "Unknown"),
    "not_trusted": ("3", "n", "Not Trusted"),
    "marginally": ("4", "m", "Marginally"),
    "fully": ("5", "f", "Fully Trusted"),
    "ultimately": ("6", "u", "Ultimately Trusted"),
}
"""Levels of trust in an owner -> the number, the letter, Salt's words."""
_MISSING = 127
_SERVER_SECONDS = 120.0
_RECEIVED = {
    "0": "Key {} already exists in keychain",
    "1": "Key {} added to keychain",
    "2": "Key {} updated: new user IDs",
    "4": "Key {} updated: new signatures",
    "8": "Key {} updated: new subkeys",
    "16": "Key {} contains a private key",
}


class KeychainOptions(NamedTuple):
    """Whose keychain, and where."""

    user: str | None = None
    """None: who runs the minion; `salt`: the minion's own, in `gpgkeys` of its configuration."""
    gnupghome: str | None = None
    keyring: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Keychain:
    """A keychain."""

    home: str
    keyring: str | None
    runas: str | None
    """Who runs gpg; None: who runs the minion."""

    def keys(self, machine: Reader, *, secret: bool = False) -> list[Key]:
        """Its keys."""
        if not self._is_there(machine):
            return []
        words = ["--with-colons", "--with-keygrip", "--with-fingerprint", "--with-fingerprint"]
        words += ["--no-auto-check-trustdb", "--lock-never"]
        if machine.stat(posixpath.join(self.home, "trustdb.gpg")) is None:
            words += ["--trust-model", "always"]
        words.append("--list-secret-keys" if secret else "--list-keys")
        return keys_in(checked(self.query(machine, words)).stdout)

    def key(self, machine: Reader, name: str) -> Key | None:
        """The key of this id or fingerprint."""
        return next((one for one in self.keys(machine) if one.is_named(name)), None)

    def has_secret(self, machine: Reader, key: Key) -> bool:
        """Whether the secret part of a key is here; no agent is started for it."""
        folder = posixpath.join(self.home, "private-keys-v1.d")
        return any(
            one.grip and machine.stat(posixpath.join(folder, f"{one.grip}.key")) is not None
            for one in (key, *key.subkeys)
        )

    def _is_there(self, machine: Reader) -> bool:
        if machine.stat(self.home) is None:
            return False
        files = [self.keyring] if self.keyring else [f"{self.home}/pubring.kbx", f"{self.home}/pubring.gpg"]
        return any(machine.stat(one) is not None for one in files)

    def words(self, words: Sequence[str]) -> list[str]:
        """A command of gpg for this keychain."""
        ring = ["--no-default-keyring", "--keyring", self.keyring] if self.keyring else []
        return ["gpg", "--batch", "--no-tty", "--homedir", self.home, *ring, *words]

    def query(self, machine: Reader, words: Sequence[str], stdin: str | None = None) -> Completed:
        """What a command that only looks prints."""
        argv = self.words(words)
        if self.runas:
            argv = ["runuser", "-u", self.runas, "--", *argv]
        return machine.query(argv, stdin=stdin)

    def run(self, machine: Machine, words: Sequence[str], stdin: str | None = None) -> Completed:
        """Run a command that changes something; the folder is made where it is not there."""
        self.make_home(machine)
        return machine.run(self.words(words), runas=self.runas, stdin=stdin, timeout=_SERVER_SECONDS)

    def make_home(self, machine: Machine) -> None:
        """Make the folder, for its owner alone."""
        if machine.stat(self.home) is None:
            machine.mkdir(self.home, parents=True, mode="0700")
            if self.runas:
                account = pwd.getpwnam(self.runas)
                machine.chown(self.home, account.pw_uid, account.pw_gid)

    @contextmanager
    def aside(self, machine: Machine) -> Iterator[Keychain]:
        """An empty keychain, which is removed afterwards."""
        made = checked(machine.run(["mktemp", "-d"], runas=self.runas)).stdout.strip()
        try:
            yield Keychain(home=made, keyring=None, runas=self.runas)
        finally:
            machine.run(["gpgconf", "--homedir", made, "--kill", "all"], runas=self.runas)
            machine.remove(made)

    def receive(self, machine: Machine, names: Sequence[str], keyserver: str | None) -> tuple[bool, list[str]]:
        """Fetch keys from a server; whether that went well, and what came of each."""
        asked = ["--status-fd", "1", "--keyserver", keyserver or KEYSERVER, "--recv-keys", *map(checked_id, names)]
        done = self.run(machine, asked)
        said = [
            _RECEIVED.get(words[1], "Key {} updated").format(words[2])
            for words in statuses(done.stdout)
            if words[0] == "IMPORT_OK" and len(words) > 2
        ]
        if done.returncode or not said:
            return False, [*said, f"GPG reported failure: {complaint(done)}"]
        return True, said

    def receive_from(self, machine: Machine, data: bytes, name: str) -> bool:
        """Take the public key of this name, and no other, out of a file's content; whether it has one."""
        with self.aside(machine) as aside:
            file = posixpath.join(aside.home, "source")
            machine.write(file, data, mode="0644")
            aside.run(machine, ["--import", file])
            if aside.key(machine, name) is None:
                return False
            exported = checked(aside.query(machine, ["--armor", "--export", checked_id(name)])).stdout
        checked(self.run(machine, ["--import"], exported))
        return True

    def trust(self, machine: Machine, fingerprint: str, level: str) -> str:
        """Set the trust in the owner of a key; what gpg says."""
        done = self.run(machine, ["--import-ownertrust"], f"{fingerprint}:{LEVELS[level][0]}:\n")
        return checked(done).stderr

    def delete(self, machine: Machine, fingerprint: str, *, secret: bool, passphrase: str | None = None) -> None:
        """Delete the public or the secret part of a key."""
        given = ["--pinentry-mode", "loopback", "--passphrase-fd", "0"] if passphrase else []
        kind = "--delete-secret-keys" if secret else "--delete-keys"
        checked(self.run(machine, [*given, "--yes", kind, fingerprint], passphrase or None))


def keychain_of(options: KeychainOptions, opts: Mapping[str, Any]) -> Keychain:
    """The keychain that options name; StateFailed for a user that is not there.

    Args:
        options: of a call.
        opts: the minion's configuration.
    """
    user, home = options.user, options.gnupghome
    if user == "salt":
        own = posixpath.join(str(opts.get("config_dir") or "/etc/saltern"), "gpgkeys")
        return Keychain(home=home or own, keyring=options.keyring, runas=None)
    try:
        account = pwd.getpwnam(user) if user else pwd.getpwuid(os.geteuid())
    except KeyError:
        raise StateFailed(f"User {user} does not exist") from None
    if not home:
        own = os.environ.get("GNUPGHOME", "") if not user else ""
        home = own or posixpath.join(account.pw_dir, ".gnupg")
    other = account.pw_uid != os.geteuid()
    return Keychain(home=home, keyring=options.keyring, runas=account.pw_name if other else None)


def checked(done: Completed) -> Completed:
    """A command that went well; StateFailed with what it says."""
    if done.returncode:
        raise StateFailed(complaint(done))
    return done


def complaint(done: Completed) -> str:
    """What gpg says of a failure."""
    if done.returncode == _MISSING:
        return "gpg is not installed"
    if done.timed_out:
        return f"gpg did not end within {_SERVER_SECONDS:g} s"
    return (done.stderr.strip() or done.stdout.strip() or f"exit code {done.returncode}")[-4000:]


def checked_id(name: str) -> str:
    """An id or fingerprint for the command line; StateFailed for what is none."""
    found = plain_id(name)
    if len(found) not in (8, 16, 32, 40, 64) or not all(one in "0123456789ABCDEF" for one in found):
        raise StateFailed(f"{str(name)[:80]!r} is no id of a key: give 8, 16 or 40 hexadecimal digits")
    return found
