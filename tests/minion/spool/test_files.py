from __future__ import annotations

import stat

import pytest

from highstate.compile import CompileOptions, compile_minion
from highstate.desired import Desired, desired_of
from highstate.files import MemoryFiles, blob_id
from highstate.types import Chunk, Minion
from minion.spool.files import BlobCache, HeldFiles, SourceUnavailable
from wire.messages import BLOB_CHUNK, Blob, FileFound, FileList, FindFile, GetBlob, ListFiles, Refused


class Answers:
    """A controller with these files; `asked` counts."""

    def __init__(self, files, *, away=False, lie=None, modes=None, links=None):
        self.files, self.away, self.lie, self.asked = files, away, lie, []
        self.modes, self.links = modes or {}, links

    def ask(self, question):
        self.asked.append(question)
        if self.away:
            return Refused(message="the controller is away")
        match question:
            case FindFile(path=path):
                data = self.files.get(path)
                oid = "" if data is None else blob_id(data)
                return FileFound(request=question.request, oid=oid, mode=self.modes.get(path, 0))
            case ListFiles(prefix=prefix):
                found = {p: blob_id(d) for p, d in self.files.items() if p.startswith(prefix)}
                return FileList(request=question.request, files=found, modes=self.modes, links=self.links)
            case GetBlob(oid=oid, offset=offset):
                data = next((d for d in self.files.values() if blob_id(d) == oid), b"")
                part = self.lie if self.lie is not None else data[offset : offset + BLOB_CHUNK]
                total = -1 if not data else len(data)
                return Blob(request=question.request, oid=oid, offset=offset, total=total, data=part)


def held(**files):
    return Desired(chunks={}, files={"base": {path: blob_id(data) for path, data in files.items()}})


def test_a_held_file_is_fetched_once(tmp_path):
    big = bytes(range(256)) * 10_000
    answers = Answers({"big": big})
    files = HeldFiles(held(big=big), BlobCache(tmp_path), answers)
    assert files.read("big") == big
    assert [type(q) for q in answers.asked] == [GetBlob] * 3
    again = HeldFiles(held(big=big), BlobCache(tmp_path), Answers({}, away=True))
    assert again.read("big") == big
    path = tmp_path / "blobs" / blob_id(big)[:2] / blob_id(big)[2:]
    assert stat.S_IMODE(path.stat().st_mode) == 0o600


def test_what_the_document_does_not_name_is_asked_for(tmp_path):
    answers = Answers({"other": b"x"})
    files = HeldFiles(held(), BlobCache(tmp_path), answers)
    assert files.read("other") == b"x"
    assert files.read("other") == b"x"
    assert [type(q) for q in answers.asked] == [FindFile, GetBlob]
    with pytest.raises(FileNotFoundError):
        files.read("none")


def test_away_says_so(tmp_path):
    files = HeldFiles(held(a=b"a"), BlobCache(tmp_path), Answers({}, away=True))
    with pytest.raises(SourceUnavailable, match="salt://a: the controller is away"):
        files.read("a")
    with pytest.raises(SourceUnavailable):
        files.list("folder")


def test_a_wrong_content_is_refused_and_not_kept(tmp_path):
    files = HeldFiles(held(a=b"right"), BlobCache(tmp_path), Answers({"a": b"right"}, lie=b"wrong"))
    with pytest.raises(SourceUnavailable, match="not the content"):
        files.read("a")
    assert BlobCache(tmp_path).get(blob_id(b"wrong")) is None


def test_a_part_that_never_ends_is_refused(tmp_path):
    files = HeldFiles(held(a=b"right"), BlobCache(tmp_path), Answers({"a": b"right"}, lie=b""))
    with pytest.raises(SourceUnavailable, match="another part"):
        files.read("a")


def test_a_tampered_cache_entry_is_fetched_again(tmp_path):
    cache = BlobCache(tmp_path)
    cache.put(blob_id(b"right"), b"right")
    (tmp_path / "blobs" / blob_id(b"right")[:2] / blob_id(b"right")[2:]).write_bytes(b"evil")
    files = HeldFiles(held(a=b"right"), cache, Answers({"a": b"right"}))
    assert files.read("a") == b"right"


@pytest.mark.parametrize("oid", ["../../../etc/passwd", "", "ab", "G" * 40])
def test_an_odd_content_id_becomes_no_path(tmp_path, oid):
    with pytest.raises(SourceUnavailable):
        BlobCache(tmp_path).get(oid)


def test_a_folder_that_is_copied_whole_is_listed_from_the_document(tmp_path):
    copied = Chunk(state="file", fun="recurse", id="r", name="/srv", sls="s", arguments={"source": "salt://web/conf"})
    names = {"web/conf/a": b"a", "web/conf/d/b": b"b", "web/other": b"c"}
    desired = Desired(chunks={"r": copied}, files={"base": {path: blob_id(data) for path, data in names.items()}})
    answers = Answers(names)
    files = HeldFiles(desired, BlobCache(tmp_path), answers)
    assert files.list("web/conf") == ["web/conf/a", "web/conf/d/b"]
    assert files.list("web/conf/d") == ["web/conf/d/b"]
    assert not answers.asked
    assert files.list("web") == sorted(names)
    assert files.list("web") == sorted(names)
    assert len(answers.asked) == 1


def test_trim_keeps_what_was_used_last(tmp_path):
    import os

    cache = BlobCache(tmp_path)
    for age, data in ((300, b"old" * 10), (200, b"mid" * 10), (100, b"new" * 10)):
        cache.put(blob_id(data), data)
        path = tmp_path / "blobs" / blob_id(data)[:2] / blob_id(data)[2:]
        os.utime(path, (1000 - age, 1000 - age))
    assert cache.trim(1000.0, most_bytes=65, most_seconds=250.0) == 1
    assert cache.get(blob_id(b"old" * 10)) is None
    assert cache.get(blob_id(b"new" * 10))
    assert cache.trim(1000.0, most_bytes=1, most_seconds=1e9) == 2


def test_a_folder_of_which_the_document_names_nothing_is_asked_for(tmp_path):
    copied = Chunk(state="file", fun="recurse", id="r", name="/srv", sls="s", arguments={"source": "salt://web/conf"})
    answers = Answers({"web/conf/a": b"a"})
    files = HeldFiles(Desired(chunks={"r": copied}), BlobCache(tmp_path), answers)
    assert files.list("web/conf") == ["web/conf/a"]
    assert [type(question) for question in answers.asked] == [ListFiles]


def test_the_mode_comes_from_the_document_or_from_the_controller(tmp_path):
    answers = Answers({"tool": b"t", "plain": b"p"}, modes={"tool": 0o755})
    asking = HeldFiles(held(), BlobCache(tmp_path), answers)
    assert [asking.mode(path) for path in ("tool", "plain", "nothing", "tool")] == [0o755, 0o644, None, 0o755]
    assert len(answers.asked) == 3
    listing = HeldFiles(held(), BlobCache(tmp_path), answers)
    listing.list("")
    assert [listing.mode(path) for path in ("tool", "plain")] == [0o755, 0o644]
    assert len(answers.asked) == 4
    desired = Desired(chunks={}, files={"base": {"tool": blob_id(b"t")}}, modes={"base": {"tool": 0o700}})
    assert HeldFiles(desired, BlobCache(tmp_path), Answers({}, away=True)).mode("tool") == 0o700


SOURCES = """
/x:
  file.managed:
    - source: [salt://a, salt://b]
    - template: jinja
    - mode: keep
/y:
  file.recurse:
    - source: [salt://none, salt://folder]
"""


def test_a_document_is_complete_on_the_minion(tmp_path):
    """Sources that come before the one that is there, and what a template may include, are not asked for again."""
    tree = {"b": b"{% include 'more' ignore missing %}{{ 1 }}", "folder/f": b"f"}
    states = {"top.sls": b"base:\n  '*':\n    - s\n", "s.sls": SOURCES.encode(), **tree}
    done = compile_minion(MemoryFiles({"base": states}), MemoryFiles({"base": {}}), Minion(id="m"), CompileOptions())
    assert done.ok, done.errors
    cache = BlobCache(tmp_path)
    for data in tree.values():
        cache.put(blob_id(data), data)
    away = Answers({}, away=True)
    files = HeldFiles(desired_of(done), cache, away)
    assert files.oid("a") is None
    assert files.mode("a") is None
    assert files.oid("more") is None
    assert files.read("b") == tree["b"]
    assert (files.list("none"), files.list("folder")) == ([], ["folder/f"])
    assert away.asked == []


def test_links_are_those_of_the_document_or_the_controllers(tmp_path):
    chunk = Chunk(state="file", fun="recurse", id="x", name="/x", sls="a", saltenv="base",
                  arguments={"source": "salt://d", "keep_symlinks": True})  # fmt: skip
    desired = Desired(chunks={chunk.tag: chunk}, files={"base": {"d/a": blob_id(b"a")}}, links={"base": {"d/l": "a"}})
    away = HeldFiles(desired, BlobCache(tmp_path), Answers({}, away=True))
    assert away.links("d") == {"d/l": "a"}
    with pytest.raises(SourceUnavailable, match="the controller is away"):
        away.links("other")
    answers = Answers({"other/a": b"a"}, links={"other/l": "a"})
    files = HeldFiles(desired, BlobCache(tmp_path), answers)
    assert files.links("other") == files.links("other") == {"other/l": "a"}
    assert len(answers.asked) == 1
    old = HeldFiles(desired, BlobCache(tmp_path), Answers({}))
    with pytest.raises(SourceUnavailable, match="does not know of symlinks"):
        old.links("other")


def test_what_a_preview_fetches_stays_aside(tmp_path):
    cache, aside = BlobCache(tmp_path), tmp_path / "run" / "blobs"
    aside.parent.mkdir()
    cache.put(blob_id(b"known"), b"known")
    before = {path: path.stat().st_mtime_ns for path in cache.path.rglob("*")}
    answers = Answers({"new": b"new"})
    files = HeldFiles(held(known=b"known", new=b"new"), BlobCache(tmp_path, aside=aside), answers)
    for _ in range(2):
        assert (files.read("known"), files.read("new")) == (b"known", b"new")
    assert len(answers.asked) == 1
    assert {path: path.stat().st_mtime_ns for path in cache.path.rglob("*")} == before
    assert [path.read_bytes() for path in aside.rglob("*") if path.is_file()] == [b"new"]


def test_all_saltenvs_are_those_of_the_tree_or_of_the_document_while_nobody_can_tell(tmp_path):
    class Tells(Answers):
        def ask(self, question):
            self.asked.append(question)
            return FileList(request=question.request, files={}, saltenvs=("dev", "base"))

    answers = Tells({})
    files = HeldFiles(held(a=b"a"), BlobCache(tmp_path), answers)
    assert files.saltenvs() == files.saltenvs() == ("base", "dev")
    assert [each.saltenvs for each in answers.asked] == [True]
    assert HeldFiles(held(a=b"a"), BlobCache(tmp_path), Answers({}, away=True)).saltenvs() == ("base",)
