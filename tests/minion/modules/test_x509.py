"""The execution module `x509`, against openssl."""

import base64
import subprocess

import pytest

from minion.execution import CallFailed, Context, Modules


@pytest.fixture
def call(tmp_path):
    def openssl(*words):
        subprocess.run(["openssl", *words], check=True, capture_output=True, cwd=tmp_path)

    openssl("ecparam", "-name", "prime256v1", "-genkey", "-noout", "-out", "ca.key")
    openssl("req", "-x509", "-new", "-key", "ca.key", "-out", "ca.crt", "-days", "30", "-subj", "/CN=ca/O=Example",
            "-addext", "keyUsage=critical,keyCertSign,cRLSign")  # fmt: skip
    modules = Modules(Context(minion_id="web1"))
    return lambda fun, *args, **kwargs: modules.call(f"x509.{fun}", args, kwargs)


def test_what_is_in_a_certificate(call, tmp_path):
    found = call("read_certificate", f"{tmp_path}/ca.crt")
    asked = ["openssl", "x509", "-in", tmp_path / "ca.crt", "-noout", "-fingerprint", "-sha256"]
    hashed = subprocess.run(asked, capture_output=True, text=True, check=True).stdout.splitlines()
    assert hashed[0].endswith(found["fingerprints"]["sha256"])
    assert found["subject"] == {"O": "Example", "CN": "ca"}
    assert found["extensions"]["keyUsage"]["cRLSign"] is True
    assert (found["key_type"], found["key_size"], found["version"]) == ("ec", 256, 3)
    assert call("read_certificates", f"{tmp_path}/*") == {f"{tmp_path}/ca.crt": found}
    assert call("get_pem_entries", f"{tmp_path}/*.crt")[f"{tmp_path}/ca.crt"] == (tmp_path / "ca.crt").read_text()


def test_issue_and_verify(call, tmp_path):
    authority = {"signing_private_key": f"{tmp_path}/ca.key", "signing_cert": f"{tmp_path}/ca.crt"}
    key = call("create_private_key", algo="rsa", keysize=2048)
    assert call("get_private_key_size", key) == 2048
    request = call("create_csr", key, CN="w", subjectAltName="DNS:w.example")
    assert call("read_csr", request)["extensions"]["subjectAltName"]["value"] == ["DNS:w.example"]
    made = call("create_certificate", csr=request, CN="w", days_valid=10, **authority)
    assert call("verify_signature", made, f"{tmp_path}/ca.crt") is True
    assert call("verify_signature", made) is False
    assert call("verify_private_key", key, made) is True
    assert call("verify_private_key", key, f"{tmp_path}/ca.crt") is False
    assert call("expires", made) is False
    assert call("will_expire", made, 11) == {"check_days": 11, "cn": "w", "will_expire": True}
    assert call("expired", f"{tmp_path}/ca.crt") == {"path": f"{tmp_path}/ca.crt", "cn": "ca", "expired": False}
    assert call("get_public_key", made) == call("get_public_key", key) == call("get_public_key", request)
    container = call("encode_certificate", made, encoding="pkcs12", private_key=key, pkcs12_passphrase="secret")
    (tmp_path / "a.p12").write_bytes(base64.b64decode(container))
    subprocess.run(["openssl", "pkcs12", "-in", tmp_path / "a.p12", "-passin", "pass:secret", "-noout"], check=True)


def test_a_list(call, tmp_path):
    revoked = [{"serial_number": "0A1B", "extensions": {"CRLReason": "superseded"}}]
    crl = call("create_crl", f"{tmp_path}/ca.key", revoked, signing_cert=f"{tmp_path}/ca.crt",
               extensions={"cRLNumber": 3}, path=f"{tmp_path}/ca.crl")  # fmt: skip
    assert crl == f"PEM written to {tmp_path}/ca.crl"
    found = call("read_crl", f"{tmp_path}/ca.crl")
    assert found["revoked_certificates"]["0A1B"]["extensions"]["CRLReason"]["value"] == "superseded"
    assert found["extensions"]["cRLNumber"]["value"] == 3
    assert call("verify_crl", f"{tmp_path}/ca.crl", f"{tmp_path}/ca.crt") is True


def test_a_key_is_in_no_error(call, tmp_path):
    with pytest.raises(CallFailed) as failed:
        call("get_pem_entry", "-----BEGIN PRIVATE KEY----- secret")
    assert "secret" not in str(failed.value)
    call("create_private_key", algo="ec", path=f"{tmp_path}/new.key")
    assert (tmp_path / "new.key").stat().st_mode & 0o777 == 0o600
