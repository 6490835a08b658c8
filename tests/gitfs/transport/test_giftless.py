"""Contents of a real Git LFS server: pushed by git-lfs, fetched by us through nginx, and what goes wrong there."""

from __future__ import annotations

import base64
import contextlib
import hashlib
import os
import shutil
import subprocess

import pytest
import trustme
from git_servers import PASSWORD, USER, giftless, nginx, serving

from gitfs.source import Source
from gitfs.tree.lfs_index import lfs_contents

pytestmark = pytest.mark.skipif(shutil.which("git-lfs") is None, reason="git-lfs is not installed")

KEY = "a key of forty bytes, for tests alone ..."
LARGE = os.urandom(300_000)


class Forge:
    """A remote behind nginx whose large files are with giftless; pushes to it go by git and git-lfs."""

    def __init__(self, remote, folder, port, authority, token):
        self.remote, self.folder = remote, folder
        self.url = f"https://localhost:{port}/states/remote.git"
        self.settings = remote.settings(
            name="far", url=self.url, user="_jwt", password=token, ssl_verify=str(authority), update_interval=3600
        )
        remote.run("lfs", "install", "--local")
        remote.run("lfs", "track", "*.bin")
        for name, value in {
            "lfs.url": f"https://_jwt:{token}@localhost:{port}/states/remote.git/info/lfs",
            "http.sslCAInfo": str(authority),
            "lfs.locksverify": "false",
            "lfs.concurrenttransfers": "1",
        }.items():
            remote.run("config", name, value)

    def push(self, **files):
        return self.remote.commit({f"{name}.bin": content for name, content in files.items()})

    def fault(self, what):
        """From now on this goes wrong; an empty word: nothing."""
        path = self.folder / "fault"
        path.write_text(what) if what else path.unlink()

    def stored(self, content):
        digest = hashlib.sha256(content).hexdigest()
        return self.folder / "objects/states/remote" / digest

    def downloads(self):
        path = self.folder / "downloads"
        return path.read_text().split() if path.exists() else []


@pytest.fixture
def forge(nginx_program, giftless_python, remote, tmp_path):
    authority = trustme.CA()
    for name in ("nginx", "lfs"):
        (tmp_path / name).mkdir()
    authority.cert_pem.write_to_path(tmp_path / "ca.pem")
    authority.issue_cert("localhost").private_key_and_cert_chain_pem.write_to_path(tmp_path / "nginx/server.pem")
    code = f"import jwt; print(jwt.encode({{'sub': 'x', 'scopes': 'obj:states/remote/*'}}, {KEY!r}, algorithm='HS256'))"
    token = subprocess.run([giftless_python, "-c", code], capture_output=True, text=True, check=True).stdout.strip()
    own = base64.b64encode(f"{USER}:{PASSWORD}".encode()).decode()
    with contextlib.ExitStack() as servers:
        # git's own server knows its own password; the token is for giftless, and nginx asks for neither.
        lfs = servers.enter_context(giftless(giftless_python, tmp_path / "lfs", KEY))
        upstream = servers.enter_context(serving(tmp_path))
        directives = [
            f"location ~ /info/lfs/ {{ proxy_pass http://127.0.0.1:{lfs};",
            "proxy_set_header X-Forwarded-Host $host:$server_port; proxy_set_header X-Forwarded-Proto https;",
            "proxy_http_version 1.1; proxy_buffering off; }",
            f'proxy_set_header Authorization "Basic {own}";',
        ]
        port = servers.enter_context(nginx(nginx_program, tmp_path / "nginx", upstream, directives, asks=False))
        yield Forge(remote, tmp_path / "lfs", port, tmp_path / "ca.pem", token)


@pytest.fixture
def source(forge, tmp_path):
    with Source([forge.settings], (), tmp_path / "cache") as source:
        yield source


def refused(source):
    (fetched,) = source.fetch(patience=30)
    (one,) = fetched.refused
    return one.reason


def accepted(source):
    (fetched,) = source.fetch(patience=30)
    assert not fetched.refused
    return source.live().files


def test_contents_are_pushed_and_fetched(forge, source, tmp_path):
    forge.push(a=LARGE, b=b"another " * 500)
    assert forge.stored(LARGE).read_bytes() == LARGE
    files = accepted(source)
    assert files.read("a.bin") == LARGE
    assert files.read("b.bin") == b"another " * 500
    forge.push(c=LARGE[::-1])
    assert accepted(source).read("c.bin") == LARGE[::-1]
    assert len(forge.downloads()) == 3, "what is there already is not fetched again"
    secret = forge.settings.password.encode()
    assert not any(secret in path.read_bytes() for path in (tmp_path / "cache").rglob("*") if path.is_file())


@pytest.mark.parametrize(
    ("fault", "reason"),
    [
        ("error", "it answered 500"),
        ("other", "has another content than the pointer says"),
        ("cut", "localhost"),
        ("expired", "refused the credentials"),
    ],
)
def test_what_goes_wrong_keeps_the_old_and_is_mended_by_the_next_fetch(forge, source, fault, reason):
    forge.push(a=b"first " * 5000)
    accepted(source)
    forge.push(a=LARGE)
    forge.fault(fault)
    said = refused(source)
    assert said.startswith("LFS: ")
    assert reason in said
    assert forge.settings.password not in said
    assert source.live().files.read("a.bin") == b"first " * 5000
    forge.fault("")
    assert accepted(source).read("a.bin") == LARGE


def test_a_permission_that_ran_out_is_asked_for_anew(forge, source):
    forge.push(a=LARGE)
    forge.fault("expired-once")
    assert accepted(source).read("a.bin") == LARGE
    assert len(forge.downloads()) == 2


def test_contents_that_came_before_a_fault_are_kept(forge, source):
    forge.push(a=b"first " * 5000)
    accepted(source)
    gone = forge.stored(LARGE)
    forge.push(**{"0": b"small " * 500, "1": LARGE})
    gone.rename(gone.with_name("gone"))
    assert "object" in refused(source)
    gone.with_name("gone").rename(gone)
    forge.fault("cut")
    assert refused(source)
    forge.fault("")
    assert accepted(source).read("1.bin") == LARGE
    assert forge.downloads().count(hashlib.sha256(b"small " * 500).hexdigest()) == 1
    mirror = source.mirrors_of("far")[0][1].path
    assert len(lfs_contents(mirror)) == 3


def test_a_wrong_token(forge, tmp_path):
    forge.push(a=LARGE)
    settings = forge.remote.settings(
        name="far", url=forge.url, user="_jwt", password="n0t.the.token", ssl_verify=forge.settings.ssl_verify
    )
    with Source([settings], (), tmp_path / "other") as source:
        (failed,) = source.fetch(patience=30)
        assert "no branch can be used: main: LFS: " in str(failed)
        assert "refused the credentials" in str(failed)
        assert "n0t.the.token" not in str(failed)
