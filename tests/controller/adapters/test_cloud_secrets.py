"""Secrets of Google Cloud and of Azure as pillar, against servers that check each token and path."""

import pytest
from cloud_secrets import azure_cloud, google_cloud

from controller.adapters.external_pillars import KEY_VAULT, SECRET_MANAGER, NamedSecrets, bounded_answers
from controller.adapters.sdb import Profiles
from controller.config.sections import SdbProfile
from highstate.ports import SecretFailed, SourceFailed
from highstate.types import Minion

WEB = Minion(id="web1", grains={"id": "web1"})


@pytest.fixture
def google(tmp_path):
    with google_cloud(tmp_path) as cloud:
        cloud.secrets = {
            ("of-the-account", "app-web1"): [b"old", b'{"password": "p"}'],
            ("other", "app-web1"): [b"of other"],
            ("of-the-account", "blob"): [b"\xff"],
        }
        yield cloud, {"credentials": str(tmp_path / "account.json"), "endpoint_url": cloud.url}


@pytest.fixture
def azure(tmp_path):
    with azure_cloud(tmp_path) as cloud:
        cloud.secrets = {"app-web1": {"v1": "old", "v2": '{"password": "p"}'}, "plain": {"v1": "text"}}
        account = {"tenant": "tenant", "client_id": "app-id", "secret": "app-secret"}
        yield cloud, {**account, "vault_url": cloud.url, "cloud_environment": cloud.url, "verify": cloud.ca}


def test_secrets_of_google(google):
    cloud, account = google
    source = NamedSecrets(SECRET_MANAGER)
    read = lambda name, **more: source.pillar(WEB, {}, {**account, "secrets": name, **more})  # noqa: E731
    assert read("app-{minion}") == {"password": "p"}
    assert read("app-{minion}/versions/1") == {"1": "old"}
    assert read("app-{minion}", project="other") == {"app-web1": "of other"}
    assert read("projects/other/secrets/app-{minion}", nesting_key="o") == {"o": {"app-web1": "of other"}}
    assert read("blob") == {"blob": b"\xff"}
    assert read("none") == {}
    assert len(cloud.tokens) == 2, "one for each account, for all that it is asked"
    cloud.denied.add("mine")
    with pytest.raises(SourceFailed, match=r"'mine': 403 PERMISSION_DENIED; .*versions\.access") as failed:
        read("mine")
    assert "of-the-account" not in str(failed.value)
    with pytest.raises(SourceFailed, match="is NAME"):
        read("app/x")


def test_secrets_of_google_and_azure_by_sdb(google, azure):
    given = {"keys": ["app-*", "plain"]}
    profiles = Profiles(
        {
            "google": SdbProfile.parse({"driver": "google_secret_manager", **given, **google[1]}),
            "azure": SdbProfile.parse({"driver": "azure_key_vault", **given, **azure[1]}),
        }
    )
    assert profiles.get("sdb://google/app-web1?password") == "p"
    assert profiles.get("sdb://google/app-web1/versions/1") == "old"
    assert profiles.get("sdb://azure/app-web1?password") == "p"
    assert profiles.get("sdb://azure/plain") == "text"
    assert profiles.get("sdb://azure/app-none") is None
    google[0].denied.add("app-mine")
    with pytest.raises(SecretFailed, match=r"^google_secret_manager: .*PERMISSION_DENIED"):
        profiles.get("sdb://google/app-mine")
    with pytest.raises(SecretFailed, match="does not list"):
        profiles.get("sdb://google/projects/other/secrets/app-web1")


def test_credentials_of_google_from_the_environment(google, monkeypatch):
    _, account = google
    monkeypatch.setenv("GOOGLE_APPLICATION_CREDENTIALS", account["credentials"])
    given = {"endpoint_url": account["endpoint_url"], "secrets": "app-{minion}"}
    assert NamedSecrets(SECRET_MANAGER).pillar(WEB, {}, given) == {"password": "p"}


def test_what_google_does_not_give(google, tmp_path, tmp_path_factory):
    cloud, account = google
    with google_cloud(tmp_path_factory.mktemp("other")) as other:
        cloud.key = other.key  # the assertion's signature is wrong
    for given, says in (
        ({}, "cannot be asked for 'x': RefreshError"),
        ({"credentials": str(tmp_path / "none.json")}, "no credentials of Google Cloud"),
        ({"endpoint_url": 1}, "endpoint_url is a text"),
    ):
        with pytest.raises(SourceFailed, match=says) as failed:
            NamedSecrets(SECRET_MANAGER).pillar(WEB, {}, {**account, "secrets": "x", **given})
        assert str(tmp_path) not in str(failed.value)


def test_secrets_of_azure(azure):
    cloud, account = azure
    source = NamedSecrets(KEY_VAULT)
    read = lambda name, **more: source.pillar(WEB, {}, {**account, "secrets": name, **more})  # noqa: E731
    assert read("app-{minion}") == {"password": "p"}
    assert read("plain") == {"plain": "text"}
    assert read("app-{minion}/v1", nesting_key="of") == {"of": {"v1": "old"}}
    assert read("none") == {}
    assert len(cloud.tokens) == 1
    cloud.denied.add("mine")
    with pytest.raises(SourceFailed, match="'mine': 403 Forbidden; the controller needs the permission") as failed:
        read("mine")
    assert "app-id" not in str(failed.value)


def test_a_token_that_is_taken_back_is_said(azure):
    cloud, account = azure
    source = NamedSecrets(KEY_VAULT)
    source.pillar(WEB, {}, {**account, "secrets": "plain"})
    cloud.tokens.clear()
    with pytest.raises(SourceFailed, match="'app-web1': 401 Unauthorized"):
        source.pillar(WEB, {}, {**account, "secrets": "app-{minion}"})


def test_credentials_of_azure_from_the_environment(azure, monkeypatch):
    _, account = azure
    monkeypatch.setenv("AZURE_TENANT_ID", "tenant")
    monkeypatch.setenv("AZURE_CLIENT_ID", "app-id")
    monkeypatch.setenv("AZURE_CLIENT_SECRET", "app-secret")
    given = {key: account[key] for key in ("vault_url", "cloud_environment", "verify")}
    assert NamedSecrets(KEY_VAULT).pillar(WEB, {}, {**given, "secrets": "plain"}) == {"plain": "text"}


@pytest.mark.parametrize(
    ("given", "says"),
    [
        ({"secret": "wrong"}, "no token for the vault: ClientAuthenticationError"),
        ({"vault_url": "http://x.vault.azure.net"}, "is the address of a vault"),
        ({"vault_url": None}, "is the address of a vault"),
        ({"tenant": None}, "need tenant and client_id"),
        ({"verify": 1}, "verify is the path"),
        ({"secrets": "a_b"}, "is no name of a secret"),
    ],
)
def test_what_azure_does_not_give(azure, given, says):
    _, account = azure
    with pytest.raises(SourceFailed, match=says) as failed:
        NamedSecrets(KEY_VAULT).pillar(WEB, {}, {**account, "secrets": "plain", **given})
    assert "app-secret" not in str(failed.value)


HOSTILE = {
    "endless": "more than 2097152 bytes",
    "slow": "ReadTimeout",
    "nested": r"the answer has no \S+: (RecursionError|JSONDecodeError)",
    "[]": r"the answer has no \S+: TypeError",
    "no JSON": r"the answer has no \S+: JSONDecodeError",
    '{"payload": {"data": "x"}, "valu": 1}': "no base64|the answer has no value: KeyError",
}


@pytest.mark.parametrize("kind", HOSTILE)
@pytest.mark.parametrize("of", ["google", "azure"])
def test_an_answer_that_none_should_give_fails_its_secret(request, of, kind, monkeypatch):
    cloud, account = request.getfixturevalue(of)
    if kind == "slow":
        monkeypatch.setattr(bounded_answers, "ANSWER_SECONDS", 1.0)
    source = NamedSecrets(SECRET_MANAGER if of == "google" else KEY_VAULT)
    cloud.hostile = kind
    with pytest.raises(SourceFailed, match=HOSTILE[kind]):
        source.pillar(WEB, {}, {**account, "secrets": "app-web1"})
