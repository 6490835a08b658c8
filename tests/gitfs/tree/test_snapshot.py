from __future__ import annotations

import os
import pickle
import subprocess
import sys

import pytest

from gitfs.errors import StaleSnapshot, UnreadableFolder
from gitfs.mirror.mirror import Mirror
from gitfs.tree.directory import blob_id
from gitfs.tree.git_layer import GitLayer
from gitfs.tree.snapshot import Snapshot, directory_snapshot
from highstate.types import Files


@pytest.fixture
def take(remote, tmp_path):
    """Fetch, and the snapshot of main."""
    mirror = Mirror(remote.settings(), tmp_path / "mirror")

    def snapshot(root="", mountpoint=""):
        mirror.fetch()
        layer = GitLayer.of(mirror.path, "states", mirror.branches()["main"], root, mountpoint)
        return Snapshot(environments={"base": (layer,)})

    return snapshot


def test_it_is_files(remote, take):
    remote.commit({"top.sls": "one", "web/init.sls": "two", "web.sls": "three", "web/a/b": "four"})
    files: Files = take()
    assert files.saltenvs() == ["base"]
    assert files.read("web/init.sls") == b"two"
    assert files.oid("web/init.sls") == blob_id(b"two")
    assert files.oid("nothing") is None
    assert list(files.list()) == ["top.sls", "web.sls", "web/a/b", "web/init.sls"]
    assert list(files.list("web")) == list(files.list("/web/")) == ["web/a/b", "web/init.sls"]
    assert list(files.list("top.sls")) == ["top.sls"]
    assert list(files.list("nothing")) == []
    assert list(files.list("", "other")) == []
    with pytest.raises(FileNotFoundError):
        files.read("top.sls", "other")


def test_it_is_read_in_another_process_after_pickling(remote, take):
    remote.commit({"top.sls": "one"})
    snapshot = take()
    assert snapshot.read("top.sls") == b"one"
    packed = pickle.dumps(snapshot)
    assert len(packed) < 1000
    code = "import pickle, sys; s = pickle.load(sys.stdin.buffer); print(s.read('top.sls'), s.digest)"
    done = subprocess.run([sys.executable, "-c", code], input=packed, capture_output=True, check=True)
    assert done.stdout.decode().split() == ["b'one'", snapshot.digest]
    assert pickle.loads(packed) == snapshot


def test_it_is_read_after_a_fork(remote, take):
    remote.commit({"top.sls": "one", "other": "two"})
    snapshot = take()
    snapshot.read("top.sls")
    child = os.fork()
    if child == 0:
        os._exit(0 if snapshot.read("other") == b"two" else 1)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0


def test_a_snapshot_stays_while_the_remote_moves(remote, take):
    remote.commit({"top.sls": "one"})
    old = take()
    remote.commit({"top.sls": "two", "new": "x"})
    new = take()
    assert old.read("top.sls") == b"one"
    assert old.oid("new") is None
    assert new.read("top.sls") == b"two"
    assert old.digest != new.digest


def test_the_digest_names_the_content(remote, take):
    remote.commit({"salt/top.sls": "one", "README": "a"})
    first, whole = take("salt"), take()
    remote.commit({"README": "b"})
    assert take("salt").digest == first.digest
    assert take("salt") != first
    assert take().digest != whole.digest
    assert take("salt", "mounted").digest != first.digest


def test_root_and_mountpoint(remote, take):
    remote.commit({"salt/web/init.sls": "web", "README": "a"})
    snapshot = take("salt", "apps/one")
    assert list(snapshot.list()) == ["apps/one/web/init.sls"]
    assert snapshot.read("apps/one/web/init.sls") == b"web"
    assert list(take("nowhere").list()) == []
    assert list(take("README").list()) == []


@pytest.mark.parametrize("path", ["../secret", "a/../../secret", "/etc/passwd", "a/../top.sls", "./top.sls", "", "a"])
def test_paths_stay_in_the_tree(remote, take, path):
    remote.commit({"top.sls": "one", "a/b": "x"})
    snapshot = take()
    with pytest.raises(FileNotFoundError):
        snapshot.read(path)
    assert snapshot.oid(path) is None


def test_a_nul_in_a_path(remote, take):
    remote.commit({"top.sls": "one"})
    with pytest.raises(ValueError, match="NUL"):
        take().read("top.sls\0")


LINKS = {
    "file": "real/top.sls",
    "real/up": "../other",
    "chain": "file",
    "folder": "real",
    "through": "folder/sub/x",
    "out": "../../../etc/passwd",
    "absolute": "/etc/passwd",
    "nothing": "missing",
    "loop": "pool",
    "pool": "loop",
    "real/self": ".",
}


def expect_links(snapshot):
    assert snapshot.read("file") == snapshot.read("chain") == snapshot.read("folder/top.sls") == b"one"
    assert snapshot.read("real/up") == snapshot.read("folder/up") == b"two"
    assert snapshot.read("through") == b"three"
    assert "folder/sub/x" in snapshot.list("folder")
    assert dict(snapshot.links()) == LINKS
    assert snapshot.links("real") == {path: to for path, to in LINKS.items() if path.startswith("real/")}
    for name, why in [
        ("out", "out of the tree"),
        ("absolute", "out of the tree"),
        ("nothing", "to nothing"),
        ("loop", "circle"),
        ("real/self", "lies in"),
    ]:
        with pytest.raises(FileNotFoundError, match=why):
            snapshot.read(name)
        assert snapshot.oid(name) is None


def make_links(folder):
    for name, target in LINKS.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.symlink_to(target)


def test_symlinks_in_git(remote, take):
    make_links(remote.work)
    remote.commit({"real/top.sls": "one", "other": "two", "real/sub/x": "three"})
    expect_links(take())


def test_a_symlink_out_of_the_root_is_refused(remote, take):
    (remote.work / "salt").mkdir()
    (remote.work / "salt/link").symlink_to("../private")
    remote.commit({"private": "hidden", "salt/top.sls": "one"})
    with pytest.raises(FileNotFoundError, match="out of the tree"):
        take("salt").read("link")
    assert take("salt").links() == {"link": "../private"}


def test_submodules_are_passed_over(remote, take, make_remote):
    other = make_remote("other")
    other.commit({"x": "y"})
    remote.commit({"top.sls": "one"})
    remote.run("-c", "protocol.file.allow=always", "submodule", "--quiet", "add", str(other.bare), "module")
    remote.commit()
    assert list(take().list()) == [".gitmodules", "top.sls"]


def test_names_that_are_not_utf8(remote, take):
    remote.commit({"gr\u00fcn": "one"})
    (remote.work / os.fsdecode(b"\xff\xfe")).write_bytes(b"two")
    remote.commit()
    assert list(take().list()) == ["gr\u00fcn"]


def test_blobs_of_this_snapshot_alone(remote, take):
    remote.commit({"salt/top.sls": "one", "private": "hidden"})
    snapshot = take("salt")
    assert snapshot.read_range(blob_id(b"one"), 0, 100) == b"one"
    assert snapshot.blob_size(blob_id(b"one")) == 3
    assert snapshot.read_range(blob_id(b"hidden"), 0, 100) is None
    assert snapshot.blob_size(blob_id(b"hidden")) is None
    assert snapshot.read_range("no id", 0, 100) is None


def test_directories(tmp_path):
    one, two = tmp_path / "one", tmp_path / "two"
    for folder, text in ((one, "first"), (two, "second")):
        folder.mkdir()
        (folder / "top.sls").write_text(text)
        (folder / text).write_text(text)
    (one / ".git").mkdir()
    (one / ".git/config").write_text("x")
    os.mkfifo(one / "pipe")
    snapshot = directory_snapshot({"base": [one, two], "dev": [two, tmp_path / "missing"]})
    assert list(snapshot.list()) == ["first", "second", "top.sls"]
    assert snapshot.read("top.sls") == b"first"
    assert snapshot.read("top.sls", "dev") == b"second"
    assert snapshot.read_range(blob_id(b"second"), 0, 100) == b"second"
    assert snapshot.blob_size(blob_id(b"second")) == 6
    assert pickle.loads(pickle.dumps(snapshot)).digest == snapshot.digest
    assert directory_snapshot({"base": [one, two], "dev": [two]}).digest != snapshot.digest


def test_a_directory_that_changed_is_never_read_as_what_it_was(tmp_path):
    (tmp_path / "top.sls").write_text("one")
    snapshot = directory_snapshot({"base": [tmp_path]})
    (tmp_path / "top.sls").write_text("two")
    with pytest.raises(StaleSnapshot, match=r"top\.sls below file_roots has changed") as failed:
        snapshot.read("top.sls")
    (tmp_path / "top.sls").unlink()
    with pytest.raises(StaleSnapshot, match=r"top\.sls below file_roots has gone") as gone:
        snapshot.read("top.sls")
    assert str(tmp_path) not in f"{failed.value} {gone.value}"  # previews show them
    (tmp_path / "top.sls").write_text("two")
    assert directory_snapshot({"base": [tmp_path]}).read("top.sls") == b"two"


def test_the_folder_that_cannot_be_scanned_is_named_to_operators_alone(tmp_path):
    folder = os.open(tmp_path, os.O_RDONLY)
    for _ in range(25):  # more than a path may have, which not even root reads
        os.mkdir("d" * 200, dir_fd=folder)
        deeper = os.open("d" * 200, os.O_RDONLY, dir_fd=folder)
        os.close(folder)
        folder = deeper
    os.close(folder)
    with pytest.raises(UnreadableFolder) as failed:
        directory_snapshot({"base": [tmp_path]})
    for error in (failed.value, pickle.loads(pickle.dumps(failed.value))):
        assert str(tmp_path) not in str(error)  # previews show it
        assert str(error).endswith("d below file_roots cannot be read: File name too long; file_roots must be readable")
        assert error.for_operator.startswith(f"{tmp_path}/ddd")
    whole = UnreadableFolder("/srv/states", ".", "Permission denied")
    assert str(whole) == "a folder of file_roots cannot be read: Permission denied; file_roots must be readable"
    assert whole.for_operator == "/srv/states cannot be read: Permission denied; file_roots must be readable"


def test_symlinks_in_directories(tmp_path):
    top = tmp_path / "top"
    make_links(top)
    (tmp_path / "secret").write_text("hidden")
    for name, text in (("real/top.sls", "one"), ("other", "two"), ("real/sub/x", "three")):
        (top / name).parent.mkdir(parents=True, exist_ok=True)
        (top / name).write_text(text)
    expect_links(directory_snapshot({"base": [top]}))


def test_a_link_is_seen_where_no_earlier_folder_has_a_file(tmp_path):
    for name, content in (("one/both", "1"), ("two/real", "2")):
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_text(content)
    for link in "both", "own":
        (tmp_path / "two" / link).symlink_to(tmp_path / "two/real")
    snapshot = directory_snapshot({"base": [tmp_path / "one", tmp_path / "two"]})
    assert snapshot.links() == {"own": "real"}
    before = snapshot.digest
    (tmp_path / "two/own").unlink()
    (tmp_path / "two/own").symlink_to("plain")
    assert directory_snapshot({"base": [tmp_path / "one", tmp_path / "two"]}).digest != before


def test_links_to_folders_are_seen_through_each_other(tmp_path):
    top = tmp_path / "top"
    (top / "real/sub").mkdir(parents=True)
    (top / "real/sub/x").write_text("deep")
    (top / "other").mkdir()
    (top / "other/up").symlink_to("../real")
    (top / "shown").symlink_to("other")
    (top / "real/loop").symlink_to("../other")
    snapshot = directory_snapshot({"base": [top]})
    assert snapshot.read("shown/up/sub/x") == b"deep"
    assert snapshot.read("other/up/sub/x") == b"deep"
    assert len(snapshot.list()) < 20


def test_modes_are_those_of_git_and_a_link_has_that_of_what_it_leads_to(remote, take):
    remote.commit({"plain": "p", "bin/tool": "t"})
    (remote.work / "bin" / "tool").chmod(0o755)
    (remote.work / "link").symlink_to("bin/tool")
    (remote.work / "folder").symlink_to("bin")
    remote.commit()
    files: Files = take()
    modes = {path: files.mode(path) for path in files.list()}
    assert modes == {"plain": 0o644, "bin/tool": 0o755, "link": 0o755, "folder/tool": 0o755}
    assert files.mode("nothing") is None
