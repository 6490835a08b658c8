"""The controller takes the fingerprint of a stock minion from gateways whose key is accepted, and from nobody else."""

import pytest

from controller.messages.stock_keys import StockKeys
from wire.codec import decode_to_controller, encode
from wire.errors import MalformedMessage
from wire.keys import new_pair
from wire.messages import KeyRequest, SaltKey
from wire.salt_keys import VouchingSecret
from wire.server.types import Identity

PUBLIC = "p" * 40


@pytest.fixture
def gateway():
    return new_pair()


@pytest.fixture
def controller():
    return new_pair()


@pytest.fixture
def known():
    return {}


@pytest.fixture
def stock_keys(controller, known):
    return StockKeys(own=controller, identity=known.get)


@pytest.fixture
def request_of(gateway, controller):
    secret = VouchingSecret(gateway, controller.public)
    return KeyRequest(id="web1", salt_key=secret.vouch(gateway.public, PUBLIC, "web1", "ab" * 32))


def test_an_accepted_gateway_is_believed(stock_keys, known, gateway, request_of):
    known[gateway.public] = Identity(id="gw", state="accepted", role="gateway")
    assert stock_keys.fingerprint_of(request_of, PUBLIC) == ":".join(["ab"] * 32)
    assert stock_keys.fingerprint_of(KeyRequest(id="web1"), PUBLIC) == ""
    assert stock_keys.fingerprint_of(request_of, "q" * 40) == ""


@pytest.mark.parametrize(
    ("state", "role"),
    [("pending", "gateway"), ("rejected", "gateway"), ("accepted", "minion"), ("accepted", "relay")],
)
def test_nobody_else_is(stock_keys, known, gateway, request_of, state, role):
    assert stock_keys.fingerprint_of(request_of, PUBLIC) == ""
    known[gateway.public] = Identity(id="gw", state=state, role=role)
    assert stock_keys.fingerprint_of(request_of, PUBLIC) == ""


def test_a_minion_cannot_say_it_in_the_name_of_a_gateway(stock_keys, known, gateway, controller):
    known[gateway.public] = Identity(id="gw", state="accepted", role="gateway")
    liar = VouchingSecret(new_pair(), controller.public).vouch(gateway.public, PUBLIC, "web1", "ab" * 32)
    assert stock_keys.fingerprint_of(KeyRequest(id="web1", salt_key=liar), PUBLIC) == ""


@pytest.mark.parametrize("fingerprint", ["", "ab", "AB" * 32, "ab" * 33, "ab" * 31 + "\u202eab"])
def test_a_fingerprint_has_one_shape_whoever_says_it(stock_keys, known, gateway, controller, fingerprint):
    known[gateway.public] = Identity(id="gw", state="accepted", role="gateway")
    said = VouchingSecret(gateway, controller.public).vouch(gateway.public, PUBLIC, "web1", fingerprint)
    assert stock_keys.fingerprint_of(KeyRequest(id="web1", salt_key=said), PUBLIC) == ""


def test_a_long_text_is_no_message():
    long = KeyRequest(id="web1", salt_key=SaltKey(gateway="k", fingerprint="a" * 65, proof=b""))
    with pytest.raises(MalformedMessage):
        decode_to_controller(encode(long))
