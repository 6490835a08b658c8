"""The controller's own authority: what its configuration has to say, and what askers may send."""

from __future__ import annotations

import asyncio
import subprocess

import pytest

from controller.adapters.sdb import Profiles
from controller.config.sections import SdbProfile
from controller.config.settings import BadControllerSettings, load_settings
from controller.messages.own_authority import OwnAuthority
from wire.messages import PublishCall

POLICY = "{minions: 'web*', signing_private_key: KEY, signing_cert: FOLDER/ca.crt, days_valid: 9}"


@pytest.fixture
def authority(tmp_path):
    def make(key="FOLDER/ca.key", policy=POLICY):
        text = policy.replace("KEY", key).replace("FOLDER", str(tmp_path))
        (tmp_path / "controller").write_text(f"x509_signing_policies: {{web: {text}}}\n")
        profiles = Profiles({"keys": SdbProfile(driver="yaml", files=(f"{tmp_path}/keys.yaml",))})
        return OwnAuthority(settings=load_settings(tmp_path), secrets=profiles, select=lambda _: frozenset({"db1"}))

    for words in (
        ("ecparam", "-name", "prime256v1", "-genkey", "-noout", "-out", "ca.key"),
        ("req", "-x509", "-new", "-key", "ca.key", "-out", "ca.crt", "-days", "30", "-subj", "/CN=ca"),
        ("ec", "-in", "ca.key", "-pubout", "-out", "public.pem"),
    ):
        subprocess.run(["openssl", *words], check=True, capture_output=True, cwd=tmp_path)
    return make


def answer(authority, *args, asker="web1", **kwargs):
    return asyncio.run(authority.answer(asker, args, kwargs))


def test_it_is_asked_by_its_id_alone(authority):
    asked = {"request": 1, "nonce": "1", "fun": "x509.sign_remote_certificate"}
    assert authority().is_asked(PublishCall(**asked, target="controller"))
    assert not authority().is_asked(PublishCall(**asked, target="*"))
    assert not authority().is_asked(PublishCall(**{**asked, "fun": "test.ping"}, target="controller"))
    assert not authority().is_asked(PublishCall(**asked, target="controller", kind="runner"))


def test_what_it_signs(authority, tmp_path):
    public = (tmp_path / "public.pem").read_text()
    made = answer(authority(), "web", {"public_key": public, "CN": "w", "days_valid": 900})
    assert made["errors"] == []
    (tmp_path / "made.crt").write_text(made["data"])
    subprocess.run(["openssl", "verify", "-CAfile", tmp_path / "ca.crt", tmp_path / "made.crt"], check=True)
    shown = answer(authority(), signing_policy="web", kwargs={}, get_signing_policy_only=True)["data"]
    assert shown == {"signing_cert": (tmp_path / "ca.crt").read_text(), "days_valid": 9}
    found = answer(authority(policy=POLICY.replace("web*", "L@db1")), "web", {"public_key": public}, asker="db1")
    assert found["errors"] == []


@pytest.mark.parametrize(
    ("args", "why"),
    [
        (("other", {}), "defined on the controller"),
        (("web", {"public_key": "/etc/hostname"}), "is not there"),
        (("web", {"public_key": "aGVsbG8="}), "Could not load DER-encoded public key."),
        (("web", {"subjectAltName": ["DNS:a"] * 30000}), "is larger than 65536"),
        (
            ("web", {"csr": "-----BEGIN CERTIFICATE REQUEST-----\nAAAA\n-----END CERTIFICATE REQUEST-----"}),
            "signing req",
        ),
        (("web", "text"), "takes the name of a signing policy"),
        ((["web"], {}), "takes the name of a signing policy"),
        (("web", {}, False, "more"), "takes the name of a signing policy"),
        ((), "takes the name of a signing policy"),
    ],
)
def test_what_it_refuses(authority, args, why):
    found = answer(authority(), *args)
    assert found["data"] is None
    assert why in found["errors"][0]


def test_whom_it_refuses(authority):
    assert answer(authority(), "web", {}, True, asker="db1")["errors"] == [
        "minion not permitted to use specified signing policy"
    ]


def test_what_it_lacks_is_told_in_the_log_alone(authority, tmp_path):
    public = (tmp_path / "public.pem").read_text()
    said = answer(authority(key="sdb://keys/ca"), "web", {"public_key": public})
    assert said["errors"] == ["the controller cannot read its key or certificate; its log says why"]
    (tmp_path / "keys.yaml").write_text("ca: |\n  " + (tmp_path / "ca.key").read_text().replace("\n", "\n  "))
    assert answer(authority(key="sdb://keys/ca"), "web", {"public_key": public})["errors"] == []


@pytest.mark.parametrize(
    "policy", ["text", "{minions: 'web*'}", "{signing_private_key: /a, signing_cert: /b}", "[text]", "[{minions: 1}]"]
)
def test_policies_that_say_too_little(authority, policy):
    with pytest.raises(BadControllerSettings, match="each with `minions`"):
        authority(policy=policy)
