"""`keep_source`: what stays of a source in the minion's cache, seen by `cp.is_cached` as Salt's own tests do."""

import hashlib
import io
import tarfile
import threading
from collections.abc import Callable, Iterator
from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest

from highstate.files import MemoryFiles
from highstate.run.runner import run
from highstate.types import Chunk, StateResult
from minion.engine.engine import StateEngine
from minion.execution.context import Context
from minion.execution.loader import Modules
from minion.machine.machine import LocalMachine

Do = Callable[..., StateResult]
IsCached = Callable[..., str]


def packed() -> bytes:
    held = io.BytesIO()
    with tarfile.open(fileobj=held, mode="w:gz") as archive:
        member = tarfile.TarInfo("app/version")
        member.size = 2
        archive.addfile(member, io.BytesIO(b"1\n"))
    return held.getvalue()


TREE = {
    "plain": b"one\n",
    "hello.j2": b"hello {{ grains.id }}\n",
    "tree/a": b"A\n",
    "tree/sub/b": b"B\n",
    "app.tar.gz": packed(),
}


class _Quiet(SimpleHTTPRequestHandler):
    def log_message(self, *_: Any) -> None:
        """Nobody reads it."""


@pytest.fixture
def machine(tmp_path: Path) -> LocalMachine:
    files = MemoryFiles({"base": TREE, "dev": {"plain": b"dev\n"}})
    return LocalMachine(sources_port=files, grains={"id": "web1"}, cachedir=str(tmp_path / "cache"))


@pytest.fixture
def do(tmp_path: Path, machine: LocalMachine) -> Do:
    def call(state: str, *, test: bool = False, **arguments: Any) -> StateResult:
        kind, _, fun = state.partition(".")
        chunk = Chunk(state=kind, fun=fun, id="x", name=str(tmp_path / "f"), sls="s", arguments=arguments)
        engine = StateEngine(machine, test=test, backup_dir=str(tmp_path / "cache/file_backup"))
        return run({"k": chunk}, engine, test=test, clock=lambda: 0.0)["k"]

    return call


@pytest.fixture
def is_cached(tmp_path: Path) -> IsCached:
    modules = Modules(Context(minion_id="web1", cachedir=str(tmp_path / "cache")))
    return lambda url, saltenv="base": modules.call("cp.is_cached", [url, saltenv])


@pytest.fixture
def web(tmp_path: Path) -> Iterator[str]:
    (tmp_path / "www").mkdir()
    (tmp_path / "www/plain").write_bytes(b"one\n")
    (tmp_path / "www/app.tar.gz").write_bytes(TREE["app.tar.gz"])
    with ThreadingHTTPServer(("127.0.0.1", 0), partial(_Quiet, directory=str(tmp_path / "www"))) as server:
        thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
        thread.start()
        yield f"http://127.0.0.1:{server.server_port}"
        server.shutdown()
        thread.join()


@pytest.mark.parametrize(
    ("state", "arguments", "sources"),
    [
        ("file.managed", {"source": "salt://plain"}, ["plain"]),
        ("file.managed", {"source": ["salt://none", "salt://plain"]}, ["plain"]),
        ("file.managed", {"source": "salt://hello.j2", "template": "jinja"}, ["hello.j2"]),
        ("file.recurse", {"source": "salt://tree"}, ["tree/a", "tree/sub/b"]),
        ("archive.extracted", {"source": "salt://app.tar.gz"}, ["app.tar.gz"]),
    ],
)
def test_a_file_of_the_tree_is_kept_until_keep_source_is_false(
    do: Do, is_cached: IsCached, tmp_path: Path, state: str, arguments: dict[str, Any], sources: list[str]
) -> None:
    """The copy is the source itself, not what was made of it; that it is removed is no change."""
    pending = do(state, keep_source=True, test=True, **arguments)
    assert [is_cached(f"salt://{one}") for one in sources] == [""] * len(sources)
    result = do(state, keep_source=True, **arguments)
    assert (result.result, result.changes) == (True, pending.changes), result
    for one in sources:
        place = Path(is_cached(f"salt://{one}"))
        assert place == tmp_path / "cache/files/base" / one
        assert (place.read_bytes(), place.stat().st_mode & 0o777) == (TREE[one], 0o600)
    assert do(state, keep_source=False, test=True, **arguments).changes == {}
    assert all(is_cached(f"salt://{one}") for one in sources), "test=True touched the cache"
    again = do(state, keep_source=False, **arguments)
    assert (again.result, again.changes, again.warnings) == (True, {}, ())
    assert [is_cached(f"salt://{one}") for one in sources] == [""] * len(sources)


@pytest.mark.parametrize("state", ["file.managed", "archive.extracted"])
def test_nothing_of_the_web_is_kept_with_keep_source_false(
    do: Do, is_cached: IsCached, tmp_path: Path, web: str, state: str
) -> None:
    name = "plain" if state == "file.managed" else "app.tar.gz"
    url, digest = f"{web}/{name}", f"sha256={hashlib.sha256(TREE[name]).hexdigest()}"
    assert do(state, source=url, source_hash=digest, keep_source=False).result is True
    assert is_cached(url) == ""
    assert [one for one in (tmp_path / "cache").rglob("*") if one.is_file()] == []
    other = {"source": url, "source_hash": digest} | ({"overwrite": True} if name == "app.tar.gz" else {})
    (tmp_path / "f").unlink() if name == "plain" else None
    assert do(state, **other).result is True
    assert Path(is_cached(url)).read_bytes() == TREE[name]


def test_a_source_of_this_machine_is_never_removed(do: Do, tmp_path: Path) -> None:
    """Salt removes the very source of `keep_source: False` where it is a path below file_roots."""
    (tmp_path / "mine").write_text("mine\n")
    for source in (str(tmp_path / "mine"), f"file://{tmp_path}/mine"):
        assert do("file.managed", source=source, keep_source=False).result is True
    assert (tmp_path / "mine").read_text() == "mine\n"


def test_a_copy_is_removed_also_after_an_act_that_failed(do: Do, is_cached: IsCached, tmp_path: Path) -> None:
    do("file.managed", source="salt://plain", keep_source=True)
    (tmp_path / "f").write_text("other\n")
    failed = do("file.managed", source="salt://plain", keep_source=False, check_cmd="false")
    assert failed.result is False
    assert (is_cached("salt://plain"), (tmp_path / "f").read_text()) == ("", "other\n")


def test_environments_do_not_share_copies(do: Do, is_cached: IsCached) -> None:
    do("file.managed", source="salt://plain?saltenv=dev", keep_source=True)
    assert (is_cached("salt://plain"), Path(is_cached("salt://plain", "dev")).read_bytes()) == ("", b"dev\n")


def test_nothing_of_the_tree_is_copied_unasked(do: Do, is_cached: IsCached, tmp_path: Path) -> None:
    """It would double the time that a run takes to write its files."""
    assert do("file.managed", source="salt://plain").result is True
    assert (is_cached("salt://plain"), (tmp_path / "cache").exists()) == ("", False)


def test_both_names_of_archive_extracted(do: Do, is_cached: IsCached) -> None:
    assert do("archive.extracted", source="salt://app.tar.gz", keep=True).result is True
    assert is_cached("salt://app.tar.gz") != ""
    assert do("archive.extracted", source="salt://app.tar.gz", keep=False).result is True
    assert is_cached("salt://app.tar.gz") == ""
    both = do("archive.extracted", source="salt://app.tar.gz", keep=False, keep_source=True)
    assert both.warnings == (
        "Both 'keep_source' and 'keep' were used. Since these both do the same thing, 'keep' was ignored.",
    )


@pytest.mark.parametrize("verified_by", ["source_hash", "signature"])
def test_what_was_not_verified_is_not_in_the_cache(
    do: Do, is_cached: IsCached, tmp_path: Path, web: str, verified_by: str
) -> None:
    if verified_by == "source_hash":
        asked = {"source_hash": f"sha256={'0' * 64}"}
    else:
        (tmp_path / "www/plain.asc").write_text("no signature\n")
        asked = {"signature": f"{web}/plain.asc", "skip_verify": True, "gnupghome": str(tmp_path)}
    result = do("file.managed", source=f"{web}/plain", **asked)
    assert (result.result, (tmp_path / "f").exists()) == (False, False)
    assert is_cached(f"{web}/plain") == is_cached(f"{web}/plain.asc") == ""
    assert do("file.managed", source=f"{web}/plain", skip_verify=True).result is True
    assert is_cached(f"{web}/plain") != ""
