"""Sources from the web: what was fetched once is not sent again, and nothing wrong is ever taken from what is kept."""

import hashlib
import threading
from http.server import BaseHTTPRequestHandler, HTTPServer

import pytest

from highstate.files import MemoryFiles
from highstate.run.runner import run
from highstate.types import Chunk
from minion.engine.engine import StateEngine
from minion.machine.failure import StateFailed
from minion.machine.fetch import fetch
from minion.machine.fetch_cache import MOST, WebCache
from minion.machine.machine import LocalMachine


class Web(HTTPServer):
    """A server of one text; `asked` has the status of each answer."""

    def __init__(self):
        super().__init__(("127.0.0.1", 0), _Handler)
        self.text, self.tagged, self.asked = b"one\n", True, []
        self.url = f"http://127.0.0.1:{self.server_port}/file"


class _Handler(BaseHTTPRequestHandler):
    def do_GET(self):
        tag = f'"{hashlib.sha256(self.server.text).hexdigest()}"'
        code = 304 if self.server.tagged and self.headers.get("If-None-Match") == tag else 200
        self.server.asked.append(code)
        self.send_response(code)
        if self.server.tagged:
            self.send_header("ETag", tag)
        self.end_headers()
        if code == 200:
            self.wfile.write(self.server.text)

    def log_message(self, *_):
        """Nobody reads it."""


@pytest.fixture
def web():
    with Web() as server:
        thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
        thread.start()
        yield server
        server.shutdown()
        thread.join()


def _run(tmp_path, fun, name, **arguments):
    machine = LocalMachine(sources_port=MemoryFiles({}), cachedir=str(tmp_path / "cache"))
    state, _, function = fun.partition(".")
    chunk = Chunk(state=state, fun=function, id="x", name=name, sls="s", arguments=arguments)
    return run({"k": chunk}, StateEngine(machine), test=False, clock=lambda: 0.0)["k"]


def test_what_the_server_still_has_is_not_sent_again(web, tmp_path):
    cache = WebCache(tmp_path / "web")
    assert [fetch(web.url, cache), fetch(web.url, cache)] == [b"one\n", b"one\n"]
    assert web.asked == [200, 304]
    web.text = b"two\n"
    assert fetch(web.url, cache) == b"two\n"
    assert web.asked == [200, 304, 200]
    assert (tmp_path / "web").stat().st_mode & 0o077 == 0


def test_a_server_that_gives_no_tags_is_asked_each_time(web, tmp_path):
    web.tagged = False
    cache = WebCache(tmp_path / "web")
    assert [fetch(web.url, cache), fetch(web.url, cache)] == [b"one\n", b"one\n"]
    assert web.asked == [200, 200]


def test_what_has_the_digest_is_not_asked_for(web, tmp_path):
    cache = WebCache(tmp_path / "web")
    fetch(web.url, cache)
    assert fetch(web.url, cache, fits=lambda data: data == b"one\n") == b"one\n"
    assert web.asked == [200]


def test_what_was_changed_in_the_cache_is_not_taken(web, tmp_path):
    cache = WebCache(tmp_path / "web")
    fetch(web.url, cache)
    next((tmp_path / "web").glob("*.body")).write_bytes(b"other")
    assert fetch(web.url, cache) == b"one\n"
    assert web.asked == [200, 200]


def test_a_cache_that_cannot_be_written_is_none(web, tmp_path):
    (tmp_path / "file").write_text("")
    cache = WebCache(tmp_path / "file/web")
    assert fetch(web.url, cache) == b"one\n"


def test_the_cache_is_bounded(tmp_path):
    cache = WebCache(tmp_path)
    for number in range(MOST + 5):
        cache.keep(f"http://example.org/{number}", b"x", {})
    assert len(list(tmp_path.glob("*.body"))) == len(list(tmp_path.glob("*.json"))) == MOST


def test_the_password_of_a_url_is_not_in_the_cache(tmp_path):
    cache = WebCache(tmp_path)
    cache.keep("http://user:secret@example.org/f", b"x", {"etag": '"1"'})
    assert all("secret" not in path.name and b"secret" not in path.read_bytes() for path in tmp_path.iterdir())


def test_a_managed_file_may_trust_the_servers_tag(web, tmp_path):
    target = str(tmp_path / "f")
    assert "set source_hash or set skip_verify" in _run(tmp_path, "file.managed", target, source=web.url).comment
    assert _run(tmp_path, "file.managed", target, source=web.url, use_etag=True).changes["diff"] == "New file"
    web.asked.clear()
    assert not _run(tmp_path, "file.managed", target, source=web.url, use_etag=True).changes
    assert set(web.asked) == {304}
    web.text = b"two\n"
    assert "+two" in _run(tmp_path, "file.managed", target, source=web.url, use_etag=True).changes["diff"]


def test_an_archive_with_a_digest_is_fetched_once(web, tmp_path):
    import io
    import tarfile

    packed = io.BytesIO()
    with tarfile.open(fileobj=packed, mode="w:gz") as archive:
        member = tarfile.TarInfo("a/b")
        member.size = 4
        archive.addfile(member, io.BytesIO(b"text"))
    web.text, web.tagged = packed.getvalue(), False
    given = {"source": web.url, "source_hash": hashlib.sha256(web.text).hexdigest()}
    result = _run(tmp_path, "archive.extracted", str(tmp_path / "out"), **given)
    assert result.changes["extracted_files"] == ["a/b"]
    assert not _run(tmp_path, "archive.extracted", str(tmp_path / "out"), **given).changes
    assert web.asked == [200]


def test_what_no_authority_vouches_for_is_fetched_only_when_the_author_says_so(tmp_path, web):
    assert fetch(web.url, verify=False) == b"one\n"
    with pytest.raises(StateFailed, match="cannot be fetched"):
        fetch(web.url.replace("http:", "https:"), verify=False)
