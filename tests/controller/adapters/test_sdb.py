"""Profiles of sdb: files and variables that the configuration names, with Salt's merging, and nothing else."""

import pytest

from controller.adapters.sdb import Profiles
from controller.config.sections import SdbProfile, is_profile
from controller.config.settings import BadControllerSettings, load_settings
from highstate.ports import DecryptFailed, SecretFailed


class Keyring:
    """Turns what looks encrypted around."""

    def decrypt(self, ciphertext):
        if "bad" in ciphertext:
            raise DecryptFailed("no key")
        return "plain"


@pytest.fixture
def profiles(tmp_path, monkeypatch):
    (tmp_path / "a.yaml").write_text("user: {name: bob, list: [1]}\n")
    (tmp_path / "b.yaml").write_text("user: {pw: x, list: [2]}\n")
    (tmp_path / "bad.yaml").write_text("secret: [\n")
    message = "-----BEGIN PGP MESSAGE-----\n\nabc\n-----END PGP MESSAGE-----"
    (tmp_path / "gpg.yaml").write_text("key: |\n" + "".join(f"  {line}\n" for line in message.splitlines()))
    files = [str(tmp_path / "a.yaml"), str(tmp_path / "b.yaml")]
    monkeypatch.setenv("APP_TOKEN", "t0ken")
    monkeypatch.setenv("OTHER", "no")
    configured = {
        "envp": {"driver": "env", "keys": ["APP_*"]},
        "open": {"driver": "env"},
        "files": {"driver": "yaml", "files": files},
        "lists": {"driver": "yaml", "files": files, "merge": {"merge_lists": True}},
        "broken": {"driver": "yaml", "files": [str(tmp_path / "bad.yaml")]},
        "gone": {"driver": "yaml", "files": [str(tmp_path / "gone.yaml")]},
        "gpg": {"driver": "yaml", "files": [str(tmp_path / "gpg.yaml")], "gpg": True},
        "sql": {"driver": "sqlite3"},
        "vault": {"server": {}},
    }
    profiles = {name: SdbProfile.parse(each) for name, each in configured.items() if is_profile(each)}
    return Profiles(profiles, Keyring)


@pytest.mark.parametrize(
    ("uri", "value"),
    [
        ("sdb://envp/APP_TOKEN", "t0ken"),
        ("sdb://envp/APP_NONE", None),
        ("sdb://files/user:name", "bob"),
        ("sdb://files/user:pw", "x"),
        ("sdb://files/user:list", [2]),
        ("sdb://lists/user:list", [1, 2]),
        ("sdb://files/user", {"name": "bob", "list": [2], "pw": "x"}),
        ("sdb://files/nope", None),
        ("sdb://gpg/key", "plain"),
    ],
)
def test_values(profiles, uri, value):
    assert profiles.get(uri) == value


@pytest.mark.parametrize(
    ("uri", "why"),
    [
        ("sdb://envp/OTHER", "does not list"),
        ("sdb://open/APP_TOKEN", "does not list"),
        ("sdb://nope/a", "names no profile"),
        ("sdb://vault/a", "names no profile"),
        ("sdb://envp", "names no profile"),
        ("sdb://sql/a", "driver 'sqlite3'"),
        ("sdb://broken/a", "cannot be read"),
        ("sdb://gone/a", "cannot be read"),
    ],
)
def test_what_cannot_be_had_says_why_and_shows_nothing(profiles, uri, why):
    with pytest.raises(SecretFailed, match=why) as failed:
        profiles.get(uri)
    assert "secret: [" not in str(failed.value)


def test_a_profile_is_an_option_of_any_name(tmp_path):
    (tmp_path / "controller").write_text("mine: {driver: env, keys: [A]}\n")
    assert load_settings(tmp_path).sdb == {"mine": SdbProfile(driver="env", keys=("A",))}
    (tmp_path / "controller").write_text("mine: {drver: env}\n")
    with pytest.raises(BadControllerSettings):
        load_settings(tmp_path)
