"""Fetches of many remotes: none waits for another, none is lost, and those that nobody could tell apart are one."""

from __future__ import annotations

import asyncio
import contextlib
import os
import socket
import subprocess

import pytest

from controller.compilation.fetches import Fetches
from gitfs.changes import Changes
from gitfs.config.settings import RemoteSettings
from gitfs.errors import FetchFailed
from gitfs.mirror.fetched import Fetched
from gitfs.source import Source

DEADLINE = 60.0
ENVIRONMENT = {
    **{name: value for name, value in os.environ.items() if not name.startswith("GIT_")},
    "GIT_CONFIG_GLOBAL": os.devnull,
    "GIT_CONFIG_NOSYSTEM": "1",
    **{f"GIT_{who}_{what}": "writer@example.org" for who in ("AUTHOR", "COMMITTER") for what in ("NAME", "EMAIL")},
}


def commit(repository, text):
    """Commit to a repository, made when it is not there; the commit's id."""
    if not repository.exists():
        subprocess.run(["git", "init", "-q", "-b", "main", str(repository)], check=True, env=ENVIRONMENT)
    (repository / "top.sls").write_text(text)
    for command in (["add", "-A"], ["commit", "-qm", text]):
        subprocess.run(["git", *command], cwd=repository, check=True, env=ENVIRONMENT)
    done = subprocess.run(["git", "rev-parse", "HEAD"], cwd=repository, check=True, capture_output=True, text=True)
    return done.stdout.strip()


@contextlib.contextmanager
def silent():
    """URL of a server that takes connections and says nothing."""
    with socket.socket() as server:
        server.bind(("127.0.0.1", 0))
        server.listen(64)
        yield f"http://127.0.0.1:{server.getsockname()[1]}/x.git"


class Ear:
    """Hears what fetches bring."""

    def __init__(self):
        self.outcomes, self.late = [], []

    def ended(self, outcome, seconds):
        self.outcomes.append(outcome)

    def fetches(self, source):
        return Fetches(source, self.ended, self.late.append)


@pytest.fixture
def remote(tmp_path):
    commit(tmp_path / "states", "0")
    return RemoteSettings(name="states", url=str(tmp_path / "states"), update_interval=3600)


async def until(condition):
    async with asyncio.timeout(DEADLINE):
        while not condition():
            await asyncio.sleep(0.005)


async def test_a_remote_that_hangs_delays_none_of_nineteen(tmp_path, monkeypatch):
    monkeypatch.setattr("controller.compilation.fetches.PATIENCE", 0.05)
    commits = {f"r{number}": commit(tmp_path / f"r{number}", "0") for number in range(19)}
    ear = Ear()
    with contextlib.ExitStack() as stack:
        dead = RemoteSettings(name="dead", url=stack.enter_context(silent()))
        others = [RemoteSettings(name=name, url=str(tmp_path / name)) for name in commits]
        source = stack.enter_context(Source([dead, *others], (), tmp_path / "cache"))
        fetches = ear.fetches(source)
        hanging = fetches.start("dead")
        for round_ in range(3):
            async with asyncio.timeout(DEADLINE):
                await asyncio.gather(*(fetches.start(name) for name in commits))
            found = {outcome.remote: outcome.refs["main"] for outcome in ear.outcomes}
            assert found == commits
            assert not hanging.done(), "the others had to wait for it"
            commits = {name: commit(tmp_path / name, f"{round_ + 1}") for name in commits}
            ear.outcomes.clear()
        assert "dead: it has not answered in 0.05 s and is still being asked" in map(str, ear.late)
        fetches.close()


async def test_a_dead_remote_that_answers_at_last_is_heard(tmp_path, monkeypatch):
    monkeypatch.setattr("controller.compilation.fetches.PATIENCE", 0.05)
    ear = Ear()
    with silent() as url:
        source = Source([RemoteSettings(name="dead", url=url)], (), tmp_path / "cache")
        fetches = ear.fetches(source)
        hanging = fetches.start("dead")
        await until(lambda: ear.late)
    # Its socket is closed: what the kernel took is reset.
    async with asyncio.timeout(DEADLINE):
        await hanging
    (outcome,) = ear.outcomes
    assert isinstance(outcome, FetchFailed)
    fetches.close()
    source.close()


async def test_a_push_during_a_fetch_is_never_lost(remote, tmp_path):
    ear = Ear()
    with Source([remote], (), tmp_path / "cache") as source:
        fetches = ear.fetches(source)
        for number in range(100):
            first = fetches.start("states")
            for _ in range(number % 7):
                await asyncio.sleep(0)  # the fetch has begun, or has not, or is done
            pushed = await asyncio.to_thread(commit, tmp_path / "states", str(number + 1))
            second = fetches.start("states")
            async with asyncio.timeout(DEADLINE):
                await asyncio.gather(first, second)
            assert source.live().revision.remotes["states"].commit == pushed
        fetches.close()
    assert all(isinstance(outcome, Fetched) for outcome in ear.outcomes)


async def test_whoever_asks_until_a_fetch_begins_shares_it(remote, tmp_path):
    ear = Ear()
    with Source([remote], (), tmp_path / "cache") as source:
        fetches = ear.fetches(source)
        first = [fetches.start("states") for _ in range(50)]
        assert len(set(first)) == 1
        await until(lambda: fetches.start("states") not in first)
        second = [fetches.start("states") for _ in range(50)]
        async with asyncio.timeout(DEADLINE):
            await asyncio.gather(*first, *second)
        fetches.close()
    assert 2 <= len(ear.outcomes) <= 3, "a hundred questions are two fetches"


async def test_a_hundred_hints_during_a_fetch_are_one_more(remote, tmp_path):
    ear = Ear()
    with Source([remote], (), tmp_path / "cache") as source:
        async with Changes([remote]) as changes:
            fetches = ear.fetches(source)
            names = await anext(changes)
            running = fetches.start(*names)
            for _ in range(100):
                assert changes.pushed("states") == {"states"}
            names = await anext(changes)
            async with asyncio.timeout(DEADLINE):
                await asyncio.gather(running, fetches.start(*names))
            fetches.close()
    assert len(ear.outcomes) <= 2


async def test_local_folders_have_nothing_to_fetch(tmp_path):
    ear = Ear()
    with Source((), (), tmp_path / "cache", {"base": [tmp_path]}) as source:
        fetches = ear.fetches(source)
        async with asyncio.timeout(DEADLINE):
            await fetches.start("roots")
        fetches.close()
    assert ear.outcomes == []
