from __future__ import annotations

import logging
import os
import ssl
import subprocess
import threading
import urllib.error
import urllib.request
from contextlib import suppress
from pathlib import Path

import pytest
import trustme
from git_servers import PASSWORD, USER, Backend, serving

from gitfs.config.credentials import SecretFrom, reveal, withhold
from gitfs.config.settings import RemoteSettings
from gitfs.errors import BadRemoteSettings, FetchFailed
from gitfs.mirror.mirror import Mirror
from gitfs.transport.https_proxy import endpoint_of
from gitfs.transport.ref_listing import list_refs

TOKEN = "t0ken-of-ours"


class Bearer(Backend):
    """git behind a token, that of the server's file."""

    def is_let_in(self):
        wanted = (self.server.root / "token").read_text()
        self.look()
        return self.headers.get("Authorization") == f"Bearer {wanted}"

    def look(self):
        pass


@pytest.fixture
def authority(tmp_path):
    made = trustme.CA()
    made.cert_pem.write_to_path(tmp_path / "ca.pem")
    return made


def server_context(authority, *, clients=False):
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    authority.issue_cert("localhost").configure_cert(context)
    if clients:
        authority.configure_trust(context)
        context.verify_mode = ssl.CERT_REQUIRED
    return context


def mirror_of(folder, url, **options):
    return Mirror(RemoteSettings(name="far", url=url, **options), folder)


def test_a_client_certificate(remote, authority, tmp_path):
    first = remote.commit({"top.sls": "one"})
    ours = authority.issue_cert("client.example.org")
    ours.private_key_and_cert_chain_pem.write_to_path(tmp_path / "both.pem")
    ours.private_key_pem.write_to_path(tmp_path / "key.pem")
    ours.cert_chain_pems[0].write_to_path(tmp_path / "cert.pem")
    locked = ["openssl", "pkey", "-in", tmp_path / "key.pem", "-aes256", "-passout", "pass:open", "-out"]
    subprocess.run([*locked, tmp_path / "locked.pem"], check=True, capture_output=True)
    known = {"ssl_verify": str(tmp_path / "ca.pem"), "user": USER, "password": PASSWORD}
    cert, key, locked_key = (str(tmp_path / name) for name in ("cert.pem", "key.pem", "locked.pem"))
    with serving(remote.bare.parent, server_context(authority, clients=True)) as port:
        url = f"https://localhost:{port}/remote.git"
        for number, options in enumerate(
            (
                {"ssl_cert": str(tmp_path / "both.pem")},
                {"ssl_cert": cert, "ssl_key": key},
                {"ssl_cert": cert, "ssl_key": locked_key, "passphrase": "open"},
            )
        ):
            assert mirror_of(tmp_path / f"m{number}", url, **known, **options).fetch().refs == {"main": first}
        for options, reason in (
            ({}, "set `ssl_cert` and `ssl_key`"),
            ({"ssl_cert": cert, "ssl_key": locked_key, "passphrase": "wrong-word"}, "another `passphrase`"),
            (
                {"ssl_cert": cert, "ssl_key": "/nowhere/key"},
                "key of the client certificate /nowhere/key cannot be read",
            ),
        ):
            with pytest.raises(FetchFailed, match=reason) as failed:
                mirror_of(tmp_path / "none", url, **known, **options).fetch()
            assert "wrong-word" not in str(failed.value)


def test_a_ca_file_is_trusted_for_its_own_remote_alone(remote, authority, tmp_path):
    remote.commit({"top.sls": "one"})
    shown = {"user": USER, "password": PASSWORD}
    with serving(remote.bare.parent, server_context(authority)) as port:
        url = f"https://localhost:{port}/remote.git"
        assert mirror_of(tmp_path / "one", url, ssl_verify=str(tmp_path / "ca.pem"), **shown).fetch().changed
        with pytest.raises(FetchFailed, match="not recognised"):
            mirror_of(tmp_path / "two", url, **shown).fetch()


def test_a_ca_file_that_was_renewed(remote, authority, tmp_path):
    remote.commit({"top.sls": "one"})
    trustme.CA().cert_pem.write_to_path(tmp_path / "renewed.pem")
    with serving(remote.bare.parent, server_context(authority)) as port:
        url, file = f"https://localhost:{port}/remote.git", tmp_path / "renewed.pem"
        mirror = mirror_of(tmp_path / "one", url, ssl_verify=str(file), user=USER, password=PASSWORD)
        with pytest.raises(FetchFailed, match="not recognised"):
            mirror.fetch()
        authority.cert_pem.write_to_path(file)
        os.utime(file, ns=(1, 1))
        assert mirror.fetch().changed


def test_a_token_that_is_changed_counts_from_the_next_fetch(remote, authority, tmp_path):
    root = remote.bare.parent
    (root / "token").write_text(TOKEN)
    ours = tmp_path / "token"
    ours.write_text(TOKEN + "\n")
    first = remote.commit({"top.sls": "one"})
    with serving(root, server_context(authority), Bearer) as port:
        url = f"https://localhost:{port}/remote.git"
        settings = {"ssl_verify": str(tmp_path / "ca.pem"), "token": SecretFrom("file", str(ours))}
        mirror = mirror_of(tmp_path / "m", url, **settings)
        assert mirror.fetch().refs == {"main": first}
        assert "refs/heads/main" in list_refs(RemoteSettings(name="far", url=url, **settings))
        (root / "token").write_text("another-one")
        with pytest.raises(FetchFailed, match="refused the token") as failed:
            mirror.fetch()
        assert TOKEN not in str(failed.value)
        assert not failed.value.retryable
        ours.write_text("another-one")
        second = remote.commit({"top.sls": "two"})
        assert mirror.fetch().refs == {"main": second}


def test_nobody_else_is_carried(remote, authority, tmp_path):
    remote.commit({"top.sls": "one"})
    with serving(remote.bare.parent, server_context(authority)) as port:
        url = f"https://localhost:{port}/remote.git"
        with endpoint_of(RemoteSettings(name="far", url=url, ssl_verify=str(tmp_path / "ca.pem"))) as endpoint:
            base, _, inner = endpoint.url.removeprefix("http://").partition("/")
            for guess in ("", "remote.git/info/refs?service=git-upload-pack", f"x{inner}/info/refs"):
                with pytest.raises(urllib.error.HTTPError, match="404"):
                    urllib.request.urlopen(f"http://{base}/{guess}")
        with pytest.raises(urllib.error.URLError):
            urllib.request.urlopen(endpoint.url + "/info/refs")


def test_a_redirect_is_not_followed(remote, authority, tmp_path):
    class Redirecting(Backend):
        def _answer(self):
            self.send_response(302)
            self.send_header("Location", "https://elsewhere.example.org/x.git/info/refs")
            self.send_header("Content-Length", "0")
            self.end_headers()

    with serving(remote.bare.parent, server_context(authority), Redirecting) as port:
        url = f"https://localhost:{port}/remote.git"
        with pytest.raises(FetchFailed, match=r"redirects to elsewhere.example.org/x"):
            mirror_of(tmp_path / "m", url, ssl_verify=str(tmp_path / "ca.pem"), token=TOKEN).fetch()


def descendants():
    children = {}
    for status in Path("/proc").glob("[0-9]*/stat"):
        try:
            fields = status.read_text().rpartition(")")[2].split()
        except OSError:
            continue
        children.setdefault(int(fields[1]), []).append(int(status.parent.name))
    found, waiting = [], [os.getpid()]
    while waiting:
        fresh = children.get(waiting.pop(), [])
        found += fresh
        waiting += fresh
    return found


def test_a_secret_is_in_no_process_while_a_fetch_is_under_way(remote, authority, tmp_path, monkeypatch, caplog, capfd):
    caplog.set_level(logging.DEBUG)
    root, looked = remote.bare.parent, []
    (root / "token").write_text(TOKEN)
    monkeypatch.setenv("FORGE_TOKEN", TOKEN)
    token = withhold(SecretFrom("env", "FORGE_TOKEN"), None)
    assert "FORGE_TOKEN" not in os.environ

    class Looking(Bearer):
        def look(self):
            child = subprocess.Popen(["sleep", "60"])  # as a worker of ours would be: with all that we have
            try:
                for number in descendants():
                    for name in ("environ", "cmdline"):
                        with suppress(OSError):  # a process of another test may be ending
                            looked.append(Path(f"/proc/{number}/{name}").read_bytes())
            finally:
                child.kill()
                child.wait()

    remote.commit({"top.sls": "one"})
    with serving(root, server_context(authority), Looking) as port:
        url = f"https://localhost:{port}/remote.git"
        mirror = mirror_of(tmp_path / "m", url, ssl_verify=str(tmp_path / "ca.pem"), token=token)
        assert mirror.fetch().changed
        assert TOKEN not in repr(mirror.settings)
    assert any(b"sleep" in each for each in looked)
    assert not any(TOKEN.encode() in each for each in looked)
    out = capfd.readouterr()
    assert TOKEN not in caplog.text + out.out + out.err
    kept = [path for path in (tmp_path / "m").rglob("*") if path.is_file() and TOKEN.encode() in path.read_bytes()]
    assert kept == []
    assert not [each for each in threading.enumerate() if each.name == "gitfs-https-proxy"]


@pytest.mark.parametrize(
    ("options", "reason"),
    [
        ({"token": TOKEN, "user": USER}, "and not both"),
        ({"ssl_key": "/key.pem"}, "set `ssl_cert` too"),
    ],
)
def test_settings_that_do_not_go_together(options, reason):
    with pytest.raises(BadRemoteSettings, match=reason):
        RemoteSettings(name="far", url="https://git.example.org/x.git", **options)
    with pytest.raises(BadRemoteSettings, match="in the clear"):
        RemoteSettings(name="far", url="http://git.example.org/x.git", token=TOKEN)


def test_a_credential_of_systemd(tmp_path, monkeypatch):
    monkeypatch.delenv("CREDENTIALS_DIRECTORY", raising=False)
    with pytest.raises(LookupError, match="LoadCredential"):
        reveal(SecretFrom("credential", "forge"))
    monkeypatch.setenv("CREDENTIALS_DIRECTORY", str(tmp_path))
    (tmp_path / "forge").write_text(TOKEN + "\n")
    assert reveal(SecretFrom("credential", "forge")) == TOKEN
    with pytest.raises(LookupError, match="none is set up"):
        reveal(SecretFrom("vault", "secret/forge?token"))
