"""What a gateway vouches for is believed of that gateway, key, id and fingerprint alone."""

import msgspec
import pytest

from wire.errors import BadKey
from wire.keys import new_pair
from wire.salt_keys import VouchingSecret

FINGERPRINT = "ab" * 32


@pytest.fixture
def gateway():
    return new_pair()


@pytest.fixture
def controller():
    return new_pair()


@pytest.fixture
def said(gateway, controller):
    return VouchingSecret(gateway, controller.public).vouch(gateway.public, "p" * 40, "web1", FINGERPRINT)


def test_what_the_gateway_says_is_believed(gateway, controller, said):
    assert VouchingSecret(controller, gateway.public).is_vouched(said, "p" * 40, "web1")


def test_nothing_of_it_can_be_another(gateway, controller, said):
    secret = VouchingSecret(controller, gateway.public)
    assert not secret.is_vouched(said, "q" * 40, "web1")
    assert not secret.is_vouched(said, "p" * 40, "web2")
    assert not secret.is_vouched(msgspec.structs.replace(said, fingerprint="cd" * 32), "p" * 40, "web1")
    assert not secret.is_vouched(msgspec.structs.replace(said, proof=b""), "p" * 40, "web1")


def test_another_gateway_or_controller_has_another_secret(gateway, controller, said):
    assert not VouchingSecret(controller, new_pair().public).is_vouched(said, "p" * 40, "web1")
    assert not VouchingSecret(new_pair(), gateway.public).is_vouched(said, "p" * 40, "web1")


def test_a_key_that_gives_no_secret_is_refused(gateway):
    with pytest.raises(BadKey):
        VouchingSecret(gateway, "0" * 40)  # 32 times zero
