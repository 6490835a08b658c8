"""Keys, certificates, requests and lists as arguments give them: a path, PEM, or the hex or base64 of a binary form.

Called by what builds and compares. What is no path of this machine is data. No error shows any of it.
Behaviour: doc/ref/modules/all/salt.modules.x509_v2.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple, TypeVar

from cryptography import x509
from cryptography.hazmat.primitives import serialization
from cryptography.hazmat.primitives.asymmetric import ec, ed448, ed25519, rsa
from cryptography.hazmat.primitives.serialization import pkcs7, pkcs12

from minion.machine.failure import StateFailed
from minion.providers.x509.content import BEGIN, KeyFiles, content_of

PrivateKey = rsa.RSAPrivateKey | ec.EllipticCurvePrivateKey | ed25519.Ed25519PrivateKey | ed448.Ed448PrivateKey
PublicKey = rsa.RSAPublicKey | ec.EllipticCurvePublicKey | ed25519.Ed25519PublicKey | ed448.Ed448PublicKey

_BEGIN = BEGIN.encode()
_PFX_VERSION = b"\x02\x01\x03"
"""What the outer sequence of PKCS#12 begins with."""


class WrongPassphrase(StateFailed):
    """The passphrase does not open it."""


class PassphraseMissing(StateFailed):
    """It is encrypted, and no passphrase was given."""


class NotEncrypted(StateFailed):
    """A passphrase was given for what is not encrypted."""


class Malformed(StateFailed):
    """It is nothing of the kind."""


class LoadedKey(NamedTuple):
    """A private key, and how it was encoded."""

    key: PrivateKey
    encoding: str


class LoadedCertificate(NamedTuple):
    """A certificate, with what came with it."""

    certificate: x509.Certificate
    encoding: str
    chain: Sequence[x509.Certificate] = ()
    friendly_name: bytes | None = None


def load_private_key(files: KeyFiles, value: Any, passphrase: str | None = None) -> LoadedKey:
    """The private key that an argument stands for."""
    data = content_of(files, value)
    secret = None if passphrase is None else passphrase.encode()
    if _BEGIN in data:
        return LoadedKey(_key(lambda: serialization.load_pem_private_key(data, secret), secret, "PEM"), "pem")
    if _is_pkcs12(data):
        opened = _key_store(data, secret)
        if opened.key is None:
            raise Malformed("PKCS12-encoded blob does not contain a private key.")
        return LoadedKey(_of_known_kind(opened.key), "pkcs12")
    return LoadedKey(_key(lambda: serialization.load_der_private_key(data, secret), secret, "DER"), "der")


def _key(load: Callable[[], Any], secret: bytes | None, form: str) -> PrivateKey:
    try:
        return _of_known_kind(load())
    except TypeError as error:
        if secret is None:
            raise PassphraseMissing("Private key is encrypted. Please provide a password.") from error
        raise NotEncrypted("Private key is unencrypted") from error
    except ValueError as error:
        if secret is not None and "password" in str(error):
            raise WrongPassphrase("Bad decrypt - is the password correct?") from error
        raise Malformed(f"Could not load {form}-encoded private key") from error


def _of_known_kind(key: Any) -> PrivateKey:
    if isinstance(key, PrivateKey):
        return key
    raise Malformed(f"This is not a known private key, but {type(key).__name__}")


def _is_pkcs12(data: bytes) -> bool:
    return data[:1] == b"\x30" and _PFX_VERSION in data[2:9]


def _key_store(data: bytes, secret: bytes | None) -> pkcs12.PKCS12KeyAndCertificates:
    try:
        return pkcs12.load_pkcs12(data, secret)
    except ValueError as error:
        if secret is None:
            raise PassphraseMissing("Private key is encrypted. Please provide a password.") from error
        raise WrongPassphrase("Bad decrypt - is the password correct?") from error


def load_public_key(files: KeyFiles, value: Any) -> PublicKey:
    """The public key that an argument stands for."""
    data = content_of(files, value)
    form = "PEM" if _BEGIN in data else "DER"
    try:
        load = serialization.load_pem_public_key if form == "PEM" else serialization.load_der_public_key
        return known_public(load(data))
    except ValueError as error:
        raise Malformed(f"Could not load {form}-encoded public key.") from error


def known_public(key: Any) -> PublicKey:
    """The key; StateFailed where it is of a kind that nothing here can do with."""
    if isinstance(key, PublicKey):
        return key
    raise Malformed(f"This is not a known public key, but {type(key).__name__}")


def load_certificate(files: KeyFiles, value: Any, passphrase: str | None = None) -> LoadedCertificate:
    """The certificate that an argument stands for, with those that are appended to it."""
    data = content_of(files, value)
    try:
        return _pem_certificate(data) if _BEGIN in data else _binary_certificate(data, passphrase)
    except ValueError as error:
        kind = "Could not load PEM-encoded certificate." if _BEGIN in data else _NEITHER
        raise Malformed(kind) from error


_NEITHER = "Could not deserialize binary data, neither as DER nor PKCS#7, PKCS#12."


def _pem_certificate(data: bytes) -> LoadedCertificate:
    first, *others = _split(data) or [data]
    if b"-----BEGIN PKCS7" in first:
        whole, *chain = pkcs7.load_pem_pkcs7_certificates(first)
        return LoadedCertificate(whole, "pkcs7_pem", chain)
    appended = [x509.load_pem_x509_certificate(one) for one in others if b"-----BEGIN CERTIFICATE-----" in one]
    return LoadedCertificate(x509.load_pem_x509_certificate(first), "pem", appended)


def _binary_certificate(data: bytes, passphrase: str | None) -> LoadedCertificate:
    if _is_pkcs12(data):
        opened = _key_store(data, None if passphrase is None else passphrase.encode())
        if opened.cert is None:
            raise ValueError
        chain = [one.certificate for one in opened.additional_certs]
        return LoadedCertificate(opened.cert.certificate, "pkcs12", chain, opened.cert.friendly_name)
    try:
        return LoadedCertificate(x509.load_der_x509_certificate(data), "der")
    except ValueError:
        whole, *chain = pkcs7.load_der_pkcs7_certificates(data)
        return LoadedCertificate(whole, "pkcs7_der", chain)


def _split(data: bytes) -> list[bytes]:
    """The entries of a text in PEM."""
    entries: list[bytes] = []
    lines: list[bytes] = []
    for line in data.splitlines(keepends=True):
        if line.startswith(_BEGIN):
            lines = []
        lines.append(line)
        if line.startswith(b"-----END"):
            entries.append(b"".join(lines))
    return entries


_Loaded = TypeVar("_Loaded")


def _either(
    data: bytes, pem: Callable[[bytes], _Loaded], der: Callable[[bytes], _Loaded], what: str
) -> tuple[_Loaded, str]:
    form = "pem" if _BEGIN in data else "der"
    try:
        return (pem if form == "pem" else der)(data), form
    except ValueError as error:
        raise Malformed(f"Could not load {form.upper()}-encoded {what}.") from error


def load_request(files: KeyFiles, value: Any) -> tuple[x509.CertificateSigningRequest, str]:
    """The request for a certificate that an argument stands for, and how it was encoded.

    Raises x509.InvalidVersion: some old programs make such requests.
    """
    what = "certificate signing request"
    return _either(content_of(files, value), x509.load_pem_x509_csr, x509.load_der_x509_csr, what)


def load_list(files: KeyFiles, value: Any) -> tuple[x509.CertificateRevocationList, str]:
    """The list of revoked certificates that an argument stands for, and how it was encoded."""
    what = "certificate revocation list"
    return _either(content_of(files, value), x509.load_pem_x509_crl, x509.load_der_x509_crl, what)


def public_key_of(files: KeyFiles, value: Any, passphrase: str | None = None) -> PublicKey:
    """The public key that belongs to what an argument stands for: of any kind."""
    kinds: tuple[Callable[[], PublicKey], ...] = (
        lambda: load_public_key(files, value),
        lambda: known_public(load_certificate(files, value, passphrase).certificate.public_key()),
        lambda: load_private_key(files, value, passphrase).key.public_key(),
        lambda: known_public(load_request(files, value)[0].public_key()),
    )
    for load in kinds:
        try:
            return load()
        except (Malformed, WrongPassphrase, PassphraseMissing, NotEncrypted):
            continue
    raise StateFailed("Could not load key as certificate, public key, private key or CSR")
