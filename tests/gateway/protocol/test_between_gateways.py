"""What gateways say to each other: only those with one `master.pem`, and each question once."""

import time

import msgpack
import pytest

from gateway.minions.link import ControllerSide
from gateway.protocol import between_gateways as module
from gateway.protocol.between_gateways import GatewaySeal
from gateway.protocol.crypticle import NotAuthentic
from gateway.protocol.requests import GatewayRequest, RequestRefused, read_request
from gateway.protocol.rsa_keys import load_or_create_key
from wire.limits import MinionLimits

LIMITS = MinionLimits()


@pytest.fixture(scope="module")
def keys(tmp_path_factory):
    folder = tmp_path_factory.mktemp("keys")
    return [load_or_create_key(folder / name) for name in ("one.pem", "other.pem")]


def sealed(frame):
    request = read_request(frame)
    assert isinstance(request, GatewayRequest)
    return request.sealed


def test_a_question_and_its_answer(keys):
    one, other = GatewaySeal(keys[0], LIMITS), GatewaySeal(keys[0], LIMITS)
    frame, nonce = one.question({"cmd": "claims", "wanted": {"web1": "ab"}})
    asked = other.opened_question(sealed(frame))
    assert (asked["cmd"], asked["wanted"]) == ("claims", {"web1": "ab"})
    assert one.opened_answer(other.answer({"web1": "accepted"}, asked["nonce"]), nonce) == {"web1": "accepted"}


def test_a_question_counts_once_and_for_a_while(keys, monkeypatch):
    seal = GatewaySeal(keys[0], LIMITS)
    frame, _ = seal.question({"cmd": "claims"})
    seal.opened_question(sealed(frame))
    with pytest.raises(RequestRefused, match="comes again"):
        seal.opened_question(sealed(frame))
    later = time.time() + 31
    monkeypatch.setattr(module.time, "time", lambda: later)
    with pytest.raises(RequestRefused, match="another time"):
        seal.opened_question(sealed(frame))


def test_an_answer_to_another_question_is_none(keys):
    seal = GatewaySeal(keys[0], LIMITS)
    _, nonce = seal.question({"cmd": "claims"})
    with pytest.raises(RequestRefused):
        seal.opened_answer(seal.answer({}, "other"), nonce)


def test_another_key_is_nobody(keys):
    frame, _ = GatewaySeal(keys[1], LIMITS).question({"cmd": "claims"})
    with pytest.raises(NotAuthentic):
        GatewaySeal(keys[0], LIMITS).opened_question(sealed(frame))


@pytest.mark.parametrize("load", [5, None, [], "x" * 40, {"a": 1}])
def test_what_is_no_question(keys, load):
    frame = msgpack.packb({"enc": "gateway", "version": 3, "load": load})
    with pytest.raises(RequestRefused):
        read_request(frame)


def test_gateways_with_one_key_know_a_minion_by_the_same(keys):
    def known(own, minion, pem):
        side = ControllerSide(places=None, context=None, keys=None, own=None, shared=own)
        return side.minion_keys(minion, pem)

    one = known(keys[0], "web1", keys[1].pem)
    assert one == known(keys[0], "web1", keys[1].pem)
    others = [
        known(keys[0], "web2", keys[1].pem),
        known(keys[0], "web1", keys[0].pem),
        known(keys[1], "web1", keys[1].pem),
    ]
    assert len({each.secret for each in (one, *others)}) == 4
