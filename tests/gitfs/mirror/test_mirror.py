from __future__ import annotations

import os
import pickle
import shutil
import signal
import subprocess
import sys
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pygit2
import pytest

from gitfs.config.live_policy import LivePolicy
from gitfs.errors import DamagedMirror, FetchFailed, UnknownRef
from gitfs.mirror.mirror import Mirror
from gitfs.tree import objects
from gitfs.tree.git_layer import GitLayer
from gitfs.tree.snapshot import Snapshot


def objects_of(mirror: Mirror) -> list[Path]:
    return [path for path in (Path(mirror.path) / "objects").rglob("*") if path.is_file()]


def read(mirror: Mirror, path: str, branch: str = "main") -> bytes:
    layer = GitLayer.of(mirror.path, "states", mirror.branches()[branch])
    return Snapshot(environments={"base": (layer,)}).read(path)


@pytest.fixture
def mirror(remote, tmp_path):
    return Mirror(remote.settings(), tmp_path / "mirror")


def test_a_push_is_fetched_and_read(remote, mirror):
    first = remote.commit({"top.sls": "one"})
    fetched = mirror.fetch()
    assert fetched.changed
    assert fetched.refs == {"main": first}
    assert not mirror.fetch().changed
    second = remote.commit({"top.sls": "two", "a/b.sls": "deep"})
    assert mirror.fetch().refs == {"main": second}
    assert read(mirror, "top.sls") == b"two"
    assert read(mirror, "a/b.sls") == b"deep"


def test_a_rewind_is_refused_and_recovered_without_a_hand(remote, mirror):
    remote.commit({"top.sls": "one"})
    second = remote.commit({"top.sls": "two"})
    mirror.fetch()
    remote.run("reset", "-q", "--hard", "HEAD~1")
    remote.run("push", "-q", "-f", "origin", "main")
    fetched = mirror.fetch()
    assert not fetched.changed
    assert fetched.refs == {"main": second}
    assert [refused.branch for refused in fetched.refused] == ["main"]
    assert "force-pushed" in fetched.refused[0].reason
    assert read(mirror, "top.sls") == b"two"
    remote.run("reset", "-q", "--hard", second)
    third = remote.commit({"top.sls": "three"})
    fetched = mirror.fetch()
    assert fetched.refs == {"main": third}
    assert not fetched.refused


def test_a_rewind_is_accepted_where_the_policy_says_so(remote, tmp_path):
    mirror = Mirror(remote.settings(policy=LivePolicy(allow_rewind=True)), tmp_path / "mirror")
    first = remote.commit({"top.sls": "one"})
    remote.commit({"top.sls": "two"})
    mirror.fetch()
    remote.run("push", "-q", "-f", "origin", f"{first}:refs/heads/main")
    assert mirror.fetch().refs == {"main": first}


def test_a_branch_that_goes_is_dropped_but_not_the_base(remote, mirror):
    main = remote.commit({"top.sls": "one"})
    remote.commit({"x": "y"}, branch="feature")
    assert set(mirror.fetch().refs) == {"main", "feature"}
    remote.run("push", "-q", "origin", ":feature")
    assert mirror.fetch().refs == {"main": main}
    remote.run("push", "-q", "origin", "main:other")
    remote.run("--git-dir", str(remote.bare), "update-ref", "-d", "refs/heads/main")
    fetched = mirror.fetch()
    assert fetched.refs["main"] == main
    assert fetched.refused[0].reason == "it has vanished from the remote"


def test_a_branch_gives_way_to_a_folder_of_branches(remote, mirror):
    remote.commit({"top.sls": "one"})
    remote.commit(branch="a")
    mirror.fetch()
    remote.run("push", "-q", "origin", ":a")
    remote.run("branch", "-q", "-m", "a", "a/b")
    remote.run("push", "-q", "origin", "a/b")
    assert set(mirror.fetch().refs) == {"main", "a/b"}


def test_a_vanished_remote_fails_and_its_return_is_seen(remote, mirror):
    remote.commit({"top.sls": "one"})
    mirror.fetch()
    away = remote.bare.with_name("away")
    remote.bare.rename(away)
    with pytest.raises(FetchFailed) as failure:
        mirror.fetch()
    assert failure.value.retryable
    assert failure.value.remote == "states"
    assert read(mirror, "top.sls") == b"one"
    away.rename(remote.bare)
    second = remote.commit({"top.sls": "two"})
    assert mirror.fetch().refs == {"main": second}


def test_an_empty_remote_changes_nothing(remote, make_remote, mirror):
    first = remote.commit({"top.sls": "one"})
    mirror.fetch()
    empty = make_remote("empty")
    shutil.rmtree(remote.bare)
    shutil.copytree(empty.bare, remote.bare)
    with pytest.raises(FetchFailed, match="no branch"):
        mirror.fetch()
    assert mirror.branches() == {"main": first}


def test_random_bytes_in_place_of_a_repository(remote, mirror):
    first = remote.commit({"top.sls": "one"})
    mirror.fetch()
    kept = remote.bare.with_name("kept")
    shutil.copytree(remote.bare, kept)
    for path in remote.bare.rglob("*"):
        if path.is_file():
            path.chmod(0o600)
            path.write_bytes(os.urandom(200))
    with pytest.raises(FetchFailed):
        mirror.fetch()
    assert mirror.branches() == {"main": first}
    assert read(mirror, "top.sls") == b"one"
    shutil.rmtree(remote.bare)
    kept.rename(remote.bare)
    assert mirror.fetch().refs == {"main": first}


def test_a_truncated_pack_on_the_remote(remote, mirror):
    first = remote.commit({"top.sls": "one"})
    mirror.fetch()
    remote.commit({f"file{number}": os.urandom(500) for number in range(20)})
    remote.run("--git-dir", str(remote.bare), "repack", "-adq")
    pack = next((remote.bare / "objects/pack").glob("*.pack"))
    whole = pack.read_bytes()
    pack.chmod(0o600)
    pack.write_bytes(whole[: len(whole) // 2])
    with pytest.raises(FetchFailed):
        mirror.fetch()
    assert mirror.branches() == {"main": first}
    assert read(mirror, "top.sls") == b"one"
    pack.write_bytes(whole)
    assert mirror.fetch().changed


def test_a_remote_that_lacks_a_blob_is_not_accepted(remote, mirror):
    first = remote.commit({"top.sls": "one"})
    mirror.fetch()
    remote.commit({"top.sls": "two"})
    blob = remote.run("rev-parse", "HEAD:top.sls")
    lost = remote.bare / "objects" / blob[:2] / blob[2:]
    lost.rename(remote.bare / "lost")
    try:
        fetched = mirror.fetch()
        assert fetched.refused
    except FetchFailed:
        pass
    assert mirror.branches() == {"main": first}
    (remote.bare / "lost").rename(lost)
    assert mirror.fetch().changed
    assert read(mirror, "top.sls") == b"two"


FETCH_ALONE = """
import sys
from pathlib import Path
from gitfs.config.settings import RemoteSettings
from gitfs.mirror.mirror import Mirror
Mirror(RemoteSettings(name="states", url=sys.argv[1]), Path(sys.argv[2])).fetch()
"""


def fetch_alone(remote, directory):
    """Fetch in a process of its own: this one has mapped no index yet. Who has gets SIGBUS or SIGSEGV when it lies."""
    subprocess.run([sys.executable, "-c", FETCH_ALONE, str(remote.bare), str(directory)], check=True)


@pytest.mark.parametrize("harm", ["pack", "idx", "objects", "head", "packed-refs", "everything", "directory"])
def test_a_damaged_mirror_is_rebuilt(remote, tmp_path, harm):
    first = remote.commit({"top.sls": "one"})
    fetch_alone(remote, tmp_path / "mirror")
    repository = (tmp_path / "mirror" / "current").resolve()
    match harm:
        case "pack":
            for path in repository.rglob("*.pack"):
                path.chmod(0o600)
                path.write_bytes(path.read_bytes()[:40])
        case "idx":
            for path in repository.rglob("*.idx"):
                path.chmod(0o600)
                path.write_bytes(path.read_bytes()[:40] + b"\xff" * 1000)
        case "packed-refs":
            pygit2.Repository(str(repository)).compress_references()
            (repository / "packed-refs").write_bytes(b"\0\xff garbage\n")
        case "objects":
            shutil.rmtree(repository / "objects")
        case "head":
            (repository / "HEAD").write_bytes(b"\0\1\2")
        case "everything":
            for path in repository.rglob("*"):
                if path.is_file():
                    path.chmod(0o600)
                    path.write_bytes(b"garbage")
        case _:
            shutil.rmtree(repository)
    fetched = Mirror(remote.settings(), tmp_path / "mirror").fetch()
    assert fetched.rebuilt
    assert fetched.refs == {"main": first}
    assert read(Mirror(remote.settings(), tmp_path / "mirror"), "top.sls") == b"one"
    assert len(list((tmp_path / "mirror").glob("gen-*"))) == 1


READ_WHILE_THE_INDEX_IS_CUT_OFF = """
import resource
import sys
from pathlib import Path
from gitfs.tree import objects

resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
mirror, *blobs = sys.argv[1:]
objects.blob(mirror, blobs[0])
for path in Path(mirror).resolve().rglob("*.idx"):
    path.chmod(0o600)
    path.open("wb").close()
for each in blobs:
    objects.blob(mirror, each)
"""


def test_an_index_cut_off_under_a_reader_ends_it_and_the_next_one_has_a_mirror_made_anew(remote, tmp_path):
    """As docs/limitations.md says: libgit2 maps indexes, and the kernel ends who reads past the end of a file."""
    first = remote.commit({f"f{number}": str(number) for number in range(300)})
    fetch_alone(remote, tmp_path / "mirror")
    current = str(tmp_path / "mirror/current")
    blobs = [line.split()[2] for line in remote.run("ls-tree", "HEAD").splitlines()]
    code = [sys.executable, "-c", READ_WHILE_THE_INDEX_IS_CUT_OFF, current, *blobs]
    assert subprocess.run(code, check=False).returncode == -signal.SIGBUS
    mirror = Mirror(remote.settings(), tmp_path / "mirror")
    assert mirror.fetch().rebuilt
    assert mirror.branches() == {"main": first}
    assert read(mirror, "f7") == b"7"


def test_damage_under_a_running_process_is_reported_by_the_reader_and_repaired(remote, mirror):
    remote.commit({"top.sls": os.urandom(3000)})
    mirror.fetch()
    wanted = read(mirror, "top.sls")
    layer = GitLayer.of(mirror.path, "states", mirror.branches()["main"])
    for path in objects_of(mirror):
        path.chmod(0o600)
        path.write_bytes(path.read_bytes()[: path.stat().st_size // 2])
    code = (
        "import pickle, sys\n"
        "from gitfs.errors import DamagedMirror\n"
        "try:\n    print(pickle.load(sys.stdin.buffer).read('top.sls'))\n"
        "except DamagedMirror: print('damaged')\n"
    )
    reader = subprocess.run(
        [sys.executable, "-c", code],
        input=pickle.dumps(Snapshot(environments={"base": (layer,)})),
        capture_output=True,
        check=True,
    )
    assert reader.stdout.strip() == b"damaged"
    assert mirror.fetch().rebuilt
    assert read(mirror, "top.sls") == wanted


def test_commit_of_branch_tag_and_id(remote, mirror):
    first = remote.commit({"top.sls": "one"})
    remote.run("tag", "-a", "v1", "-m", "first")
    remote.run("push", "-q", "origin", "v1")
    second = remote.commit({"top.sls": "two"}, branch="feature/x")
    mirror.fetch()
    assert mirror.commit_of("v1") == first
    assert mirror.commit_of("feature/x") == mirror.commit_of("refs/heads/feature/x") == second
    assert mirror.commit_of(first) == mirror.commit_of(first[:9]) == first
    with pytest.raises(UnknownRef) as unknown:
        mirror.commit_of("feature/y")
    assert unknown.value.near == ("feature/x",)


LOOP = """
import sys
from pathlib import Path
from gitfs.errors import DamagedMirror
from gitfs.errors import FetchFailed
from gitfs.mirror.mirror import Mirror
from gitfs.config.settings import RemoteSettings
print("ready", flush=True)
while True:
    try:
        Mirror(RemoteSettings(name="states", url=sys.argv[1]), Path(sys.argv[2])).fetch()
    except FetchFailed as error:
        print(error, flush=True)
"""


def test_kill_9_at_any_time_leaves_nothing_to_clean(remote, tmp_path):
    remote.commit({"top.sls": "start"})
    directory = tmp_path / "mirror"
    for turn in range(8):
        process = subprocess.Popen(
            [sys.executable, "-c", LOOP, str(remote.bare), str(directory)], stdout=subprocess.PIPE
        )
        assert process.stdout is not None
        process.stdout.readline()
        last = remote.commit({f"file{turn}": os.urandom(20_000), "top.sls": str(turn)})
        time.sleep(0.013 * turn)  # another moment each turn; any of them is right
        process.send_signal(signal.SIGKILL)
        process.wait()
        process.stdout.close()
        mirror = Mirror(remote.settings(), directory)
        assert mirror.fetch().refs == {"main": last}
        assert read(mirror, "top.sls") == str(turn).encode()
    assert not list(directory.rglob("*.lock"))
    assert len(list(directory.glob("gen-*"))) == 1


def test_lock_files_of_a_dead_process_are_removed(remote, mirror, tmp_path):
    remote.commit({"top.sls": "one"})
    mirror.fetch()
    repository = Path(mirror.path).resolve()
    stale = repository / "refs/saltern/live/heads/main.lock"
    stale.write_text("")
    (repository / "objects/pack/pack_git2_half").write_bytes(b"PACK")
    (tmp_path / "mirror/gen-abandoned").mkdir()
    (tmp_path / "mirror/lock").write_text("w")
    second = remote.commit({"top.sls": "two"})
    assert mirror.fetch().refs == {"main": second}
    assert not stale.exists()
    assert len(list((tmp_path / "mirror").glob("gen-*"))) == 1
    assert not list(repository.rglob("pack_git2_*"))


def test_a_tree_of_too_many_files_is_refused(remote, mirror):
    first = remote.commit({"top.sls": "one"})
    mirror.fetch()
    tree = remote.run("rev-parse", "HEAD^{tree}")
    for _ in range(25):
        lines = f"040000 tree {tree}\ta\n040000 tree {tree}\tb\n"
        made = subprocess.run(
            ["git", "mktree"], cwd=remote.work, input=lines, capture_output=True, text=True, check=True
        )
        tree = made.stdout.strip()
    bomb = remote.run("commit-tree", tree, "-p", "HEAD", "-m", "bomb")
    remote.run("push", "-q", "origin", f"{bomb}:refs/heads/main")
    fetched = mirror.fetch()
    assert fetched.refs == {"main": first}
    assert fetched.refused[0].reason.startswith("more than 500000 files in a/a/a")


def test_folders_that_are_nested_too_deeply_are_refused_with_their_place(remote, mirror):
    first = remote.commit({"top.sls": "one"})
    mirror.fetch()
    remote.commit({"/".join(["deep", *["d"] * 126, "file"]): "fits"})
    assert mirror.fetch().changed
    remote.commit({"/".join(["pit", *["d"] * 140, "file"]): "too deep"})
    (refused,) = mirror.fetch().refused
    assert refused.reason == "folders are nested deeper than 128, below pit/d/d/d/d (limit tree-depth)"
    assert mirror.branches()["main"] != first


def test_packs_are_made_one_and_old_snapshots_stay_readable(remote, mirror, monkeypatch):
    monkeypatch.setattr("gitfs.mirror.mirror_store.MOST_PACKS", 5)
    remote.commit({"top.sls": "0"})
    mirror.fetch()
    remote.commit({"lost": "of a branch that goes"}, branch="gone")
    mirror.fetch()
    layer = GitLayer.of(mirror.path, "states", mirror.branches()["gone"])
    remote.run("push", "-q", "origin", ":gone")
    remote.run("checkout", "-q", "main")
    for number in range(12):
        remote.commit({"top.sls": str(number), f"file{number}": os.urandom(100)})
        mirror.fetch()
        mirror.gc(lambda: [layer.commit])
        assert read(mirror, "top.sls") == str(number).encode()
    assert len(list(Path(mirror.path).rglob("*.pack"))) < 5
    assert len(list(Path(mirror.path).rglob("*.idx"))) < 5
    assert Snapshot(environments={"base": (layer,)}).read("lost") == b"of a branch that goes"
    again = Mirror(mirror.settings, Path(mirror.path).parent)
    assert not again.fetch().rebuilt


def test_a_live_ref_that_cannot_be_read_is_told_and_repaired(remote, mirror):
    first = remote.commit({"top.sls": "one"})
    mirror.fetch()
    (Path(mirror.path) / "refs/saltern/live/heads/main").write_bytes(b"garbage")
    with pytest.raises(DamagedMirror, match="the next fetch repairs it") as damaged:
        mirror.branches()
    assert mirror.path not in str(damaged.value)  # previews show it
    assert mirror.fetch().rebuilt
    assert mirror.branches() == {"main": first}


def test_two_mirrors_of_one_directory_take_turns(remote, tmp_path):
    remote.commit({"top.sls": "one"})
    mirrors = [Mirror(remote.settings(), tmp_path / "mirror") for _ in range(6)]
    with ThreadPoolExecutor(6) as threads:
        outcomes = list(threads.map(Mirror.fetch, mirrors))
    assert sum(outcome.changed for outcome in outcomes) == 1
    assert not any(outcome.rebuilt for outcome in outcomes)


@pytest.mark.parametrize("harm", ["HEAD", "packed-refs"])
def test_a_mirror_serves_while_it_is_rebuilt(remote, tmp_path, harm):
    remote.commit({f"f{number}": os.urandom(2000) for number in range(200)})
    mirror = Mirror(remote.settings(), tmp_path / "mirror")
    mirror.fetch()
    repository = Path(mirror.path).resolve()
    pygit2.Repository(str(repository)).compress_references()
    layer = GitLayer.of(mirror.path, "states", mirror.branches()["main"])
    files = Snapshot(environments={"base": (layer,)})
    wanted = {path: files.read(path) for path in files.list()}
    (repository / harm).write_bytes(b"\0\xff garbage\n")
    objects._repository.cache_clear()  # as a process that opens it now
    over, failures, reads = threading.Event(), [], []

    def read_on():
        while not over.is_set():
            for path, data in wanted.items():
                try:
                    assert files.read(path) == data
                    reads.append(path)
                except DamagedMirror as error:
                    failures.append(error)

    reader = threading.Thread(target=read_on)
    reader.start()
    try:
        assert Mirror(remote.settings(), tmp_path / "mirror").fetch().rebuilt
    finally:
        over.set()
        reader.join()
    assert reads
    assert not failures
    assert {path: files.read(path) for path in files.list()} == wanted
