"""The execution module `tls`, against openssl(1)."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

from minion.execution import CallFailed, Context, Modules


@pytest.fixture
def call(tmp_path):
    modules = Modules(Context(minion_id="web1", make_pillar=lambda: {"tls.extensions": {"mail": {"csr": {
        "extendedKeyUsage": "emailProtection"}}}}))  # fmt: skip
    modules.call("tls.set_ca_path", [f"{tmp_path}/pki"])
    return lambda fun, *args, **kwargs: modules.call(f"tls.{fun}", args, kwargs)


def openssl(*words: str | Path) -> str:
    done = subprocess.run(["openssl", *words], capture_output=True, text=True, check=False)
    return done.stdout + done.stderr


def test_an_authority_and_its_certificates(call, tmp_path):
    pki = tmp_path / "pki/koji"
    made = call("create_ca", "koji", CN="Koji CA", O="Example", emailAddress="ca@example.com", days=30)
    assert made == (
        f'Created Private Key: "{pki}/koji_ca_cert.key" Created CA "koji": "{pki}/koji_ca_cert.crt"'
    )  # fmt: skip
    assert (pki / "koji_ca_cert.key").stat().st_mode & 0o777 == 0o600
    assert call("create_ca", "koji") == 'Certificate for CA named "koji" already exists'
    assert (call("ca_exists", "koji"), call("ca_exists", "other")) == (True, False)
    assert call("get_ca", "koji", as_text=True) == (pki / "koji_ca_cert.crt").read_text()
    name = "/C=US/ST=Utah/L=Salt Lake City/O=Example/CN=Koji CA/emailAddress=ca@example.com"
    assert (pki / "index.txt").read_text().split("\t")[5] == f"{name}\n"
    made = call("create_csr", "koji", CN="www.example.com", subjectAltName=["DNS:www.example.com", "IP:192.0.2.1"])
    assert made == (
        f'Created Private Key: "{pki}/certs/www.example.com.key" Created CSR for "www.example.com": '
        f'"{pki}/certs/www.example.com.csr"'
    )
    assert "already exists" in call("create_csr", "koji", CN="www.example.com")
    made = call("create_ca_signed_cert", "koji", "www.example.com")
    assert made == f'Created Certificate for "www.example.com": "{pki}/certs/www.example.com.crt"'
    assert call("create_ca_signed_cert", "koji", "www.example.com") == 'Certificate "www.example.com" already exists'
    certificate = pki / "certs/www.example.com.crt"
    verified = openssl("verify", "-CAfile", pki / "koji_ca_cert.crt", "-purpose", "sslserver", certificate)
    assert verified.endswith("OK\n"), verified
    assert call("get_ca_signed_cert", "koji", "www.example.com") == str(certificate)
    assert call("get_ca_signed_key", "koji", "www.example.com", as_text=True).startswith("-----BEGIN")
    with pytest.raises(CallFailed, match="Certificate does not exists for other"):
        call("get_ca_signed_key", "koji", "other")
    found = call("cert_info", str(certificate))
    assert found["subject_alt_names"] == ["192.0.2.1", "www.example.com"]
    assert found["subject"]["CN"] == "www.example.com"
    assert found["issuer"]["emailAddress"] == "ca@example.com"
    assert found["not_after"] - found["not_before"] == 365 * 86400
    assert found["signature_algorithm"] == "sha256WithRSAEncryption"
    assert found["fingerprint"] in openssl("x509", "-in", certificate, "-noout", "-fingerprint", "-sha256")
    dates = openssl("x509", "-in", certificate, "-noout", "-enddate", "-dateopt", "iso_8601")
    assert call("get_expiration_date", str(certificate)) in dates
    assert call("create_pkcs12", "koji", "www.example.com", "secret").startswith("Created PKCS#12 Certificate for")
    store = openssl("pkcs12", "-in", pki / "certs/www.example.com.p12", "-passin", "pass:secret", "-nokeys")
    assert store.count("BEGIN CERTIFICATE") == 2


def test_a_certificate_is_revoked(call, tmp_path):
    pki = tmp_path / "pki/koji"
    call("create_ca", "koji", CN="Koji CA", days=400)
    assert call("create_empty_crl", "koji") == f'Created an empty CRL: "{pki}/crl.pem"'
    for name in ("a", "b"):
        call("create_csr", "koji", CN=name, cert_type="client", type_ext=True)
        call("create_ca_signed_cert", "koji", name, cert_type="client", type_ext=True)
    file = f"{pki}/certs/a_client.crt"
    assert call("validate", file, "koji", f"{pki}/crl.pem") == {"valid": True}
    revoked = call("revoke_cert", "koji", "a", cert_filename="a_client")
    assert revoked.startswith(f'Revoked Certificate: "{file}", serial number: ')
    assert "was already revoked" in call("revoke_cert", "koji", "a", cert_filename="a_client")
    both = pki / "both.pem"
    both.write_text((pki / "koji_ca_cert.crt").read_text() + (pki / "crl.pem").read_text())
    assert "certificate revoked" in openssl("verify", "-crl_check", "-CAfile", both, file)
    assert openssl("verify", "-crl_check", "-CAfile", both, pki / "certs/b_client.crt").endswith("OK\n")
    for crl in (None, f"{pki}/crl.pem"):
        assert call("validate", file, "koji", crl) == {"valid": False, "error": "certificate revoked"}
        assert call("validate", f"{pki}/certs/b_client.crt", "koji", crl) == {"valid": True}
    call("create_ca", "other", CN="Other")
    assert call("validate", file, "other") == {"valid": False, "error": "unable to get local issuer certificate"}
    lines = [line.split("\t")[0] for line in (pki / "index.txt").read_text().splitlines()]
    assert sorted(lines) == ["R", "V", "V"]


def test_one_that_signs_itself_and_what_is_not_there(call, tmp_path):
    made = call("create_self_signed_cert", CN="me.example.com", days=10)
    assert made.endswith(f'Created Certificate: "{tmp_path}/pki/tls/certs/me.example.com.crt"')
    assert call("create_self_signed_cert", CN="me.example.com") == 'Certificate "me.example.com" already exists'
    again = call("create_self_signed_cert", CN="me.example.com", replace=True, bits=3072)
    assert again.startswith("Created Private Key")
    elsewhere = call("create_self_signed_cert", CN="me", cacert_path=f"{tmp_path}/mine")
    assert f"{tmp_path}/mine/tls/certs/me.crt" in elsewhere
    assert "does not exist, please create it first" in call("create_csr", "none", CN="x")
    assert call("create_ca_signed_cert", "none", "x") == {"retcode": 1, "comment": 'There is no CA named "none"'}
    call("create_ca", "koji")
    found = call("create_ca_signed_cert", "koji", "x")
    assert found == {"retcode": 1, "comment": 'There is no CSR that matches the CN "x"'}
    assert call("create_pkcs12", "koji", "x") == 'There is no certificate that matches the CN "x"'
    assert call("revoke_cert", "koji", "x") == 'There is no client certificate named "x"'
    assert call("get_extensions", "mail")["csr"] == {"basicConstraints": "CA:FALSE",
                                                     "extendedKeyUsage": "emailProtection"}  # fmt: skip
    with pytest.raises(CallFailed, match="has no nonsense"):
        call("get_extensions", "nonsense")
    with pytest.raises(CallFailed, match="is no name of a file"):
        call("create_csr", "koji", CN="../x")
    assert call("create_ca", "later", onlyif="false") is None
    assert call("create_ca", "later", unless=True) is None
    assert call("ca_exists", "later") is False
