"""Certificates: as they are wanted, issued, compared with what is there, and encoded.

Behaviour: doc/ref/modules/all/salt.modules.x509_v2, create_certificate; doc/ref/states/all/salt.states.x509_v2.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Any

from cryptography import x509
from cryptography.hazmat.primitives import serialization
from cryptography.hazmat.primitives.serialization import pkcs7, pkcs12

from minion.machine.failure import StateFailed
from minion.providers.x509.content import KeyFiles
from minion.providers.x509.extensions import (
    NOT_OF_REQUESTS,
    OF_CERTIFICATES,
    TIME,
    Around,
    Extension,
    extension,
)
from minion.providers.x509.keys import check_encoding, cipher, digest_of, same_key, signed_by, signing_digest
from minion.providers.x509.loading import (
    LoadedCertificate,
    PrivateKey,
    PublicKey,
    known_public,
    load_certificate,
    load_private_key,
    load_public_key,
    load_request,
)
from minion.providers.x509.names import distinguished_name

ENCODINGS = ("der", "pem", "pkcs7_der", "pkcs7_pem", "pkcs12")
DAYS_VALID = 365
"""Of a certificate of which nothing is said."""


@dataclass(frozen=True, slots=True, kw_only=True)
class WantedCertificate:
    """A certificate as it is to be. What is None differs each time."""

    subject: x509.Name
    issuer: x509.Name
    public_key: PublicKey
    extensions: tuple[Extension, ...]
    authority: x509.Certificate | None
    """Whose key signs it; None: it signs itself."""
    signing_key: PrivateKey | None
    """None: it is elsewhere."""
    private_key: PrivateKey | None
    """The key of the certificate, where it is here."""
    serial_number: int | None
    not_before: datetime | None
    not_after: datetime | None
    days_valid: float
    digest: str

    def ends(self, now: datetime) -> datetime:
        """When one that is issued now is no longer valid."""
        return self.not_after or now + timedelta(days=self.days_valid)


def now_utc() -> datetime:
    """The time as certificates have it: in whole seconds."""
    return datetime.now(UTC).replace(microsecond=0)


def wanted_certificate(files: KeyFiles, given: Mapping[str, Any], *, elsewhere: bool = False) -> WantedCertificate:
    """The certificate that merged arguments describe.

    Args:
        files: where paths are looked for.
        given: arguments of create_certificate, with what a policy says of them.
        elsewhere: whether it is signed on another machine: the key is not looked for.
    """
    signing, authority, private = _signers(files, given, elsewhere=elsewhere)
    request = load_request(files, given["csr"])[0] if given.get("csr") else None
    if authority is None:
        if signing is None:
            raise StateFailed("the authority says no signing_cert: it can only sign itself")
        public: PublicKey = signing.public_key()
    elif private is not None:
        public = private.public_key()
    elif given.get("public_key"):
        public = load_public_key(files, given["public_key"])
    elif request is not None:
        public = known_public(request.public_key())
    else:
        raise StateFailed(
            "This certificate is not self-signed (signing_cert is set) and thus needs public_key, private_key or csr "
            "to derive public key to sign"
        )
    subject = distinguished_name(given.get("subject") or given)
    around = Around(public, authority, public if authority is None else None)
    return WantedCertificate(
        subject=subject,
        issuer=subject if authority is None else authority.subject,
        public_key=public,
        extensions=_extensions(given, around, request),
        authority=authority,
        signing_key=signing,
        private_key=private,
        serial_number=None if given.get("serial_number") is None else serial_of(given["serial_number"]),
        not_before=time_of(given.get("not_before")),
        not_after=time_of(given.get("not_after")),
        days_valid=_days(given.get("days_valid")),
        digest=str(given.get("digest") or "sha256"),
    )


def _signers(
    files: KeyFiles, given: Mapping[str, Any], *, elsewhere: bool
) -> tuple[PrivateKey | None, x509.Certificate | None, PrivateKey | None]:
    """The key that signs, the certificate of the authority, and the key of the new certificate."""
    signing = None
    if not elsewhere:
        if not given.get("signing_private_key"):
            raise StateFailed("Creating a certificate locally at least requires a signing private key.")
        passphrase = given.get("signing_private_key_passphrase")
        signing = load_private_key(files, given["signing_private_key"], passphrase).key
    authority = load_certificate(files, given["signing_cert"]).certificate if given.get("signing_cert") else None
    if signing is not None and authority is not None and not same_key(authority.public_key(), signing.public_key()):
        raise StateFailed("Signing private key does not match the certificate's public key")
    private = None
    if authority is not None and given.get("private_key"):
        private = load_private_key(files, given["private_key"], given.get("private_key_passphrase")).key
    return signing, authority, private or (signing if authority is None and given.get("private_key") else None)


def _extensions(
    given: Mapping[str, Any], around: Around, request: x509.CertificateSigningRequest | None
) -> tuple[Extension, ...]:
    check_extensions(given)
    wanted: list[Extension] = []
    for name, oid in OF_CERTIFICATES.items():
        if name in given:
            if given[name] is not None:  # a policy may say that there is none
                wanted.append(extension(name, given[name], around))
        elif request is not None and name not in NOT_OF_REQUESTS:
            try:
                asked = request.extensions.get_extension_for_oid(oid)
                wanted.append(Extension(asked.value, asked.critical))
            except x509.ExtensionNotFound:
                pass
    return tuple(wanted)


def check_extensions(given: Mapping[str, Any]) -> None:
    """Raise StateFailed for extensions that the library cannot make."""
    for name in ("nsComment", "nsCertType"):
        if given.get(name) is not None:
            raise StateFailed(f"{name} is currently not implemented.")


def time_of(given: Any) -> datetime | None:
    """A time of UTC; None where none is given."""
    if not given:
        return None
    if isinstance(given, datetime):
        return given if given.tzinfo else given.replace(tzinfo=UTC)
    try:
        return datetime.strptime(str(given), TIME).replace(tzinfo=UTC)
    except ValueError as error:
        raise StateFailed(f"a time as in '2030-01-31 12:00:00' is needed, not {given!r}") from error


def _days(given: Any) -> float:
    if given is None:
        return DAYS_VALID
    try:
        return float(given)
    except (TypeError, ValueError):
        raise StateFailed(f"days_valid must be a number of days, not {given!r}") from None


def serial_of(given: Any) -> int:
    """A serial number, as a number or the hexadecimal text of one."""
    if isinstance(given, int) and not isinstance(given, bool):
        return given
    try:
        return int.from_bytes(bytes.fromhex(str(given).replace(":", "")), "big")
    except ValueError:
        raise StateFailed(f"Could not parse serial number {given}") from None


def issued(wanted: WantedCertificate, now: datetime) -> x509.Certificate:
    """The certificate, signed. StateFailed where it cannot be."""
    if wanted.signing_key is None:
        raise StateFailed("the key that signs is not here")
    try:
        builder = x509.CertificateBuilder(
            wanted.issuer,
            wanted.subject,
            wanted.public_key,
            wanted.serial_number or x509.random_serial_number(),
            wanted.not_before or now,
            wanted.ends(now),
        )
        for one in wanted.extensions:
            builder = builder.add_extension(one.value, one.critical)
        return builder.sign(wanted.signing_key, signing_digest(wanted.signing_key, wanted.digest))
    except ValueError as error:
        raise StateFailed(f"the certificate cannot be issued: {error}") from error


def differences(current: x509.Certificate, wanted: WantedCertificate) -> dict[str, Any]:
    """What is another in a certificate than it is to be, in Salt's words; its end is not looked at."""
    found: dict[str, Any] = {}
    if not same_digest(current.signature_hash_algorithm, wanted.digest):
        found["digest"] = wanted.digest
    if wanted.serial_number is not None and wanted.serial_number != current.serial_number:
        found["serial_number"] = wanted.serial_number
    if not same_key(wanted.public_key, current.public_key()):
        found["private_key"] = True
    if wanted.authority is not None and not signed_by(current, wanted.authority.public_key()):
        found["signing_private_key"] = True
    if wanted.subject != current.subject:
        found["subject_name"] = wanted.subject.rfc4514_string()
    if wanted.issuer != current.issuer:
        found["issuer_name"] = wanted.issuer.rfc4514_string()
    extensions = extension_differences(current.extensions, wanted.extensions)
    if any(extensions.values()):
        found["extensions"] = extensions
    return found


def same_digest(have: Any, wanted: str) -> bool:
    """Whether a signature was made with this hash; one of a key that has its own is never another."""
    return have is None or have.name == digest_of(wanted).name


def extension_differences(current: Iterable[x509.Extension[Any]], wanted: Sequence[Extension]) -> dict[str, list[str]]:
    """Names of extensions that are to come, are another, or are to go."""
    have = {one.oid: one for one in current}
    added, changed = [], []
    for one in wanted:
        there = have.pop(one.value.oid, None)
        if there is None:
            added.append(_name_of(one.value.oid))
        elif (there.critical, there.value) != (one.critical, one.value):
            changed.append(_name_of(one.value.oid))
    return {"added": added, "changed": changed, "removed": [_name_of(oid) for oid in have]}


def _name_of(oid: x509.ObjectIdentifier) -> str:
    return oid._name


def ended(current: x509.Certificate, now: datetime, days: float) -> bool:
    """Whether a certificate ends within this number of days."""
    return current.not_valid_after_utc < now + timedelta(days=days)


@dataclass(frozen=True, slots=True, kw_only=True)
class Wrapping:
    """How a certificate is encoded, and what goes with it."""

    encoding: str = "pem"
    appended: tuple[x509.Certificate, ...] = ()
    private_key: PrivateKey | None = None
    """Of a container of PKCS#12."""
    passphrase: str | None = None
    compatible: bool = False
    friendly_name: str | None = None

    def check(self) -> None:
        """Raise StateFailed for what does not go together."""
        check_encoding(self.encoding, ENCODINGS)
        if self.encoding == "der" and self.appended:
            raise StateFailed("Cannot encode a certificate chain in DER")

    def differences(self, current: LoadedCertificate) -> dict[str, Any]:
        """What is another around a certificate that is there."""
        found: dict[str, Any] = {}
        friendly = self.friendly_name.encode() if self.friendly_name else None
        if self.encoding != current.encoding:
            found["encoding"] = self.encoding
        elif self.encoding == "pkcs12" and current.friendly_name != friendly:
            found["pkcs12_friendlyname"] = self.friendly_name
        if list(current.chain) != list(self.appended):
            found["additional_certs"] = True
        return found


def encode(certificate: x509.Certificate, how: Wrapping) -> bytes:
    """The certificate and what goes with it as bytes."""
    how.check()
    if how.encoding == "pkcs12":
        if how.private_key is None:
            raise StateFailed("Creating a PKCS12-encoded certificate without embedded private key is unsupported")
        name = how.friendly_name.encode() if how.friendly_name else None
        secrecy = cipher(how.passphrase, compatible=how.compatible)
        return pkcs12.serialize_key_and_certificates(name, how.private_key, certificate, how.appended, secrecy)
    if how.encoding.startswith("pkcs7"):
        form = serialization.Encoding.PEM if how.encoding == "pkcs7_pem" else serialization.Encoding.DER
        return pkcs7.serialize_certificates([certificate, *how.appended], form)
    if how.encoding == "der":
        return certificate.public_bytes(serialization.Encoding.DER)
    return b"".join(one.public_bytes(serialization.Encoding.PEM) for one in (certificate, *how.appended))
