"""Garbage collection in a worker process: a mirror that is cut off while it is read does no harm here."""

from __future__ import annotations

import os
import signal
import threading
import time
from pathlib import Path

import pytest

from gitfs.errors import FetchFailed
from gitfs.mirror import gc
from gitfs.remote_report import verify
from gitfs.source import Source


@pytest.fixture(autouse=True)
def always_needed(monkeypatch):
    monkeypatch.setattr("gitfs.mirror.mirror_store.MOST_PACKS", 1)


def test_a_pack_that_is_cut_off_while_it_is_read_ends_the_worker_alone(make_remote, tmp_path, monkeypatch):
    broken, whole = make_remote("broken"), make_remote("whole")
    for each in (broken, whole):
        each.commit({f"d{number}/f": os.urandom(2000) for number in range(10)})
    settings = [broken.settings(name="broken"), whole.settings(name="whole")]
    pushed = broken.run("rev-parse", "HEAD")
    repack = gc._repack

    def cut_off(repository, needed):
        if repository.path.startswith(str(Path(mirror.path).parent)):
            for path in Path(repository.path).glob("objects/pack/*.pack"):
                path.chmod(0o600)
                os.truncate(path, 0)
        return repack(repository, needed)

    with Source(settings, (), tmp_path / "cache") as source:
        source.fetch(patience=60)
        ((_, mirror),) = source.mirrors_of("broken")
    monkeypatch.setattr(gc, "_repack", cut_off)
    with Source(settings, (), tmp_path / "cache") as source:
        ((_, mirror),) = source.mirrors_of("broken")
        with pytest.raises(FetchFailed) as failed:
            source.gc()
        assert failed.value.remote == "broken"
        assert "garbage collection was ended by SIG" in failed.value.reason
        assert source.gc() == ["whole"]  # the other is passed over until it was fetched
        (fetched,) = source.fetch(["broken"], patience=60)
        assert (fetched.rebuilt, fetched.refs) == (True, {"main": pushed})
        assert verify(mirror) == []


def test_a_worker_that_is_killed_or_hangs_ends_no_more_than_its_work(remote, tmp_path, monkeypatch):
    remote.commit({"top.sls": "one"})
    reached, collect = tmp_path / "reached", gc._reached

    def stuck(*arguments):
        reached.touch()
        time.sleep(600)
        return collect(*arguments)

    monkeypatch.setattr(gc, "_reached", stuck)
    outcomes = []

    def collecting(source):
        try:
            outcomes.append(source.gc())
        except FetchFailed as error:
            outcomes.append(error.reason)

    with Source([remote.settings()], (), tmp_path / "cache") as source:
        source.fetch(patience=60)
        for kill in (True, False):
            reached.unlink(missing_ok=True)
            thread = threading.Thread(target=collecting, args=(source,))
            thread.start()
            deadline = time.monotonic() + 20
            while not reached.exists():
                assert time.monotonic() < deadline
                time.sleep(0.01)
            assert source.live().files.read("top.sls") == b"one"
            if kill:
                for pid in source.worker_pids:
                    os.kill(pid, signal.SIGKILL)
                thread.join(20)
        source.close()
        thread.join(5)
        assert not thread.is_alive()
    assert "ended by SIGKILL" in outcomes[0]
    assert outcomes[1:] == [[]]


def test_gc_waits_for_no_worker_where_nothing_is_to_be_done(remote, tmp_path, monkeypatch):
    monkeypatch.setattr("gitfs.mirror.mirror_store.MOST_PACKS", 50)
    remote.commit({"top.sls": "one"})
    with Source([remote.settings()], (), tmp_path / "cache") as source:
        assert source.gc() == []
        assert source.worker_pids == ()
