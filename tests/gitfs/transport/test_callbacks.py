from __future__ import annotations

import os
import shutil
import socket
import subprocess
from http.server import BaseHTTPRequestHandler
from pathlib import Path

import pygit2
import pytest
from git_servers import PASSWORD, USER, Backend, serving, wait_for

from gitfs.config.credentials import SecretFrom
from gitfs.config.settings import RemoteSettings
from gitfs.errors import FetchFailed
from gitfs.mirror.mirror import Mirror
from gitfs.transport.ref_listing import list_refs
from gitfs.tree.git_layer import GitLayer
from gitfs.tree.snapshot import Snapshot


class PublicBackend(Backend):
    def is_let_in(self):
        return True


def mirror_of(tmp_path, url, **options):
    settings = RemoteSettings(name="far", url=url, **options)
    return Mirror(settings, tmp_path / "mirror")


def read(mirror, path):
    layer = GitLayer.of(mirror.path, "far", mirror.branches()["main"])
    return Snapshot(environments={"base": (layer,)}).read(path)


def test_https_with_a_ca_of_ones_own_and_a_password(remote, https, tmp_path):
    url, authority = https
    first = remote.commit({"top.sls": "one"})
    unknown = mirror_of(tmp_path, url, user=USER, password=PASSWORD)
    with pytest.raises(FetchFailed, match="ssl_verify") as failed:
        unknown.fetch()
    assert not failed.value.retryable
    mirror = mirror_of(tmp_path, url, user=USER, password=PASSWORD, ssl_verify=authority)
    assert mirror.fetch().refs == {"main": first}
    second = remote.commit({"top.sls": "two"})
    assert mirror.fetch().refs == {"main": second}
    assert not mirror.fetch().changed
    assert read(mirror, "top.sls") == b"two"
    assert PASSWORD.encode() not in b"".join(p.read_bytes() for p in (tmp_path / "mirror").rglob("*") if p.is_file())


def test_https_without_verification(remote, https, tmp_path):
    remote.commit({"top.sls": "one"})
    mirror = mirror_of(tmp_path, https[0], user=USER, password=PASSWORD, ssl_verify=False)
    assert mirror.fetch().changed


@pytest.mark.parametrize(
    ("options", "reason"),
    [({"user": USER, "password": "wrong-word"}, "refused the credentials"), ({}, "asks for credentials")],
)
def test_https_with_credentials_that_do_not_fit(remote, https, tmp_path, options, reason):
    remote.commit({"top.sls": "one"})
    with pytest.raises(FetchFailed, match=reason) as failed:
        mirror_of(tmp_path, https[0], ssl_verify=https[1], **options).fetch()
    assert not failed.value.retryable
    assert "wrong-word" not in str(failed.value)


def test_a_certificate_of_another_host(remote, https, tmp_path):
    remote.commit({"top.sls": "one"})
    url = https[0].replace("localhost", "127.0.0.1")
    with pytest.raises(FetchFailed, match="not recognised"):
        mirror_of(tmp_path, url, user=USER, password=PASSWORD, ssl_verify=https[1]).fetch()


def test_a_ca_file_that_is_not_there(https, tmp_path):
    with pytest.raises(FetchFailed, match="CA file"):
        mirror_of(tmp_path, https[0], ssl_verify=str(tmp_path / "missing.pem")).fetch()


class Redirecting(Backend):
    """Sends everybody to `where`, perhaps after it has asked for credentials."""

    where = ""
    asks_first = False

    def do_GET(self):  # noqa: N802 - as the class has it
        asks = self.asks_first and not self.headers.get("Authorization")
        self.send_response(401 if asks else 301)
        if asks:
            self.send_header("WWW-Authenticate", 'Basic realm="x"')
        else:
            self.send_header("Location", self.where + self.path)
        self.send_header("Content-Length", "0")
        self.end_headers()


@pytest.fixture
def elsewhere(tmp_path):
    """(port of a server that asks for credentials, what it was shown)."""
    seen = []

    class Thief(BaseHTTPRequestHandler):
        def do_GET(self):
            seen.append(self.headers.get("Authorization"))
            self.send_response(401)
            self.send_header("WWW-Authenticate", 'Basic realm="x"')
            self.send_header("Content-Length", "0")
            self.end_headers()

        def log_message(self, *_):
            pass

    with serving(tmp_path, handler=Thief) as port:
        yield port, seen


@pytest.mark.parametrize("asks_first", [False, True])
@pytest.mark.parametrize("how", ["fetch", "list"])
def test_a_redirect_to_another_host_is_not_followed(tmp_path, elsewhere, asks_first, how):
    port, seen = elsewhere
    handler = type("Moved", (Redirecting,), {"where": f"http://localhost:{port}", "asks_first": asks_first})
    with serving(tmp_path, handler=handler) as own:
        options = {"url": f"http://127.0.0.1:{own}/x.git", "user": USER, "password": PASSWORD, "insecure_auth": True}
        with pytest.raises(FetchFailed, match="redirects to localhost, which is not followed; set that URL"):
            if how == "fetch":
                mirror_of(tmp_path, **options).fetch()
            else:
                list_refs(RemoteSettings(name="far", **options))
    assert seen == []


def test_a_redirect_to_another_server_of_the_host_gets_no_credentials(tmp_path, elsewhere):
    port, seen = elsewhere
    handler = type("Moved", (Redirecting,), {"where": f"http://127.0.0.1:{port}"})
    with serving(tmp_path, handler=handler) as own, pytest.raises(FetchFailed, match=r"redirects to 127.0.0.1/x"):
        url = f"http://127.0.0.1:{own}/x.git"
        mirror_of(tmp_path, url, user=USER, password=PASSWORD, insecure_auth=True).fetch()
    assert set(seen) == {None}


def test_a_redirect_on_the_host_of_the_remote_is_followed(remote, tmp_path):
    first = remote.commit({"top.sls": "one"})
    with serving(remote.bare.parent, handler=PublicBackend) as moved:
        handler = type("Moved", (Redirecting,), {"where": f"http://127.0.0.1:{moved}"})
        with serving(tmp_path, handler=handler) as own:
            mirror = mirror_of(tmp_path, f"http://127.0.0.1:{own}/remote.git")
            assert mirror.fetch().refs == {"main": first}


def test_plain_http_where_it_is_allowed(remote, tmp_path):
    remote.commit({"top.sls": "one"})
    with serving(remote.bare.parent) as port:
        url = f"http://127.0.0.1:{port}/remote.git"
        mirror = mirror_of(tmp_path, url, user=USER, password=PASSWORD, insecure_auth=True)
        assert mirror.fetch().changed


def test_a_commit_that_no_branch_has_any_more(remote, tmp_path):
    lost = remote.commit({"top.sls": "one"})
    remote.run("--git-dir", str(remote.bare), "config", "uploadpack.allowAnySHA1InWant", "true")
    remote.run("commit", "-q", "--amend", "-m", "another history")
    remote.run("push", "-qf", "origin", "main")
    with serving(remote.bare.parent) as port:
        url = f"http://127.0.0.1:{port}/remote.git"
        mirror = mirror_of(tmp_path, url, user=USER, password=PASSWORD, insecure_auth=True)
        mirror.fetch_commit(lost)
        layer = GitLayer.of(mirror.path, "far", lost)
        assert Snapshot(environments={"base": (layer,)}).read("top.sls") == b"one"
        with pytest.raises(FetchFailed):
            mirror.fetch_commit("12" * 20)


def test_a_page_that_is_no_repository(remote, https, tmp_path):
    url = https[0].replace("remote.git", "other.git")
    with pytest.raises(FetchFailed) as failed:
        mirror_of(tmp_path, url, user=USER, password=PASSWORD, ssl_verify=https[1]).fetch()
    assert failed.value.retryable


def test_nobody_listens(tmp_path):
    with socket.socket() as held:
        held.bind(("127.0.0.1", 0))
        with pytest.raises(FetchFailed) as failed:
            mirror_of(tmp_path, f"https://localhost:{held.getsockname()[1]}/x.git").fetch()
    assert failed.value.retryable


SSHD = shutil.which("sshd", path=os.environ["PATH"] + ":/usr/sbin:/usr/local/sbin")


@pytest.fixture
def ssh(tmp_path):
    """(port, private key, line for known_hosts) of an ssh server of our own."""
    if SSHD is None or shutil.which("ssh-keygen") is None:
        pytest.skip("sshd and ssh-keygen are not installed")
    if os.getuid() == 0 and not Path("/run/sshd").is_dir():
        pytest.skip("sshd needs /run/sshd when it is run by root")
    folder = tmp_path / "ssh"
    folder.mkdir(mode=0o700)
    for name in ("host", "user"):
        subprocess.run(["ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f", str(folder / name)], check=True)
    shutil.copy(folder / "user.pub", folder / "authorized")
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    lines = [
        f"Port {port}",
        "ListenAddress 127.0.0.1",
        f"HostKey {folder}/host",
        f"PidFile {folder}/pid",
        f"AuthorizedKeysFile {folder}/authorized",
        "StrictModes no",
        "UsePAM no",
        "PasswordAuthentication no",
    ]
    (folder / "config").write_text("\n".join(lines) + "\n")
    server = subprocess.Popen([SSHD, "-D", "-e", "-f", str(folder / "config")], stderr=subprocess.DEVNULL)
    try:
        wait_for(port, server)
        public = " ".join((folder / "host.pub").read_text().split()[:2])
        yield port, str(folder / "user"), f"[127.0.0.1]:{port} {public}\n"
    finally:
        server.terminate()
        server.wait()


@pytest.fixture
def home(tmp_path):
    """A home directory that libgit2 looks into for known_hosts."""
    before = pygit2.settings.homedir
    (tmp_path / "home/.ssh").mkdir(parents=True, exist_ok=True)
    pygit2.settings.homedir = str(tmp_path / "home")
    yield tmp_path / "home"
    pygit2.settings.homedir = before


def test_ssh_with_a_key_and_a_known_host(remote, ssh, home, tmp_path):
    port, key, known = ssh
    first = remote.commit({"top.sls": "one"})
    user = subprocess.run(["id", "-un"], capture_output=True, text=True, check=True).stdout.strip()
    url = f"ssh://{user}@127.0.0.1:{port}{remote.bare}"
    mirror = mirror_of(tmp_path, url, privkey=key)
    with pytest.raises(FetchFailed, match="known_hosts"):
        mirror.fetch()
    (home / ".ssh/known_hosts").write_text(known.replace(known.split()[2][-20:], "A" * 20))
    with pytest.raises(FetchFailed):
        mirror.fetch()
    (home / ".ssh/known_hosts").write_text(known)
    assert mirror.fetch().refs == {"main": first}
    assert read(mirror, "top.sls") == b"one"
    other = tmp_path / "other"
    subprocess.run(["ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f", str(other)], check=True)
    with pytest.raises(FetchFailed, match="refused the credentials"):
        mirror_of(tmp_path, url, privkey=str(other)).fetch()
    with pytest.raises(FetchFailed, match="no private key"):
        mirror_of(tmp_path, url, privkey="/nowhere/key").fetch()


def test_a_password_in_a_file_is_read_at_each_fetch(remote, https, tmp_path):
    url, authority = https
    remote.commit({"top.sls": "one"})
    token = tmp_path / "token"
    mirror = mirror_of(tmp_path, url, user=USER, password=SecretFrom("file", str(token)), ssl_verify=authority)
    with pytest.raises(FetchFailed, match=f"the file {token} cannot be read"):
        mirror.fetch()
    token.write_text("old-word\n")
    with pytest.raises(FetchFailed, match="refused the credentials"):
        mirror.fetch()
    token.write_text(PASSWORD + "\n")
    assert mirror.fetch().changed


def test_ssh_with_a_forced_command(remote, ssh, home, tmp_path):
    port, key, known = ssh
    first = remote.commit({"top.sls": "one"})
    (home / ".ssh/known_hosts").write_text(known)
    authorized = tmp_path / "ssh/authorized"
    command = f"git-upload-pack '{remote.bare}'"
    authorized.write_text(f'command="{command}",restrict {authorized.read_text()}')
    user = subprocess.run(["id", "-un"], capture_output=True, text=True, check=True).stdout.strip()
    mirror = mirror_of(tmp_path, f"ssh://{user}@127.0.0.1:{port}/whatever/is/asked.git", privkey=key)
    assert mirror.fetch().refs == {"main": first}


def test_a_proxy_that_is_not_there(remote, tmp_path):
    remote.commit({"top.sls": "one"})
    with serving(remote.bare.parent) as port, socket.socket() as held:
        held.bind(("127.0.0.1", 0))
        proxy = f"http://127.0.0.1:{held.getsockname()[1]}"
        url = f"http://127.0.0.1:{port}/remote.git"
        with pytest.raises(FetchFailed):
            mirror_of(tmp_path, url, user=USER, password=PASSWORD, insecure_auth=True, proxy=proxy).fetch()
