"""Tokens of a real issuer, in a process of its own on this machine: what is taken, and what is not."""

from __future__ import annotations

import base64
import json
import socket
import time

import jwt
import pytest
from api_ports import over_tls, token_of, with_port
from oidc_issuer import IssuerProcess

from controller.access.oidc import OidcRefused, OidcTokens, OidcTrouble
from controller.config.api import OidcOptions
from controller.config.limits import OidcLimits
from controller.config.settings import load_settings


@pytest.fixture
def issuer():
    with IssuerProcess() as found:
        yield found


@pytest.fixture
def make_tokens(issuer):
    def make(clock=time.time, limits=None, **options):
        chosen = {"issuer": issuer.address, "audience": ("saltern",), **options}
        return OidcTokens(options=OidcOptions(**chosen), limits=limits or OidcLimits(), clock=clock)

    return make


async def test_who_it_is_and_in_which_groups(issuer, make_tokens):
    tokens = make_tokens()
    for key in ("rsa", "ec"):
        found = await tokens.principal(issuer.token(key, groups=["ops", "dev"], exp=2_000_000_000))
        assert (found.name, found.groups, found.method) == ("oidc:olga", {"oidc:ops", "oidc:dev"}, "oidc")
        assert (found.expires, found.everything) == (2_000_000_000.0, False)
    assert issuer.ask(count=1) == {"/.well-known/openid-configuration": 1, "/keys": 1}


async def test_claims_are_those_that_are_configured(issuer, make_tokens):
    tokens = make_tokens(user_claim="email", groups_claim="roles", prefix="")
    found = await tokens.principal(issuer.token(email="olga@example.org", roles="ops"))
    assert (found.name, found.groups) == ("olga@example.org", {"ops"})
    for claims in ({}, {"email": "x@example.org", "email_verified": False}, {"email": 7}, {"email": "a\nb"}):
        with pytest.raises(OidcRefused):
            await tokens.principal(issuer.token(**claims))


@pytest.mark.parametrize(
    "claims",
    [
        {"exp": 1},
        {"exp": None},
        {"iss": "https://id.example.org"},
        {"iss": None},
        {"aud": "another"},
        {"aud": None},
        {"sub": None},
        {"sub": ""},
        {"sub": "x" * 1000},
        {"nbf": 4_000_000_000},
        {"groups": {"ops": 1}},
        {"groups": [1]},
        {"groups": ["g"] * 501},
    ],
)
async def test_what_a_claim_says_otherwise_is_refused(issuer, make_tokens, claims):
    with pytest.raises(OidcRefused):
        await make_tokens().principal(issuer.token(**claims))


async def test_no_signature_but_one_of_the_issuers_keys_is_taken(issuer, make_tokens):
    tokens, good = make_tokens(), issuer.token()
    head, body, signature = good.split(".")
    claims = jwt.decode(good, options={"verify_signature": False})
    none = base64.urlsafe_b64encode(json.dumps({"alg": "none", "kid": "rsa1"}).encode()).rstrip(b"=").decode()
    forged = [
        f"{head}.{body}.{signature[:-8]}AAAAAAAA",
        f"{head}.{body}.",
        f"{none}.{body}.",
        jwt.encode(claims, "secret" * 8, "HS256", headers={"kid": "shared"}),
        jwt.encode(claims, "secret" * 8, "HS256", headers={"kid": "rsa1"}),
        issuer.token(headers={"kid": "ec1"}),
        issuer.token(headers={"kid": "../rsa1"}),
        "a.b.c",
        "..",
        good + "x" * 20_000,
    ]
    for token in forged:
        with pytest.raises(OidcRefused):
            await tokens.principal(token)
    assert (await tokens.principal(good)).name == "oidc:olga"


async def test_a_new_key_is_asked_for_and_others_ask_nothing(issuer, make_tokens):
    now = [1000.0]
    tokens = make_tokens(clock=lambda: now[0])
    await tokens.principal(issuer.token())
    issuer.ask(rotate=1)
    renewed = issuer.token()
    with pytest.raises(OidcRefused, match="does not publish"):
        await tokens.principal(renewed)
    now[0] += 31
    assert (await tokens.principal(renewed)).name == "oidc:olga"
    for number in range(20):
        with pytest.raises(OidcRefused):
            await tokens.principal(issuer.token(headers={"kid": f"unknown{number}"}))
    assert issuer.ask(count=1)["/keys"] == 2


async def test_while_the_issuer_is_away_its_last_keys_hold_for_a_day(issuer, make_tokens):
    now = [1000.0]
    tokens, token = make_tokens(clock=lambda: now[0]), issuer.token()
    await tokens.principal(token)
    issuer.stop()
    now[0] += 4000
    assert (await tokens.principal(token)).name == "oidc:olga"
    now[0] += 86400
    with pytest.raises(OidcTrouble):
        await tokens.principal(token)


async def test_answers_of_the_issuer_are_bounded(issuer, make_tokens):
    for limits in (OidcLimits(document_bytes=200), OidcLimits(keys=1)):
        with pytest.raises(OidcTrouble):
            await make_tokens(limits=limits).principal(issuer.token())


async def test_a_document_of_another_issuer_is_none(issuer, make_tokens):
    with pytest.raises(OidcTrouble):
        await make_tokens(issuer=issuer.address + "/").principal(issuer.token())


def test_over_the_port_roles_and_rules_hold_for_it(issuer, desk, config_dir, serve_desk):
    """Its names are not those of this machine; a session lives no longer than its token."""
    rules = (
        "api_roles: {viewer: ['oidc:staff%'], admin: [olga]}\n"
        "external_auth: {oidc: {'oidc:olga': [test.*], 'oidc:ops%': [cmd.run]}}\n"
    )
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    with_port(config_dir, port, rules, options=f"  oidc: {{issuer: '{issuer.address}', audience: saltern}}")
    call = {"target": {"expression": "web*"}, "fun": "test.ping"}
    with serve_desk(desk, load_settings(config_dir)) as served, over_tls(served) as client:
        ends = int(time.time()) + 120
        staff = {"authorization": "Bearer " + issuer.token(groups=["staff"], exp=ends)}
        assert client.get("/whoami", headers=staff).json()["user"] == "oidc:olga"
        assert client.get("/status", headers=staff).status_code == 200
        assert client.get("/audit", headers=staff).status_code == 403, "olga of this machine is another one"
        assert client.post("/call", json=call, headers=staff).status_code == 200
        assert client.post("/call", json={**call, "fun": "cmd.run"}, headers=staff).status_code == 403
        expired = client.get("/status", headers={"authorization": "Bearer " + issuer.token(exp=1)})
        assert expired.status_code == 401
        assert "expired" in expired.text
        opened = client.post("/session", json={}, headers=staff).json()
        assert opened["session"]["expires"] == ends
        assert client.get("/whoami").json()["method"] == "oidc"
        own = {"authorization": f"Bearer {token_of(served, 'olga')}", "cookie": ""}
        assert client.get("/audit", headers=own).status_code == 200, "tokens from here hold beside it"
        assert client.post("/login", json={"method": "oidc", "user": "olga", "password": "x"}).status_code == 403
