"""Signatures of OpenPGP, verified by the `gpg` of the machine.

Called by the states that take a signed source (`minion.states.file.sources`, `digests`). gpg reads its keys and the
data in a temporary folder of ours; it writes nothing, asks nobody and starts no agent.
Behaviour: doc/ref/modules/all/salt.modules.gpg, verify. Status lines: GnuPG's doc/DETAILS.
"""

from __future__ import annotations

import tempfile
from collections.abc import Callable, Sequence
from pathlib import Path

from highstate.records import dataclass
from minion.machine.failure import StateFailed
from minion.machine.plan import Completed

_ARMOR = (b"-----BEGIN PGP SIGNED MESSAGE-----", b"-----END PGP SIGNATURE-----")
_BAD = frozenset(("BADSIG", "ERRSIG", "EXPSIG", "EXPKEYSIG", "REVKEYSIG"))


class Unverified(StateFailed):
    """The data is not signed as it has to be."""

    def __init__(self, why: str) -> None:
        super().__init__(f"The file's signature could not be verified: {why}")


@dataclass(frozen=True, slots=True, kw_only=True)
class SignatureCheck:
    """Who has to have signed a file."""

    signatures: tuple[str, ...] = ()
    """URLs or paths of detached signatures; empty: the file itself is a signed message."""
    signed_by_any: tuple[str, ...] = ()
    """Fingerprints of keys of which one is enough."""
    signed_by_all: tuple[str, ...] = ()
    """Fingerprints of keys that all have to have signed. Without both any key of the keyring will do."""
    keyring: str = ""
    """A file of keys instead of those of the home."""
    home: str = ""
    """GnuPG's home directory; empty: that of who runs this."""


def signature_check(
    signature: bool | Sequence[str] | None,
    *,
    signed_by_any: Sequence[str],
    signed_by_all: Sequence[str],
    keyring: str | None,
    gnupghome: str | None,
    sig_backend: str,
) -> SignatureCheck | None:
    """The arguments of a state as a check; None where no signature is asked for."""
    if not signature:
        return None
    if sig_backend != "gpg":
        raise StateFailed(
            f"Cannot verify signatures because the {sig_backend} module was not loaded: only gpg is there"
        )
    return SignatureCheck(
        signatures=() if signature is True else tuple(signature),
        signed_by_any=tuple(map(_fingerprint, signed_by_any)),
        signed_by_all=tuple(map(_fingerprint, signed_by_all)),
        keyring=keyring or "",
        home=gnupghome or "",
    )


def verify(
    data: bytes, signatures: Sequence[bytes], check: SignatureCheck, query: Callable[[Sequence[str]], Completed]
) -> None:
    """Unverified, with the reason, unless `data` is signed as the check wants.

    Args:
        data: what is signed; the signed message itself where there is no detached signature.
        signatures: the detached signatures.
        check: who has to have signed.
        query: runs a program that only reads.
    """
    if not signatures:
        _refuse_unsigned_parts(data)
    good: set[str] = set()
    with tempfile.TemporaryDirectory(prefix="saltern-gpg-") as folder:
        file = Path(folder, "data")
        file.write_bytes(data)
        if not signatures:
            good |= _signers(query([*_gpg(check), "--verify", str(file)]), check)
        for number, signature in enumerate(signatures):
            detached = Path(folder, f"signature{number}")
            detached.write_bytes(signature)
            good |= _signers(query([*_gpg(check), "--verify", str(detached), str(file)]), check)
    _hold_to(check, good)


def _gpg(check: SignatureCheck) -> list[str]:
    home = ["--homedir", check.home] if check.home else []
    ring = ["--no-default-keyring", "--keyring", check.keyring] if check.keyring else []
    # Not --batch: with it gpg ends at the first signature that it cannot check.
    quiet = ["--no-tty", "--lock-never", "--no-auto-check-trustdb", "--no-auto-key-retrieve", "--trust-model", "always"]
    return ["gpg", *home, *ring, *quiet, "--status-fd", "1"]


def _signers(done: Completed, check: SignatureCheck) -> set[str]:
    """Fingerprints of the primary keys of good signatures; Unverified where, of no particular signers, one is bad."""
    if done.returncode == 127:
        raise Unverified("the program gpg is not there")
    good: set[str] = set()
    wrong: list[str] = []
    is_good = False
    for line in done.stdout.splitlines():
        mark, _, rest = line.partition(" ")
        if mark != "[GNUPG:]":
            continue
        word, *fields = rest.split()
        if word == "GOODSIG" or word in _BAD:
            is_good = word == "GOODSIG"
            wrong += [] if is_good else [rest]
        elif word == "VALIDSIG" and is_good and fields:
            good.add(fields[-1].upper())
    if not good and not wrong:
        said = done.stderr.strip().splitlines()
        raise Unverified(said[-1] if said else "there is no signature")
    if wrong and not (check.signed_by_any or check.signed_by_all):
        raise Unverified(_shown(wrong[0]))
    return good


def _shown(status: str) -> str:
    word, *fields = status.split()
    said = {
        "BADSIG": "it is wrong, of key {}",
        "ERRSIG": "key {} is not in the keyring",
        "EXPSIG": "it has expired, of key {}",
        "EXPKEYSIG": "key {} has expired",
        "REVKEYSIG": "key {} has been revoked",
    }
    return said[word].format(fields[0] if fields else "?")


def _hold_to(check: SignatureCheck, good: set[str]) -> None:
    if check.signed_by_any and not good.intersection(check.signed_by_any):
        raise Unverified("None of the public keys listed in signed_by_any provided a valid signature")
    for one in check.signed_by_all:
        if one not in good:
            raise Unverified(f"Public key {one} has not provided a valid signature, but was listed in signed_by_all")
    if not good:
        raise Unverified("no key has provided a valid signature")


def _refuse_unsigned_parts(data: bytes) -> None:
    """gpg skips what stands around a clearsigned text: nobody has signed that."""
    if _ARMOR[0] not in data:
        return
    text = data.strip()
    if not text.startswith(_ARMOR[0]) or not text.endswith(_ARMOR[1]) or any(text.count(one) > 1 for one in _ARMOR):
        raise Unverified("there is text outside of the signed message")


def _fingerprint(given: str) -> str:
    return given.replace(" ", "").upper()
