from __future__ import annotations

import hashlib
import json
import os
import shutil
import signal
import subprocess
import sys
from pathlib import Path

import pygit2
import pytest
from effort import FULL

from gitfs.config.live_policy import LivePolicy
from gitfs.mirror.mirror import Mirror
from gitfs.remote_report import disk_bytes, verify
from gitfs.source import Source
from gitfs.tree.directory import blob_id
from gitfs.tree.lfs_index import lfs_contents

KILLED = """
import os, signal, sys
from pathlib import Path
from gitfs.mirror.mirror import Mirror
from gitfs.config.settings import RemoteSettings
from gitfs.mirror import gc
from gitfs.mirror import mirror_store

settings, directory, step = RemoteSettings(name="states", url=sys.argv[1]), Path(sys.argv[2]), int(sys.argv[3])
mirror_store.MOST_PACKS = 1
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


of_paths = [(Path, name) for name in ("unlink", "write_text", "replace")]
for owner, name in [(gc, "_reached"), (gc, "write_pack"), (gc, "finish"), *of_paths]:
    die(owner, name)
Mirror(settings, directory).gc(lambda: [])
"""


@pytest.fixture(autouse=True)
def always_untidy(monkeypatch):
    monkeypatch.setattr("gitfs.mirror.mirror_store.MOST_PACKS", 1)


def rewound(remote, content: bytes) -> str:
    """Push a commit, and take it back again; its id."""
    remote.run("checkout", "-q", "-B", "moving", "main")
    lost = remote.commit({"garbage": content}, branch="moving")
    remote.run("checkout", "-q", "main")
    remote.run("branch", "-q", "-D", "moving")
    return lost


def test_what_was_pushed_away_goes_and_history_stays(remote, tmp_path):
    first = remote.commit({"top.sls": "one"})
    mirror = Mirror(remote.settings(), tmp_path / "mirror")
    lost = rewound(remote, os.urandom(1000))
    mirror.fetch()
    remote.run("push", "-q", "origin", ":moving")
    second = remote.commit({"top.sls": "two"})
    mirror.fetch()
    assert lost in pygit2.Repository(mirror.path)
    assert mirror.gc(lambda: [])
    repository = pygit2.Repository(mirror.path)
    assert lost not in repository
    assert first in repository
    assert repository[second].peel(pygit2.Tree)["top.sls"].data == b"two"
    assert verify(mirror) == []
    remote.run("push", "-q", "origin", f"{lost}:refs/heads/back")
    assert mirror.fetch().refs["back"] == lost
    assert verify(mirror) == []


def test_a_large_pack_stays_as_it_is_while_all_of_it_is_needed(remote, tmp_path, monkeypatch):
    monkeypatch.setattr("gitfs.mirror.gc.LEAST_KEPT", 50_000)
    first = remote.commit({"top.sls": "one", "large": os.urandom(60_000)})
    mirror = Mirror(remote.settings(), tmp_path / "mirror")
    mirror.fetch()
    (large,) = Path(mirror.path).glob("objects/pack/*.pack")
    for number in range(3):
        remote.commit({"top.sls": str(number)})
        mirror.fetch()
    assert mirror.gc(lambda: [])
    packs = {path.name: path.stat().st_ino for path in Path(mirror.path).glob("objects/pack/*.pack")}
    assert large.name in packs
    assert len(packs) == 2
    assert verify(mirror) == []
    assert first in pygit2.Repository(mirror.path)
    lost = rewound(remote, os.urandom(90_000))
    mirror.fetch()
    remote.run("push", "-q", "origin", ":moving")
    remote.run("checkout", "-q", "--orphan", "fresh")
    remote.commit({"large": None}, branch="fresh")
    remote.run("push", "-q", "-f", "origin", "fresh:main")
    remote.run("push", "-q", "origin", ":fresh")
    Mirror(remote.settings(policy=LivePolicy(allow_rewind=True)), tmp_path / "mirror").fetch()
    assert mirror.gc(lambda: [])
    repository = pygit2.Repository(mirror.path)
    assert lost not in repository
    assert first not in repository
    assert not large.exists()
    assert verify(mirror) == []


def test_a_snapshot_in_use_stays_readable_and_then_goes(remote, tmp_path):
    remote.commit({"top.sls": "one"})
    lost = rewound(remote, b"needed")
    with Source([remote.settings()], (), tmp_path / "cache") as source:
        source.fetch()
        snapshot = source.live().files
        remote.run("push", "-q", "origin", ":moving")
        source.fetch()
        source.live()
        assert source.gc() == ["states"]
        assert snapshot.read("garbage", "moving") == b"needed"
        path = source.mirrors_of("states")[0][1].path
        del snapshot
        assert source.gc() == ["states"]
        assert lost not in pygit2.Repository(path)


def test_disk_use_is_bounded(remote, tmp_path, monkeypatch):
    monkeypatch.setattr("gitfs.mirror.mirror_store.MOST_PACKS", 50)
    monkeypatch.setattr("gitfs.mirror.mirror_store.SPARE_BYTES", 500_000)
    remote.commit({"top.sls": os.urandom(100_000)})
    most = 0
    with Source([remote.settings()], (), tmp_path / "cache") as source:
        source.fetch()
        for _ in range(25):
            rewound(remote, os.urandom(100_000))
            source.fetch()
            source.live()
            remote.run("push", "-q", "origin", ":moving")
            source.fetch()
            source.live()
            source.gc()
            most = max(most, disk_bytes(tmp_path / "cache"))
    assert most < 2 * 100_000 + 500_000 + 250_000  # twice what is needed, what is spared, and one push


@pytest.mark.skipif(shutil.which("git-lfs") is None, reason="git-lfs is not installed")
def test_large_contents_of_the_past_go(remote, tmp_path):
    remote.run("lfs", "install", "--local")
    remote.run("lfs", "track", "*.bin")
    contents = [f"content {number} ".encode() * 5000 for number in range(3)]
    with Source([remote.settings()], (), tmp_path / "cache") as source:
        for content in contents:
            first = remote.commit({"a.bin": content})
            assert not source.fetch()[0].refused
        live = source.live()
        mirror = source.mirrors_of("states")[0][1]
        assert source.gc() == ["states"]
        assert set(lfs_contents(mirror.path).values()) == {blob_id(contents[-1])}
        assert blob_id(contents[0]) not in pygit2.Repository(mirror.path)
        assert live.files.read("a.bin") == contents[-1]
        # What has gone is fetched again for whoever asks for it.
        before = remote.run("rev-parse", f"{first}~2")
        assert source.at(before).files.read("a.bin") == contents[0]


def test_kill_9_at_every_step_twice(remote, tmp_path):
    remote.commit({f"d{number}/f": str(number) for number in range(10)})
    mirror = Mirror(remote.settings(), tmp_path / "mirror")
    step = killed = 0
    while True:
        step += 1 if FULL else 2
        lost = rewound(remote, os.urandom(500))
        mirror.fetch()
        remote.run("push", "-q", "origin", ":moving")
        remote.commit({"top.sls": hashlib.sha256(str(step).encode()).hexdigest()})
        mirror.fetch()
        arguments = json.dumps([str(remote.bare), str(tmp_path / "mirror"), str(step)])
        codes = [
            subprocess.run([sys.executable, "-c", KILLED, *json.loads(arguments)], check=False).returncode
            for _ in range(2)
        ]
        assert set(codes) <= {0, -signal.SIGKILL}
        assert verify(Mirror(remote.settings(), tmp_path / "mirror")) == []
        assert not mirror.fetch().rebuilt
        assert verify(mirror) == []
        # What is half gone does not stand in the way of its return.
        remote.run("push", "-q", "origin", f"{lost}:refs/heads/back{step}")
        assert mirror.fetch().refs[f"back{step}"] == lost
        if -signal.SIGKILL not in codes:
            break
        killed += 1
    assert killed >= 5
    assert not list(Path(mirror.path).rglob("*.lock"))
