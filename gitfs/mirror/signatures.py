"""Who signed a commit or tag: GPG by gpg, SSH by `ssh-keygen -Y verify`, both with given keys alone.

Called by `gitfs.mirror.ref_updates`. Runs these two programs on temporary files, never on names that came out of a
repository, with no home, no agent and no keys but those of the policy. Follows gitformat-signature(5).
"""

from __future__ import annotations

import os
import re
import subprocess
import tempfile
from collections.abc import Sequence
from pathlib import Path

import pygit2

from gitfs.config.live_policy import LivePolicy, Signer

_SSH = b"-----BEGIN SSH SIGNATURE-----"
_PGP = b"-----BEGIN PGP SIGNATURE-----"
_PATIENCE = 20
"""Seconds that a check may take."""
_FINGERPRINT = re.compile(r"SHA256:[A-Za-z0-9+/]{43}")


def signer_of(repository: pygit2.Repository, oid: str, policy: LivePolicy) -> tuple[Signer | None, str]:
    """(who signed the annotated tag or else its commit, empty) or (None, why no signature is valid)."""
    found = repository[oid]
    if isinstance(found, pygit2.Tag):
        payload, signature = _of_tag(found.read_raw())
        if signature:
            return _check(payload, signature, policy)
    signature_of, payload_of = found.peel(pygit2.Commit).gpg_signature
    if not signature_of or payload_of is None:
        return None, "it is not signed"
    return _check(payload_of, signature_of, policy)


def _of_tag(raw: bytes) -> tuple[bytes, bytes]:
    """A tag's signature is at the end of its message."""
    starts = [where for mark in (_SSH, _PGP) if (where := raw.find(b"\n" + mark)) >= 0]
    if not starts:
        return raw, b""
    return raw[: min(starts) + 1], raw[min(starts) + 1 :]


def _check(payload: bytes, signature: bytes, policy: LivePolicy) -> tuple[Signer | None, str]:
    with tempfile.TemporaryDirectory(prefix="saltern-signature-") as folder:
        home = Path(folder)
        if signature.lstrip().startswith(_SSH):
            return _check_ssh(home, payload, signature, policy.allowed_signers)
        if signature.lstrip().startswith(_PGP):
            return _check_gpg(home, payload, signature, policy.gpg_keyring)
    return None, "its signature is of a kind that is not known here"


def _check_ssh(home: Path, payload: bytes, signature: bytes, allowed: str) -> tuple[Signer | None, str]:
    if not allowed:
        return None, "it is signed with SSH, and `allowed_signers` is not set"
    file = home / "signature"
    file.write_bytes(signature)
    found = _run(home, ["ssh-keygen", "-Y", "find-principals", "-f", allowed, "-s", str(file)])
    if found is None or found.returncode:
        return None, f"its key is not in {allowed}, or not valid there today"
    principals = [line for line in found.stdout.decode(errors="replace").splitlines() if line]
    for principal in principals:
        command = ["ssh-keygen", "-Y", "verify", "-f", allowed, "-n", "git", "-s", str(file), "-I", principal]
        done = _run(home, command, payload)
        if done is not None and done.returncode == 0:
            return Signer(names=(principal, *_FINGERPRINT.findall(done.stdout.decode(errors="replace")))), ""
    return None, "its signature does not fit what is signed"


def _check_gpg(home: Path, payload: bytes, signature: bytes, keyring: str) -> tuple[Signer | None, str]:
    if not keyring:
        return None, "it is signed with GPG, and `gpg_keyring` is not set"
    signed, file = home / "signed", home / "signature"
    signed.write_bytes(payload)
    file.write_bytes(signature)
    gpg = ["gpg", "--batch", "--no-tty", "--no-autostart", "--homedir", str(home), "--status-fd", "1"]
    imported = _run(home, [*gpg, "--import", "--", keyring])
    if imported is None or imported.returncode:
        return None, f"the keys in {keyring} cannot be read by gpg"
    done = _run(home, [*gpg, "--trust-model", "always", "--verify", "--", str(file), str(signed)])
    status = [] if done is None else [line.split() for line in done.stdout.decode(errors="replace").splitlines()]
    return _gpg_signer([line[1:] for line in status if line[:1] == ["[GNUPG:]"]], keyring)


def _gpg_signer(status: Sequence[Sequence[str]], keyring: str) -> tuple[Signer | None, str]:
    """From gpg's status lines (its doc/DETAILS): VALIDSIG ends with the fingerprint of the primary key."""
    words = {line[0]: line for line in status if line}
    for bad, why in (("EXPKEYSIG", "its key has expired"), ("REVKEYSIG", "its key was revoked")):
        if bad in words:
            return None, why
    if "GOODSIG" in words and "VALIDSIG" in words:
        valid = words["VALIDSIG"]
        mail = re.findall(r"<([^<>]+)>", " ".join(words["GOODSIG"][2:]))
        names = (*mail[-1:], valid[-1], valid[1], valid[-1][-16:])
        return Signer(names=tuple(dict.fromkeys(names))), ""
    if "NO_PUBKEY" in words:
        return None, f"its key {words['NO_PUBKEY'][1]} is not in {keyring}"
    return None, "its signature does not fit what is signed"


def _run(home: Path, command: Sequence[str], given: bytes = b"") -> subprocess.CompletedProcess[bytes] | None:
    """A finished process, None where it does not exist or does not end."""
    environment = {"PATH": os.environ.get("PATH", os.defpath), "HOME": str(home), "LC_ALL": "C"}
    try:
        return subprocess.run(
            command, input=given, env=environment, capture_output=True, timeout=_PATIENCE, check=False
        )
    except (OSError, subprocess.TimeoutExpired):
        return None
