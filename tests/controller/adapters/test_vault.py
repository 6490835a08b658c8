"""Secrets of a real server: what a minion's own policies permit, tokens and their ends, external pillars."""

import base64
import json
import time

import pytest
from cryptography.hazmat.primitives import serialization
from cryptography.hazmat.primitives.asymmetric import ec, utils
from cryptography.hazmat.primitives.hashes import SHA256
from openbao import openbao

from controller.adapters.external_pillars import VaultPillar
from controller.adapters.secrets.issuing import VaultUser
from controller.adapters.secrets.vault import Vault
from controller.compilation.compile_ports import ports_of
from controller.config.sections import PortOptions
from highstate.compile import CompileOptions, compile_minion
from highstate.files import MemoryFiles
from highstate.ports import SecretFailed, SourceFailed
from highstate.types import Minion
from minion.providers.vault.api import VaultFailed
from options.vault import BadVault, VaultSettings

WEB = Minion(id="web1", grains={"id": "web1", "role": {"name": "web"}, "roles": ["web", "app"]})
DB = Minion(id="db1", grains={"id": "db1"})


@pytest.fixture(scope="module")
def bao(tmp_path_factory):
    with openbao(tmp_path_factory.mktemp("bao")) as server:
        server.write("app/web1", user="u", password="p")
        server.write("app/db1", password="of db1")
        server.write("all", motd="hello")
        server.write("roles/web", ports={"http": 80}, list=[1])
        server.write("roles/app", ports={"app": 8080}, list=[2])
        server.ask("POST", "old/db", {"x": 1})
        server.policy("saltstack/minions", "secret/data/all read", "old/* read,list", "secret/metadata/app list")
        for minion in ("web1", "db1"):
            server.policy(f"saltstack/{minion}", f"secret/data/app/{minion} read")
        server.policy("role/web", "secret/data/roles/web read")
        server.policy(
            "controller",
            "auth/token/create update",
            "secret/data/* read",
            "auth/salt-minions/role/* read,create,update",
        )
        yield server


class Clock:
    now = 1000.0

    def __call__(self):
        return self.now


def vault(bao, clock=None, auth=None, **more):
    settings = {"server": {"url": bao.url}, "auth": auth or {"token": "root"}, **more}
    return Vault(VaultSettings.parse(settings), clock or Clock())


def test_each_minion_reads_what_its_policies_permit_and_the_error_names_them(bao):
    one = vault(bao)
    assert one.read_secret("secret/app/{minion}", WEB) == {"user": "u", "password": "p"}
    assert one.read_secret("secret/data/app/web1", WEB) == {"user": "u", "password": "p"}
    assert one.read_secret("secret/all", WEB) == {"motd": "hello"}
    assert one.read_secret("old/db", WEB) == {"x": 1}
    assert one.list_secrets("secret/app", WEB) == ["db1", "web1"]
    assert one.read_secret("secret/app/db1", DB) == {"password": "of db1"}
    with pytest.raises(SecretFailed) as refused:  # though db1's compile has just read it
        one.read_secret("secret/app/db1", WEB)
    assert "web1 may not read secret/data/app/db1" in str(refused.value)
    assert "(saltstack/minions, saltstack/web1)" in str(refused.value)
    assert 'path "secret/data/app/db1" { capabilities = ["read"] }' in str(refused.value)
    assert one.read_own("secret/app/db1") == {"password": "of db1"}


def test_policies_of_pillar_and_grains(bao):
    assigned = {"assign": ["all/{grains[roles]}", "role/{pillar[role]}", "{pillar[none]}", "X/{minion}"]}
    one = vault(bao, policies=assigned)
    one.use_pillars({"web1": {"role": "web"}, "db1": {}}.__getitem__)
    assert one.issuing.policies(WEB) == ("all/web", "all/app", "role/web", "x/web1")
    assert one.read_secret("secret/roles/web", WEB)["ports"] == {"http": 80}
    assert one.issuing.policies(DB) == ("x/db1",)
    with pytest.raises(SecretFailed, match="no policy of the option vault"):
        vault(bao, policies=["{pillar[none]}"]).read_secret("secret/all", WEB)


def test_a_secret_is_asked_once_within_its_lease_and_by_minion(bao):
    clock = Clock()
    one = vault(bao, clock)
    bao.write("all", motd="before")
    assert one.read_secret("secret/all", WEB) == {"motd": "before"}
    bao.write("all", motd="after")
    assert one.read_secret("secret/all", WEB) == {"motd": "before"}
    clock.now += 301
    assert one.read_secret("secret/all", WEB) == {"motd": "after"}
    bao.write("all", motd="hello")
    assert one.read_own("secret/all", anew=True) == {"motd": "hello"}


def test_limits_of_what_is_issued(bao):
    one = vault(bao, issue={"token": {"params": {"num_uses": 3, "explicit_max_ttl": 60}}})
    given = one.issuing.token(VaultUser(minion=WEB, user="minion web1", jid="7"))["auth"]
    assert (given["num_uses"], given["lease_duration"]) == (3, 60)
    assert given["metadata"] == {"saltstack-minion": "web1", "saltstack-user": "minion web1", "saltstack-jid": "7"}
    wrapped = one.issuing.token(VaultUser(minion=WEB), "30s")
    assert wrapped["auth"] is None
    assert wrapped["wrap_info"]["ttl"] == 30


def test_approles_of_minions(bao):
    bao.ask("POST", "sys/auth/salt-minions", {"type": "approle"})
    one = vault(bao, issue={"type": "approle"})
    assert one.read_secret("secret/app/{minion}", WEB) == {"user": "u", "password": "p"}
    assert one.issuing.approles() == ["web1"]
    role = one.issuing.approle(WEB)
    assert (role["token_policies"], role["secret_id_num_uses"]) == (["saltstack/minions", "saltstack/web1"], 1)
    with pytest.raises(SecretFailed, match="may not read"):
        one.read_secret("secret/app/db1", WEB)
    changed = vault(bao, issue={"type": "approle"}, policies=["role/web"])
    assert changed.read_secret("secret/roles/web", WEB)["list"] == [1]
    one.issuing.remove_approle(WEB)
    assert one.issuing.approles() == []


def test_the_controller_by_approle_and_again_before_its_token_ends(bao):
    bao.ask("POST", "sys/auth/approle", {"type": "approle"})
    bao.ask("POST", "auth/approle/role/saltern", {"token_policies": ["controller"], "token_ttl": 60})
    role = bao.ask("GET", "auth/approle/role/saltern/role-id")["data"]["role_id"]
    secret = bao.ask("POST", "auth/approle/role/saltern/secret-id", {})["data"]["secret_id"]
    clock = Clock()
    one = vault(bao, clock, {"method": "approle", "role_id": role, "secret_id": secret})
    first = one.own.current().text
    assert one.read_own("secret/all") == {"motd": "hello"}
    clock.now += 55
    assert one.own.current().text != first
    with pytest.raises(VaultFailed, match="refuses POST of auth/approle/login"):
        vault(bao, auth={"method": "approle", "role_id": role, "secret_id": "no"}).own.current()


def test_the_controller_by_the_token_of_a_service_account(bao, tmp_path):
    key = ec.generate_private_key(ec.SECP256R1())
    pem = key.public_key().public_bytes(serialization.Encoding.PEM, serialization.PublicFormat.SubjectPublicKeyInfo)
    bao.ask("POST", "sys/auth/k8s", {"type": "jwt"})
    bao.ask("POST", "auth/k8s/config", {"jwt_validation_pubkeys": [pem.decode()]})
    subject = "system:serviceaccount:saltern:controller"
    rule = {"role_type": "jwt", "user_claim": "sub", "bound_subject": subject, "token_policies": ["controller"]}
    bao.ask("POST", "auth/k8s/role/saltern", {**rule, "bound_audiences": ["vault"]})
    account = tmp_path / "token"
    auth = {"method": "kubernetes", "role": "saltern", "mount": "k8s", "token_path": str(account)}
    with pytest.raises(VaultFailed, match="no token of a service account"):
        vault(bao, auth=auth).own.current()
    account.write_text(_jwt(key, {"sub": subject, "aud": "vault", "exp": time.time() + 60, "iat": time.time()}))
    assert vault(bao, auth=auth).read_own("secret/all") == {"motd": "hello"}
    account.write_text(_jwt(key, {"sub": "another", "aud": "vault", "exp": time.time() + 60, "iat": time.time()}))
    with pytest.raises(VaultFailed, match=r"refuses|does not permit"):
        vault(bao, auth=auth).own.current()


def _jwt(key, claims):
    def part(data):
        return base64.urlsafe_b64encode(data).rstrip(b"=").decode()

    head = f"{part(json.dumps({'alg': 'ES256'}).encode())}.{part(json.dumps(claims).encode())}"
    r, s = utils.decode_dss_signature(key.sign(head.encode(), ec.ECDSA(SHA256())))
    return f"{head}.{part(r.to_bytes(32) + s.to_bytes(32))}"


def test_a_token_is_renewed_in_its_second_half_and_had_anew_when_it_was_taken_back(bao):
    clock = Clock()
    mine = bao.token("controller", ttl="100s", renewable=True)
    one = vault(bao, clock, {"token": mine})
    assert one.own.current().until == pytest.approx(1100, abs=2)
    clock.now += 60
    assert one.own.current().until == pytest.approx(1160, abs=2)
    bao.ask("POST", "auth/token/revoke", {"token": mine})
    with pytest.raises(VaultFailed):
        one.own.ask("GET", "secret/data/all")
    whole = vault(bao, clock)
    assert whole.read_secret("secret/all", WEB)
    whole.forget()
    assert whole.read_secret("secret/all", WEB)


def test_failures_say_what_is_wrong_and_hold_no_secret(bao):
    one = vault(bao)
    with pytest.raises(SecretFailed, match="there is nothing at secret/data/gone"):
        vault(bao, policies=["root-like"]) and one.read_own("secret/gone")
    with pytest.raises(SecretFailed, match="does not permit"):
        vault(bao, auth={"token": "bad"}).read_secret("secret/all", WEB)
    with pytest.raises(SecretFailed, match="asks for what this minion has not"):
        one.read_secret("secret/{grains[nope]}", WEB)
    with pytest.raises(SecretFailed, match="stands for several"):
        one.read_secret("secret/{grains[roles]}", WEB)
    with pytest.raises(SecretFailed, match="leads upwards"):
        one.read_secret("secret/{minion}/x", Minion(id=".."))
    gone = Vault(VaultSettings.parse({"server": {"url": "http://127.0.0.1:9"}, "auth": {"token": "t"}}))
    with pytest.raises(SecretFailed, match="cannot be asked"):
        gone.read_secret("secret/x", WEB)


def test_secrets_as_pillar(bao):
    source = VaultPillar(vault(bao).read_own)
    pillar = {"roles": ["web", "app"]}
    assert source.pillar(WEB, {}, "secret/app/{minion}") == {"user": "u", "password": "p"}
    assert source.pillar(WEB, {}, "path=secret/app/{minion}") == {"user": "u", "password": "p"}
    both = {"ports": {"http": 80, "app": 8080}, "list": [2]}
    assert source.pillar(WEB, pillar, "secret/roles/{pillar[roles]}") == both
    nested = {"path": "secret/roles/{pillar[roles]}", "nesting_key": "of", "merge_lists": True}
    assert source.pillar(WEB, pillar, nested) == {"of": {**both, "list": [1, 2]}}
    assert source.pillar(WEB, {}, "secret/roles/{pillar[roles]}") == {}
    assert source.pillar(WEB, {}, "secret/nothing/here") == {}
    for arguments, said in ({"path": "a", "x": 1}, "does not take x"), ("a b", "takes one path"):
        with pytest.raises(SourceFailed, match=said):
            source.pillar(WEB, {}, arguments)
    with pytest.raises(SourceFailed, match="does not permit GET"):
        VaultPillar(vault(bao, auth={"token": bao.token("none")}).read_own).pillar(WEB, {}, "secret/all")


def test_a_compile_knows_what_is_secret(bao):
    where = {"server": {"url": bao.url}, "auth": {"token": "root"}}
    sls = b"mine: {{ salt['vault.read_secret']('secret/app/' ~ grains.id, 'password') }}\n"
    pillar = MemoryFiles({"base": {"top.sls": b"base:\n  '*': [one]\n", "one.sls": sls}})
    states = MemoryFiles({"base": {"top.sls": b"base:\n  '*': [s]\n", "s.sls": b"a: {test.nop: []}"}})
    options = CompileOptions(ext_pillar=({"vault": {"path": "secret/roles/web", "nesting_key": "v"}},))
    ports = ports_of(PortOptions(vault=VaultSettings.parse(where)))
    done = compile_minion(states, pillar, WEB, options, None, ports)
    assert done.errors == ()
    assert done.pillar == {"mine": "p", "v": {"ports": {"http": 80}, "list": [1]}}
    assert {"p", "80"} <= done.secrets


@pytest.mark.parametrize(
    ("given", "says"),
    [
        ({}, "server"),
        ({"server": {"url": "u"}, "auth": {"method": "ldap"}}, "approle, kubernetes and token"),
        ({"server": {"url": "u"}, "auth": {"method": "approle"}}, "role_id"),
        ({"server": {"url": "u"}, "auth": {"method": "kubernetes"}}, "role"),
        ({"server": {"url": "u"}}, "token"),
        ({"server": {"url": "u", "urls": 1}, "auth": {"token": "t"}}, "server: urls is not supported"),
        ({"server": {"url": "u"}, "auth": {"token": "t"}, "issue": {"type": "x"}}, "issue: type"),
        ({"server": {"url": "u"}, "auth": {"token": "t"}, "issue": {"wrap": "soon"}}, "no time"),
        ({"server": {"url": "u"}, "auth": {"token": "t"}, "cache": {"backend": "disk"}}, "cache: backend"),
        ({"server": {"url": "u"}, "auth": {"token": "t"}, "policies": "x"}, "policies is a mapping"),
        ({"server": {"url": "u"}, "auth": {"token": {"wrap_info": {}}}}, "token is a text"),
    ],
)
def test_bad_options(given, says):
    with pytest.raises(BadVault, match=says):
        VaultSettings.parse(given)


def test_options_where_salt_once_had_them():
    found = VaultSettings.parse(
        {"url": "u", "auth": {"token": "t"}, "policies": ["a"], "role_name": "r", "verify": "/ca"}
    )
    assert (found.server.url, found.server.verify, found.issue.policies, found.issue.role_name) == (
        "u",
        "/ca",
        ("a",),
        "r",
    )
