"""Private keys: made, encoded, compared.

Behaviour: doc/ref/modules/all/salt.modules.x509_v2, create_private_key and encode_private_key.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from cryptography.exceptions import InvalidSignature
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec, ed448, ed25519, rsa
from cryptography.hazmat.primitives.serialization import pkcs12

from minion.machine.failure import StateFailed
from minion.providers.x509.loading import PrivateKey, PublicKey, known_public

DIGESTS = (
    "sha1", "sha224", "sha256", "sha384", "sha512", "sha512_224", "sha512_256", "sha3_224", "sha3_256", "sha3_384",
    "sha3_512",
)  # fmt: skip
KEY_ENCODINGS = ("der", "pem", "pkcs12")
_RSA_SIZES = (2048, 3072, 4096)
_CURVES: Mapping[int, Callable[[], ec.EllipticCurve]] = {256: ec.SECP256R1, 384: ec.SECP384R1, 521: ec.SECP521R1}
_SMALLEST = {"rsa": 2048, "ec": 256}


def make_key(algo: str, keysize: int | None) -> PrivateKey:
    """A new private key. `keysize`: bits, of RSA and EC."""
    if algo == "rsa":
        size = keysize or _SMALLEST[algo]
        if size not in _RSA_SIZES:
            raise StateFailed("RSA key size must be either 2048, 3072 or 4096 bits.")
        return rsa.generate_private_key(65537, size)
    if algo == "ec":
        curve = _CURVES.get(keysize or _SMALLEST[algo])
        if curve is None:
            raise StateFailed("EC key size must be either 256, 384, 521 bits.")
        return ec.generate_private_key(curve())
    if algo not in ("ed25519", "ed448"):
        raise StateFailed(
            f"Invalid algorithm specified for generating private key: {algo}. Valid: rsa, ec, ed25519, ed448"
        )
    if keysize:
        raise StateFailed(f"keysize is an invalid parameter for {algo}")
    return ed25519.Ed25519PrivateKey.generate() if algo == "ed25519" else ed448.Ed448PrivateKey.generate()


def check_kind(algo: str, keysize: int | None) -> None:
    """Raise StateFailed where no key of this kind can be made."""
    if algo == "rsa" and (keysize or 2048) in _RSA_SIZES:
        return
    if algo not in ("ed25519", "ed448") or keysize:
        make_key("ec" if algo == "ec" else algo, keysize)


def wanted_size(algo: str, keysize: int | None) -> int | None:
    """Bits of the key; None where its kind has one size."""
    return keysize or _SMALLEST.get(algo)


def kind_of(key: PrivateKey | PublicKey) -> str:
    """`rsa`, `ec`, `ed25519` or `ed448`."""
    if isinstance(key, rsa.RSAPrivateKey | rsa.RSAPublicKey):
        return "rsa"
    if isinstance(key, ec.EllipticCurvePrivateKey | ec.EllipticCurvePublicKey):
        return "ec"
    return "ed25519" if isinstance(key, ed25519.Ed25519PrivateKey | ed25519.Ed25519PublicKey) else "ed448"


def size_of(key: PrivateKey | PublicKey) -> int | None:
    """Bits of a key of RSA or EC."""
    size: int | None = getattr(key, "key_size", None)
    return size


def encode_key(key: PrivateKey, encoding: str, passphrase: str | None, *, compatible: bool = False) -> bytes:
    """The key in PKCS#8, or in a container of PKCS#12.

    Args:
        key: the key.
        encoding: `pem`, `der` or `pkcs12`.
        passphrase: what it is encrypted with; None: it is not.
        compatible: whether PKCS#12 is encrypted so that old systems can read it.
    """
    check_encoding(encoding, KEY_ENCODINGS)
    if encoding == "pkcs12":
        return pkcs12.serialize_key_and_certificates(None, key, None, None, cipher(passphrase, compatible=compatible))
    form = serialization.Encoding.PEM if encoding == "pem" else serialization.Encoding.DER
    return key.private_bytes(form, serialization.PrivateFormat.PKCS8, cipher(passphrase))


def cipher(passphrase: str | None, *, compatible: bool = False) -> serialization.KeySerializationEncryption:
    """What encrypts a key."""
    if passphrase is None:
        return serialization.NoEncryption()
    if compatible:
        return (
            serialization.PrivateFormat.PKCS12.encryption_builder()
            .kdf_rounds(50000)
            .key_cert_algorithm(pkcs12.PBES.PBESv1SHA1And3KeyTripleDESCBC)
            .hmac_hash(hashes.SHA1())  # noqa: S303  (what old systems know)
            .build(passphrase.encode())
        )
    return serialization.BestAvailableEncryption(passphrase.encode())


def check_encoding(encoding: str, known: tuple[str, ...]) -> None:
    """Raise StateFailed for an encoding that there is not."""
    if encoding not in known:
        raise StateFailed(f"Invalid value '{encoding}' for encoding. Valid: {', '.join(known)}")


def digest_of(name: str) -> hashes.HashAlgorithm:
    """The hash of this name."""
    if name.lower() not in DIGESTS:
        raise StateFailed(f"Invalid value '{name}' for digest. Valid: {', '.join(DIGESTS)}")
    made: hashes.HashAlgorithm = getattr(hashes, name.upper())()
    return made


def signing_digest(key: PrivateKey, name: str) -> Any:
    """What a signature is made over; None where the key has a hash of its own."""
    digest = digest_of(name)
    return None if kind_of(key) in ("ed25519", "ed448") else digest


def public_pem(key: PublicKey) -> str:
    """A public key as PEM."""
    form = serialization.PublicFormat.SubjectPublicKeyInfo
    return key.public_bytes(serialization.Encoding.PEM, form).decode()


def same_key(one: Any, other: Any) -> bool:
    """Whether two public keys are the same."""
    form = serialization.Encoding.DER, serialization.PublicFormat.SubjectPublicKeyInfo
    return bool(known_public(one).public_bytes(*form) == known_public(other).public_bytes(*form))


def signed_by(certificate: Any, key: Any) -> bool:
    """Whether the signature of a certificate was made by the private key of this public one."""
    given = known_public(key)
    data = (certificate.signature, certificate.tbs_certificate_bytes)
    try:
        if isinstance(given, rsa.RSAPublicKey):
            given.verify(*data, certificate.signature_algorithm_parameters, certificate.signature_hash_algorithm)
        elif isinstance(given, ec.EllipticCurvePublicKey):
            given.verify(*data, ec.ECDSA(certificate.signature_hash_algorithm))
        else:
            given.verify(*data)
    except (InvalidSignature, TypeError, AttributeError):  # the last two: signed by a key of another kind
        return False
    return True
