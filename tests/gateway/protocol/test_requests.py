"""Requests out of their envelopes: what a minion sends, and what hostile ones do."""

import hashlib
import hmac
import os
import time

import msgpack
import pytest

from gateway.protocol.crypticle import Crypticle, NotAuthentic, new_key
from gateway.protocol.packing import pack, unpack
from gateway.protocol.requests import (
    AuthRequest,
    RequestRefused,
    SealedRequest,
    clear_answer,
    open_request,
    private_answer,
    read_request,
)
from gateway.protocol.rsa_keys import MinionKey, load_or_create_key
from gateway.protocol.shared_key import SharedKey
from wire.errors import MalformedMessage, OverLimit
from wire.limits import MinionLimits

NONCE = "0123456789abcdef" * 2
LIMITS = MinionLimits()


@pytest.fixture(scope="module")
def own(tmp_path_factory):
    return load_or_create_key(tmp_path_factory.mktemp("keys") / "master.pem")


@pytest.fixture(scope="module")
def minion(tmp_path_factory):
    return load_or_create_key(tmp_path_factory.mktemp("keys") / "minion.pem")


def auth(pem, **more):
    return pack(
        {"enc": "clear", "version": 3, "load": {"cmd": "_auth", "id": "web1", "nonce": NONCE, "pub": pem, **more}}
    )


def sealed(session, minion, *, who="web1", **more):
    load = {"cmd": "_pillar", "id": "web1", "nonce": NONCE, "ts": int(time.time()), "tok": minion.sign_x931(b"salt")}
    load.update(more)
    return pack({"enc": "aes", "version": 3, "id": who, "load": session.seal(load)})


def opened(frame, session, minion):
    return open_request(read_request(frame), session, MinionKey(minion.pem), LIMITS, time.time())


def test_a_minion_that_shows_its_key(minion):
    found = read_request(auth(minion.pem, enc_algo="OAEP-SHA224", sig_algo="PKCS1v15-SHA224"))
    assert found == AuthRequest(
        id="web1", pub=minion.pem, nonce=NONCE, encryption="OAEP-SHA224", signing="PKCS1v15-SHA224"
    )


def test_a_request_of_a_minion(minion):
    session = Crypticle(new_key())
    found = opened(sealed(session, minion, grains={"os": "Debian"}), session, minion)
    assert (found.id, found.cmd, found.nonce) == ("web1", "_pillar", NONCE)
    assert found.load["grains"] == {"os": "Debian"}
    assert "tok" not in found.load


@pytest.mark.parametrize(
    "frame",
    [
        b"",
        b"\xc1",
        b"\xdd\xff\xff\xff\xff",
        b"\xdf\xff\xff\xff\xff",
        b"\x91" * 5000,
        pack(3),
        pack({"enc": "clear", "load": {"cmd": "runner", "fun": "x"}, "version": 3}),
        pack({"enc": "clear", "load": {"cmd": "_auth", "id": "../x", "nonce": NONCE, "pub": ""}, "version": 3}),
        pack({"enc": "clear", "load": {"cmd": "_auth", "id": "a\0b", "nonce": NONCE, "pub": ""}, "version": 3}),
        pack({"enc": "clear", "load": {"cmd": "_auth", "id": "web1", "nonce": "short", "pub": ""}, "version": 3}),
        pack({"enc": "clear", "load": {"cmd": "_auth", "id": "web1", "nonce": NONCE, "pub": 1}, "version": 3}),
        pack({"enc": "aes", "load": {"a": 1}, "id": "web1", "version": 3}),
        pack({"enc": "aes", "load": b"x", "id": "web1", "version": 3, "enc_algo": "PKCS1v15-MD5"}),
        msgpack.packb({"enc": msgpack.ExtType(5, b"x"), "version": 3}),
    ],
)
def test_what_is_no_request_is_refused(frame):
    with pytest.raises(MalformedMessage):
        read_request(frame)


@pytest.mark.parametrize("version", [0, 1, 2, "3", None, 4])
def test_another_version_is_refused_and_named(version, minion):
    frame = pack({"enc": "clear", "version": version, "load": {"cmd": "_auth", "id": "old1", "nonce": NONCE}})
    with pytest.raises(RequestRefused, match=r"version .*old1.*3 is needed"):
        read_request(frame)


def test_a_request_in_another_name_is_refused(minion):
    session = Crypticle(new_key())
    with pytest.raises(RequestRefused, match="in the name of 'web2'"):
        opened(sealed(session, minion, who="web2"), session, minion)


def test_a_request_without_the_token_of_the_key_is_refused(minion, own):
    session = Crypticle(new_key())
    for token in (b"", b"x" * 256, own.sign_x931(b"salt"), None, 7):
        with pytest.raises(RequestRefused, match="token"):
            opened(sealed(session, minion, tok=token), session, minion)


def test_a_request_of_another_time_is_refused(minion):
    session = Crypticle(new_key())
    for when in (int(time.time()) - 3600, int(time.time()) + 3600, None, "now"):
        with pytest.raises(RequestRefused, match="another time"):
            opened(sealed(session, minion, ts=when), session, minion)


def test_a_session_of_another_minion_opens_nothing(minion):
    with pytest.raises(NotAuthentic):
        opened(sealed(Crypticle(new_key()), minion), Crypticle(new_key()), minion)


def test_garbage_and_cut_ends_are_not_authentic():
    session = Crypticle(new_key())
    whole = session.seal({"a": 1})
    changed = bytes([whole[0] ^ 1]) + whole[1:]
    for data in (b"", b"x", whole[:-1], whole[16:], changed, b"\0" * 64, whole + b"\0"):
        with pytest.raises(NotAuthentic):
            session.open(data, LIMITS)


def test_padding_is_looked_at_only_when_the_rest_is_authentic():
    """Whoever has the key and breaks the padding gets a refusal, not another error."""
    key = new_key()
    session = Crypticle(key)
    body = os.urandom(48)
    signature = hmac.digest(session._hmac, body, hashlib.sha256)
    with pytest.raises(MalformedMessage):
        session.open(body + signature, LIMITS)
    short = os.urandom(16)
    with pytest.raises(MalformedMessage):
        session.open(short + hmac.digest(session._hmac, short, hashlib.sha256), LIMITS)


def test_a_value_that_is_too_deep_or_too_large_is_refused():
    deep = b"\x91" * 200 + b"\xc0"
    with pytest.raises(OverLimit):
        unpack(deep, LIMITS)
    with pytest.raises(OverLimit):
        unpack(pack([0] * 1000), MinionLimits(values=100))


def test_text_and_bytes_are_told_apart_by_what_they_are():
    assert unpack(pack({"a": "ü", "b": b"\xff\xfe", 1: [None, True, 2**80]}), LIMITS) == {
        "a": "ü",
        "b": b"\xff\xfe",
        1: [None, True, str(2**80)],
    }


def test_a_pillar_is_for_one_minion_and_signed(own, minion):
    request = opened(sealed(session := Crypticle(new_key()), minion), session, minion)
    answer = msgpack.unpackb(private_answer("pillar", {"secret": "x"}, MinionKey(minion.pem), own, request), raw=True)
    once = minion.decrypt(answer[b"key"], "OAEP-SHA1").decode()
    inside = Crypticle(once).open(answer[b"pillar"], LIMITS)
    assert MinionKey(own.pem).verifies(inside["data"], inside["sig"], "PKCS1v15-SHA1")
    told = msgpack.unpackb(inside["data"], raw=True)
    assert told[b"pillar"] == {b"secret": b"x"}
    assert told[b"nonce"].decode() == NONCE
    assert told[b"key"] == answer[b"key"]


def test_a_welcome_and_a_publication_are_read_by_the_minion(own, minion):
    shared = SharedKey(own, serial=5)
    request = read_request(auth(minion.pem, token=MinionKey(own.pem).encrypt(b"mine", "OAEP-SHA1")))
    session = new_key()
    said = msgpack.unpackb(shared.welcome(request, MinionKey(minion.pem), session, 4505), raw=True)
    assert MinionKey(own.pem).verifies(said[b"load"], said[b"sig"], "PKCS1v15-SHA1")
    load = msgpack.unpackb(said[b"load"], raw=True)
    assert minion.decrypt(load[b"token"], "OAEP-SHA1") == b"mine"
    assert minion.decrypt(load[b"session"], "OAEP-SHA1").decode() == session
    key = minion.decrypt(load[b"aes"], "OAEP-SHA1").decode()
    first, second = (shared.publication({"fun": "test.ping"}) for _ in range(2))
    assert MinionKey(own.pem).verifies(first["load"], first["sig"], "PKCS1v15-SHA1")
    serials = [Crypticle(key).open(each["load"], LIMITS)["serial"] for each in (first, second)]
    assert serials == [6, 7]
    shared.rotate()
    with pytest.raises(NotAuthentic):
        Crypticle(key).open(shared.publication({})["load"], LIMITS)


def test_a_token_for_another_key_is_refused(own, minion):
    token = MinionKey(minion.pem).encrypt(b"mine", "OAEP-SHA1")
    with pytest.raises(ValueError):
        SharedKey(own, serial=0).welcome(
            read_request(auth(minion.pem, token=token)), MinionKey(minion.pem), new_key(), 4505
        )


def test_a_refusal_is_signed(own):
    said = msgpack.unpackb(clear_answer({"ret": True, "nonce": NONCE}, own, "PKCS1v15-SHA1"), raw=True)
    assert MinionKey(own.pem).verifies(said[b"load"], said[b"sig"], "PKCS1v15-SHA1")
    assert isinstance(read_request(pack({"enc": "aes", "load": b"x", "id": "web1", "version": 3})), SealedRequest)
