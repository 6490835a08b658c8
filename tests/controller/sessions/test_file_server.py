"""What minions ask about files: everything of the states tree, nothing else of this machine, whatever they send."""

from __future__ import annotations

import os
import subprocess

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from controller.sessions.file_server import FileServer
from gitfs.config.settings import RemoteSettings
from gitfs.source import Source
from gitfs.tree.directory import blob_id
from wire.messages import BLOB_CHUNK, FindFile, GetBlob, ListFiles

LARGE = bytes(range(256)) * 4096
"""More than is read whole, and than a chunk."""
FILES = {
    "top.sls": b"one",
    "web/init.sls": b"two",
    "web/a|b?saltenv=x.conf": b"odd name",
    "web/with space \u00fc.conf": b"odder name",
    "large.bin": LARGE,
}
SECRET = b"never for a minion"
ENVIRONMENT = {
    **{name: value for name, value in os.environ.items() if not name.startswith("GIT_")},
    "GIT_CONFIG_GLOBAL": os.devnull,
    "GIT_CONFIG_NOSYSTEM": "1",
    **{f"GIT_{who}_{what}": "writer@example.org" for who in ("AUTHOR", "COMMITTER") for what in ("NAME", "EMAIL")},
}


def commit(folder, files):
    """A repository with these files."""
    for name, content in files.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_bytes(content)
    for command in (["init", "-q", "-b", "main"], ["add", "-A"], ["commit", "-qm", "all"]):
        subprocess.run(["git", *command], cwd=folder, check=True, env=ENVIRONMENT)


@pytest.fixture(scope="module")
def tree(tmp_path_factory):
    """The files of a states remote with a root, and of a folder; a pillar remote and other things lie beside."""
    folder = tmp_path_factory.mktemp("tree")
    states, pillar, roots = folder / "states", folder / "pillar", folder / "roots"
    commit(states, {**{f"salt/{name}": content for name, content in FILES.items()}, "private.sls": SECRET})
    commit(pillar, {"top.sls": SECRET + b" of the pillar"})
    (roots / "srv").mkdir(parents=True)
    (roots / "srv/local.conf").write_bytes(b"local")
    (roots / "secret").write_bytes(SECRET)
    (roots / "srv/link").symlink_to("../secret")
    remotes = [RemoteSettings(name="states", url=str(states), root="salt")]
    pillars = [RemoteSettings(name="pillar", url=str(pillar), branch="main")]
    with Source(remotes, pillars, folder / "cache", {"base": [roots / "srv"]}) as source:
        source.fetch(patience=60)
        files = FileServer()
        files.use(source.live().files)
        yield files, folder


def expect_nothing(answer):
    assert not getattr(answer, "oid", "") or answer.total == -1
    assert not getattr(answer, "files", {})
    assert not getattr(answer, "data", b"")


def content_of(files, oid):
    whole = b""
    while True:
        part = files.answer(GetBlob(request=1, oid=oid, offset=len(whole)))
        whole += part.data
        if len(whole) >= part.total:
            return whole


@pytest.mark.parametrize("path", [*FILES, "local.conf"])
def test_each_file_is_found_and_sent(tree, path):
    files, _ = tree
    found = files.answer(FindFile(request=5, path=path))
    wanted = FILES.get(path, b"local")
    assert (found.request, found.oid, found.size) == (5, blob_id(wanted), len(wanted))
    assert content_of(files, found.oid) == wanted
    assert files.answer(ListFiles(request=6, prefix=path)).files == {path: found.oid}


def test_ranges(tree):
    files, _ = tree
    oid = blob_id(LARGE)
    for offset in (0, 1, BLOB_CHUNK - 1, BLOB_CHUNK, len(LARGE) - 1, len(LARGE), len(LARGE) + 1, 2**31, 2**62):
        part = files.answer(GetBlob(request=1, oid=oid, offset=offset))
        assert (part.offset, part.total, part.data) == (offset, len(LARGE), LARGE[offset : offset + BLOB_CHUNK])


@pytest.mark.parametrize("offset", [-1, -(2**31), -(2**63), 2**63, 2**64 - 1])
@pytest.mark.parametrize("content", [LARGE, b"one", b"local"], ids=["large", "small", "local"])
def test_offsets_that_are_none(tree, content, offset):
    answer = tree[0].answer(GetBlob(request=1, oid=blob_id(content), offset=offset))
    assert (answer.data, answer.request) == (b"", 1)


HOSTILE = [
    *("../private.sls", "../../pillar/top.sls", "/etc/passwd", "//etc/passwd", "web/../../private.sls", "./top.sls"),
    *(
        "web/../top.sls",
        "web//init.sls",
        "..",
        ".",
        "",
        "/",
        "~/x",
        "~root",
        "top.sls\0",
        "\0",
        "top.sls\n",
        "top.sls/",
    ),
    *("web", "salt://top.sls", "file:///etc/passwd", "link", "../secret", "..\\secret", "%2e%2e/secret", ".git/config"),
    *(
        "HEAD",
        "main:top.sls",
        "-x",
        "--help",
        "top.sls?saltenv=base",
        "a" * 1_000_000,
        "../" * 300_000,
        "\u202e",
        "\ud7ff",
    ),
]


@pytest.mark.parametrize("path", HOSTILE, ids=lambda path: repr(path[:30]))
def test_a_path_names_a_file_of_the_tree_or_nothing(tree, path):
    files, _ = tree
    found = files.answer(FindFile(request=1, path=path))
    assert found.oid == ""
    for each in files.answer(ListFiles(request=1, prefix=path)).files:
        assert each in {*FILES, "local.conf"}
    for saltenv in (path, "../base", "dev", ""):
        expect_nothing(files.answer(FindFile(request=1, path="top.sls", saltenv=saltenv)))
        expect_nothing(files.answer(ListFiles(request=1, saltenv=saltenv)))


@pytest.mark.parametrize(
    "oid",
    [
        *HOSTILE,
        "0" * 40,
        "0" * 64,
        blob_id(SECRET),
        blob_id(SECRET + b" of the pillar"),
        blob_id(b"one").upper(),
        blob_id(b"one")[:12],
        blob_id(b"one") + " ",
        "../blobs/" + blob_id(LARGE),
    ],
    ids=lambda oid: repr(oid[:30]),
)
def test_an_id_is_that_of_a_content_of_the_tree_or_nothing(tree, oid):
    files, folder = tree
    before = sorted(folder.rglob("*"))
    for offset in (0, 1, -1, 2**63):
        expect_nothing(files.answer(GetBlob(request=1, oid=oid, offset=offset)))
    assert sorted(folder.rglob("*")) == before


PARTS = st.sampled_from(["..", ".", "", "web", "salt", "top.sls", "init.sls", "private.sls", "\0", "cache", "pillar"])
PATHS = st.lists(PARTS, max_size=8).map("/".join) | st.text()


@given(PATHS, PATHS, st.integers(-(2**63), 2**64 - 1))
@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], deadline=None, max_examples=300)
def test_whatever_is_asked_only_the_tree_is_shown(tree, path, saltenv, offset):
    files, _ = tree
    allowed = {blob_id(content) for content in (*FILES.values(), b"local")}
    for env in (saltenv, "base"):
        found = files.answer(FindFile(request=1, path=path, saltenv=env))
        assert found.oid in {"", *allowed}
        assert set(files.answer(ListFiles(request=1, prefix=path, saltenv=env)).files.values()) <= allowed
    expect_nothing(files.answer(GetBlob(request=1, oid=path, offset=offset)))


def test_before_there_is_a_tree():
    files = FileServer()
    for question in (FindFile(request=1, path="top.sls"), ListFiles(request=1), GetBlob(request=1, oid="0" * 40)):
        expect_nothing(files.answer(question))


def test_contents_of_older_trees_are_sent_for_a_while_and_their_paths_are_not_found(tmp_path):
    roots = tmp_path / "roots"
    roots.mkdir()
    files = FileServer(bound=2)
    with Source((), (), tmp_path / "cache", {"base": [roots]}) as source:
        for number in range(5):
            (roots / f"f{number}").write_bytes(b"%d" % number)
            (roots / f"f{number - 1}").unlink(missing_ok=True)
            (roots / "same").write_bytes(b"same")
            files.use(source.live().files)
    assert files.answer(FindFile(request=1, path="f3")).oid == ""
    assert content_of(files, files.answer(FindFile(request=1, path="f4")).oid) == b"4"
    assert files.answer(GetBlob(request=1, oid=blob_id(b"0"))).total == -1
    assert content_of(files, blob_id(b"same")) == b"same"
