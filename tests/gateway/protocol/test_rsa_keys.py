"""RSA as Salt uses it; the fingerprints and signatures beside those of openssl."""

import ctypes
import ctypes.util
import hashlib

import pytest
from cryptography.hazmat.primitives import serialization
from cryptography.hazmat.primitives.asymmetric import ec, rsa

from gateway.protocol import rsa_keys
from gateway.protocol.rsa_keys import MinionKey, clean_key, load_or_create_key, salt_fingerprint
from wire.errors import BadKey

RSA_X931_PADDING = 5
"""Of openssl/rsa.h."""


@pytest.fixture(scope="module")
def path(tmp_path_factory):
    return tmp_path_factory.mktemp("keys") / "pki/master.pem"


@pytest.fixture(scope="module")
def own(path):
    return load_or_create_key(path)


def _public(key):
    return (
        key.public_key()
        .public_bytes(serialization.Encoding.PEM, serialization.PublicFormat.SubjectPublicKeyInfo)
        .decode()
    )


def test_a_key_is_made_once_for_its_owner_alone(path, own):
    assert path.stat().st_mode & 0o777 == 0o600
    assert load_or_create_key(path).pem == own.pem


def test_a_file_that_is_no_key_is_refused(tmp_path):
    (tmp_path / "master.pem").write_text("nothing")
    with pytest.raises(BadKey, match="no private key"):
        load_or_create_key(tmp_path / "master.pem")


def test_a_token_is_known_again_and_nothing_else_is(own):
    """A minion's token is its signature of `salt`; here the key signs that is a minion's, too."""
    key = MinionKey(own.pem)
    token = own.sign_x931(b"salt")
    assert key.signed_token(token)
    for other in (own.sign_x931(b"salt "), own.sign_x931(b""), own.sign(b"salt", "PKCS1v15-SHA1")):
        assert not key.signed_token(other)


def test_a_token_that_was_good_is_not_opened_again_and_vouches_for_no_other(own, monkeypatch):
    key, token = MinionKey(own.pem), own.sign_x931(b"salt")
    assert not key.signed_token(token[:-1] + bytes([token[-1] ^ 4]))
    assert key.signed_token(token)
    opened = []
    monkeypatch.setattr(rsa_keys, "_x931_recover", lambda *asked: opened.append(asked))
    assert key.signed_token(token)
    assert opened == []
    assert not key.signed_token(token[:-1] + bytes([token[-1] ^ 4]))
    assert len(opened) == 1


@pytest.mark.parametrize(
    "garbage", [b"", b"\0" * 256, b"\xff" * 256, b"\x01" + b"\0" * 255, b"x" * 255, b"x" * 100_000]
)
def test_garbage_is_no_token(own, garbage):
    assert not MinionKey(own.pem).signed_token(garbage)


def test_libcrypto_opens_what_was_signed_by_x931(own):
    """An independent reader of the padding, which Salt calls in the same way: the digest comes back as it was."""
    name = ctypes.util.find_library("crypto")
    if name is None:
        pytest.skip("there is no libcrypto on this machine")
    crypto = ctypes.CDLL(name)
    for function in ("BIO_new_mem_buf", "PEM_read_bio_RSA_PUBKEY"):
        getattr(crypto, function).restype = ctypes.c_void_p
    pem = own.pem.encode()
    bio = ctypes.c_void_p(crypto.BIO_new_mem_buf(pem, len(pem)))
    rsa_key = ctypes.c_void_p(crypto.PEM_read_bio_RSA_PUBKEY(bio, None, None, None))
    digest = hashlib.sha256(b"key").hexdigest().encode()
    signed = own.sign_x931(digest)
    opened = ctypes.create_string_buffer(len(signed))
    length = crypto.RSA_public_decrypt(len(signed), signed, opened, rsa_key, RSA_X931_PADDING)
    assert opened.raw[:length] == digest


def test_what_is_encrypted_for_a_key_is_read_by_it_alone(own):
    for algorithm in ("OAEP-SHA1", "OAEP-SHA224"):
        assert own.decrypt(MinionKey(own.pem).encrypt(b"secret", algorithm), algorithm) == b"secret"
    with pytest.raises(ValueError):
        own.decrypt(
            MinionKey(_public(rsa.generate_private_key(65537, 2048))).encrypt(b"secret", "OAEP-SHA1"), "OAEP-SHA1"
        )


def test_a_signature_is_verified(own):
    key = MinionKey(own.pem)
    signature = own.sign(b"data", "PKCS1v15-SHA224")
    assert key.verifies(b"data", signature, "PKCS1v15-SHA224")
    assert not key.verifies(b"date", signature, "PKCS1v15-SHA224")
    assert not key.verifies(b"data", signature, "PKCS1v15-SHA1")


@pytest.mark.parametrize(
    ("pem", "why"),
    [
        ("", "no public key"),
        ("-----BEGIN PUBLIC KEY-----\nAAAA\n-----END PUBLIC KEY-----", "no public key"),
        ("x" * 5000, "more than"),
        (_public(rsa.generate_private_key(3, 2048)), "another exponent"),
        (_public(ec.generate_private_key(ec.SECP256R1())), "no RSA key"),
    ],
)
def test_other_keys_are_refused(pem, why):
    with pytest.raises(BadKey, match=why):
        MinionKey(pem)


def test_a_fingerprint_is_that_of_the_lines_between(own):
    """As `pem_finger` of Salt: SHA-256 over the lines of the key, their ends included."""
    inner = clean_key(own.pem).split("\n")[1:-1]
    digest = hashlib.sha256("".join(f"{line}\n" for line in inner).encode()).hexdigest()
    assert salt_fingerprint(own.pem + "\r\n").replace(":", "") == digest
