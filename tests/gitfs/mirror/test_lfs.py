from __future__ import annotations

import contextlib
import hashlib
import json
import shutil
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pygit2
import pytest

from gitfs.config.settings import RemoteSettings
from gitfs.mirror.lfs import Lfs
from gitfs.mirror.mirror import Mirror
from gitfs.source import Source
from gitfs.transport.lfs_server import LfsFailed, LfsServer, lfs_url
from gitfs.tree.directory import blob_id

CONTENT = b"\x00\x01large \n" * 1000
needs_git_lfs = pytest.mark.skipif(shutil.which("git-lfs") is None, reason="git-lfs is not installed")


def pointer_of(content: bytes) -> str:
    digest = hashlib.sha256(content).hexdigest()
    return f"version https://git-lfs.github.com/spec/v1\noid sha256:{digest}\nsize {len(content)}\n"


@needs_git_lfs
def test_contents_of_a_local_remote(remote, tmp_path):
    remote.run("lfs", "install", "--local")
    remote.run("lfs", "track", "*.bin")
    remote.commit({"files/a.bin": CONTENT, "files/b.txt": "plain", "copy.bin": CONTENT})
    with Source([remote.settings()], (), tmp_path / "cache") as source:
        assert not source.fetch()[0].refused
        files = source.live().files
        assert files.read("files/a.bin") == CONTENT
        assert files.oid("files/a.bin") == blob_id(CONTENT) == files.oid("copy.bin")
        assert files.blob_size(blob_id(CONTENT)) == len(CONTENT)
        assert files.read("files/b.txt") == b"plain"
    shutil.rmtree(remote.bare / "lfs")
    with Source([remote.settings()], (), tmp_path / "cache") as source:
        source.fetch()
        assert source.live().files.read("files/a.bin") == CONTENT
    with Source([remote.settings(lfs=False)], (), tmp_path / "cache") as source:
        source.fetch()
        assert source.live().files.read("files/a.bin") == pointer_of(CONTENT).encode()


@needs_git_lfs
def test_a_damaged_mirror_is_made_anew_with_its_contents(remote, tmp_path):
    remote.run("lfs", "install", "--local")
    remote.run("lfs", "track", "*.bin")
    remote.commit({"a.bin": CONTENT})
    with Source([remote.settings()], (), tmp_path / "cache") as source:
        source.fetch()
    for path in (tmp_path / "cache").glob("*/current/objects/**/*"):
        if path.is_file():
            path.chmod(0o600)
            path.write_bytes(path.read_bytes()[: path.stat().st_size // 2])
    store = remote.bare / "lfs"
    store.rename(remote.bare / "away")
    with Source([remote.settings()], (), tmp_path / "cache") as source:
        (failed,) = source.fetch(patience=30)
        assert "cannot be made anew: LFS" in failed.reason
        (remote.bare / "away").rename(store)
        (fetched,) = source.fetch(patience=30)
        assert fetched.rebuilt
        assert source.live().files.read("a.bin") == CONTENT


def test_a_commit_without_its_contents_does_not_go_live(remote, tmp_path):
    remote.commit({"top.sls": "one"})
    with Source([remote.settings()], (), tmp_path / "cache") as source:
        source.fetch()
        remote.commit({".gitattributes": "*.bin filter=lfs\n", "a.bin": pointer_of(CONTENT)})
        (fetched,) = source.fetch()
        assert "LFS: object" in fetched.refused[0].reason
        assert list(source.live().files.list()) == ["top.sls"]


def test_a_pointer_where_nothing_is_declared_is_a_file_like_any(remote, tmp_path):
    remote.commit({"a.bin": pointer_of(CONTENT)})
    with Source([remote.settings()], (), tmp_path / "cache") as source:
        assert not source.fetch()[0].refused
        assert source.live().files.read("a.bin") == pointer_of(CONTENT).encode()


class Store(BaseHTTPRequestHandler):
    """The batch API over a folder of contents."""

    def do_POST(self):
        question = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        self.server.seen.append((self.path, self.headers.get("Authorization")))
        if self.server.credentials and self.headers.get("Authorization") != self.server.credentials:
            self.send_error(401)
            return
        objects = []
        for each in question["objects"]:
            if each["oid"] in self.server.contents:
                href = f"{self.server.objects_at}/{each['oid']}"
                objects.append({**each, "actions": {"download": {"href": href, "header": {"X-Ticket": "42"}}}})
            else:
                objects.append({**each, "error": {"code": 404, "message": "it is not here"}})
        self._answer(json.dumps({"transfer": "basic", "objects": objects}).encode())

    def do_GET(self):
        self.server.seen.append((self.path, self.headers.get("Authorization")))
        assert self.headers["X-Ticket"] == "42"
        body = self.server.contents[self.path.rpartition("/")[2]]
        if (start := self.headers.get("Range")) and self.server.ranges:
            self.server.ranges.append(start)
            self._answer(body[int(start.removeprefix("bytes=").rstrip("-")) :], 206)
        elif self.server.cut:
            self._answer(body, cut=self.server.cut)
        else:
            self._answer(body)

    def _answer(self, body, status=200, cut=None):
        self.send_response(status)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body[:cut])

    def log_message(self, *_):
        pass


@contextlib.contextmanager
def store(contents, credentials=""):
    server = ThreadingHTTPServer(("127.0.0.1", 0), Store)
    server.daemon_threads = True
    server.seen, server.credentials = [], credentials
    server.cut, server.ranges = 0, []
    server.contents = {hashlib.sha256(content).hexdigest(): content for content in contents}
    server.objects_at = f"http://127.0.0.1:{server.server_address[1]}/objects"
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
    thread.start()
    try:
        yield server
    finally:
        server.shutdown()
        thread.join()
        server.server_close()


def completed(lfs, repository, commit):
    return lfs.bring(repository, commit) or lfs.store(repository, commit)


def received(server, content, tmp_path, **options):
    url = f"http://127.0.0.1:{server.server_address[1]}/infra/states"
    settings = RemoteSettings(name="x", url=url, insecure_auth=True, **options)
    digest = hashlib.sha256(content).hexdigest()
    with (tmp_path / "got").open("wb") as file:
        LfsServer(settings).sources({digest: len(content)})[digest](file, len(content))
    return (tmp_path / "got").read_bytes()


def test_the_batch_api(tmp_path):
    with store([CONTENT], "Basic bWU6cHc=") as server:
        assert received(server, CONTENT, tmp_path, user="me", password="pw") == CONTENT
        assert server.seen[0] == ("/infra/states.git/info/lfs/objects/batch", "Basic bWU6cHc=")


def test_credentials_are_not_shown_to_another_server(tmp_path):
    with store([CONTENT]) as elsewhere, store([CONTENT]) as server:
        server.objects_at = elsewhere.objects_at
        assert received(server, CONTENT, tmp_path, user="me", password="pw") == CONTENT
        assert [authorization for _, authorization in elsewhere.seen] == [None]


def test_what_a_server_can_answer(tmp_path):
    with store([CONTENT], "Basic other") as server, pytest.raises(LfsFailed, match="refused the credentials"):
        received(server, CONTENT, tmp_path, user="me", password="pw-word")
    with store([]) as server, pytest.raises(LfsFailed, match="it is not here"):
        received(server, CONTENT, tmp_path)
    with store([CONTENT]) as server:
        server.contents = {hashlib.sha256(CONTENT).hexdigest(): CONTENT + b"more"}
        with pytest.raises(LfsFailed, match="longer than its pointer"):
            received(server, CONTENT, tmp_path)
        server.objects_at = "file:///etc"
        with pytest.raises(LfsFailed, match="no address of a server"):
            received(server, CONTENT, tmp_path)


@pytest.mark.parametrize("ranges", [True, False], ids=["with ranges", "without ranges"])
def test_a_content_that_was_cut_off_is_gone_on_with(remote, tmp_path, ranges):
    remote.commit({".gitattributes": "*.bin filter=lfs\n", "a.bin": pointer_of(CONTENT)})
    mirror = Mirror(remote.settings(lfs=False), tmp_path / "mirror")
    mirror.fetch()
    repository = pygit2.Repository(mirror.path)
    commit = mirror.branches()["main"]
    with store([CONTENT]) as server:
        server.cut = 5000
        url = f"http://127.0.0.1:{server.server_address[1]}/infra/states"
        lfs = Lfs(RemoteSettings(name="x", url=url))
        assert "the connection ended after 5000 of 9000 bytes" in completed(lfs, repository, commit)
        (part,) = Path(mirror.path).glob("saltern-lfs.part-*")
        assert part.read_bytes() == CONTENT[:5000]
        server.ranges = ["yes"] if ranges else []
        server.cut = 0
        assert completed(lfs, repository, commit) is None
        assert server.ranges == (["yes", "bytes=5000-"] if ranges else [])
        assert completed(lfs, repository, commit) is None
    assert not part.exists()
    assert repository[blob_id(CONTENT)].data == CONTENT


@pytest.mark.parametrize("left", [b"\xff" * 5000, b"\xff" * 9000, b"\xff" * 20_000], ids=["part", "all", "more"])
def test_what_was_left_of_another_content_harms_once_at_most(remote, tmp_path, left):
    remote.commit({".gitattributes": "*.bin filter=lfs\n", "a.bin": pointer_of(CONTENT)})
    mirror = Mirror(remote.settings(lfs=False), tmp_path / "mirror")
    mirror.fetch()
    repository = pygit2.Repository(mirror.path)
    part = Path(mirror.path, "saltern-lfs.part-" + hashlib.sha256(CONTENT).hexdigest())
    part.write_bytes(left)
    Path(mirror.path, "saltern-lfs.part-" + "0" * 64).write_bytes(b"of a content that nobody wants any more")
    with store([CONTENT]) as server:
        server.ranges = ["yes"]
        lfs = Lfs(RemoteSettings(name="x", url=f"http://127.0.0.1:{server.server_address[1]}/infra/states"))
        said = completed(lfs, repository, mirror.branches()["main"])
        assert said is None or "another content" in said
        assert completed(lfs, repository, mirror.branches()["main"]) is None
    assert not list(Path(mirror.path).glob("saltern-lfs.part-*"))


@pytest.mark.parametrize(
    ("remote_url", "expected"),
    [
        ("https://git.example.org/a/b.git", "https://git.example.org/a/b.git/info/lfs"),
        ("https://git.example.org/a/b/", "https://git.example.org/a/b.git/info/lfs"),
        ("git@git.example.org:a/b.git", "https://git.example.org/a/b.git/info/lfs"),
        ("ssh://git@git.example.org:22/a/b", "https://git.example.org/a/b.git/info/lfs"),
    ],
)
def test_where_the_api_is(remote_url, expected):
    assert lfs_url(remote_url) == expected
