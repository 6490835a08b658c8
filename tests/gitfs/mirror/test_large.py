"""Remotes of the sizes that people have: many branches, many files, a large file; memory is measured in a process.

2,000 branches always; 50,000 files and a file of 200 MiB with SALTERN_SOAK set, a tenth of them otherwise.
"""

from __future__ import annotations

import hashlib
import json
import os
import subprocess
import sys

import pytest
from effort import FULL
from git_servers import PASSWORD, USER, serving

from gitfs.source import Source

FILES = 50_000 if FULL else 5000
LARGE = 200 if FULL else 20
"""MiB of the large file."""
MIB = 1024 * 1024

pytestmark = pytest.mark.timeout(300)

FETCHED = """
import json, re, sys
from pathlib import Path
from gitfs.config.settings import RemoteSettings
from gitfs.source import Source

def mib():
    return int(re.search(r"VmHWM:\\s+(\\d+)", Path("/proc/self/status").read_text())[1]) // 1024

before = mib()
settings = RemoteSettings(name="states", **json.loads(sys.argv[1]))
with Source([settings], (), Path(sys.argv[2])) as source:
    (outcome,) = source.fetch(patience=100)
    assert not outcome.refused, outcome.refused
    fetched = mib()
    files = source.live().files
    names = files.list()
    whole = 0
    for path in names:
        oid = files.oid(path)
        size = files.blob_size(oid)
        if size > 1_000_000:
            for offset in range(0, size, 1_000_000):
                whole += len(files.read_range(oid, offset, 1_000_000))
        else:
            whole += len(files.read(path))
print(json.dumps({"files": len(names), "bytes": whole, "before": before, "fetched": fetched, "read": mib()}))
"""


def fast_import(remote, lines):
    """Commits as `git fast-import` takes them, from an iterable of bytes."""
    process = subprocess.Popen(
        ["git", "-C", str(remote.bare), "fast-import", "--quiet", "--force"], stdin=subprocess.PIPE
    )
    with process.stdin:
        for line in lines:
            process.stdin.write(line)
    assert process.wait() == 0


def commit_of(files):
    """Lines of one commit on main; `files` gives (path, content)."""
    yield b"commit refs/heads/main\ncommitter A Writer <writer@example.org> 1700000000 +0000\ndata 3\nall\n"
    for path, content in files:
        yield b"M 100644 inline %s\ndata %d\n" % (path.encode(), len(content))
        yield content
        yield b"\n"


def measured(options, directory):
    """What a process that fetches and reads everything says of it."""
    done = subprocess.run(
        [sys.executable, "-c", FETCHED, json.dumps(options), str(directory)], capture_output=True, check=False
    )
    assert done.returncode == 0, done.stderr.decode()
    return json.loads(done.stdout)


@pytest.mark.parametrize("far", [False, True], ids=["local", "http"])
def test_two_thousand_branches(remote, tmp_path, far):
    first = remote.commit({"top.sls": "one"})
    names = [f"team-{number % 40}/change-{number}" for number in range(2000)]
    lines = "".join(f"create refs/heads/{name} {first}\n" for name in names)
    subprocess.run(["git", "-C", str(remote.bare), "update-ref", "--stdin"], input=lines, text=True, check=True)
    with serving(remote.bare.parent) as port:
        url = f"http://127.0.0.1:{port}/remote.git" if far else str(remote.bare)
        settings = remote.settings(url=url, user=USER, password=PASSWORD, insecure_auth=True)
        with Source([settings], (), tmp_path / "cache") as source:
            (outcome,) = source.fetch(patience=100)
            assert len(outcome.refs) == 2001
            assert len(source.live().files.saltenvs()) == 2001
            second = remote.commit({"top.sls": "two"}, branch=names[777])
            (outcome,) = source.fetch(patience=100)
            assert outcome.refs[names[777]] == second
            files = source.live().files
            assert files.read("top.sls", names[777]) == b"two"
            assert files.read("top.sls", names[778]) == b"one"
            remote.run("push", "-q", "origin", *(f":{name}" for name in names[:500]))
            (outcome,) = source.fetch(patience=100)
            assert len(outcome.refs) == 1501


@pytest.mark.parametrize("far", [False, True], ids=["local", "http"])
def test_many_files(remote, tmp_path, far):
    files = ((f"d{number % 500}/e{number % 7}/f{number}.sls", b"content %d\n" % number) for number in range(FILES))
    fast_import(remote, commit_of(files))
    with serving(remote.bare.parent) as port:
        url = f"http://127.0.0.1:{port}/remote.git" if far else str(remote.bare)
        options = {"url": url, "user": USER, "password": PASSWORD, "insecure_auth": True}
        found = measured(options, tmp_path / "cache")
    assert found["files"] == FILES
    assert found["read"] - found["before"] < 40 + FILES // 400


@pytest.mark.parametrize("far", [False, True], ids=["local", "http"])
def test_a_large_file(remote, tmp_path, far):
    part = os.urandom(MIB)

    def content():
        yield next(commit_of([]))
        yield b"M 100644 inline large.bin\ndata %d\n" % (LARGE * MIB)
        for number in range(LARGE):
            yield hashlib.sha256(b"%d" % number).digest() + part[32:]
        yield b"\n"

    fast_import(remote, content())
    with serving(remote.bare.parent) as port:
        url = f"http://127.0.0.1:{port}/remote.git" if far else str(remote.bare)
        options = {"url": url, "user": USER, "password": PASSWORD, "insecure_auth": True}
        found = measured(options, tmp_path / "cache")
    assert found["bytes"] == LARGE * MIB
    # The file itself and its pack, which the kernel may take back; reading it in parts adds next to nothing.
    assert found["read"] - found["before"] < 40 + 2 * LARGE
