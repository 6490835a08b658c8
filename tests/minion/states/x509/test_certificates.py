"""Certificates, keys, requests and lists on a machine: planned, made, and found right; read by openssl, too."""

import subprocess
from pathlib import Path

import pytest
from cryptography import x509
from cryptography.hazmat.primitives import serialization

from highstate.files import MemoryFiles
from minion.machine.machine import LocalMachine

CA = {
    "CN": "ca.example.com",
    "O": "Example",
    "basicConstraints": "critical, CA:true",
    "keyUsage": "critical, cRLSign, keyCertSign",
    "subjectKeyIdentifier": "hash",
    "authorityKeyIdentifier": "keyid:always,issuer",
    "days_valid": 3650,
}
LEAF = {
    "CN": "www.example.com",
    "subjectAltName": "DNS:www.example.com, IP:192.0.2.1",
    "basicConstraints": "critical, CA:false",
    "extendedKeyUsage": "serverAuth, clientAuth",
    "subjectKeyIdentifier": "hash",
    "authorityKeyIdentifier": "keyid,issuer:always",
}


@pytest.fixture
def top(tmp_path: Path) -> Path:
    top = tmp_path / "pki"
    top.mkdir()
    return top


@pytest.fixture
def authority(top, converge):
    """A certificate that signs, and its key."""
    assert converge("x509.private_key_managed", top / "ca.key", algo="ec").result
    made = converge("x509.certificate_managed", top / "ca.crt", signing_private_key=f"{top}/ca.key", **CA)
    assert made.comment == "The certificate has been created"
    return {"signing_private_key": f"{top}/ca.key", "signing_cert": f"{top}/ca.crt"}


@pytest.fixture
def issue(top, converge, authority):
    """issue(**arguments): a certificate of the authority for www.key."""
    if not (top / "www.key").exists():
        converge("x509.private_key_managed", top / "www.key", algo="ec")

    def call(name="www.crt", **arguments):
        given = {**LEAF, **authority, "private_key": f"{top}/www.key", **arguments}
        return converge("x509.certificate_managed", top / name, **given)

    return call


def read(path: Path) -> x509.Certificate:
    return x509.load_pem_x509_certificate(path.read_bytes())


def test_a_certificate_of_an_authority(top, issue):
    made = issue()
    assert made.changes == {"created": f"{top}/www.crt"}
    verified = subprocess.run(
        ["openssl", "verify", "-CAfile", top / "ca.crt", "-purpose", "sslserver", "-verify_hostname", "www.example.com",
         top / "www.crt"],
        capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert verified.returncode == 0, verified.stderr


def test_what_will_be_another_is_told(top, issue):
    issue()
    first = read(top / "www.crt").serial_number
    made = issue(
        CN="web.example.com", subjectAltName="DNS:web.example.com", keyUsage="digitalSignature", digest="sha512"
    )
    assert made.comment == "The certificate has been recreated"
    assert made.changes == {
        "digest": "sha512",
        "subject_name": "CN=web.example.com",
        "extensions": {"added": ["keyUsage"], "changed": ["subjectAltName"], "removed": []},
    }
    assert read(top / "www.crt").serial_number != first


def test_one_that_ends_soon_is_renewed(top, issue):
    issue(days_valid=20, days_remaining=5)
    assert issue(days_valid=60, days_remaining=30).changes == {"expiration": True}
    assert issue(days_valid=60, days_remaining=30).changes == {}


def test_a_renewal_that_would_never_end_is_refused(top, issue):
    made = issue(days_valid=30, days_remaining=30)
    assert made.result is False
    assert "days_remaining is 30; it has to be less" in made.comment
    assert not (top / "www.crt").exists()
    assert issue(days_valid=30).result is True  # without days_remaining: 7


def test_a_new_key_needs_a_new_certificate(top, issue, converge):
    issue()
    converge("x509.private_key_managed", top / "www.key", algo="ed25519")
    assert issue().changes["private_key"] is True


def test_a_chain_and_other_forms(top, issue):
    issue()
    first = read(top / "www.crt").serial_number
    assert issue(append_certs=[f"{top}/ca.crt"]).changes == {"additional_certs": True}
    assert len(x509.load_pem_x509_certificates((top / "www.crt").read_bytes())) == 2
    assert issue(encoding="der", append_certs=[]).changes == {"encoding": "der", "additional_certs": True}
    assert x509.load_der_x509_certificate((top / "www.crt").read_bytes()).serial_number == first
    for form in ("pkcs7_pem", "pkcs7_der", "pkcs12"):
        assert issue(encoding=form, pkcs12_passphrase="secret" if form == "pkcs12" else None).changes == {
            "encoding": form
        }
    assert b"PRIVATE" not in (top / "www.crt").read_bytes()


def test_a_policy_of_the_pillar_goes_before(top, authority, converge):
    policy = [authority, {"O": "Policy"}, {"days_valid": 60}, {"minions": "*"}, {"copypath": str(top)}]
    machine = LocalMachine(sources_port=MemoryFiles({}), pillar={"x509_signing_policies": {"web": policy}})
    converge("x509.private_key_managed", top / "a.key", algo="ec")
    given = {"signing_policy": "web", "private_key": f"{top}/a.key", "CN": "a", "O": "asked for", "days_valid": 900}
    assert converge("x509.certificate_managed", top / "a.crt", machine=machine, **given).result
    found = read(top / "a.crt")
    assert found.subject.rfc4514_string() == "CN=a,O=Policy"
    assert (found.not_valid_after_utc - found.not_valid_before_utc).days == 60
    assert (top / f"{found.serial_number:x}.crt").read_bytes() == (top / "a.crt").read_bytes()
    missing = converge("x509.certificate_managed", top / "b.crt", **given)
    assert missing.result is False
    assert "There is no signing policy 'web'" in missing.comment


@pytest.mark.parametrize(("algo", "size"), [("rsa", 2048), ("ec", 384), ("ed25519", None), ("ed448", None)])
def test_a_key_of_each_kind(top, converge, algo, size):
    made = converge("x509.private_key_managed", top / "k", algo=algo, keysize=size)
    assert made.changes == {"created": f"{top}/k"}
    assert (top / "k").stat().st_mode & 0o777 == 0o400
    assert "PRIVATE" not in repr(made)


def test_a_key_under_a_passphrase(top, converge):
    converge("x509.private_key_managed", top / "k", algo="ec")
    key = serialization.load_pem_private_key((top / "k").read_bytes(), None)
    assert converge("x509.private_key_managed", top / "k", algo="ec", passphrase="a").changes == {"passphrase": True}
    same = serialization.load_pem_private_key((top / "k").read_bytes(), b"a")
    assert same.private_numbers() == key.private_numbers()
    wrong = converge("x509.private_key_managed", top / "k", algo="ec", passphrase="b")
    assert wrong.result is False
    assert "Pass overwrite: true" in wrong.comment
    new = converge("x509.private_key_managed", top / "k", algo="ec", passphrase="b", overwrite=True)
    assert new.changes == {"passphrase": True, "created": f"{top}/k"}
    assert converge("x509.private_key_managed", top / "k", algo="ec", overwrite=True).result


def test_a_file_that_is_no_key_stays(top, converge):
    (top / "k").write_text("precious\n")
    assert converge("x509.private_key_managed", top / "k").result is False
    assert (top / "k").read_text() == "precious\n"


def test_owner_and_mode_alone(top, converge):
    converge("x509.private_key_managed", top / "k", algo="ec")
    before = (top / "k").read_bytes()
    assert converge("x509.private_key_managed", top / "k", algo="ec", mode="0600").changes == {"mode": "0600"}
    assert (top / "k").read_bytes() == before


def test_a_folder_that_lacks(top, converge):
    lacks = converge("x509.private_key_managed", top / "x/k", algo="ec")
    assert (lacks.result, lacks.comment) == (False, "Parent directory not present")
    assert converge("x509.private_key_managed", top / "x/k", algo="ec", makedirs=True).result


def test_a_request_and_the_certificate_of_it(top, authority, issue, converge):
    converge("x509.private_key_managed", top / "www.key", algo="ec")
    given = {"private_key": f"{top}/www.key", "CN": "www", "subjectAltName": ["DNS:a.example", {"dns": "b.example"}]}
    assert converge("x509.csr_managed", top / "www.csr", **given).comment == (
        "The certificate signing request has been created"
    )
    assert converge("x509.csr_managed", top / "www.csr", **{**given, "CN": "w"}).changes == {"subject_name": "CN=w"}
    assert converge("x509.csr_managed", top / "www.csr", **{**given, "CN": "w"}, encoding="der").changes == {
        "encoding": "der"
    }
    made = converge("x509.certificate_managed", top / "of-csr.crt", csr=f"{top}/www.csr", CN="www", **authority)
    assert made.result
    names = read(top / "of-csr.crt").extensions.get_extension_for_class(x509.SubjectAlternativeName).value
    assert names.get_values_for_type(x509.DNSName) == ["a.example", "b.example"]


def test_a_list_of_the_revoked(top, authority, issue, converge):
    issue()
    given = {**authority, "extensions": {"cRLNumber": "auto"}}
    assert converge("x509.crl_managed", top / "ca.crl", revoked=[], **given).changes == {"created": f"{top}/ca.crl"}
    serial = ":".join(f"{read(top / 'www.crt').serial_number:040X}"[at : at + 2] for at in range(0, 40, 2))
    entry = {"certificate": f"{top}/www.crt", "extensions": {"CRLReason": "keyCompromise"}}
    made = converge("x509.crl_managed", top / "ca.crl", revoked=[entry], **given)
    assert made.changes == {"revocations": {"added": [serial], "changed": [], "removed": []}}
    found = x509.load_pem_x509_crl((top / "ca.crl").read_bytes())
    assert found.extensions.get_extension_for_class(x509.CRLNumber).value.crl_number == 2
    old = {"serial_number": "0A:1B", "not_after": "2020-01-01 00:00:00"}
    assert converge("x509.crl_managed", top / "ca.crl", revoked=[entry, old], **given).changes == {}
    assert converge("x509.crl_managed", top / "ca.crl", revoked=[entry], days_remaining=99, **given).changes == {}
    refused = converge("x509.crl_managed", top / "ca.crl", revoked=[entry], days_remaining=100, **given)
    assert refused.result is False


def test_pem_is_put_right_and_not_shown(top, authority, converge):
    text = (top / "ca.crt").read_text()
    lines = text.split("\n")
    folded = f"{lines[0]} {' '.join(lines[1:-2])} {lines[-2]}"
    made = converge("x509.pem_managed", top / "copy.crt", text=folded)
    assert (top / "copy.crt").read_text() == text
    assert "BEGIN" not in str(made.changes)
    bad = converge("x509.pem_managed", top / "copy.crt", text="-----BEGIN PRIVATE KEY----- abc")
    assert bad.result is False
    assert "abc" not in bad.comment


def test_a_link_that_is_not_followed_is_kept_under_test(top, converge):
    (top / "target").write_text("x")
    (top / "link").symlink_to(top / "target")
    made = converge("x509.private_key_managed", top / "link", algo="ec", follow_symlinks=False)
    assert made.changes == {"created": f"{top}/link", "replaced": f"{top}/link"}
    assert (top / "target").read_text() == "x"
