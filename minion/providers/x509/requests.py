"""Requests for certificates: as they are wanted, made, and compared with what is there.

Behaviour: doc/ref/modules/all/salt.modules.x509_v2, create_csr.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from cryptography import x509
from cryptography.hazmat.primitives import serialization

from minion.machine.failure import StateFailed
from minion.providers.x509.certificates import check_extensions, extension_differences, same_digest
from minion.providers.x509.content import KeyFiles
from minion.providers.x509.extensions import NOT_OF_REQUESTS, OF_CERTIFICATES, Around, Extension, extension
from minion.providers.x509.keys import check_encoding, same_key, signing_digest
from minion.providers.x509.loading import PrivateKey, load_private_key
from minion.providers.x509.names import distinguished_name

PLAIN_ENCODINGS = ("der", "pem")
"""Of requests and lists."""


@dataclass(frozen=True, slots=True, kw_only=True)
class WantedRequest:
    """A request as it is to be."""

    subject: x509.Name
    private_key: PrivateKey
    extensions: tuple[Extension, ...]
    digest: str


def wanted_request(files: KeyFiles, given: Mapping[str, Any]) -> WantedRequest:
    """The request that arguments of create_csr describe."""
    check_extensions(given)
    key = load_private_key(files, given.get("private_key"), given.get("private_key_passphrase")).key
    around = Around(key.public_key())
    return WantedRequest(
        subject=distinguished_name(given.get("subject") or given),
        private_key=key,
        extensions=tuple(
            extension(name, given[name], around)
            for name in OF_CERTIFICATES
            if name not in NOT_OF_REQUESTS and given.get(name) is not None
        ),
        digest=str(given.get("digest") or "sha256"),
    )


def made(wanted: WantedRequest) -> x509.CertificateSigningRequest:
    """The request, signed."""
    builder = x509.CertificateSigningRequestBuilder(wanted.subject)
    try:
        for one in wanted.extensions:
            builder = builder.add_extension(one.value, one.critical)
        return builder.sign(wanted.private_key, signing_digest(wanted.private_key, wanted.digest))
    except ValueError as error:
        raise StateFailed(f"the request cannot be made: {error}") from error


def differences(current: x509.CertificateSigningRequest, wanted: WantedRequest) -> dict[str, Any]:
    """What is another in a request than it is to be, in Salt's words."""
    found: dict[str, Any] = {}
    if not same_digest(current.signature_hash_algorithm, wanted.digest):
        found["digest"] = wanted.digest
    if not same_key(current.public_key(), wanted.private_key.public_key()):
        found["private_key"] = True
    if wanted.subject != current.subject:
        found["subject_name"] = wanted.subject.rfc4514_string()
    extensions = extension_differences(current.extensions, wanted.extensions)
    if any(extensions.values()):
        found["extensions"] = extensions
    return found


def encode_plain(document: x509.CertificateSigningRequest | x509.CertificateRevocationList, encoding: str) -> bytes:
    """A request or a list as bytes."""
    check_encoding(encoding, PLAIN_ENCODINGS)
    return document.public_bytes(serialization.Encoding.PEM if encoding == "pem" else serialization.Encoding.DER)
