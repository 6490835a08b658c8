"""Fetches in worker processes: what hangs, dies or lies there does no harm here."""

from __future__ import annotations

import contextlib
import os
import signal
import socket
import subprocess
import sys
import threading
import time
from pathlib import Path

import pytest
from git_servers import Backend, serving

from gitfs.config.settings import RemoteSettings
from gitfs.errors import FetchFailed, UnknownRef
from gitfs.fetching import worker_pool
from gitfs.mirror import pack_copy
from gitfs.remote_report import verify
from gitfs.source import Source

PROMPT = 1.0
"""Seconds; what is measured is printed, and far below on a machine that does nothing else."""


@contextlib.contextmanager
def silent():
    """URL of a server that takes connections and says nothing."""
    with socket.socket() as server:
        server.bind(("127.0.0.1", 0))
        server.listen(128)
        yield f"http://127.0.0.1:{server.getsockname()[1]}/x.git"


def hanging(url, count):
    return [RemoteSettings(name=f"dead{number}", url=f"{url}/{number}") for number in range(count)]


def only(outcomes):
    (outcome,) = outcomes
    return outcome


def until(condition, seconds=20):
    deadline = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < deadline
        time.sleep(0.01)


class Open(Backend):
    """git's own http-backend, for everybody."""

    disable_nagle_algorithm = True  # or each answer waits 40 ms for an acknowledgement

    def is_let_in(self):
        return True


@pytest.mark.alone
@pytest.mark.parametrize("how", ["watched", "http"])
def test_fifty_remotes_that_hang_delay_no_live_one(remote, tmp_path, how, record_property):
    remote.commit({"top.sls": "0"})
    with silent() as url, serving(remote.bare.parent, handler=Open) as port:
        live = remote.settings(**({"url": f"http://127.0.0.1:{port}/remote.git"} if how == "http" else {}))
        with Source([*hanging(url, 50), live], (), tmp_path / "cache") as source:
            dead = [future for number in range(50) for future in source.start_fetch(f"dead{number}")]
            first = time.monotonic()
            assert only(source.fetch(["states"], patience=20)).changed
            record_property("first fetch, s", round(time.monotonic() - first, 3))
            until(lambda: len(source.worker_pids) >= 51)
            times = []
            for number in range(1, 6):
                pushed = remote.commit({"top.sls": str(number)})
                began = time.monotonic()
                assert only(source.fetch(["states"], patience=20)).refs == {"main": pushed}
                assert source.live().files.read("top.sls") == str(number).encode()
                times.append(time.monotonic() - began)
            record_property("push to live, s", [round(each, 3) for each in times])
            sys.stderr.write(f"push to live among 50 that hang ({how}): {sorted(times)[2]:.3f} s\n")
            assert sorted(times)[2] < PROMPT
            assert not any(future.done() for future in dead)
            began = time.monotonic()
        assert time.monotonic() - began < 5, "the end waited for remotes that hang"
        assert all("fetching has stopped" in str(future.exception()) for future in dead)


def test_when_there_is_no_room_the_one_goes_that_hangs(remote, tmp_path, monkeypatch):
    for name, value in {"MOST_WORKERS": 5, "PROMPT_SECONDS": 0.1, "HANGING_SECONDS": 0.2}.items():
        monkeypatch.setattr(worker_pool, name, value)
    pushed = remote.commit({"top.sls": "0"})
    with silent() as url, Source([*hanging(url, 5), remote.settings()], (), tmp_path / "cache") as source:
        dead = [future for number in range(5) for future in source.start_fetch(f"dead{number}")]
        assert only(source.fetch(["states"], patience=20)).refs == {"main": pushed}
        ended = [future for future in dead if future.done()]
        assert "dead0: it did not answer, like 5 others" in str(only(ended).exception())


def test_a_fetch_that_takes_too_long_is_ended_and_told(tmp_path, monkeypatch):
    monkeypatch.setattr(worker_pool, "DEADLINE", 0.3)
    with silent() as url, Source(hanging(url, 1), (), tmp_path / "cache") as source:
        failed = only(source.fetch(patience=20))
        assert isinstance(failed, FetchFailed)
        assert failed.reason == "it took more than 0.3 s and was ended; it will be tried again"
        assert failed.retryable
        until(lambda: source.worker_pids == ())


class Stalls(Open):
    """Holds back what comes after the list of refs, until it is told to go on."""

    asked = threading.Event()
    go_on = threading.Event()

    def do_POST(self):  # noqa: N802 - as the class has it
        self.asked.set()
        self.go_on.wait(30)
        super().do_POST()


def test_a_worker_that_is_killed_in_a_fetch(remote, tmp_path):
    remote.commit({"top.sls": "0"})
    Stalls.go_on.clear()
    with serving(remote.bare.parent, handler=Stalls) as port:
        settings = remote.settings(url=f"http://127.0.0.1:{port}/remote.git")
        with Source([settings], (), tmp_path / "cache") as source:
            for number in range(2):  # the first fetch, and one for a mirror that is in use
                before = [] if number == 0 else [("top.sls", b"0")]
                Stalls.asked.clear()
                Stalls.go_on.clear()
                pushed = remote.commit({"top.sls": str(number), "more": str(number)})
                fetching = only(source.start_fetch("states"))
                assert Stalls.asked.wait(20)
                until(lambda: source.worker_pids)
                os.kill(only(source.worker_pids), signal.SIGKILL)
                failed = fetching.exception(20)
                assert isinstance(failed, FetchFailed)
                assert "ended by SIGKILL" in failed.reason
                assert failed.retryable
                assert [("top.sls", source.live().files.read("top.sls"))] == before if before else True
                Stalls.go_on.set()
                assert only(source.fetch(patience=60)).refs == {"main": pushed}
                ((_, mirror),) = source.mirrors_of("states")
                assert verify(mirror) == []
                assert not [path for path in tmp_path.glob("cache/**/*") if path.name.endswith((".lock", ".new"))]


def test_an_index_that_is_cut_off_in_place_ends_the_worker_alone(remote, tmp_path, monkeypatch):
    """libgit2 maps the remote's indexes; git itself never writes to one again."""
    monkeypatch.setattr("gitfs.mirror.local_remote.MOST_OBJECTS", 0)
    first = remote.commit({f"d{number}/f": str(number) for number in range(10)})
    remote.run("--git-dir", str(remote.bare), "repack", "-dq")
    write = pack_copy.write_pack
    with Source([remote.settings()], (), tmp_path / "cache") as source:
        assert only(source.fetch(patience=60)).refs == {"main": first}
    pushed = remote.commit({f"d{number}/f": f"more {number}" for number in range(10)})
    remote.run("--git-dir", str(remote.bare), "repack", "-dq")
    pushed = remote.commit({"top.sls": "last"})
    indexes = {path: path.read_bytes() for path in remote.bare.glob("objects/pack/*.idx")}

    def cut_off(*arguments):
        for index in indexes:
            index.chmod(0o644)
            index.open("wb").close()
        write(*arguments)

    monkeypatch.setattr(pack_copy, "write_pack", cut_off)
    with Source([remote.settings()], (), tmp_path / "cache") as source:
        failed = only(source.fetch(patience=60))
        assert isinstance(failed, FetchFailed)
        assert "ended by SIGBUS" in failed.reason or "ended by SIGSEGV" in failed.reason
        assert "run `git fsck` in the remote" in failed.reason
        assert source.live().files.read("d1/f") == b"1"
        for index, content in indexes.items():
            index.write_bytes(content)
    monkeypatch.undo()
    with Source([remote.settings()], (), tmp_path / "cache") as source:
        assert only(source.fetch(patience=60)).refs == {"main": pushed}
        assert verify(source.mirrors_of("states")[0][1]) == []


def test_workers_are_kept_and_few(make_remote, tmp_path):
    remotes = [make_remote(f"r{number}") for number in range(6)]
    for each in remotes:
        each.commit({"top.sls": "0"})
    settings = [each.settings(name=f"r{number}") for number, each in enumerate(remotes)]
    with Source(settings, (), tmp_path / "cache") as source:
        assert all(not isinstance(outcome, FetchFailed) for outcome in source.fetch(patience=60))
        until(lambda: len(source.worker_pids) <= worker_pool.MOST_IDLE)
        kept = source.worker_pids
        for _ in range(3):
            source.fetch(["r0"], patience=60)
        assert source.worker_pids == kept
        until(lambda: source.worker_pids == ())  # after `IDLE_SECONDS`
        pushed = remotes[0].commit({"top.sls": "1"})
        assert only(source.fetch(["r0"], patience=60)).refs == {"main": pushed}


def test_a_lost_fork_server_is_replaced(remote, tmp_path):
    remote.commit({"top.sls": "0"})
    with silent() as url, Source([remote.settings(), *hanging(url, 1)], (), tmp_path / "cache") as source:
        dead = only(source.start_fetch("dead0"))
        source.fetch(["states"], patience=60)
        (parent,) = {stat_of(pid)[1] for pid in source.worker_pids}
        workers = source.worker_pids
        os.kill(int(parent), signal.SIGKILL)
        assert "ended by SIGKILL" in str(dead.exception(20))
        until(lambda: not any(alive(pid) for pid in workers))
        assert not isinstance(only(source.fetch(["states"], patience=60)), FetchFailed)


def test_a_commit_for_a_preview_is_completed_in_a_worker(remote, make_remote, tmp_path):
    inner = make_remote("inner")
    inner.commit({"inner.sls": "inner"})
    remote.commit({"top.sls": "0"})
    remote.commit({"top.sls": "other"}, branch="other")
    remote.run("-c", "protocol.file.allow=always", "submodule", "add", "-q", str(inner.bare), "inner")
    remote.commit(branch="other")
    with Source([remote.settings()], (), tmp_path / "cache") as source:
        source.fetch(patience=60)
        assert source.at("other").files.read("inner/inner.sls") == b"inner"
    inner.bare.rename(tmp_path / "gone")
    with Source([remote.settings()], (), tmp_path / "other-cache") as source:
        source.fetch(patience=60)
        with pytest.raises(UnknownRef, match="submodule"):
            source.at("other")


def test_remotes_are_asked_in_workers_and_no_longer_than_patience_lasts(remote, tmp_path):
    remote.commit({"top.sls": "0"}, branch="other")
    with silent() as url, Source([], (), tmp_path / "cache") as source:
        began = time.monotonic()
        dead, gone, live = source.ask(
            [*hanging(url, 1), remote.settings(url=str(tmp_path / "none")), remote.settings()], patience=2
        )
        assert time.monotonic() - began < 10
        assert (dead.remote, dead.reason, dead.retryable) == ("dead0", "it has not answered in 2 s", True)
        assert isinstance(gone, FetchFailed)
        assert live == 1
    assert not list((tmp_path / "cache").glob("*"))


ABANDONED = """
import os, sys
from pathlib import Path
from gitfs.config.settings import RemoteSettings
from gitfs.source import Source

source = Source([RemoteSettings(name="dead", url=sys.argv[1])], (), Path(sys.argv[2]))
source.start_fetch("dead")
while not source.worker_pids:
    pass
print(source.worker_pids[0], flush=True)
if sys.argv[3] == "kill":
    os.kill(os.getpid(), 9)
"""


@pytest.mark.parametrize("how", ["kill", "end"])
def test_no_worker_outlives_the_process_that_wanted_it(tmp_path, how):
    with silent() as url:
        began = time.monotonic()
        command = [sys.executable, "-c", ABANDONED, url, str(tmp_path), how]
        done = subprocess.run(command, stdout=subprocess.PIPE, check=False, timeout=60)
        assert done.returncode == (-signal.SIGKILL if how == "kill" else 0)
        until(lambda: not alive(int(done.stdout)))
        assert time.monotonic() - began < 10


def stat_of(pid):
    return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()


def alive(pid):
    try:
        return stat_of(pid)[0] != "Z"
    except FileNotFoundError:
        return False
