"""acme.cert, with Debian's certbot and a real ACME server, which pip brings."""

from __future__ import annotations

import datetime
import shutil
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization

from minion.execution import CallFailed, Context, Modules
from minion.machine.failure import StateFailed
from minion.providers import acme

pytestmark = pytest.mark.skipif(not shutil.which("certbot"), reason="certbot is not installed")
SERVER = """
import sys
from acme2certifier.share.acme2certifier_wsgi import application, get_handler_cls
from wsgiref.simple_server import make_server
make_server("127.0.0.1", int(sys.argv[1]), application, handler_class=get_handler_cls()).serve_forever()
"""
OPTIONS = """
[CAhandler]
handler_module: acme2certifier.cahandlers.openssl_ca_handler
issuing_ca_key: {top}/ca.key
issuing_ca_cert: {top}/ca.crt
issuing_ca_crl: {top}/ca.crl
cert_save_path: {top}/certs
cert_validity_days: 30
ca_cert_chain_list: []
[DBhandler]
handler: wsgi
dbfile: {top}/acme.db
[Challenge]
challenge_validation_disable: True
[Order]
tnauthlist_support: False
"""


@pytest.fixture(scope="module")
def environment(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A virtualenv that has the server."""
    made = tmp_path_factory.mktemp("acme") / "venv"
    subprocess.run([sys.executable, "-m", "venv", made], check=True)
    wanted = [made / "bin/pip", "install", "-q", "acme2certifier"]
    done = subprocess.run(wanted, capture_output=True, text=True, check=False)
    if done.returncode:
        pytest.skip(f"there is no index of Python packages that has acme2certifier: {done.stderr[-200:]}")
    return made


@pytest.fixture(scope="module")
def address(environment: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """Of a server that believes that everybody has every name."""
    top = tmp_path_factory.mktemp("server")
    for words in (
        ("ecparam", "-name", "prime256v1", "-genkey", "-noout", "-out", "ca.key"),
        ("req", "-x509", "-new", "-key", "ca.key", "-out", "ca.crt", "-days", "300", "-subj", "/CN=ACME"),
    ):
        subprocess.run(["openssl", *words], check=True, capture_output=True, cwd=top)
    (top / "ca.crl").write_bytes(empty_list(top))
    (top / "certs").mkdir()
    (top / "acme.cfg").write_text(OPTIONS.format(top=top))
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    env = {"ACME2CERTIFIER_I_KNOW_THE_RISK": "1", "ACME_SRV_CONFIGFILE": f"{top}/acme.cfg", "PATH": "/usr/bin"}
    with (top / "log").open("wb") as log:
        server = subprocess.Popen(
            [environment / "bin/python", "-c", SERVER, str(port)], env=env, stdout=log, stderr=log
        )
    until = time.monotonic() + 60
    while not listens(port):
        assert time.monotonic() < until, (top / "log").read_text()
        time.sleep(0.05)
    yield f"http://127.0.0.1:{port}/directory"
    server.terminate()
    server.wait(10)


def listens(port: int) -> bool:
    with socket.socket() as tried:
        return tried.connect_ex(("127.0.0.1", port)) == 0


def empty_list(top: Path) -> bytes:
    key = serialization.load_pem_private_key((top / "ca.key").read_bytes(), None)
    issuer = x509.load_pem_x509_certificate((top / "ca.crt").read_bytes()).subject
    now = datetime.datetime.now(datetime.UTC)
    wanted = x509.CertificateRevocationListBuilder().issuer_name(issuer).last_update(now)
    made = wanted.next_update(now + datetime.timedelta(days=30)).sign(key, hashes.SHA256())
    return made.public_bytes(serialization.Encoding.PEM)


@pytest.fixture
def live(
    address: str, tmp_path: Path, tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch
) -> Path:
    """Where certbot puts what it gets."""
    folder, logs = tmp_path / "letsencrypt", tmp_path_factory.mktemp("logs")
    (tmp_path / "conf/letsencrypt").mkdir(parents=True)
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    (tmp_path / "conf/letsencrypt/cli.ini").write_text(
        f"server = {address}\nconfig-dir = {folder}\nwork-dir = {folder}/work\nlogs-dir = {logs}\n"
        f"http-01-port = {port}\nhttp-01-address = 127.0.0.1\n"
    )
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "conf"))
    monkeypatch.setattr(acme, "LIVE", str(folder / "live"))
    return folder / "live"


def serial(live: Path, name: str = "www.example.com") -> int:
    return x509.load_pem_x509_certificate((live / name / "cert.pem").read_bytes()).serial_number


def test_a_certificate_is_obtained_renewed_and_widened(converge, live):
    given = {"email": "a@example.com", "mode": "0600"}
    made = converge("acme.cert", "www.example.com", aliases=["web.example.com"], **given)
    assert made.comment == "Certificate www.example.com obtained"
    assert made.changes == {"old": "current certificate", "new": "new certificate"}
    assert (live / "www.example.com/privkey.pem").stat().st_mode & 0o777 == 0o600
    first = serial(live)
    same = converge("acme.cert", "www.example.com", aliases=["web.example.com"], renew=14, **given)
    assert same.comment == "Certificate www.example.com exists and does not need renewal."
    assert serial(live) == first
    more = converge("acme.cert", "www.example.com", aliases=["web.example.com", "w.example.com"], **given)
    assert more.comment == "Certificate www.example.com obtained"
    assert serial(live) != first
    fewer = converge("acme.cert", "www.example.com", **given)
    assert fewer.changes == {}

    call = Modules(Context(minion_id="web1")).call
    assert call("acme.certs") == ["www.example.com"]
    assert (call("acme.has", ["www.example.com"]), call("acme.has", ["other"])) == (True, False)
    assert call("acme.needs_renewal", ["www.example.com", 14]) is False
    assert call("acme.needs_renewal", ["www.example.com", 31]) is True
    assert call("acme.needs_renewal", ["www.example.com", "force"]) is True
    ends = datetime.datetime.fromisoformat(call("acme.expires", ["www.example.com"]))
    assert ends - datetime.datetime.fromisoformat(call("acme.renew_by", ["www.example.com", 3])) == datetime.timedelta(
        3
    )
    found = call("acme.info", ["www.example.com"])
    assert found["extensions"]["subjectAltName"]["value"]
    assert call("acme.info", ["other"]) == {}
    with pytest.raises(CallFailed, match="if provided, must be one of"):
        call("acme.needs_renewal", ["www.example.com", "soon"])
    before = serial(live)
    done = call("acme.cert", ["www.example.com"], {"renew": True, "mode": "0640", **{"email": "a@example.com"}})
    assert (done["result"], done["comment"]) == (True, "Certificate www.example.com renewed")
    assert serial(live) != before


def test_a_certificate_that_is_due_is_renewed(converge, live):
    converge("acme.cert", "www.example.com", email="a@example.com")
    file = live / "www.example.com/cert.pem"
    key = serialization.load_pem_private_key((live / "www.example.com/privkey.pem").read_bytes(), None)
    there = x509.load_pem_x509_certificate(file.read_bytes())
    begins, key_of = there.not_valid_before_utc, there.public_key()
    ends = begins + datetime.timedelta(days=20)
    older = x509.CertificateBuilder(there.issuer, there.subject, key_of, 1, begins, ends)
    for one in there.extensions:
        older = older.add_extension(one.value, one.critical)
    file.write_bytes(older.sign(key, hashes.SHA256()).public_bytes(serialization.Encoding.PEM))
    assert converge("acme.cert", "www.example.com", renew=19, email="a@example.com").changes == {}
    made = converge("acme.cert", "www.example.com", renew=21, email="a@example.com")
    assert made.comment == "Certificate www.example.com renewed"
    assert serial(live) != 1


def test_what_certbot_refuses(converge, live):
    refused = converge("acme.cert", "www.example.com", email="a@example.com", server="http://127.0.0.1:1/directory")
    assert refused.result is False
    assert refused.comment.startswith("Certificate www.example.com renewal failed with:\n")
    for arguments, why in (
        ({"renew": "force"}, "it would be renewed on each run"),
        ({"server": "http://x", "test_cert": True}, "Use either server or test_cert, not both"),
        ({"dns_plugin": "Cloud flare"}, "is not supported"),
        ({"aliases": ["-x"]}, "is no name of a certificate"),
        ({"renew": "soon"}, "if provided, must be one of"),
    ):
        failed = converge("acme.cert", "www.example.com", **arguments)
        assert failed.result is False
        assert why in failed.comment


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"webroot": "/tmp"}, ["--authenticator", "webroot", "--webroot-path", "/tmp"]),
        ({"webroot": True}, ["--authenticator", "webroot"]),
        ({"dns_plugin": "cloudflare", "dns_plugin_credentials": "/c"},
         ["--dns-cloudflare", "--dns-cloudflare-credentials", "/c"]),
        ({"manual_auth_hook": "/a", "manual_cleanup_hook": "/b"},
         ["--manual", "--manual-auth-hook", "/a", "--manual-cleanup-hook", "/b"]),
        ({"keysize": 4096, "preferred_challenges": "dns"},
         ["--authenticator", "standalone", "--rsa-key-size", "4096", "--preferred-challenges", "dns", "--key-type",
          "rsa"]),
    ],
)  # fmt: skip
def test_how_challenges_are_answered(options, words):
    given = acme.words("a.example", "a.example", (), acme.AcmeOptions(**options))
    assert given == ["certonly", "--non-interactive", "--agree-tos", "--cert-name", "a.example", *words,
                     "--domains", "a.example"]  # fmt: skip
    taken = subprocess.run(["certbot", *given, "--help", "certonly"], capture_output=True, text=True, check=False)
    if "dns_plugin" not in options:  # plugins are packages of their own
        assert taken.returncode == 0, taken.stderr


def test_without_certbot(converge, live, monkeypatch):
    monkeypatch.setattr(acme, "PROGRAMS", ("no-certbot",))
    failed = converge("acme.cert", "www.example.com")
    assert (failed.result, failed.comment) == (False, "certbot is not installed")
    with pytest.raises(StateFailed):
        acme.program()
