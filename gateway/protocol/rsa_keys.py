"""RSA as Salt uses it: the gateway's own key, and public keys of minions.

Algorithms are named as in Salt: `OAEP-SHA1`, `PKCS1v15-SHA1`, and both with `SHA224`. Beside them stands a signature by
ANSI X9.31, which no library offers any more: it is a few lines over `pow`.

Source: `PublicKey`, `PrivateKey` and `clean_key` in `salt/crypt.py`, `pem_finger` in `salt/utils/crypt.py`,
`RSA_padding_add_X931` of OpenSSL.
"""

from __future__ import annotations

import binascii
import hashlib
import hmac
import os
from pathlib import Path

from cryptography.exceptions import InvalidSignature, UnsupportedAlgorithm
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import padding, rsa

from minion.machine.durable_files import write_readable
from wire.errors import BadKey

KEY_BITS = 2048
"""Of a new key, as `keysize` of Salt says."""
_LEAST_BITS = 1024
_MOST_BITS = 8192
_MOST_PEM = 4096
"""Bytes of a minion's key."""
_EXPONENT = 65537
_TOKEN = b"salt"
"""What a minion signs to say who it is; the same always."""
_HASHES = {"SHA1": hashes.SHA1, "SHA224": hashes.SHA224}
ENCRYPTIONS = tuple(f"OAEP-{name}" for name in _HASHES)
SIGNATURES = tuple(f"PKCS1v15-{name}" for name in _HASHES)


def clean_key(pem: str) -> str:
    """A public key as minions and masters compare it: without spaces around it, its lines ended alike."""
    return "\n".join(pem.strip().splitlines())


def salt_fingerprint(pem: str) -> str:
    """The fingerprint that `salt-key -f` and `salt-call --local key.finger` show."""
    lines = [line for line in clean_key(pem).split("\n") if line and not line.startswith("-----")]
    digest = hashlib.sha256("".join(f"{line}\n" for line in lines).encode()).hexdigest()
    return ":".join(digest[place : place + 2] for place in range(0, len(digest), 2))


class MinionKey:
    """The public key of a minion. Raises BadKey where it is none, or none that Salt makes.

    Args:
        pem: text of it, as the minion sent it.
    """

    def __init__(self, pem: str) -> None:
        if len(pem) > _MOST_PEM:
            raise BadKey(f"a key of more than {_MOST_PEM} bytes")
        try:
            key = serialization.load_pem_public_key(clean_key(pem).encode())
        except (ValueError, UnsupportedAlgorithm) as error:
            raise BadKey("no public key") from error
        if not isinstance(key, rsa.RSAPublicKey) or not _LEAST_BITS <= key.key_size <= _MOST_BITS:
            raise BadKey(f"no RSA key of {_LEAST_BITS} to {_MOST_BITS} bits")
        numbers = key.public_numbers()
        if numbers.e != _EXPONENT:
            raise BadKey(f"an RSA key with another exponent than {_EXPONENT}")
        self.pem = clean_key(pem)
        self._key = key
        self._modulus = numbers.n
        self._token = b""
        """The one that it has signed: it is the same always, and each request of the minion brings it."""

    def has_pem(self, pem: str) -> bool:
        """Whether this text is this key. Costs no parsing."""
        return len(pem) <= _MOST_PEM and clean_key(pem) == self.pem

    def encrypt(self, data: bytes, algorithm: str) -> bytes:
        """For this minion alone."""
        return self._key.encrypt(data, _oaep(algorithm))

    def signed_token(self, token: bytes) -> bool:
        """Whether the minion made this token, which says who sends a request."""
        if self._token and hmac.compare_digest(token, self._token):
            return True
        recovered = _x931_recover(token, self._modulus)
        if recovered is None or not hmac.compare_digest(recovered, _TOKEN):
            return False
        self._token = token
        return True

    def verifies(self, data: bytes, signature: bytes, algorithm: str) -> bool:
        """Whether the minion signed this."""
        try:
            self._key.verify(signature, data, padding.PKCS1v15(), _hash(algorithm))
        except InvalidSignature:
            return False
        return True


class GatewayKey:
    """The key by which minions know the gateway: what `master.pem` is to a master.

    Args:
        key: the private key.
    """

    def __init__(self, key: rsa.RSAPrivateKey) -> None:
        self._key = key
        public = key.public_key().public_bytes(
            serialization.Encoding.PEM, serialization.PublicFormat.SubjectPublicKeyInfo
        )
        self.pem = clean_key(public.decode("ascii"))

    def derived(self, purpose: bytes) -> bytes:
        """32 bytes that nobody can know without this key; the same for the same purpose (HKDF of RFC 5869)."""
        exponent = self._key.private_numbers().d
        secret = exponent.to_bytes((exponent.bit_length() + 7) // 8, "big")
        return hmac.digest(hmac.digest(b"saltern gateway", secret, hashlib.sha256), purpose + b"\x01", hashlib.sha256)

    def sign(self, data: bytes, algorithm: str) -> bytes:
        """A signature that minions verify."""
        return self._key.sign(data, padding.PKCS1v15(), _hash(algorithm))

    def decrypt(self, data: bytes, algorithm: str) -> bytes:
        """What a minion encrypted. ValueError where it did not."""
        return self._key.decrypt(data, _oaep(algorithm))

    def sign_x931(self, data: bytes) -> bytes:
        """A signature from which the text can be had again. Takes some ten milliseconds."""
        return _x931_sign(data, self._key)


def load_or_create_key(path: Path) -> GatewayKey:
    """The key in a file, made there with mode 0600 where there is none. Raises BadKey."""
    try:
        with os.fdopen(os.open(path, os.O_RDONLY | os.O_CLOEXEC | os.O_NOFOLLOW), "rb") as file:
            pem = file.read(64 * 1024)
    except FileNotFoundError:
        return _create_key(path)
    try:
        key = serialization.load_pem_private_key(pem, password=None)
    except (ValueError, TypeError, UnsupportedAlgorithm) as error:
        raise BadKey(f"{path}: no private key: {error}") from error
    if not isinstance(key, rsa.RSAPrivateKey):
        raise BadKey(f"{path}: no RSA key")
    return GatewayKey(key)


class PubkeySigner:
    """Signs the gateway's key, so that minions know it when it has changed (`master_sign_pubkey` of Salt).

    Args:
        key: by which it is signed; minions have its public half as `master_sign.pub`.
    """

    def __init__(self, key: GatewayKey) -> None:
        self.pem = key.pem
        self._key = key

    def signature(self, pem: str, algorithm: str) -> bytes:
        """The signature of a public key, as minions read it."""
        return binascii.b2a_base64(self._key.sign(pem.encode(), algorithm))


def load_or_create_signer(folder: Path, name: str) -> PubkeySigner:
    """The signer of a folder, with its public half beside it. Raises BadKey, OSError."""
    signer = PubkeySigner(load_or_create_key(folder / f"{name}.pem"))
    write_readable(folder / f"{name}.pub", f"{signer.pem}\n".encode())
    return signer


def rotate_key(path: Path) -> GatewayKey:
    """Make another key in this file; the one before is kept beside it, as `.old`. Raises BadKey, OSError."""
    load_or_create_key(path)
    old = path.with_suffix(".old")
    old.unlink(missing_ok=True)
    os.link(path, old, follow_symlinks=False)
    return _create_key(path)


def _create_key(path: Path) -> GatewayKey:
    key = rsa.generate_private_key(_EXPONENT, KEY_BITS)
    pem = key.private_bytes(
        serialization.Encoding.PEM, serialization.PrivateFormat.TraditionalOpenSSL, serialization.NoEncryption()
    )
    path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    made = path.with_suffix(".new")
    with os.fdopen(os.open(made, os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_NOFOLLOW, 0o600), "wb") as file:
        file.write(pem)
        file.flush()
        os.fsync(file.fileno())
    made.rename(path)
    return GatewayKey(key)


def _hash(algorithm: str) -> hashes.HashAlgorithm:
    return _HASHES[algorithm.partition("-")[2]]()


def _oaep(algorithm: str) -> padding.OAEP:
    return padding.OAEP(mgf=padding.MGF1(_hash(algorithm)), algorithm=_hash(algorithm), label=None)


def _x931_sign(data: bytes, key: rsa.RSAPrivateKey) -> bytes:
    size = key.key_size // 8
    space = size - len(data) - 2
    if space < 1:
        raise ValueError("too much for this key")
    padded = b"\x6b" + b"\xbb" * (space - 1) + b"\xba" + data + b"\xcc"
    numbers = key.private_numbers()
    modulus = numbers.public_numbers.n
    value = int.from_bytes(padded, "big")
    # By the Chinese remainder theorem: a quarter of the time.
    by_p, by_q = pow(value, numbers.dmp1, numbers.p), pow(value, numbers.dmq1, numbers.q)
    signed = by_q + (numbers.iqmp * (by_p - by_q)) % numbers.p * numbers.q
    return min(signed, modulus - signed).to_bytes(size, "big")


def _x931_recover(signature: bytes, modulus: int) -> bytes | None:
    """The text that was signed; None where it is no signature."""
    size = (modulus.bit_length() + 7) // 8
    value = int.from_bytes(signature, "big") if len(signature) == size else modulus
    if value >= modulus:
        return None
    opened = pow(value, _EXPONENT, modulus)
    if opened & 0xF != 0xC:
        opened = modulus - opened
    padded = opened.to_bytes(size, "big")
    if padded[-1] != 0xCC:
        return None
    if padded[0] == 0x6A:
        return padded[1:-1]
    place = padded.find(b"\xba")
    if padded[0] != 0x6B or place < 1 or padded[1:place].strip(b"\xbb"):
        return None
    return padded[place + 1 : -1]
