"""The state module `ssh_known_hosts`: keys of hosts that ssh trusts.

Behaviour: doc/ref/states/all/salt.states.ssh_known_hosts. A key is given, or asked of the host and held against a
fingerprint; a key without a fingerprint to compare is refused, where Salt trusts the host that answers.
"""

from __future__ import annotations

import base64
import binascii
import hashlib
import posixpath
from collections.abc import Mapping

from minion.arguments.types import Seconds, ToCome
from minion.machine.failure import StateFailed
from minion.machine.plan import NULL, Change, Machine, Plan, Reader, StateFunction

SYSTEM = "/etc/ssh/ssh_known_hosts"


def present(
    machine: Reader,
    name: str,
    *,
    user: str | None = None,
    fingerprint: str | None = None,
    key: str | None = None,
    port: int | None = None,
    enc: str | None = None,
    config: str | None = None,
    hash_known_hosts: bool = True,
    timeout: Seconds = 5,
    fingerprint_hash_type: str = "sha256",
) -> Plan:
    """ssh of `user`, or of everybody, knows the host by this key, its name hashed unless `hash_known_hosts` is false.

    Names that stand readable in the file are hashed as well when it is written, as `ssh-keygen -H` does.
    """
    path = known_hosts_path(machine, user, config)
    kind = enc or "ssh-ed25519"
    host = known_name(name, port)
    if key is not None:
        wanted = key.split()[-1]
    elif fingerprint is not None:
        have = [one for _, one in known_keys(machine, path, host) if _fits(one, fingerprint, fingerprint_hash_type)]
        wanted = have[0] if have else _scanned(machine, name, port, kind, fingerprint, fingerprint_hash_type, timeout)
    else:
        raise StateFailed("Either 'fingerprint' or 'key' is needed: a host that answers is not yet the right one")
    lines = _lines(machine, path)
    known = known_keys(machine, path, host)
    if (kind, wanted) in known or (enc is None and wanted in [one for _, one in known]):
        return Plan(comment=f"{name} already exists in {path}")
    kept = [line for line in lines if not (_names(line, host) and line.split()[1:2] == [kind])]
    written = [*kept, f"{host} {kind} {wanted}"]
    text = "".join(f"{line}\n" for one in written for line in (_hashed(one) if hash_known_hosts else [one]))
    old = [
        {"hostname": name, "enc": one, "key": value, "fingerprint": _fingerprint(value)}
        for one, value in known
        if one == kind
    ]
    new = [{"hostname": name, "enc": kind, "key": wanted}]
    return Plan(
        changes=(
            Change(key="old", reported=old or NULL, act=_nothing),
            Change(key="new", reported=new, act=lambda machine: _write(machine, path, text, user)),
        ),
        pending=f"Key for {name} is set to be {'updated in' if old else 'added to'} {path}",
        done=f"{name}'s key saved to {path} (key: {wanted})",
    )


def absent(
    machine: Reader,
    name: str,
    *,
    user: str | None = None,
    port: int | None = None,
    config: str | None = None,
    to_come: ToCome = frozenset(),
) -> Plan:
    """ssh does not know the host. A user that an earlier state of a test run would make knows none."""
    if ("user", user) in to_come and machine.query(["getent", "passwd", str(user)]).returncode != 0:
        return Plan(comment="Host is already absent")
    path, host = known_hosts_path(machine, user, config), known_name(name, port)
    known = known_keys(machine, path, host)
    if not known:
        return Plan(comment="Host is already absent")
    text = "".join(f"{line}\n" for line in _lines(machine, path) if not _names(line, host))
    old = [{"hostname": name, "enc": kind, "key": key, "fingerprint": _fingerprint(key)} for kind, key in known]
    return Plan(
        changes=(
            Change(key="old", reported=old, act=_nothing),
            Change(key="new", reported=NULL, act=lambda machine: _write(machine, path, text, user)),
        ),
        pending=f"Key for {name} is set to be removed from {path}",
        done=f"{name} removed from {path}",
    )


def known_hosts_path(machine: Reader, user: str | None, config: str | None) -> str:
    """The file of a user, or of the system; StateFailed when a symlink stands in its way."""
    if user is None:
        if config and not posixpath.isabs(config):
            raise StateFailed('If not specifying a "user", specify an absolute path as "config"')
        return config or SYSTEM
    asked = machine.query(["getent", "passwd", user])
    fields = asked.stdout.strip().split(":")
    if asked.returncode != 0 or len(fields) < 6:
        raise StateFailed(f"User {user} does not exist")
    path = posixpath.normpath(posixpath.join(fields[5], config or ".ssh/known_hosts"))
    for place in (posixpath.dirname(path), path):
        found = machine.stat(place)
        if found is not None and found.kind == "symlink":
            raise StateFailed(f"{place} is a symlink to {found.target}: keys are not written through it")
    return path


def known_name(name: str, port: int | str | None) -> str:
    """The host as the file names it, with its port where that is another."""
    if not name or any(c.isspace() or c in ",|" for c in name):
        raise StateFailed(f"{name!r} is no name of a host")
    return name if port in (None, 22, "22") else f"[{name}]:{port}"


def _lines(machine: Reader, path: str) -> list[str]:
    return machine.read(path).decode("utf-8", "surrogateescape").splitlines() if machine.stat(path) else []


def known_keys(machine: Reader, path: str, host: str) -> list[tuple[str, str]]:
    """Kind and key of each line about the host."""
    found = (line.split() for line in _lines(machine, path) if _names(line, host))
    return [(words[1], words[2]) for words in found if len(words) >= 3]


def _hashed(line: str) -> list[str]:
    """The line once for each of its names, hashed; one with patterns, or with none to hash, stays as it is."""
    import hmac
    import secrets

    names, _, rest = line.partition(" ")
    if not rest or names.startswith(("|", "#", "@")) or any(sign in names for sign in "*?!"):
        return [line]
    lines = []
    for name in names.split(","):
        salt = secrets.token_bytes(hashlib.sha1(usedforsecurity=False).digest_size)
        parts = (salt, hmac.new(salt, name.encode(), hashlib.sha1).digest())
        lines.append("|".join(["", "1", *(base64.b64encode(part).decode() for part in parts)]) + f" {rest}")
    return lines


def _names(line: str, host: str) -> bool:
    """Whether a line is about the host, by name or by the hash of its name (sshd(8), known_hosts)."""
    names = line.split(" ", 1)[0]
    if names.startswith("|1|"):
        import hmac

        try:
            salt, digest = (base64.b64decode(part) for part in names.split("|")[2:4])
        except (binascii.Error, ValueError):
            return False
        return hmac.new(salt, host.encode(), hashlib.sha1).digest() == digest
    return host in names.split(",")


def _fingerprint(key: str) -> str:
    """Pairs of hexadecimal digits, as Salt shows it."""
    try:
        digest = hashlib.sha256(base64.b64decode(key)).hexdigest()
    except binascii.Error:
        return ""
    return ":".join(digest[at : at + 2] for at in range(0, len(digest), 2))


def _fits(key: str, fingerprint: str, kind: str) -> bool:
    try:
        data = base64.b64decode(key)
    except binascii.Error:
        return False
    if kind not in ("md5", "sha256", "sha1"):
        raise StateFailed(f"fingerprint_hash_type {kind} is not known: it can be sha256, md5 or sha1")
    digest = hashlib.new(kind, data, usedforsecurity=False).digest()
    wanted = fingerprint.removeprefix("SHA256:").removeprefix("MD5:")
    plain = wanted.replace(":", "").lower()
    return plain == digest.hex() or wanted.rstrip("=") == base64.b64encode(digest).decode().rstrip("=")


def _scanned(
    machine: Reader, name: str, port: int | None, kind: str, fingerprint: str, hash_type: str, timeout: float
) -> str:
    bare = kind.removeprefix("ssh-").split("-")[0]
    argv = ["ssh-keyscan", "-T", str(timeout), "-t", bare, "-p", str(port or 22), "--", name]
    asked = machine.query([word for word in argv if word != "--"])
    keys = [line.split()[2] for line in asked.stdout.splitlines() if len(line.split()) >= 3 and line[:1] != "#"]
    if not keys:
        raise StateFailed(f"Unable to receive remote host keys of {name}: {asked.stderr.strip()}")
    fitting = [one for one in keys if _fits(one, fingerprint, hash_type)]
    if not fitting:
        raise StateFailed(f"Remote host public keys of {name} found but none of their fingerprints match {fingerprint}")
    return fitting[0]


def _write(machine: Machine, path: str, text: str, user: str | None) -> None:
    folder = posixpath.dirname(path)
    is_new, is_new_folder = machine.stat(path) is None, machine.stat(folder) is None
    if is_new_folder:
        machine.mkdir(folder, parents=user is None, mode="0755" if user is None else "0700")
    private = "0600" if is_new and user is not None else None
    machine.write(path, text.encode("utf-8", "surrogateescape"), mode=private)
    for place, fresh in ((folder, is_new_folder), (path, is_new)):
        if fresh and user is not None:
            machine.chown(place, user, machine.query(["id", "-g", user]).stdout.strip() or None)


def _nothing(machine: Machine) -> None:
    """Done by its neighbour."""


STATES: Mapping[str, StateFunction] = {"absent": absent, "present": present}
