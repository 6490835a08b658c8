"""A server that sends without end, or refs by the hundred thousand, is cut off and told; memory stays bounded."""

from __future__ import annotations

import os
import subprocess
import sys
import time

import pytest
from git_servers import Backend, serving
from hostile_git import advertises, hostile, trickles

from gitfs.config.settings import RemoteSettings
from gitfs.errors import FetchFailed
from gitfs.limits import MIB, GitLimits
from gitfs.mirror.completed_mirror import open_submodule_mirror
from gitfs.source import Source


class Open(Backend):
    """git's own http-backend, for everybody."""

    def is_let_in(self):
        return True


def failure(tmp_path, url, limits):
    """What a fetch says, and the limits that were counted."""
    counted = []
    settings = RemoteSettings(name="far", url=url)
    with Source([settings], (), tmp_path / "cache", limits=limits, on_refusal=counted.append) as source:
        (outcome,) = source.fetch(patience=60)
        assert isinstance(outcome, FetchFailed)
        return outcome, counted


def test_two_million_refs_are_cut_off(tmp_path):
    script = """
import re, sys
from pathlib import Path
from gitfs.config.settings import RemoteSettings
from gitfs.mirror.completed_mirror import open_mirror
try:
    open_mirror(RemoteSettings(name="far", url=sys.argv[1]), Path(sys.argv[2])).fetch()
except Exception as error:
    print(error)
# of this program alone: `ru_maxrss` counts the process that began it too
print(int(re.search(r"VmHWM:\\s+(\\d+) kB", Path("/proc/self/status").read_text())[1]) // 1024)
"""
    with hostile(advertises(2_000_000)) as server:
        command = [sys.executable, "-c", script, server.url, str(tmp_path / "mirror")]
        done = subprocess.run(command, capture_output=True, text=True, check=True, timeout=120)
    said, resident = done.stdout.splitlines()
    assert "far: the names of its branches and tags take more than 33554432 bytes (limit advertisement-bytes)" in said
    sys.stderr.write(f"resident at most: {resident} MiB\n")
    assert int(resident) < 256


def test_what_is_cut_off_is_counted(tmp_path):
    with hostile(advertises(200_000)) as server:
        outcome, counted = failure(tmp_path, server.url, GitLimits(advertisement_bytes=MIB))
    assert "limit advertisement-bytes" in outcome.reason
    assert outcome.retryable
    assert counted == ["advertisement-bytes"]


def test_a_pack_is_cut_off(remote, tmp_path):
    remote.commit({"large": os.urandom(8 * MIB)})
    with serving(remote.bare.parent, handler=Open) as port:
        url = f"http://127.0.0.1:{port}/remote.git"
        outcome, counted = failure(tmp_path, url, GitLimits(pack_bytes=MIB))
        assert "what it sends has more than 1048576 bytes (limit pack-bytes)" in outcome.reason
        assert counted == ["pack-bytes"]
        with Source([remote.settings(url=url)], (), tmp_path / "other") as source:
            assert not isinstance(source.fetch(patience=60)[0], FetchFailed)


def test_a_submodule_that_trickles_has_its_time(tmp_path):
    with hostile(trickles) as server:
        settings = RemoteSettings(name="states/sub", url=server.url)
        limits = GitLimits(submodule_seconds=0.5)
        mirror = open_submodule_mirror(settings, tmp_path / "mirror", limits)
        began = time.monotonic()
        with pytest.raises(FetchFailed, match=r"it took more than 0.5 s \(limit submodule-seconds\)"):
            mirror.fetch_commit("12" * 20)
        assert time.monotonic() - began < 5


@pytest.mark.parametrize("packed", [False, True], ids=["loose", "packed"])
def test_refs_of_a_local_remote_are_bounded(remote, tmp_path, packed):
    head = remote.commit({"top.sls": "one"})
    lines = "".join(f"create refs/heads/b{number} {head}\n" for number in range(200))
    subprocess.run(["git", "-C", str(remote.bare), "update-ref", "--stdin"], input=lines.encode(), check=True)
    if packed:
        remote.run("--git-dir", str(remote.bare), "pack-refs", "--all")
    outcome, counted = failure(tmp_path, str(remote.bare), GitLimits(advertisement_bytes=5000))
    assert "limit advertisement-bytes" in outcome.reason
    assert counted == ["advertisement-bytes"]


@pytest.mark.parametrize(
    ("limits", "limit"),
    [(GitLimits(refs=50), "refs"), (GitLimits(live_refs=50), "live-refs")],
    ids=["refs", "live"],
)
@pytest.mark.parametrize("how", ["local", "http"])
def test_more_refs_than_are_followed_stop_no_push(remote, tmp_path, how, limits, limit):
    head = remote.commit({"top.sls": "one"})
    lines = "".join(f"create refs/heads/a{number} {head}\n" for number in range(100))
    subprocess.run(["git", "-C", str(remote.bare), "update-ref", "--stdin"], input=lines.encode(), check=True)
    counted = []
    with serving(remote.bare.parent, handler=Open) as port:
        url = str(remote.bare) if how == "local" else f"http://127.0.0.1:{port}/remote.git"
        settings = remote.settings(url=url)
        with Source([settings], (), tmp_path / "cache", limits=limits, on_refusal=counted.append) as source:
            (outcome,) = source.fetch(patience=60)
            assert len(outcome.refs) == 50
            assert outcome.refs["main"] == head
            assert len(outcome.refused) == 51
            assert f"(limit {limit})" in outcome.refused[0].reason
            pushed = remote.commit({"top.sls": "two"})
            (again,) = source.fetch(patience=60)
            assert again.refs == {**outcome.refs, "main": pushed}
            assert set(counted) == {limit}


@pytest.mark.parametrize(
    ("limits", "said"),
    [
        (GitLimits(file_bytes=100), r"'large' has 2000 bytes; 100 are taken (limit file-bytes)"),
        (GitLimits(tree_files=3), "more than 3 files (limit tree-files)"),
        (GitLimits(tree_depth=2), "folders are nested deeper than 2, below a/b/c (limit tree-depth)"),
        (GitLimits(lfs_bytes=10), "has 2000 bytes; 10 are taken (limit lfs-bytes)"),
        (GitLimits(lfs_commit_bytes=2500), "have 4000 bytes together; 2500 are taken (limit lfs-commit-bytes)"),
    ],
    ids=["file", "files", "depth", "lfs", "lfs of a commit"],
)
def test_a_tree_that_is_too_large_costs_its_branch_alone(remote, tmp_path, limits, said):
    head = remote.commit({"top.sls": "one"})
    pointers = {
        f"{number}.bin": f"version https://git-lfs.github.com/spec/v1\noid sha256:{number * 64}\nsize 2000\n"
        for number in "12"
    }
    files = {"large": "x" * 2000} if limits.file_bytes == 100 else {"a/b/c/d": "deep", **pointers}
    if limits.tree_depth != 2 and limits.file_bytes != 100:
        files[".gitattributes"] = "*.bin filter=lfs\n"
    remote.commit(files, branch="foreign")
    remote.run("checkout", "-q", "main")
    counted = []
    with Source([remote.settings()], (), tmp_path / "cache", limits=limits, on_refusal=counted.append) as source:
        (outcome,) = source.fetch(patience=60)
        (refused,) = outcome.refused
        assert refused.branch == "foreign"
        assert said in refused.reason
        assert outcome.refs == {"main": head}
        assert set(counted) == {said.rpartition("(limit ")[2].rstrip(")")}
