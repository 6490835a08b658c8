"""How a source is verified: its digest (`source_hash`, or one in a file of digests), and who has to have signed it.

Called by `minion.states.file.sources`, archive.extracted and file.cached. Looks through a `Reader` only; gpg itself is
run by `minion.machine.signatures`.
Behaviour: doc/ref/states/all/salt.states.file, managed, source_hash and signature.
"""

from __future__ import annotations

import hashlib
import posixpath
import re
from dataclasses import dataclass
from typing import Annotated, Any, Literal, TypedDict

from highstate.salt_urls import split_salt_url
from minion.arguments.types import Reads, Texts, as_texts
from minion.machine.failure import StateFailed
from minion.machine.fetch import SCHEMES, shown
from minion.machine.plan import Reader
from minion.machine.signatures import SignatureCheck, signature_check, verify

_KINDS = {32: "md5", 40: "sha1", 56: "sha224", 64: "sha256", 96: "sha384", 128: "sha512"}
_HEX = re.compile(r"(?<![0-9a-fA-F])(?:[0-9a-fA-F]{128}|[0-9a-fA-F]{96}|[0-9a-fA-F]{64}|[0-9a-fA-F]{56}|"
                  r"[0-9a-fA-F]{40}|[0-9a-fA-F]{32})(?![0-9a-fA-F])")  # fmt: skip


@dataclass(frozen=True, slots=True, kw_only=True)
class Digest:
    """The digest that a content is to have."""

    kind: str
    """As hashlib names it."""
    value: str
    """Lower-case hexadecimal digits."""

    def fits(self, data: bytes) -> bool:
        """Whether the content has it."""
        return self.of(data) == self.value

    def verify(self, data: bytes, url: str) -> None:
        """StateFailed when the content has another."""
        got = self.of(data)
        if got != self.value:
            raise StateFailed(
                f"Specified {self.kind} checksum for {url} ({self.value}) does not match actual checksum ({got})"
            )

    def of(self, data: bytes) -> str:
        """The digest of this kind that the content has."""
        return hashlib.new(self.kind, data, usedforsecurity=False).hexdigest()


def digest_of(
    machine: Reader,
    given: str,
    url: str,
    named: str,
    target: str,
    saltenv: str,
    *,
    signature: SignatureCheck | None = None,
    verify_ssl: bool = True,
) -> Digest:
    """The digest that `source_hash` gives for the source `url`, which is called `named` in a file of digests.

    `signature`: who has to have signed that file; `verify_ssl`: whether its https server has to prove who it is.
    """
    text = given.strip()
    found = _parse(text)
    if found is not None:
        if signature is not None:
            raise StateFailed("source_hash_sig is the signature of a file of digests, and source_hash is a digest")
        return found
    if not text.startswith(("salt://", "/", "file://", *SCHEMES)):
        raise StateFailed(
            f"source_hash {text} is no digest in hexadecimal digits, and no salt://, http(s):// or local path of a "
            "file of digests"
        )
    listing = _listing(machine, text, saltenv, signature, verify_ssl)
    names = [one for one in (named, _basename(url), posixpath.basename(target)) if one]
    found = _in_listing(listing, names)
    if found is None:
        raise StateFailed(f"The file of digests {shown(text)} has none for {' or '.join(names)}: set source_hash_name")
    return found


def _parse(text: str) -> Digest | None:
    kind, separator, value = text.rpartition("=")
    value = value.strip().lower()
    if not _HEX.fullmatch(value):
        return None
    natural = _KINDS[len(value)]
    if separator and kind.strip().lower() != natural:
        raise StateFailed(f"source_hash {text}: a {kind} digest does not have {len(value)} digits")
    return Digest(kind=natural, value=value)


def _listing(machine: Reader, where: str, saltenv: str, signature: SignatureCheck | None, verify_ssl: bool) -> str:
    data = content_at(machine, where, saltenv, verify_ssl=verify_ssl)
    if data is None:
        raise StateFailed(f"Source hash file {shown(where)} not found")
    if signature is not None:
        hold_signed(machine, data, signature, saltenv, verify_ssl=verify_ssl)
    return data.decode("utf-8", "replace")


def _in_listing(listing: str, names: list[str]) -> Digest | None:
    """The strongest digest on a line that names the file; of a file with a single digest, that one."""
    lines = [(line, _HEX.findall(line)) for line in listing.splitlines()]
    for name in names:
        pattern = re.compile(rf"(?:^|[\s*/(=:]){re.escape(name)}(?:$|[\s):,;])")
        fitting = [value for line, values in lines if pattern.search(line) for value in values]
        if fitting:
            return _parse(max(fitting, key=len))
    alone = [value for _, values in lines for value in values]
    return _parse(alone[0]) if len(alone) == 1 else None


def _basename(url: str) -> str:
    return posixpath.basename(url.partition("?")[0].rstrip("/"))


def _as_signature(value: Any) -> Literal[True] | tuple[str, ...]:
    return True if value is True else () if not value else as_texts(value)


Signature = Annotated[bool | tuple[str, ...], Reads(_as_signature, null=True)]
"""Where the signature is: URLs or paths of detached ones; true where the file itself is signed; nothing: none."""


class SignatureOptions(TypedDict, total=False):
    """How the signatures of a source and of its file of digests are verified."""

    signature: Signature
    source_hash_sig: Signature
    signed_by_any: Texts
    signed_by_all: Texts
    keyring: str | None
    gnupghome: str | None
    sig_backend: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Signed:
    """Who has to have signed what of a source; None: nobody."""

    source: SignatureCheck | None = None
    digests: SignatureCheck | None = None
    """The file of digests that `source_hash` names."""


def signed_of(options: SignatureOptions) -> Signed:
    """The arguments of a state as checks."""
    source, digests = (
        signature_check(
            asked,
            signed_by_any=options.get("signed_by_any", ()),
            signed_by_all=options.get("signed_by_all", ()),
            keyring=options.get("keyring"),
            gnupghome=options.get("gnupghome"),
            sig_backend=options.get("sig_backend", "gpg"),
        )
        for asked in (options.get("signature"), options.get("source_hash_sig"))
    )
    return Signed(source=source, digests=digests)


def content_at(machine: Reader, where: str, saltenv: str, *, verify_ssl: bool, keep: bool = True) -> bytes | None:
    """What a URL of the tree or of the web, or a local path, has; None when there is nothing.

    `keep`: whether what the web gives is cached.
    """
    try:
        if where.startswith("salt://"):
            return machine.source(*split_salt_url(where, saltenv))
        if where.startswith(SCHEMES):
            return machine.fetch(where, verify=verify_ssl, keep=keep)
        return machine.read(where.removeprefix("file://"))
    except (FileNotFoundError, IsADirectoryError):
        return None


def hold_signed(machine: Reader, data: bytes, check: SignatureCheck, saltenv: str, *, verify_ssl: bool) -> None:
    """StateFailed, with the reason, unless the data is signed as the check wants."""
    signatures = []
    for url in check.signatures:
        # Not kept: one that does not fit is asked for again by the next run.
        found = content_at(machine, url, saltenv, verify_ssl=verify_ssl, keep=False)
        if found is None:
            raise StateFailed(f"Detached signature file {shown(url)} not found")
        signatures.append(found)
    verify(data, signatures, check, machine.query)
