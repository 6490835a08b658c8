import os
import pwd
import stat
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from highstate.files import MemoryFiles
from highstate.run.runner import run
from highstate.types import Chunk, StateResult
from minion.engine.engine import StateEngine
from minion.machine.machine import LocalMachine

TREE = {
    "plain": b"one\ntwo\n",
    "binary": b"\0\1\2",
    "hello.j2": b"hello {{ pillar['who'] }} from {{ where }} in {{ name }}\n",
    "tree/a": b"A\n",
    "tree/sub/b": b"B\n",
    "tree/sub/deep/c.conf": b"C\n",
}
FILES = MemoryFiles({"base": TREE, "dev": {"plain": b"dev\n"}})
Do = Callable[..., StateResult]


@pytest.fixture
def do(tmp_path: Path) -> Do:
    machine = LocalMachine(
        sources_port=FILES,
        minion_id="web1",
        grains={"os": "Debian"},
        pillar={"who": "world", "lines": ["a", "b"], "deep": {"text": "t"}},
    )

    def call(fun: str, name: Any = None, *, test: bool = False, **arguments: Any) -> StateResult:
        name = str(tmp_path / "f") if name is None else str(name)
        chunk = Chunk(state="file", fun=fun, id="x", name=name, sls="s", arguments=arguments)
        engine = StateEngine(machine, test=test, backup_dir=str(tmp_path / "kept"))
        required = [path for item in arguments.get("require", []) for path in item.values()]
        places = {"own id": str(tmp_path / "top/kept/mine")}
        known = {
            f"file_|-{path}_|-{places.get(path, path)}_|-managed": StateResult(name=path, result=True)
            for path in required
        }
        return run({"k": chunk}, engine, test=test, clock=lambda: 0.0, known=known)["k"]

    return call


def mode(path: Path) -> str:
    return f"{stat.S_IMODE(path.lstat().st_mode):04o}"


# --- managed --------------------------------------------------------------------------------------------------------


def test_a_new_file(do: Do, tmp_path: Path) -> None:
    pending = do("managed", contents="hello", mode=640, test=True)
    assert pending.result is None
    assert pending.comment.startswith(f"The file {tmp_path}/f is set to be changed\nNote: No changes made")
    result = do("managed", contents="hello", mode=640)
    assert (result.result, result.comment) == (True, f"File {tmp_path}/f updated")
    assert result.changes == pending.changes == {"diff": "New file", "mode": "0640"}
    assert (tmp_path / "f").read_text() == "hello\n"
    assert mode(tmp_path / "f") == "0640"
    again = do("managed", contents="hello", mode=640)
    assert (again.result, again.comment, again.changes) == (True, f"File {tmp_path}/f is in the correct state", {})


def test_a_changed_file_shows_its_diff_and_keeps_its_mode(do: Do, tmp_path: Path) -> None:
    (tmp_path / "f").write_text("one\nold\n")
    (tmp_path / "f").chmod(0o604)
    result = do("managed", source="salt://plain")
    assert result.changes == {"diff": "--- \n+++ \n@@ -1,2 +1,2 @@\n one\n-old\n+two\n"}
    assert mode(tmp_path / "f") == "0604"


@pytest.mark.parametrize(
    ("old", "arguments", "diff"),
    [
        (b"a\n", {"contents": "b", "show_changes": False}, "<show_changes=False>"),
        (b"a\n", {"source": "salt://binary"}, "Replace text file with binary file"),
        (b"\0", {"source": "salt://binary"}, "Replace binary file"),
        (b"\0", {"contents": "b"}, "Replace binary file with text file"),
        (b"a", {"contents": "a"}, "--- \n+++ \n@@ -1 +1 @@\n-a\n\\ No newline at end of file\n+a\n"),
        (b"a\n" * 6000, {"contents": "b"}, "Files too large for a diff: 12000 bytes are replaced by 2"),
    ],
)
def test_what_diff_says(do: Do, tmp_path: Path, old: bytes, arguments: Any, diff: str) -> None:
    (tmp_path / "f").write_bytes(old)
    assert do("managed", **arguments).changes == {"diff": diff}


@pytest.mark.parametrize(
    ("arguments", "text"),
    [
        ({"contents": ["a", "b"]}, "a\nb\n"),
        ({"contents": "a", "contents_newline": False}, "a"),
        ({"contents": 5}, "5\n"),
        ({"contents": ""}, ""),
        ({"contents_pillar": "deep:text"}, "t\n"),
        ({"contents_pillar": "lines"}, "a\nb\n"),
        ({"contents_pillar": ["who", "deep:text"]}, "world\nt\n"),
        ({"contents_grains": "os"}, "Debian\n"),
        ({"source": ["salt://none", "salt://plain"]}, "one\ntwo\n"),
        ({"source": "salt://plain?saltenv=dev"}, "dev\n"),
        ({"source": "salt://plain", "source_hash": "md5=2094b601daac3d68f5aed51d3c20f7cd"}, "one\ntwo\n"),
        ({"source": "salt://hello.j2", "template": "jinja", "context": {"where": "x"}}, "hello world from x in NAME\n"),
        ({"source": "salt://hello.j2", "template": "jinja", "where": "extra"}, "hello world from extra in NAME\n"),
        (
            {"source": "salt://hello.j2", "template": "jinja", "where": "extra", "context": {"where": "x"}},
            "hello world from x in NAME\n",
        ),
        ({"contents": b"bytes"}, "bytes\n"),
        ({"contents": b"bytes", "contents_newline": False}, "bytes"),
        ({"contents": b"\0bytes"}, "\0bytes"),
        (
            {"source": "salt://hello.j2", "template": "jinja", "defaults": {"where": "d"}, "context": {"where": "c"}},
            "hello world from c in NAME\n",
        ),
    ],
)
def test_where_content_comes_from(do: Do, tmp_path: Path, arguments: Any, text: str) -> None:
    assert do("managed", **arguments).result is True
    assert (tmp_path / "f").read_text() == text.replace("NAME", str(tmp_path / "f"))


def test_a_local_source(do: Do, tmp_path: Path) -> None:
    (tmp_path / "local").write_text("x")
    do("managed", source=str(tmp_path / "local"))
    assert (tmp_path / "f").read_text() == "x"


@pytest.mark.parametrize("more", [{}, {"template": "jinja"}, {"source": ["salt://nope", "{path}"]}])
def test_a_file_is_not_made_of_itself(do: Do, tmp_path: Path, more: dict[str, Any]) -> None:
    path = tmp_path / "f"
    path.write_text("{{ 1 }}\n")
    source = [one.format(path=path) for one in more.pop("source", ["{path}"])]
    result = do("managed", source=source, **more)
    assert result.result is False
    assert "Source file cannot be the same as destination" in result.comment
    assert path.read_text() == "{{ 1 }}\n"


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        ({"source": "salt://nope"}, "Source file salt://nope not found in saltenv 'base'"),
        ({"source": ["salt://a", "salt://b"]}, "none of the specified sources were found: salt://a, salt://b"),
        ({"source": "gopher://x/y"}, "is not supported"),
        ({"source": "salt://plain", "source_hash": "0" * 64}, "does not match actual checksum"),
        ({"source": "salt://plain", "source_hash": "xyz"}, "Unable to manage file: source_hash xyz is no digest"),
        ({"source": "salt://hello.j2", "template": "genshi"}, "genshi is not supported"),
        ({"source": "salt://hello.j2", "template": "jinja", "context": "x"}, "must be formed as a dict"),
        ({"source": "salt://hello.j2", "template": "jinja"}, "hello.j2:1"),
        ({"contents": "a", "mode": "rw"}, "mode must be octal digits, as in '0644', not 'rw'"),
        ({"contents": "a", "mode": "0888"}, "mode must be octal digits, as in '0644', not '0888'"),
        ({"contents": "a", "contents_pillar": "who"}, "Only one of"),
        ({"contents_pillar": "nope"}, "Pillar nope does not exist"),
        ({"contents_grains": "nope"}, "Grain nope does not exist"),
        ({"contents": "", "allow_empty": False}, "would result in empty contents"),
    ],
)
@pytest.mark.parametrize("test", [True, False])
def test_what_is_refused(do: Do, tmp_path: Path, arguments: Any, said: str, test: bool) -> None:
    result = do("managed", test=test, **arguments)
    assert result.result is False
    assert said in result.comment
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(
    ("name", "said"),
    [
        ("rel/x", "Specified file rel/x is not an absolute path"),
        ("/etc", "Specified target /etc is a directory"),
        ("/dev/null", "neither a file nor a symlink"),
        ("/x\0y", "NUL"),
    ],
)
def test_names_that_are_refused(do: Do, name: str, said: str) -> None:
    result = do("managed", name, contents="a", test=True)
    assert result.result is False
    assert said in result.comment


def test_missing_parents_are_made_when_asked_for(do: Do, tmp_path: Path) -> None:
    path = tmp_path / "a/b/f"
    for test in (True, False):
        failed = do("managed", path, contents="x", test=test)
        assert (failed.result, failed.comment) == (False, "Parent directory not present")
    assert do("managed", path, contents="x", makedirs=True, mode="0640").result is True
    assert mode(path.parent) == "0750"
    do("managed", tmp_path / "c/f", contents="x", makedirs=True, dir_mode="0711")
    assert mode(tmp_path / "c") == "0711"


def test_create_and_replace(do: Do, tmp_path: Path) -> None:
    assert "not set for creation" in do("managed", contents="x", create=False).comment
    (tmp_path / "f").write_text("mine")
    kept = do("managed", contents="x", replace=False, mode="0600")
    assert kept.changes == {"mode": "0600"}
    assert (tmp_path / "f").read_text() == "mine"


def test_without_content_only_the_file_itself(do: Do, tmp_path: Path) -> None:
    new = do("managed")
    assert (new.comment, new.changes) == ("Empty file", {"new": f"file {tmp_path}/f created"})
    assert do("managed").comment == f"File {tmp_path}/f exists with proper permissions. No changes made."


def test_symlinks_are_followed_or_replaced(do: Do, tmp_path: Path) -> None:
    (tmp_path / "f").symlink_to("real")
    do("managed", contents="x")
    assert (tmp_path / "real").read_text() == "x\n"
    assert (tmp_path / "f").is_symlink()
    result = do("managed", contents="y", follow_symlinks=False)
    assert result.changes == {"diff": "Replace symbolic link with regular file"}
    assert not (tmp_path / "f").is_symlink()
    assert (tmp_path / "real").read_text() == "x\n"
    (tmp_path / "loop").symlink_to("loop")
    assert "too many levels" in do("managed", tmp_path / "loop", contents="x").comment


def test_backup_keeps_what_is_replaced(do: Do, tmp_path: Path) -> None:
    (tmp_path / "f").write_text("old")
    do("managed", contents="new", backup="minion")
    (kept,) = list((tmp_path / "kept").rglob("f_*"))
    assert kept.read_text() == "old"
    assert mode(kept) == "0600"


def test_a_write_leaves_no_temporary_file_and_survives_a_name_of_full_length(do: Do, tmp_path: Path) -> None:
    name = tmp_path / ("n" * 250)
    assert do("managed", name, contents="x").result is True
    assert list(tmp_path.iterdir()) == [name]


def test_an_unknown_owner_is_a_failure_that_names_it(do: Do) -> None:
    for test in (True, False):
        result = do("managed", contents="x", user="no-such-user", test=test)
        assert (result.result, result.comment) == (False, "User no-such-user is not available")


@pytest.mark.skipif(os.geteuid() != 0, reason="gives files away, which takes root")
def test_owner_by_root(do: Do, tmp_path: Path) -> None:
    result = do("managed", contents="x", user="nobody", group="nogroup", mode="2755")
    assert result.changes == {"diff": "New file", "user": "nobody", "group": "nogroup", "mode": "2755"}
    assert mode(tmp_path / "f") == "2755"
    assert do("managed", contents="y", user="nobody", mode="2755").changes["diff"]
    assert (tmp_path / "f").stat().st_uid == pwd.getpwnam("nobody").pw_uid


@pytest.mark.skipif(os.geteuid() != 0, reason="becomes another user for a moment, which takes root")
def test_an_unprivileged_minion_says_that_it_may_not(do: Do, tmp_path: Path) -> None:
    folder = tmp_path / "own"
    folder.mkdir()
    folder.chmod(0o777)
    for above in (tmp_path, *tmp_path.parents):
        if Path(tempfile.gettempdir()) in above.parents:
            above.chmod(above.stat().st_mode | 0o055)
    (folder / "theirs").write_text("x")
    os.seteuid(65534)
    try:
        new = do("managed", folder / "f", contents="x", user="root")
        replaced = do("managed", folder / "theirs", contents="y")
    finally:
        os.seteuid(0)
    assert new.comment == f"Failed to change the owner of {folder}/f to root:: the system refuses it"
    assert replaced.result is False
    assert "does not let this minion" in replaced.comment
    assert (folder / "theirs").read_text() == "x"


# --- directory ------------------------------------------------------------------------------------------------------


def test_a_new_directory(do: Do, tmp_path: Path) -> None:
    path = tmp_path / "a/b"
    pending = do("directory", path, makedirs=True, mode="0750", test=True)
    assert pending.comment == f"The following files will be changed:\n{path}: directory - new\n"
    result = do("directory", path, makedirs=True, mode="0750")
    assert result.changes == pending.changes == {str(path): {"directory": "new"}}
    assert mode(path) == mode(path.parent) == "0750"
    assert do("directory", path, mode="0750").comment == f"The directory {path} is in the correct state"
    assert do("directory", tmp_path / "x/y").comment == f"No directory to create {tmp_path}/x/y in"


def test_a_file_in_the_way_of_a_directory(do: Do, tmp_path: Path) -> None:
    (tmp_path / "f").touch()
    assert do("directory").comment == f"Specified location {tmp_path}/f exists and is a file"
    assert do("directory", force=True).result is True
    assert (tmp_path / "f").is_dir()


def test_recurse_sets_modes_below_and_lets_symlinks_be(do: Do, tmp_path: Path) -> None:
    top = tmp_path / "top"
    (top / "sub").mkdir(parents=True)
    (top / "sub/file").touch(0o644)
    outside = tmp_path / "outside"
    outside.touch(0o644)
    (top / "link").symlink_to(outside)
    wanted = {"dir_mode": "0711", "file_mode": "0600", "recurse": ["mode"]}
    result = do("directory", top, **wanted)
    assert result.changes == {
        str(top): {"mode": "0711"},
        str(top / "sub"): {"mode": "0711"},
        str(top / "sub/file"): {"mode": "0600"},
        "mode": "0711",
    }
    assert mode(outside) == "0644"
    assert do("directory", top, **wanted).changes == {}
    assert "user not specified" in do("directory", top, recurse=["user"]).comment
    assert 'Types for "recurse"' in do("directory", top, recurse=["colour"]).comment


def test_clean_removes_what_is_not_kept(do: Do, tmp_path: Path) -> None:
    top, outside = tmp_path / "top", tmp_path / "outside"
    (top / "gone/deep").mkdir(parents=True)
    (top / "kept").mkdir()
    outside.mkdir()
    (outside / "precious").touch()
    for name in ("gone/deep/x", "kept/mine", "kept/other", "log.txt"):
        (top / name).touch()
    (top / "ours").mkdir()
    (top / "ours/x").touch()
    (top / "link").symlink_to(outside)
    result = do(
        "directory", top, clean=True, exclude_pat="*.txt", require=[{"file": "own id"}, {"file": str(top / "ours")}]
    )
    assert result.comment == f"Files cleaned from directory {top}"
    assert set(result.changes) == {str(top / n) for n in ("gone", "gone/deep", "gone/deep/x", "kept/other", "link")}
    assert sorted(path.name for path in top.rglob("*")) == ["kept", "log.txt", "mine", "ours", "x"]
    assert (outside / "precious").exists()


def test_clean_never_works_through_a_symlink(do: Do, tmp_path: Path) -> None:
    (tmp_path / "real").mkdir()
    (tmp_path / "real/precious").touch()
    (tmp_path / "link").symlink_to("real")
    for fun, more in (("directory", {}), ("recurse", {"source": "salt://tree"})):
        result = do(fun, tmp_path / "link", clean=True, **more)
        assert result.result is False
        assert "is a symlink" in result.comment
    assert "Refusing to clean" in do("directory", "/", clean=True, test=True).comment
    assert [path.name for path in (tmp_path / "real").iterdir()] == ["precious"]


# --- recurse --------------------------------------------------------------------------------------------------------


def test_a_tree(do: Do, tmp_path: Path) -> None:
    top = tmp_path / "top"
    top.mkdir()
    (top / "old").touch()
    wanted = {"source": "salt://tree", "clean": True, "file_mode": "0640", "dir_mode": "0750"}
    pending = do("recurse", top, test=True, **wanted)
    result = do("recurse", top, **wanted)
    assert (result.result, result.comment) == (True, f"Recursively updated {top}")
    assert result.changes == pending.changes
    assert result.changes[str(top / "sub/b")] == {"diff": "New file", "mode": "0640"}
    assert result.changes[str(top / "old")] == {"removed": "Removed due to clean"}
    assert (top / "sub/deep/c.conf").read_text() == "C\n"
    assert (mode(top / "sub/deep"), mode(top / "sub/deep/c.conf")) == ("0750", "0640")
    assert do("recurse", top, **wanted).changes == {}


@pytest.mark.parametrize(
    ("arguments", "files"),
    [
        ({"exclude_pat": "*.conf"}, {"a", "sub/b"}),
        ({"exclude_pat": "E@^sub/"}, {"a"}),
        ({"include_pat": ["a", "*.conf"]}, {"a", "sub/deep/c.conf"}),
        ({"include_pat": [], "exclude_pat": ""}, {"a", "sub/b", "sub/deep/c.conf"}),
        ({"maxdepth": 0}, {"a"}),
    ],
)
def test_a_part_of_a_tree(do: Do, tmp_path: Path, arguments: Any, files: set[str]) -> None:
    top = tmp_path / "top"
    do("recurse", top, source="salt://tree", **arguments)
    assert {str(path.relative_to(top)) for path in top.rglob("*") if path.is_file()} == files


@pytest.mark.parametrize(
    ("source", "said"),
    [
        ("salt://none", "none of the specified sources were found"),
        ("/etc", "must be a salt:// URI"),
        ("salt://plain", "is a file"),
    ],
)
def test_sources_that_are_no_tree(do: Do, source: str, said: str) -> None:
    assert said in do("recurse", source=source).comment


# --- absent, symlink ------------------------------------------------------------------------------------------------


def test_absent(do: Do, tmp_path: Path) -> None:
    path = tmp_path / "f"
    path.touch()
    pending = do("absent", test=True)
    assert (pending.result, pending.comment) == (None, f"File {path} is set for removal")
    result = do("absent")
    assert (result.comment, result.changes) == (f"Removed file {path}", {"removed": str(path)})
    assert do("absent").comment == f"File {path} is not present"
    (path / "x").mkdir(parents=True)
    assert do("absent").comment == f"Removed directory {path}"
    for root in ("/", "//..//"):  # planned only: were the refusal ever lost, this must not find out by doing it
        assert do("absent", root, test=True).comment == 'Refusing to make "/" absent'


def test_absent_removes_a_link_and_not_what_it_points_to(do: Do, tmp_path: Path) -> None:
    (tmp_path / "real").mkdir()
    (tmp_path / "f").symlink_to(tmp_path / "real")
    assert do("absent").result is True
    assert (tmp_path / "real").is_dir()


def test_symlink(do: Do, tmp_path: Path) -> None:
    path = tmp_path / "f"
    result = do("symlink", target="/one")
    assert (result.comment, result.changes) == (f"Created new symlink {path} -> /one", {"new": str(path)})
    assert do("symlink", target="/one").changes == {}
    assert do("symlink", target="/two", test=True).comment == f"Link {path} target is set to be changed to /two"
    do("symlink", target="/two")
    assert str(path.readlink()) == "/two"


@pytest.mark.skipif(os.geteuid() != 0, reason="gives links away, which takes root")
def test_a_symlink_may_keep_the_owner_of_the_link_before_it(do: Do, tmp_path: Path) -> None:
    path, daemon = tmp_path / "f", pwd.getpwnam("daemon")
    for arguments, uid, gid in (
        ({"inherit_user_and_group": True}, daemon.pw_uid, 4321),
        ({"inherit_user_and_group": True, "user": "root"}, 0, 4321),
        ({"follow_symlinks": False}, 0, 0),
    ):
        path.unlink(missing_ok=True)
        path.symlink_to("/one")
        os.chown(path, daemon.pw_uid, 4321, follow_symlinks=False)
        assert do("symlink", target="/two", **arguments).changes == {"new": str(path)}
        assert (path.lstat().st_uid, path.lstat().st_gid) == (uid, gid)
        assert do("symlink", target="/two", **arguments).changes == {}


def test_a_symlink_takes_force_to_replace_a_file(do: Do, tmp_path: Path) -> None:
    (tmp_path / "f").mkdir()
    assert "Did you mean to use force?" in do("symlink", target="/x").comment
    assert do("symlink", target="/x", force=True).result is True
    missing = tmp_path / "a/b"
    assert do("symlink", missing, target="/x").comment == f"Directory {tmp_path}/a for symlink is not present"
    assert do("symlink", missing, target="/x", makedirs=True).result is True
    assert "target must be a path" in do("symlink", target=5).comment
