"""The folder of an authority as the functions `tls` keep it: its key and certificate, requests, and index.txt.

Behaviour: doc/ref/modules/all/salt.modules.tls. `index.txt` is that of openssl-ca(1).
"""

from __future__ import annotations

import posixpath
import re
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime, timedelta
from typing import Any, NamedTuple

from cryptography import x509
from cryptography.hazmat.primitives import serialization
from cryptography.x509.oid import NameOID

from minion.machine.failure import StateFailed
from minion.machine.plan import Machine, Reader
from minion.providers.x509.extensions import Around, Extension, extension
from minion.providers.x509.keys import encode_key, make_key, signing_digest
from minion.providers.x509.loading import PrivateKey, known_public, load_certificate, load_private_key
from minion.providers.x509.names import distinguished_name

_NAME = re.compile(r"[^/\0]+")
_INDEX_TIME = "%y%m%d%H%M%SZ"
_LIST_DAYS = 36500
_SHORT = {"emailAddress": "MAIL"}


class CertificateSubject(NamedTuple):
    """Whose certificate it is."""

    CN: str = "localhost"
    C: str = "US"
    ST: str = "Utah"
    L: str = "Salt Lake City"
    O: str = "SaltStack"  # noqa: E741  (the name of the attribute)
    OU: str | None = None
    emailAddress: str | None = None  # noqa: N815  (Salt's name)

    def name(self) -> x509.Name:
        """As it stands in a certificate."""
        return distinguished_name({_SHORT.get(key, key): value for key, value in self._asdict().items() if value})


class AuthorityFolder(NamedTuple):
    """Where an authority is."""

    base: str
    name: str
    filename: str | None = None
    """Of its key and certificate, without the ending; None: `NAME_ca_cert`."""

    @property
    def path(self) -> str:
        """The folder."""
        return posixpath.join(self.base, checked(self.name))

    def own(self, ending: str) -> str:
        """Its certificate (`crt`) or key."""
        return posixpath.join(self.path, f"{checked(self.filename or f'{self.name}_ca_cert')}.{ending}")

    def issued(self, name: str, ending: str, folder: str | None = None) -> str:
        """A file of a certificate that it has signed, or will."""
        return posixpath.join(folder or posixpath.join(self.path, "certs"), f"{checked(name)}.{ending}")

    def signers(self, machine: Reader) -> tuple[x509.Certificate, PrivateKey] | None:
        """The certificate and the key; None where there is no such authority."""
        certificate, key = self.own("crt"), self.own("key")
        if machine.stat(certificate) is None or machine.stat(key) is None:
            return None
        return load_certificate(machine, certificate).certificate, load_private_key(machine, key).key

    @property
    def index_file(self) -> str:
        """The list of what was signed."""
        return posixpath.join(self.path, "index.txt")

    def lines(self, machine: Reader) -> list[list[str]]:
        """The fields of each line of that list."""
        if machine.stat(self.index_file) is None:
            return []
        return [line.split("\t") for line in machine.read(self.index_file).decode().splitlines() if line]

    def write_lines(self, machine: Machine, lines: Sequence[Sequence[str]]) -> None:
        """Replace it."""
        machine.write(self.index_file, "".join("\t".join(line) + "\n" for line in lines).encode())

    def record(self, machine: Machine, certificate: x509.Certificate) -> None:
        """Add a certificate to it."""
        self.write_lines(machine, [*self.lines(machine), index_line(certificate)])


def checked(name: str) -> str:
    """The name of a file; StateFailed where it would lead elsewhere."""
    if not _NAME.fullmatch(name) or name in (".", ".."):
        raise StateFailed(f"{name!r} is no name of a file")
    return name


def new_key(bits: int) -> PrivateKey:
    """A key of RSA."""
    return make_key("rsa", bits)


def issue(
    key: PrivateKey,
    authority: x509.Certificate | None,
    public: Any,
    subject: x509.Name,
    extensions: Sequence[Extension],
    *,
    days: int,
    digest: str,
) -> x509.Certificate:
    """A certificate, signed by this key; without an authority it is its own."""
    now = datetime.now(UTC).replace(microsecond=0)
    issuer = subject if authority is None else authority.subject
    number = x509.random_serial_number()
    builder = x509.CertificateBuilder(issuer, subject, public, number, now, now + timedelta(days=days))
    for one in extensions:
        builder = builder.add_extension(one.value, one.critical)
    return builder.sign(key, signing_digest(key, digest))


def extensions_of_authority(key: PrivateKey) -> list[Extension]:
    """What the certificate of an authority says that signs no other authorities."""
    public = key.public_key()
    around = Around(public, None, public)
    given = {
        "basicConstraints": "critical, CA:TRUE, pathlen:0",
        "keyUsage": "critical, keyCertSign, cRLSign",
        "subjectKeyIdentifier": "hash",
        "authorityKeyIdentifier": "keyid:always",
    }
    return [extension(name, value, around) for name, value in given.items()]


def request(
    key: PrivateKey, subject: x509.Name, extensions: Mapping[str, Any], digest: str
) -> x509.CertificateSigningRequest:
    """A request for a certificate with these extensions."""
    builder = x509.CertificateSigningRequestBuilder(subject)
    for name, value in extensions.items():
        made = extension(name, value, Around(key.public_key()))
        builder = builder.add_extension(made.value, made.critical)
    return builder.sign(key, signing_digest(key, digest))


def signed_request(
    authority: x509.Certificate,
    key: PrivateKey,
    asked: x509.CertificateSigningRequest,
    *,
    days: int,
    digest: str,
) -> x509.Certificate:
    """The certificate that a request asks for, with the extensions that it asks for."""
    extensions = [Extension(one.value, one.critical) for one in asked.extensions]
    public = known_public(asked.public_key())
    return issue(key, authority, public, asked.subject, extensions, days=days, digest=digest)


def index_line(certificate: x509.Certificate) -> list[str]:
    """Of a certificate that holds."""
    subject = "/" + "/".join(f"{name}={value}" for name, value in components(certificate.subject))
    ends = certificate.not_valid_after_utc.strftime(_INDEX_TIME)
    return ["V", ends, "", f"{certificate.serial_number:X}", "unknown", subject]


def components(name: x509.Name) -> list[tuple[str, str]]:
    """The parts of a name by the short names of OpenSSL."""
    short = {NameOID.EMAIL_ADDRESS: "emailAddress"}
    return [(short.get(one.oid, one.rfc4514_attribute_name), str(one.value)) for one in name]


def revoked_line(line: Sequence[str], now: datetime) -> list[str]:
    """The line of a certificate that holds no longer."""
    return ["R", line[1], now.strftime(_INDEX_TIME), *line[3:]]


def list_of(
    authority: x509.Certificate, key: PrivateKey, lines: Sequence[Sequence[str]], digest: str
) -> x509.CertificateRevocationList:
    """The list of revoked certificates that index.txt stands for."""
    now = datetime.now(UTC).replace(microsecond=0)
    builder = x509.CertificateRevocationListBuilder(authority.subject, now, now + timedelta(days=_LIST_DAYS))
    for line in lines:
        if line[0] == "R":
            when = datetime.strptime(line[2], _INDEX_TIME).replace(tzinfo=UTC)
            one = x509.RevokedCertificateBuilder(int(line[3], 16), when)
            builder = builder.add_revoked_certificate(one.build())
    return builder.sign(key, signing_digest(key, digest))


def pem(document: Any) -> bytes:
    """A certificate, a request or a list in PEM."""
    found: bytes = document.public_bytes(serialization.Encoding.PEM)
    return found


def key_pem(key: PrivateKey) -> bytes:
    """A key in PEM."""
    return encode_key(key, "pem", None)
