"""What a foreign branch needs elsewhere delays nothing that is live, and is tried again less and less often."""

from __future__ import annotations

import contextlib
import threading
import time
from concurrent.futures import Future

import pytest
from git_servers import Backend, serving
from hostile_git import hangs, hostile

from gitfs.errors import FetchFailed, UnknownRef
from gitfs.fetching.completions import Completions
from gitfs.limits import GitLimits
from gitfs.mirror.back_off import FIRST_PAUSE, LONGEST_PAUSE, BackOff
from gitfs.source import Source

PROMPT = 2.0
"""Seconds; far below on a machine that does nothing else."""


class Open(Backend):
    """git's own http-backend, for everybody."""

    disable_nagle_algorithm = True

    def is_let_in(self):
        return True


def add_submodule(remote, url, branch, oid="12" * 20, path="sub", extra=()):
    """Commit a submodule to a branch and push it."""
    with contextlib.suppress(AssertionError):
        remote.run("checkout", "-q", "-b", branch)
    remote.run("checkout", "-q", branch)
    (remote.work / ".gitmodules").write_text(f'[submodule "x"]\n\tpath = {path}\n\turl = {url}\n')
    remote.run("add", ".gitmodules")
    remote.run("update-index", "--add", "--cacheinfo", f"160000,{oid},{path}")
    remote.run("commit", "-qm", "a submodule")
    remote.run("push", "-q", "origin", branch)
    remote.run("rm", "-q", "--cached", path)
    remote.run("checkout", "-qf", "main")
    return remote.run("rev-parse", branch)


def pushes(source, remote, count):
    """Seconds from a push to main until it is live, a few times, as a controller fetches."""
    times = []
    for number in range(count):
        pushed = remote.commit({"top.sls": f"push {number}"})
        began = time.monotonic()
        (fetching,) = source.start_fetch("states")
        assert fetching.result(30).refs["main"] == pushed
        times.append(time.monotonic() - began)
        assert source.live().files.read("top.sls") == f"push {number}".encode()
    return times


@pytest.fixture
def slow():
    """A server of submodules that never answers."""
    with hostile(hangs) as server:
        yield server


@pytest.mark.alone
def test_a_foreign_branch_with_a_slow_submodule_delays_no_live_push(remote, slow, tmp_path, record_property):
    remote.commit({"top.sls": "one"})
    with Source([remote.settings(submodule_hosts=("127.0.0.1",))], (), tmp_path / "cache") as source:
        source.fetch(patience=30)
        for number in range(5):  # sorted before main, and more than may be asked for at a time
            add_submodule(remote, f"{slow.url}/{number}", f"foreign-{number}")
        times = pushes(source, remote, 4)
        record_property("push to live, s", [round(each, 3) for each in times])
        assert max(times) < PROMPT
        deadline = time.monotonic() + 20
        while len(slow.seen) < 2:
            assert time.monotonic() < deadline
            time.sleep(0.01)
        assert max(pushes(source, remote, 3)) < PROMPT
        assert len(slow.seen) <= GitLimits().completions
        outcome = source.fetch(patience=2)[0]
        assert set(outcome.waiting) == {f"heads/foreign-{number}" for number in range(5)}
        assert not outcome.refused


@pytest.mark.alone
def test_a_first_fetch_waits_for_no_foreign_branch(remote, slow, tmp_path):
    remote.commit({"top.sls": "one"})
    add_submodule(remote, slow.url, "a-foreign-one")
    with Source([remote.settings(submodule_hosts=("127.0.0.1",))], (), tmp_path / "cache") as source:
        assert max(pushes(source, remote, 2)) < PROMPT + 2


@pytest.mark.alone
def test_the_base_gets_its_submodule_while_foreign_branches_hang(remote, make_remote, slow, tmp_path):
    child = make_remote("child")
    inner = child.commit({"x": "inner"})
    remote.commit({"top.sls": "one"})
    limits = GitLimits(completions=1)
    news = threading.Event()
    with Source([remote.settings(submodule_hosts=("127.0.0.1",))], (), tmp_path / "cache", limits=limits) as source:
        source.on_news = lambda name: news.set()
        source.fetch(patience=30)
        add_submodule(remote, slow.url, "a-foreign-one")
        source.start_fetch("states")[0].result(30)
        pushed = add_submodule(remote, str(child.bare), "main", inner)
        began = time.monotonic()
        (fetching,) = source.start_fetch("states")
        assert fetching.result(30).waiting.keys() == {"heads/main", "heads/a-foreign-one"}
        assert news.wait(20)
        assert source.start_fetch("states")[0].result(30).refs["main"] == pushed
        assert time.monotonic() - began < PROMPT + 2
        assert source.live().files.read("sub/x") == b"inner"


def test_a_commit_that_takes_too_long_is_told_and_paused(remote, slow, tmp_path):
    remote.commit({"top.sls": "one"})
    add_submodule(remote, slow.url, "a-foreign-one")
    with Source(
        [remote.settings(submodule_hosts=("127.0.0.1",))],
        (),
        tmp_path / "cache",
        limits=GitLimits(completion_seconds=1.5),
    ) as source:
        (outcome,) = source.fetch(patience=30)
        (refused,) = outcome.refused
        assert refused.branch == "a-foreign-one"
        assert refused.reason == "it took more than 1.5 s and was ended; it will be tried again"
        assert not outcome.waiting
        seen = len(slow.seen)
        for _ in range(3):
            assert source.fetch(patience=30)[0].refused == (refused,)
        assert len(slow.seen) == seen


@pytest.mark.alone
def test_a_preview_of_a_slow_branch_delays_its_asker_alone(remote, slow, tmp_path):
    remote.commit({"top.sls": "one"})
    add_submodule(remote, slow.url, "foreign")
    with Source(
        [remote.settings(submodule_hosts=("127.0.0.1",))],
        (),
        tmp_path / "cache",
        limits=GitLimits(completion_seconds=3.0),
    ) as source:
        source.fetch(patience=1)

        def ask():
            with pytest.raises(UnknownRef):
                source.at("foreign")

        asker = threading.Thread(target=ask)
        asker.start()
        assert max(pushes(source, remote, 3)) < PROMPT
        asker.join(30)
        assert not asker.is_alive()


def test_a_failed_submodule_is_asked_again_later_each_time(tmp_path):
    now = [1000.0]
    back_off = BackOff(tmp_path / "deep" / "failed", lambda: now[0])
    assert back_off.failure() is None
    back_off.failed("no such repository", 0.2)
    assert back_off.failure() is None, "what fails at once costs nothing"
    pauses = []
    for _ in range(9):
        back_off.failed("it did not answer", 60.0)
        assert "it did not answer; it failed" in back_off.failure()
        began = now[0]
        while back_off.failure():
            now[0] += 1
        pauses.append(now[0] - began)
    assert pauses[:3] == [FIRST_PAUSE, 2 * FIRST_PAUSE, 4 * FIRST_PAUSE]
    assert pauses[-1] == LONGEST_PAUSE
    back_off.failed("again", 60.0)
    now[0] -= 10_000
    assert back_off.failure() is None, "the clock was set back"
    back_off.succeeded()
    assert not (tmp_path / "deep" / "failed").exists()


def test_what_failed_least_is_begun_first():
    begun, running = [], {}

    def begin(key, commit):
        begun.append(commit)
        running[commit] = Future()
        return running[commit]

    completions = Completions(begin, 1, lambda key: None)
    completions.want("k", {"heads/main": "m1", "heads/a": "a1", "heads/b": "b1"}, {"heads/main"})
    assert begun == ["m1", "a1"]
    running["a1"].set_result("it failed")
    assert begun == ["m1", "a1", "b1"]
    assert completions.reason("k", "a1") == "it failed"
    completions.want("k", {"heads/a": "a1"}, set())
    assert begun == ["m1", "a1", "b1"], "b1 runs, though nobody wants it any more"
    running["b1"].set_result("")
    assert begun == ["m1", "a1", "b1", "a1"]
    assert not completions.settle("k", 0.01, completions.ended("k"))
    running["m1"].set_result("")
    running["a1"].set_exception(FetchFailed("x", "lost", retryable=True))
    assert not completions.settle("k", 0.01, completions.ended("k")), "nothing is under way"
    assert completions.reason("k", "a1") == "x: lost"


@pytest.mark.parametrize("how", ["local", "http"])
def test_what_was_brought_is_live_with_the_next_fetch(remote, make_remote, tmp_path, how):
    child = make_remote("child")
    inner = child.commit({"x": "inner"})
    remote.commit({"top.sls": "one"})
    with serving(tmp_path, handler=Open) as port:
        address = {"local": str, "http": lambda path: f"http://127.0.0.1:{port}/{path.relative_to(tmp_path)}"}[how]
        add_submodule(remote, address(child.bare), "dev", inner)
        with Source([remote.settings(url=address(remote.bare))], (), tmp_path / "cache") as source:
            outcome = source.fetch(patience=30)[0]
            assert not outcome.waiting
            assert not outcome.refused
            assert outcome.changed
            assert source.live().files.read("sub/x", "dev") == b"inner"
            assert not source.fetch(patience=30)[0].changed


def test_what_ended_before_it_is_waited_for_counts():
    """Else a quick submodule would not be live where `Source.fetch` says that it has come."""
    brought: Future[str] = Future()
    brought.set_result("")
    completions = Completions(lambda key, commit: brought, 1, lambda key: None)
    before = completions.ended("states")
    completions.want("states", {"main": "1" * 40}, ["main"])
    assert completions.settle("states", 0, before)
    assert not completions.settle("states", 0, completions.ended("states"))
