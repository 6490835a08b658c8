"""Certificates that a minion signs for others, over the wire: keys stay where they are, and policies are kept."""

import json
import subprocess

import pytest
from cryptography import x509

PEER = {".*": ["x509.sign_remote_certificate"]}
TOP = "base:\n  ca: [authority]\n  'web*': [web]\n"
AUTHORITY = """
{{ grains.root }}/ca.key:
  x509.private_key_managed:
    - algo: ec
    - makedirs: True
{{ grains.root }}/ca.crt:
  x509.certificate_managed:
    - signing_private_key: {{ grains.root }}/ca.key
    - CN: Example CA
    - basicConstraints: critical, CA:true
    - keyUsage: critical, keyCertSign, cRLSign
    - subjectKeyIdentifier: hash
    - days_valid: 3650
{{ grains.root }}/issued:
  file.directory:
    - makedirs: True
"""
WEB = """
{{ grains.root }}/www.key:
  x509.private_key_managed:
    - algo: ec
    - makedirs: True
{{ grains.root }}/www.crt:
  x509.certificate_managed:
    - ca_server: ca
    - signing_policy: web
    - private_key: {{ grains.root }}/www.key
    - CN: {{ grains.id }}.example.com
    - O: asked for
    - subjectAltName: DNS:{{ grains.id }}.example.com
    - days_valid: 900
    - not_after: '2099-01-01 00:00:00'
    - days_remaining: 5
"""


def policies(root, minions="web1", days=30):
    """Those of an authority whose files are in a folder."""
    web = [
        {"minions": minions},
        {"signing_private_key": f"{root}/ca.key"},
        {"signing_cert": f"{root}/ca.crt"},
        {"O": "Policy"},
        {"basicConstraints": "critical, CA:false"},
        {"subjectKeyIdentifier": "hash"},
        {"days_valid": days},
        {"copypath": f"{root}/issued"},
    ]
    return {"web": web, "open": web[1:4]}


@pytest.fixture
def rig(make_rig):
    return make_rig(
        minions={"ca": {}, "web1": {}, "web2": {}}, peer=PEER, peer_run={"ca": ["match.compound_matches"]}
    )  # fmt: skip


def give(rig, **said):
    """Pushes with these policies: the authority applies its own, then web1 what it has of it."""
    pillar, states = rig.work / "pillar", rig.work / "states"
    (pillar / "top.sls").write_text("base:\n  ca: [policies]\n")
    (pillar / "policies.sls").write_text(json.dumps({"x509_signing_policies": policies(rig.root("ca"), **said)}))
    (states / "top.sls").write_text("base:\n  ca: [authority]\n")
    (states / "authority.sls").write_text(AUTHORITY)
    (states / "web.sls").write_text(WEB)
    rig.wait_applied(rig.push("an authority"), ["ca"])
    (states / "top.sls").write_text(TOP)
    rig.wait_applied(rig.push("certificates"), ["ca", "web1"])


def apply(rig, minion):
    """Results of state.apply, of a run that met no other."""

    def ran():
        found = called(rig, minion, "state.apply")[1]
        return isinstance(found, dict) and found

    return rig.wait("states to run", ran)


def called(rig, minion, *words):
    """(exit code, what a function returned)."""
    done = rig.saltern("run", minion, *words, "--out", "json", check=False)
    return done.returncode, json.loads(done.stdout).get(minion)


def certificate_result(results):
    return next(one for tag, one in results.items() if "www.crt" in tag)


def refused(rig, minion):
    """Why a minion has no certificate."""
    result = certificate_result(apply(rig, minion))
    assert result["result"] is False
    return result["comment"]


def test_a_minion_is_the_authority_of_others(rig):
    give(rig)
    root, authority = rig.root("web1"), rig.root("ca")
    made = x509.load_pem_x509_certificate((root / "www.crt").read_bytes())
    assert made.subject.rfc4514_string() == "CN=web1.example.com,O=Policy"
    assert (made.not_valid_after_utc - made.not_valid_before_utc).days == 30
    named = ["-verify_hostname", "web1.example.com", root / "www.crt"]
    subprocess.run(["openssl", "verify", "-CAfile", authority / "ca.crt", *named], check=True, capture_output=True)
    [copy] = (authority / "issued").iterdir()
    assert copy.read_bytes() == (root / "www.crt").read_bytes()
    result = certificate_result(apply(rig, "web1"))
    assert (result["result"], result["changes"]) == (True, {})
    assert "minion not permitted to use specified signing policy" in refused(rig, "web2")
    assert not (rig.root("web2") / "www.crt").exists()


def test_an_authority_finds_askers_by_compound_targets_and_takes_nothing_of_them(rig):
    give(rig, minions="L@web1,web2 and not web2")
    assert "not permitted" in refused(rig, "web2")
    code, policy = called(rig, "web1", "x509.get_signing_policy", "web", "ca")
    assert (code, "signing_private_key" in policy, policy["O"]) == (0, False, "Policy")
    assert policy["signing_cert"] == (rig.root("ca") / "ca.crt").read_text()
    assert not {"minions", "copypath"} & set(policy)
    key = called(rig, "web1", "x509.get_public_key", f"{rig.root('web1')}/www.key")[1]
    ask = ["publish.publish", "ca", "x509.sign_remote_certificate"]

    def asked(policy, **what):
        return called(rig, "web1", *ask, json.dumps([policy, what]))[1]["ca"]

    for what, why in (
        ({"public_key": f"{rig.root('ca')}/ca.crt"}, "is not there"),
        ({"public_key": key, "basicConstraints": "CA:true"}, "issues no certificate of an authority"),
        ({"public_key": key, "CN": "x" * 70000}, "is larger than 65536"),
        ({"public_key": key, "nonsense": 1}, "has no nonsense"),
    ):
        answer = asked("open", **what)
        assert answer["data"] is None
        assert why in answer["errors"][0]
    taken = asked("open", public_key=key, copypath=f"{rig.root('ca')}", __pub_id="ca", CN="w")
    assert taken["errors"] == ["a request for a certificate has no __pub_id"]
    taken = asked("open", public_key=key, copypath=f"{rig.root('ca')}", CN="w")
    assert x509.load_pem_x509_certificate(taken["data"].encode()).subject.rfc4514_string() == "CN=w,O=Policy"
    assert sorted(one.name for one in rig.root("ca").glob("*.crt")) == ["ca.crt"]
    code, answer = called(rig, "ca", "x509.sign_remote_certificate", "web", "{}", "__pub_id=web1")
    assert answer["errors"] == ["minion sending this request could not be identified"]


def test_the_controller_is_the_authority(make_rig, tmp_path):
    def openssl(*words):
        subprocess.run(["openssl", *words], check=True, capture_output=True, cwd=tmp_path)

    openssl("ecparam", "-name", "prime256v1", "-genkey", "-noout", "-out", "ca.key")
    openssl("req", "-x509", "-new", "-key", "ca.key", "-out", "ca.crt", "-days", "3650", "-subj", "/CN=Example CA")
    (tmp_path / "issued").mkdir()
    key = (tmp_path / "ca.key").read_text()
    (tmp_path / "ca.key").unlink()
    (tmp_path / "secrets.yaml").write_text(json.dumps({"ca": {"key": key}}))
    web = policies(tmp_path)["web"]
    web[1] = {"signing_private_key": "sdb://keys/ca:key"}
    other = [{"minions": "L@web1 and web2"}, *web[1:]]
    rig = make_rig(
        minions={"web1": {}, "web2": {}},
        keys={"driver": "yaml", "files": [f"{tmp_path}/secrets.yaml"]},
        x509_signing_policies={"web": web, "other": other},
    )
    (rig.work / "states" / "top.sls").write_text("base:\n  'web*': [web]\n")
    (rig.work / "states" / "web.sls").write_text(WEB.replace("ca_server: ca", "ca_server: controller"))
    rig.wait_applied(rig.push("certificates"), ["web1"])
    made = x509.load_pem_x509_certificate((rig.root("web1") / "www.crt").read_bytes())
    assert made.subject.rfc4514_string() == "CN=web1.example.com,O=Policy"
    openssl("verify", "-CAfile", "ca.crt", "-verify_hostname", "web1.example.com", f"{rig.root('web1')}/www.crt")
    [copy] = (tmp_path / "issued").iterdir()
    assert copy.read_bytes() == (rig.root("web1") / "www.crt").read_bytes()
    assert "not permitted" in refused(rig, "web2")
    code, policy = called(rig, "web1", "x509.get_signing_policy", "web", "controller")
    assert (code, policy["signing_cert"]) == (0, (tmp_path / "ca.crt").read_text())
    assert "signing_private_key" not in policy
    code, said = called(rig, "web1", "x509.get_signing_policy", "other", "controller")
    assert (code != 0, "not permitted" in said) == (True, True)
    kept = json.loads(rig.saltern("audit", "list", "--user", "minion web2", "--out", "json").stdout)
    assert {(row["action"], row["allowed"]) for row in kept} == {("call x509.sign_remote_certificate", False)}
    (tmp_path / "secrets.yaml").unlink()
    code, said = called(rig, "web1", "x509.create_certificate", "controller", "web", f"public_key={rig.root('web1')}/w")
    assert code != 0
