"""TLS between controllers of one database: both ends show that they have the key which all of them share.

Made by `controller.app` for the port of the leader, and by a controller that waits for its connections to it. The
certificate is made of the controller's secret key and says nothing else: whoever has that key has this one, and nobody
else is let in. It is the same on all controllers (Ed25519 signs without chance), and lies in memory alone.
"""

from __future__ import annotations

import datetime
import os
import ssl
from dataclasses import dataclass, field

from cryptography import x509
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
from cryptography.hazmat.primitives.hashes import SHA256
from cryptography.hazmat.primitives.kdf.hkdf import HKDF
from cryptography.hazmat.primitives.serialization import Encoding, NoEncryption, PrivateFormat
from cryptography.x509.oid import NameOID
from zmq.utils import z85

from wire.keys import KeyPair

_PURPOSE = b"saltern: TLS between controllers of one database"
_NAME = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, "saltern controller")])
_FROM = datetime.datetime(2020, 1, 1, tzinfo=datetime.UTC)
_UNTIL = datetime.datetime(9999, 12, 31, tzinfo=datetime.UTC)
"""It ends with the key, not at a time: clocks of controllers may be wrong."""


@dataclass(frozen=True, slots=True, kw_only=True)
class PoolTls:
    """Both ends of one controller."""

    server: ssl.SSLContext = field(repr=False)
    client: ssl.SSLContext = field(repr=False)


def pool_tls(keys: KeyPair) -> PoolTls:
    """The ends of a controller with this key."""
    private = Ed25519PrivateKey.from_private_bytes(
        HKDF(algorithm=SHA256(), length=32, salt=None, info=_PURPOSE).derive(z85.decode(keys.secret.encode("ascii")))
    )
    certificate = _certificate(private)
    key = private.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, NoEncryption())
    return PoolTls(
        server=_context(ssl.PROTOCOL_TLS_SERVER, certificate, key),
        client=_context(ssl.PROTOCOL_TLS_CLIENT, certificate, key),
    )


def _certificate(private: Ed25519PrivateKey) -> bytes:
    public = private.public_key()
    made = x509.CertificateBuilder(
        issuer_name=_NAME,
        subject_name=_NAME,
        public_key=public,
        serial_number=1,
        not_valid_before=_FROM,
        not_valid_after=_UNTIL,
        extensions=[
            x509.Extension(
                x509.BasicConstraints.oid, critical=True, value=x509.BasicConstraints(ca=False, path_length=None)
            )
        ],
    )
    return made.sign(private, None).public_bytes(Encoding.PEM)


def _context(protocol: int, certificate: bytes, key: bytes) -> ssl.SSLContext:
    context = ssl.SSLContext(protocol)
    context.minimum_version = ssl.TLSVersion.TLSv1_3
    context.check_hostname = False  # who has the key is a controller, wherever it is
    context.verify_mode = ssl.CERT_REQUIRED
    context.load_verify_locations(cadata=certificate.decode("ascii"))
    file = os.memfd_create("tls", os.MFD_CLOEXEC)  # OpenSSL reads it from a file, and it is not to be on a disk
    try:
        os.write(file, certificate + key)
        context.load_cert_chain(f"/proc/self/fd/{file}")
    finally:
        os.close(file)
    return context
