"""Lists of revoked certificates: as they are wanted, made, and compared with what is there.

Behaviour: doc/ref/modules/all/salt.modules.x509_v2, create_crl; doc/ref/states/all/salt.states.x509_v2, crl_managed.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any

from cryptography import x509

from minion.machine.failure import StateFailed
from minion.providers.x509.certificates import extension_differences, same_digest, serial_of, time_of
from minion.providers.x509.content import KeyFiles
from minion.providers.x509.extensions import OF_ENTRIES, OF_LISTS, Around, Extension, extension
from minion.providers.x509.keys import same_key, signing_digest
from minion.providers.x509.loading import PrivateKey, load_certificate, load_private_key

LIST_DAYS_VALID = 100
AUTO = "auto"
"""`cRLNumber` that counts by itself."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Revoked:
    """A certificate that is revoked."""

    serial_number: int
    at: datetime | None
    """None: when it comes into the list."""
    extensions: tuple[Extension, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class WantedList:
    """A list as it is to be."""

    issuer: x509.Name
    signing_key: PrivateKey
    revoked: tuple[Revoked, ...]
    extensions: tuple[Extension, ...]
    counts: bool
    """Whether it has a number that counts by itself."""
    days_valid: float
    digest: str


def wanted_list(files: KeyFiles, given: Mapping[str, Any], now: datetime) -> WantedList:
    """The list that arguments of create_crl describe. `now`: certificates that have ended are left out."""
    signing = load_private_key(files, given["signing_private_key"], given.get("signing_private_key_passphrase")).key
    if not given.get("signing_cert"):
        raise StateFailed("signing_cert is needed: a list names who issues it")
    authority = load_certificate(files, given["signing_cert"]).certificate
    if not same_key(authority.public_key(), signing.public_key()):
        raise StateFailed("Signing private key does not match the certificate's public key")
    named = dict(given.get("extensions") or {})
    if unknown := sorted(set(named) - set(OF_LISTS)):
        raise StateFailed(f"Invalid CRL extension: {', '.join(unknown)}")
    counts = named.get("cRLNumber") == AUTO
    if counts:
        del named["cRLNumber"]
    around = Around(authority=authority)
    entries = (
        _entry(files, one, now, expired=bool(given.get("include_expired"))) for one in given.get("revoked") or ()
    )
    return WantedList(
        issuer=authority.subject,
        signing_key=signing,
        revoked=tuple(one for one in entries if one is not None),
        extensions=tuple(extension(name, value, around) for name, value in named.items()),
        counts=counts,
        days_valid=float(LIST_DAYS_VALID if given.get("days_valid") is None else given["days_valid"]),
        digest=str(given.get("digest") or "sha256"),
    )


def _entry(files: KeyFiles, given: Any, now: datetime, *, expired: bool) -> Revoked | None:
    """One entry of `revoked`; None where the certificate has ended by itself."""
    said = _plain(given)
    ends, serial = time_of(said.get("not_after")), said.get("serial_number")
    if "certificate" in said:
        certificate = load_certificate(files, said["certificate"]).certificate
        serial, ends = certificate.serial_number, certificate.not_valid_after_utc
    if not serial:
        raise StateFailed("Need serial_number or certificate")
    if ends is not None and not expired and now > ends:
        return None
    named = dict(said.get("extensions") or {})
    if "reason" in said:
        named["CRLReason"] = said["reason"]
    if unknown := sorted(set(named) - set(OF_ENTRIES)):
        raise StateFailed(f"Invalid CRL entry extension: {', '.join(unknown)}")
    return Revoked(
        serial_number=serial_of(serial),
        at=time_of(said.get("revocation_date")),
        extensions=tuple(extension(name, value, Around()) for name, value in named.items()),
    )


def _plain(given: Any) -> Mapping[str, Any]:
    """An entry as a mapping; one of before is a name with a list of mappings."""
    if not isinstance(given, Mapping):
        raise StateFailed("revoked must be a list of mappings")
    first = next(iter(given.values()), None)
    if len(given) == 1 and isinstance(first, list):
        return {key: value for one in first for key, value in one.items()}
    return given


def list_made(wanted: WantedList, now: datetime, number: int | None) -> x509.CertificateRevocationList:
    """The list, signed. `number`: its own, where it counts by itself."""
    try:
        builder = x509.CertificateRevocationListBuilder(wanted.issuer, now, now + timedelta(days=wanted.days_valid))
        for one in wanted.extensions:
            builder = builder.add_extension(one.value, one.critical)
        if number is not None:
            builder = builder.add_extension(x509.CRLNumber(number), critical=False)
        for entry in wanted.revoked:
            revoked = x509.RevokedCertificateBuilder(entry.serial_number, entry.at or now)
            for one in entry.extensions:
                revoked = revoked.add_extension(one.value, one.critical)
            builder = builder.add_revoked_certificate(revoked.build())
        return builder.sign(wanted.signing_key, signing_digest(wanted.signing_key, wanted.digest))
    except ValueError as error:
        raise StateFailed(f"the list cannot be made: {error}") from error


def next_number(current: x509.CertificateRevocationList | None) -> int:
    """The number of the next list."""
    try:
        return 1 if current is None else current.extensions.get_extension_for_class(x509.CRLNumber).value.crl_number + 1
    except x509.ExtensionNotFound:
        return 1


def differences(
    current: x509.CertificateRevocationList, wanted: WantedList, now: datetime, days_remaining: float
) -> dict[str, Any]:
    """What is another in a list than it is to be, in Salt's words."""
    found: dict[str, Any] = {}
    if not same_digest(current.signature_hash_algorithm, wanted.digest):
        found["digest"] = wanted.digest
    ends = current.next_update_utc
    if days_remaining and (ends is None or ends < now + timedelta(days=days_remaining)):
        found["expiration"] = True
    if wanted.issuer != current.issuer:
        found["issuer_name"] = wanted.issuer.rfc4514_string()
    if not current.is_signature_valid(wanted.signing_key.public_key()):
        found["public_key"] = True
    entries = _entry_differences(current, wanted.revoked)
    if any(entries.values()):
        found["revocations"] = entries
    have = [one for one in current.extensions if not (wanted.counts and isinstance(one.value, x509.CRLNumber))]
    extensions = extension_differences(have, wanted.extensions)
    if wanted.counts and len(have) == len(list(current.extensions)):
        extensions["added"].append("cRLNumber")
    if any(extensions.values()):
        found["extensions"] = extensions
    return found


def _entry_differences(current: x509.CertificateRevocationList, revoked: Sequence[Revoked]) -> dict[str, list[str]]:
    have = {one.serial_number: one for one in current}
    added, changed = [], []
    for entry in revoked:
        there = have.pop(entry.serial_number, None)
        if there is None:
            added.append(hexadecimal(entry.serial_number))
        elif any(extension_differences(there.extensions, entry.extensions).values()):
            changed.append(hexadecimal(entry.serial_number))
    return {"added": added, "changed": changed, "removed": [hexadecimal(serial) for serial in have]}


def hexadecimal(value: int | bytes) -> str:
    """Bytes, or a number, as `0A:1B`."""
    digits = value.hex() if isinstance(value, bytes) else f"{value:x}"
    return ":".join(digits.zfill(len(digits) + len(digits) % 2).upper()[at : at + 2] for at in range(0, len(digits), 2))
