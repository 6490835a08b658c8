"""kill -9 at the steps of a fetch: the last good trees are served, and there is nothing to clean up.

strace kills the fetching process (the worker, or the one that started it) as it enters the n-th call of a system call
that leaves something on the disk, for each of these system calls and from its first call in a whole fetch to its last:
every one of them, twice, with SALTERN_SOAK set; some of them once otherwise.
"""

from __future__ import annotations

import os
import pickle
import re
import shutil
import signal
import subprocess
import sys
from collections import Counter
from pathlib import Path

import effort
import pytest
from git_servers import PASSWORD, USER, serving

from gitfs.errors import FetchFailed
from gitfs.remote_report import verify
from gitfs.source import Source

CALLS = "write,pwrite64,ftruncate,fsync,fdatasync,link,linkat,symlink,symlinkat,mkdir,mkdirat,rmdir"
CALLS += ",rename,renameat,renameat2,unlink,unlinkat"
FETCH = """
import pickle, sys
from pathlib import Path
from gitfs.source import Source

with Source([pickle.load(sys.stdin.buffer)], (), Path(sys.argv[1])) as source:
    print(*source.fetch(patience=60))
"""
KILLED = b"ended by SIGKILL"
"""What is said of a fetch whose worker was killed."""
SOME = 5
"""Steps of the ordinary suite."""
TIMES = 2 if effort.FULL else 1
HAS_LFS = shutil.which("git-lfs") is not None

pytestmark = [
    pytest.mark.timeout(900),
    pytest.mark.skipif(shutil.which("strace") is None, reason="strace is not installed"),
]


@pytest.fixture
def content(remote, make_remote):
    """A function that pushes the n-th state of a remote with plain files, large files and a submodule."""
    inner = make_remote("inner")
    if HAS_LFS:
        remote.run("lfs", "install", "--local")
        remote.run("lfs", "track", "*.bin")
    allow = ("-c", "protocol.file.allow=always")

    def push(number):
        inner.commit({"inner.sls": f"inner {number}"})
        if number == 0:
            remote.commit({"top.sls": ""})
            remote.run(*allow, "submodule", "add", "-q", str(inner.bare), "inner")
        else:
            remote.run(*allow, "submodule", "update", "-q", "--remote", "inner")
        remote.commit({"top.sls": f"top {number}", "plain.sls": "x" * number, "a.bin": f"large {number} " * 2000})
        return {
            "top.sls": f"top {number}".encode(),
            "plain.sls": b"x" * number,
            "a.bin": f"large {number} ".encode() * 2000,
            "inner/inner.sls": f"inner {number}".encode(),
        }

    return push


def killed(settings, directory, step):
    """Whether a fetch was killed at this step, or had less of them."""
    call, number = step
    strace = ["strace", "-f", "-qq", "-o", "/dev/null", "-e", f"trace={call}"]
    kill = ["-e", f"inject={call}:signal=SIGKILL:when={number}"]
    environment = {**os.environ, "PYTHONDONTWRITEBYTECODE": "1"}
    done = subprocess.run(
        [*strace, *kill, sys.executable, "-c", FETCH, str(directory)],
        input=pickle.dumps(settings),
        capture_output=True,
        check=False,
        env=environment,
    )
    assert done.returncode in (0, -signal.SIGKILL), done.stderr.decode()
    return done.returncode != 0 or KILLED in done.stdout


def shown(source):
    files = source.live().files
    read = {path: files.read(path) for path in files.list() if not path.startswith(".git")}
    return {path: content for path, content in read.items() if not content.startswith(b"version https://git-lfs")}


def expect_whole(settings, directory, wanted, before):
    """After a restart: all of the old or all of the new without the remote, and all of the new with it."""
    with Source([settings], (), directory) as source:
        assert shown(source) in (wanted, before)
        (fetched,) = source.fetch(patience=60)
        assert not isinstance(fetched, FetchFailed), fetched
        assert not fetched.refused
        assert not fetched.rebuilt
        assert shown(source) == wanted
        assert [verify(mirror) for _, mirror in source.mirrors_of(settings.name)] == [[]]
    left = [path for path in directory.rglob("*") if path.name.endswith((".lock", ".new")) or "part" in path.name]
    assert not left
    for mirror in {path.parent for path in directory.rglob("current")}:
        assert len(list(mirror.glob("gen-*"))) == 1


def steps(settings, directory):
    """(system call, 1), (system call, 2) ... as a whole fetch makes them, or some of these."""
    log = directory.with_name("strace.log")
    subprocess.run(
        ["strace", "-f", "-qq", "-o", str(log), "-e", f"trace={CALLS}", sys.executable, "-c", FETCH, str(directory)],
        input=pickle.dumps(settings),
        capture_output=True,
        check=True,
    )
    calls = Counter(re.findall(r"^(\d+) +(\w+)\(", log.read_text(), re.MULTILINE))  # (process, call)
    most = {call: max(count for (_, name), count in calls.items() if name == call) for _, call in calls}
    found = [(call, number) for call in sorted(most) for number in range(1, most[call] + 1)]
    return effort.steps(found, SOME)


def test_the_first_fetch(remote, content, tmp_path):
    settings, wanted = remote.settings(), content(0)
    counted = steps(settings, tmp_path / "counted")
    assert len(counted) >= SOME
    kills = 0
    for step in counted:
        directory = tmp_path / "cache"
        kills += max([killed(settings, directory, step) for _ in range(TIMES)])
        expect_whole(settings, directory, wanted, {})
        shutil.rmtree(directory)
    assert kills >= len(counted) * 3 // 4


@pytest.mark.parametrize("far", [False, True], ids=["local", "http"])
def test_a_push(remote, content, tmp_path, far):
    with serving(remote.bare.parent) as port:
        url = f"http://127.0.0.1:{port}/remote.git"
        options = {"url": url, "user": USER, "password": PASSWORD, "insecure_auth": True, "submodules": False}
        settings = remote.settings(**options, lfs=False) if far else remote.settings()
        directory = tmp_path / "cache"
        before = expected(content(0), far)
        with Source([settings], (), directory) as source:
            source.fetch(patience=60)
        shutil.copytree(directory, tmp_path / "counted", symlinks=True)
        number, wanted, kills = 1, expected(content(1), far), 0
        counted = steps(settings, tmp_path / "counted")
        assert len(counted) >= SOME
        for step in counted:
            kills += max([killed(settings, directory, step) for _ in range(TIMES)])
            expect_whole(settings, directory, wanted, before)
            number += 1
            before, wanted = wanted, expected(content(number), far)
        assert kills >= len(counted) * 3 // 4


def expected(files, far):
    """What is shown where neither submodules nor Git LFS are brought; `a.bin` is an ordinary file without git-lfs."""
    names = ("top.sls", "plain.sls") if HAS_LFS else ("top.sls", "plain.sls", "a.bin")
    return {path: files[path] for path in names} if far else files


def test_no_password_is_left_by_a_kill(remote, tmp_path):
    remote.commit({"top.sls": "one"})
    with serving(remote.bare.parent) as port:
        url = f"http://127.0.0.1:{port}/remote.git"
        settings = remote.settings(url=url, user=USER, password=PASSWORD, insecure_auth=True)
        for step in [("write", 5), ("pwrite64", 2), ("rename", 1), ("symlink", 1), ("unlink", 1)]:
            killed(settings, tmp_path / "cache", step)
    assert not [p for p in Path(tmp_path / "cache").rglob("*") if p.is_file() and PASSWORD.encode() in p.read_bytes()]
