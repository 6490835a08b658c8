from __future__ import annotations

import os
import signal
import subprocess
import sys
from contextlib import contextmanager
from pathlib import Path

import pygit2
import pytest
from effort import FULL

from gitfs.config.live_policy import LivePolicy
from gitfs.errors import FetchFailed
from gitfs.mirror import pack_copy
from gitfs.mirror.local_remote import LocalRemote
from gitfs.mirror.mirror import Mirror
from gitfs.remote_report import verify

KILLED = """
import os, shutil, signal, sys
from pathlib import Path
from gitfs.mirror.mirror import Mirror
from gitfs.config.settings import RemoteSettings
from gitfs.mirror import pack_copy
from gitfs.mirror import local_remote

settings, directory, step = RemoteSettings(name="states", url=sys.argv[1]), Path(sys.argv[2]), int(sys.argv[3])
local_remote.MOST_OBJECTS = 0
steps = 0


def die(owner, name):
    act = getattr(owner, name)

    def counted(*arguments, **options):
        global steps
        steps += 1
        if steps == step:
            os.kill(os.getpid(), signal.SIGKILL)
        return act(*arguments, **options)

    setattr(owner, name, counted)


of_paths = [(Path, name) for name in ("mkdir", "touch", "write_bytes", "replace")]
for owner, name in [*((pack_copy, name) for name in ("_take", "_copy", "write_pack", "_settle", "finish")), *of_paths]:
    die(owner, name)
Mirror(settings, directory).fetch()
"""


@pytest.fixture(autouse=True)
def all_is_much(monkeypatch):
    monkeypatch.setattr("gitfs.mirror.local_remote.MOST_OBJECTS", 0)


@pytest.fixture
def packed(remote):
    """A remote with two packs and single objects."""
    for number in range(3):
        remote.commit({f"d{part}/f": f"{number} {part}" for part in range(10)})
        if number < 2:
            bare(remote, "repack", "-dq")
    assert len(packs_of(remote.bare)) == 2
    return remote


def bare(remote, *arguments):
    return remote.run("--git-dir", str(remote.bare), *arguments)


def packs_of(repository):
    return {path.name: path.read_bytes() for path in Path(repository).glob("objects/pack/*.pack")}


def expect_whole(mirror, remote):
    remote.run("--git-dir", mirror.path, "fsck", "--full", "--strict")
    assert verify(mirror) == []
    assert mirror.branches()["main"] == bare(remote, "rev-parse", "main")
    assert not list(Path(mirror.path).glob("saltern-*"))


def test_packs_are_copied_and_what_is_in_none_is_packed(packed, tmp_path):
    packed.run("tag", "-a", "v1", "-m", "one")
    packed.run("push", "-q", "origin", "v1")
    mirror = Mirror(packed.settings(), tmp_path / "mirror")
    assert mirror.fetch().tags == {"v1": packed.run("rev-parse", "v1")}
    expect_whole(mirror, packed)
    theirs, ours = packs_of(packed.bare), packs_of(mirror.path)
    assert set(theirs.values()) < set(ours.values())
    assert len(ours) == 3
    assert not mirror.needs_gc()
    assert str(packed.bare) not in Path("/proc/self/maps").read_text()  # whoever writes over its files may


def test_many_branches_come_with_the_packs(packed, tmp_path):
    for number in range(60):
        bare(packed, "branch", f"b{number}", "main")
    mirror = Mirror(packed.settings(), tmp_path / "mirror")
    assert len(mirror.fetch().refs) == 61
    expect_whole(mirror, packed)
    assert set(packs_of(packed.bare).values()) < set(packs_of(mirror.path).values())


def test_much_more_for_a_mirror_that_is_in_use_and_a_rewind(packed, tmp_path):
    mirror = Mirror(packed.settings(policy=LivePolicy(allow_rewind=True)), tmp_path / "mirror")
    mirror.fetch()
    packed.commit({f"more{number}": str(number) for number in range(10)})
    bare(packed, "repack", "-dq")
    assert mirror.fetch().changed
    expect_whole(mirror, packed)
    packed.run("reset", "-q", "--hard", "HEAD~2")
    packed.run("commit", "-q", "--allow-empty", "-m", "another way")
    packed.run("push", "-q", "-f", "origin", "main")
    assert mirror.fetch().changed
    expect_whole(mirror, packed)


def test_a_pack_of_which_little_is_needed_is_not_taken(remote, tmp_path):
    remote.commit({"top.sls": "one"})
    lost = remote.commit({"garbage": os.urandom(10_000)}, branch="lost")
    bare(remote, "repack", "-adq")
    remote.run("push", "-q", "origin", ":lost")
    assert remote.run("--git-dir", str(remote.bare), "cat-file", "-t", lost) == "commit"
    mirror = Mirror(remote.settings(), tmp_path / "mirror")
    mirror.fetch()
    expect_whole(mirror, remote)
    assert lost not in pygit2.Repository(mirror.path)


@pytest.mark.parametrize("step", [1, 2])
def test_a_remote_that_is_repacked_meanwhile(packed, tmp_path, monkeypatch, step):
    take, steps = pack_copy._take, []

    def interrupted(*arguments):
        steps.append(arguments)
        if len(steps) == step:
            bare(packed, "repack", "-adfq")
            bare(packed, "prune-packed")
        return take(*arguments)

    monkeypatch.setattr(pack_copy, "_take", interrupted)
    mirror = Mirror(packed.settings(), tmp_path / "mirror")
    mirror.fetch()
    assert len(steps) == 2
    expect_whole(mirror, packed)


def test_an_index_that_is_not_what_it_says_is_not_taken(packed, tmp_path):
    with written_over(packed.bare.glob("objects/pack/*.idx"), -1):  # its sum, which git's readers do not look at
        mirror = Mirror(packed.settings(), tmp_path / "mirror")
        mirror.fetch()
    expect_whole(mirror, packed)
    assert not set(packs_of(packed.bare).values()) & set(packs_of(mirror.path).values())


def test_a_pack_that_is_damaged_is_not_taken(packed, tmp_path):
    mirror = Mirror(packed.settings(), tmp_path / "mirror")
    with written_over(packed.bare.glob("objects/pack/*.pack"), 300), pytest.raises(FetchFailed):
        mirror.fetch()
    assert not list(tmp_path.glob("mirror/gen-*"))
    mirror.fetch()
    expect_whole(mirror, packed)


@contextmanager
def written_over(paths, place):
    """Files with another byte at a place, as long as the block lasts."""
    before = {path: path.read_bytes() for path in paths}
    changed = {path: bytearray(content) for path, content in before.items()}
    for path, content in changed.items():
        content[place] ^= 1
        replaced(path, bytes(content))
    yield
    for path, content in before.items():
        replaced(path, content)


def replaced(path, content):
    fresh = path.with_name("fresh")
    fresh.write_bytes(content)
    fresh.replace(path)


def test_objects_that_are_elsewhere_are_left_to_git(packed, make_remote, tmp_path):
    borrower = make_remote("borrower")
    (borrower.bare / "objects/info/alternates").write_text(f"{packed.bare}/objects\n")
    head = bare(packed, "rev-parse", "main")
    bare(borrower, "update-ref", "refs/heads/main", head)
    into = pygit2.init_repository(str(tmp_path / "into"), bare=True)
    assert not LocalRemote(borrower.bare).copy(into, [head])
    assert list(into) == []
    mirror = Mirror(borrower.settings(), tmp_path / "mirror")
    assert mirror.fetch().refs == {"main": head}
    expect_whole(mirror, borrower)


def test_a_shallow_remote_is_left_to_git(packed, make_remote, tmp_path):
    folder = tmp_path / "shallow"
    packed.run("clone", "-q", "--bare", "--depth", "1", f"file://{packed.bare}", str(folder))
    shallow = make_remote("other")
    shallow.bare = folder
    mirror = Mirror(shallow.settings(), tmp_path / "mirror")
    assert mirror.fetch().refs == {"main": bare(packed, "rev-parse", "main")}
    assert verify(mirror) == []


@pytest.mark.parametrize("first", [True, False])
def test_kill_9_at_every_step_twice(packed, tmp_path, first):
    step = 0
    finished = False
    while not finished:
        step += 1 if FULL else 6
        directory = tmp_path / f"mirror{step}"
        mirror = Mirror(packed.settings(), directory)
        if not first:
            mirror.fetch()
            packed.commit({f"d{number}/f": f"{step} {number}" for number in range(10)})
            bare(packed, "repack", "-dq")
            packed.commit({"top.sls": str(step)})
        command = [sys.executable, "-c", KILLED, str(packed.bare), str(directory), str(step)]
        codes = [subprocess.run(command, check=False).returncode for _ in range(2)]
        assert set(codes) <= {0, -signal.SIGKILL}
        finished = codes[0] == 0
        Mirror(packed.settings(), directory).fetch()
        expect_whole(mirror, packed)
        assert not [path for path in directory.rglob("*") if path.name.endswith((".lock", ".new"))]
    assert step > 8


FETCHED = """
import sys
from pathlib import Path
from gitfs.mirror.mirror import Mirror
from gitfs.config.settings import RemoteSettings
from gitfs.mirror import local_remote

local_remote.MOST_OBJECTS = 0
Mirror(RemoteSettings(name="states", url=sys.argv[1]), Path(sys.argv[2])).fetch()
"""
OVERWRITTEN = """
import resource, sys
from pathlib import Path
from gitfs.mirror.mirror import Mirror
from gitfs.config.settings import RemoteSettings
from gitfs.mirror import pack_copy
from gitfs.mirror import local_remote

resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
settings, directory = RemoteSettings(name="states", url=sys.argv[1]), Path(sys.argv[2])
local_remote.MOST_OBJECTS = 0
write = pack_copy.write_pack


def overwrite(*arguments):
    for index in Path(settings.url).glob("objects/pack/*.idx"):
        index.chmod(0o644)
        index.open("wb").close()
    write(*arguments)


pack_copy.write_pack = overwrite
Mirror(settings, directory).fetch()
"""


def test_an_index_that_is_cut_off_in_place_ends_the_process_and_harms_nothing(packed, tmp_path):
    """libgit2 maps the remote's indexes; git itself never writes to one again."""
    directory = tmp_path / "mirror"
    fetch = [sys.executable, "-c", FETCHED, str(packed.bare), str(directory)]
    subprocess.run(fetch, check=True)
    before = bare(packed, "rev-parse", "main")
    packed.commit({f"d{number}/f": f"more {number}" for number in range(10)})
    bare(packed, "repack", "-dq")
    packed.commit({"top.sls": "last"})
    indexes = {path: path.read_bytes() for path in packed.bare.glob("objects/pack/*.idx")}
    command = [sys.executable, "-c", OVERWRITTEN, str(packed.bare), str(directory)]
    done = subprocess.run(command, check=False, capture_output=True)
    assert done.returncode in (-signal.SIGBUS, -signal.SIGSEGV), done.stderr
    after = Mirror(packed.settings(), directory)
    assert after.branches()["main"] == before
    assert verify(after) == []
    assert "FetchFailed" in subprocess.run(fetch, check=False, capture_output=True, text=True).stderr
    assert Mirror(packed.settings(), directory).branches()["main"] == before
    for path, content in indexes.items():
        path.write_bytes(content)
    subprocess.run(fetch, check=True)
    expect_whole(Mirror(packed.settings(), directory), packed)
