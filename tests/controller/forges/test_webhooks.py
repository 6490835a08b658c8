from __future__ import annotations

import base64
import hashlib
import hmac
import json

import pytest
from forges.all_forges import CASES
from hypothesis import given
from hypothesis import strategies as st

from controller.forges import webhooks
from gitfs.config.urls import canonical

SECRET = b"s3cret-word"
BODY = b'{"a": 1}'
GOOD = hmac.new(SECRET, BODY, hashlib.sha256).hexdigest()


@pytest.mark.parametrize(
    "headers",
    [
        {"x-hub-signature-256": f"sha256={GOOD}"},
        {"x-hub-signature": f"sha256={GOOD}"},
        {"x-gitea-signature": GOOD},
        {"x-forgejo-signature": GOOD},
        {"x-saltern-signature": f"sha256={GOOD.upper()}"},
        {"x-gitlab-token": SECRET.decode()},
        {"authorization": "Basic " + base64.b64encode(b"anyone:" + SECRET).decode()},
    ],
)
def test_the_secret_is_found_where_each_forge_sends_it(headers):
    assert webhooks.verify(SECRET, headers, BODY)
    assert not webhooks.verify(b"another", headers, BODY)


def test_a_signature_is_over_the_raw_body():
    assert not webhooks.verify(SECRET, {"x-hub-signature-256": f"sha256={GOOD}"}, b'{"a":1}')


@pytest.mark.parametrize(
    "headers",
    [
        {},
        {"x-hub-signature-256": ""},
        {"x-hub-signature": "sha1=" + hmac.new(SECRET, BODY, hashlib.sha1).hexdigest()},
        {"x-hub-signature-256": "sha256=" + hmac.new(b"", BODY, hashlib.sha256).hexdigest()},
        {"x-gitlab-token": "s3cret-wor"},
        {"authorization": "Basic " + base64.b64encode(SECRET).decode()},
        {"authorization": "Basic !!!"},
        {"authorization": "Bearer " + SECRET.decode()},
    ],
)
def test_a_request_without_the_secret_is_not_verified(headers):
    assert not webhooks.verify(SECRET, headers, BODY)


@given(st.dictionaries(st.sampled_from(["x-hub-signature-256", "x-gitlab-token", "authorization"]), st.text()))
def test_nothing_that_is_sent_breaks_the_check(headers):
    assert not webhooks.verify(b"a secret of some length", headers, BODY)


@pytest.mark.parametrize("forge", CASES)
def test_each_forge_names_its_repository(forge):
    found = webhooks.repositories(webhooks.payload_of(json.dumps(CASES[forge].push).encode()))
    assert "git.example.org/infra/states" in {canonical(name) for name in found}


@given(st.recursive(st.none() | st.text() | st.integers(), lambda c: st.lists(c) | st.dictionaries(st.text(), c)))
def test_any_payload_gives_texts(payload):
    wrapped = {
        "repository": payload,
        "project": {"links": payload, "url": payload},
        "resource": {"repository": payload},
    }
    for each in (payload, wrapped):
        assert all(isinstance(name, str) for name in webhooks.repositories(each))
        assert isinstance(webhooks.delivery_of({}, each), str)


def test_what_is_no_json_names_no_repository():
    for body in (b"", b"\xff\x00", b"[" * 100_000, b"payload=%7B%7D"):
        assert webhooks.payload_of(body) is None
    assert webhooks.repositories(None) == ()


def test_a_delivery_counts_once():
    deliveries = webhooks.Deliveries(bound=2)
    names = [webhooks.delivery_of({"x-github-delivery": each}, None) for each in "abc"]
    for name in names:
        assert name not in deliveries
        deliveries.add(name)
    assert [name in deliveries for name in names] == [False, True, True]
    deliveries.add("")
    assert "" not in deliveries


def test_names_of_deliveries():
    assert webhooks.delivery_of({"idempotency-key": "1", "x-gitlab-event-uuid": "2"}, None) == "idempotency-key:1"
    assert webhooks.delivery_of({}, CASES["azure-devops"].push) == "id:03c164c2"
    assert webhooks.delivery_of({}, CASES["github"].push) == ""


def test_pings():
    assert webhooks.is_ping({"x-github-event": "ping"})
    assert webhooks.is_ping({"x-event-key": "diagnostics:ping"})
    assert not webhooks.is_ping({"x-github-event": "push"})
