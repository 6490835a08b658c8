"""Functions of `gpg` for messages: signed, verified, encrypted, decrypted.

Behaviour: doc/ref/modules/all/salt.modules.gpg.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

from minion.arguments.types import Texts
from minion.execution.context import Context
from minion.execution.errors import CallFailed
from minion.machine.plan import Completed
from minion.providers.gnupg.keychain import KeychainOptions, complaint, keychain_of
from minion.providers.gnupg.listing import statuses

_MODELS = ("pgp", "classic", "tofu", "tofu+pgp", "direct", "always", "auto")
_TRUSTS = {
    "TRUST_EXPIRED": "Expired",
    "TRUST_UNDEFINED": "Undefined",
    "TRUST_NEVER": "Never",
    "TRUST_MARGINAL": "Marginal",
    "TRUST_FULLY": "Fully",
    "TRUST_ULTIMATE": "Ultimate",
}
_OUTCOMES = {
    "GOODSIG": "signature good",
    "EXPSIG": "signature expired",
    "EXPKEYSIG": "signature key expired",
    "REVKEYSIG": "signature key revoked",
    "BADSIG": "signature bad",
    "ERRSIG": "signature error",
}
"""What begins the status of a signature."""


class _Given(NamedTuple):
    """What gpg works on."""

    text: str | None
    filename: str | None
    passphrase: str | None


def passphrase_of(context: Context) -> str:
    """The passphrase of secret keys; CallFailed where the pillar has none."""
    found = context.pillar.get("gpg_passphrase")
    if not found:
        raise CallFailed("gpg_passphrase not available in pillar.")
    return str(found)


def sign(
    context: Context,
    *,
    keyid: str | None = None,
    text: str | None = None,
    filename: str | None = None,
    output: str | None = None,
    use_passphrase: bool = False,
    where: KeychainOptions,
) -> str:
    """A text or a file with a signature; with `output` a file's is written there, too."""
    words = ["--armor", *(["--local-user", keyid] if keyid else []), "--sign"]
    given = _Given(text, filename, passphrase_of(context) if use_passphrase else None)
    done = _run(context, where, words, given)
    if done.returncode:
        raise CallFailed(complaint(done))
    if output and filename:
        context.machine.write(output, done.stdout.encode())
    return done.stdout


def encrypt(
    context: Context,
    *,
    recipients: Texts = (),
    text: str | None = None,
    filename: str | None = None,
    output: str | None = None,
    sign: bool | str | None = None,
    use_passphrase: bool = False,
    always_trust: bool = False,
    bare: bool = False,
    where: KeychainOptions,
) -> Any:
    """A text or a file that these people can read; with `output` it is written there."""
    words = ["--armor", *(word for one in recipients for word in ("--recipient", one))]
    words += ["--trust-model", "always"] if always_trust else []
    words += ["--sign", *([] if sign is True else ["--local-user", str(sign)])] if sign else []
    given = _Given(text, filename, passphrase_of(context) if sign and use_passphrase else None)
    return _shown(_run(context, where, [*words, "--encrypt"], given, output), output, "Encrypted", bare)


def decrypt(
    context: Context,
    *,
    text: str | None = None,
    filename: str | None = None,
    output: str | None = None,
    use_passphrase: bool = False,
    bare: bool = False,
    where: KeychainOptions,
) -> Any:
    """What is in an encrypted text or file; with `output` a file's is written there, for its owner alone."""
    given = _Given(text, filename, passphrase_of(context) if use_passphrase else None)
    if not output or not filename:
        return _shown(_run(context, where, ["--decrypt"], given), None, "Decrypted", bare)
    chain, machine = keychain_of(where, context.opts), context.machine
    with chain.aside(machine) as aside:  # what was in the file stays there where this fails
        made = f"{aside.home}/plain"
        done = _run(context, where, ["--decrypt"], given, made)
        if not done.returncode:
            machine.copy(made, output, mode="0600")
            machine.chown(output, chain.runas, None)
    return _shown(done, output, "Decrypted", bare)


def _shown(done: Completed, output: str | None, did: str, bare: bool) -> Any:
    if done.returncode:
        return False if bare else {"res": False, "comment": complaint(done)}
    said = f"{did} data has been written to {output}" if output else done.stdout
    return ("" if output else done.stdout) if bare else {"res": True, "comment": said}


def _run(
    context: Context, where: KeychainOptions, words: Sequence[str], given: _Given, output: str | None = None
) -> Completed:
    """Run gpg on a text or a file. A passphrase is the first line of what it reads."""
    if not given.text and not given.filename:
        raise CallFailed("filename or text must be passed.")
    secret = ["--pinentry-mode", "loopback", "--passphrase-fd", "0"] if given.passphrase else []
    written = ["--yes", "--output", output or "-"]
    argv = [*secret, *written, *words, *([] if given.text else ["--", str(given.filename)])]
    first = f"{given.passphrase}\n" if given.passphrase else ""
    return keychain_of(where, context.opts).run(context.machine, argv, first + (given.text or ""))


def verify(
    context: Context,
    text: str | None = None,
    *,
    filename: str | None = None,
    signature: str | None = None,
    trustmodel: str | None = None,
    signed_by_any: Texts = (),
    signed_by_all: Texts = (),
    where: KeychainOptions,
) -> dict[str, Any]:
    """Whether a text or a file is signed; by whom, where `signed_by_any` or `signed_by_all` names fingerprints."""
    if trustmodel and trustmodel not in _MODELS:
        return {"res": False, "message": f"Invalid trustmodel defined: {trustmodel}. Use one of: {', '.join(_MODELS)}"}
    if not text and not filename:
        raise CallFailed("filename or text must be passed.")
    words = [*(["--trust-model", trustmodel] if trustmodel else []), "--status-fd", "1"]
    words += ["--no-batch"] if signed_by_any or signed_by_all else []
    files = [] if text else [one for one in (signature, filename) if one]
    done = keychain_of(where, context.opts).run(context.machine, [*words, "--verify", "--", *files], text or "")
    found = _signatures(done.stdout)
    if signed_by_any or signed_by_all:
        return _by_signers(found, signed_by_any, signed_by_all)
    good = [one for one in found if one["trust_level"] is not None]
    if done.returncode or not good:
        return {"res": False, "message": "The signature could not be verified."}
    last = {key: good[-1][key] for key in ("username", "key_id", "trust_level")}
    return {"res": True, **last, "message": "The signature is verified."}


def _signatures(text: str) -> list[dict[str, Any]]:
    """Each signature, and what became of it. What comes before the next belongs to it."""
    found: list[dict[str, Any]] = []
    for words in statuses(text):
        if words[0] in _OUTCOMES:
            one = {"username": " ".join(words[2:]), "key_id": words[1], "fingerprint": None, "trust_level": None}
            found.append({**one, "status": _OUTCOMES[words[0]]})
        elif words[0] == "VALIDSIG" and found and found[-1]["status"] == "signature good":
            found[-1] |= {"fingerprint": words[10] if len(words) > 10 else words[1], "status": "signature valid"}
        elif words[0] in _TRUSTS and found and found[-1]["status"] == "signature valid":
            found[-1]["trust_level"] = _TRUSTS[words[0]]
    return found


def _by_signers(found: list[dict[str, Any]], any_of: Sequence[str], all_of: Sequence[str]) -> dict[str, Any]:
    """Whether those whose signatures are asked for have signed."""
    signers = {one["fingerprint"] for one in found if one["trust_level"] is not None}
    if any_of and not signers & {str(one) for one in any_of}:
        said = "None of the public keys listed in signed_by_any provided a valid signature"
        return {"res": False, "message": said, "signatures": found}
    for one in all_of:
        if str(one) not in signers:
            said = f"Public key {one} has not provided a valid signature, but was listed in signed_by_all"
            return {"res": False, "message": said, "signatures": found}
    return {"res": True, "message": "All required keys have provided a signature", "signatures": found}
