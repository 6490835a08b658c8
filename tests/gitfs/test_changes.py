from __future__ import annotations

import asyncio
import shutil

import pytest

from gitfs.changes import Changes, retry_after
from gitfs.config.settings import ROOTS, RemoteSettings

DEADLINE = 30.0


@pytest.fixture(autouse=True)
def quick_looks(monkeypatch):
    monkeypatch.setattr("gitfs.changes.WATCH_READY_MS", 50)
    monkeypatch.setattr("gitfs.changes.IDENTITY_CHECK_SECONDS", 0.1)


async def told(changes, *names):
    """Wait until all these have been told; returns everything told till then."""
    seen = set()
    async with asyncio.timeout(DEADLINE):
        while not set(names) <= seen:
            seen |= await anext(changes)
    return seen


async def settle(changes):
    """Take what is told at the start, and till the watches stand."""
    while True:
        try:
            async with asyncio.timeout(0.4):
                await anext(changes)
        except TimeoutError:
            return


@pytest.fixture
def far():
    return RemoteSettings(name="far", url="https://git.example.com/infra/far.git", update_interval=3600)


async def test_all_are_told_at_the_start(remote, far, tmp_path):
    async with Changes([remote.settings(), far], roots=[tmp_path]) as changes:
        assert await told(changes, "states", "far", ROOTS) == {"states", "far", ROOTS}


async def test_a_push_is_seen(remote):
    remote.commit({"top.sls": "one"})
    async with Changes([remote.settings(update_interval=3600)]) as changes:
        await settle(changes)
        await asyncio.to_thread(remote.commit, {"top.sls": "two"})
        assert await told(changes, "states") == {"states"}
        await settle(changes)
        await asyncio.to_thread(remote.run, "--git-dir", str(remote.bare), "pack-refs", "--all")
        await told(changes, "states")


async def test_a_push_whose_file_events_are_lost_is_seen(remote, monkeypatch):
    async def deaf(*paths, stop_event, **_):
        yield set()
        await stop_event.wait()

    monkeypatch.setattr("gitfs.changes.awatch", deaf)
    remote.commit({"top.sls": "one"})
    async with Changes([remote.settings(update_interval=3600)]) as changes:
        await settle(changes)
        await asyncio.to_thread(remote.commit, {"top.sls": "two"})
        assert await told(changes, "states") == {"states"}
        await settle(changes)
        await asyncio.to_thread(remote.run, "--git-dir", str(remote.bare), "pack-refs", "--all")
        await told(changes, "states")


async def test_what_was_told_by_an_event_is_not_told_again(remote):
    remote.commit({"top.sls": "one"})
    async with Changes([remote.settings(update_interval=3600)]) as changes:
        await settle(changes)
        assert changes._unnoticed() == []
        await asyncio.to_thread(remote.commit, {"top.sls": "two"})
        await told(changes, "states")
        await settle(changes)
        assert changes._unnoticed() == []


async def test_a_working_repository_is_watched_too(remote):
    remote.commit({"top.sls": "one"})
    settings = RemoteSettings(name="work", url=str(remote.work), update_interval=3600)
    async with Changes([settings]) as changes:
        await settle(changes)
        await asyncio.to_thread(remote.run, "commit", "-q", "--allow-empty", "-m", "more")
        await told(changes, "work")


async def test_roots_are_watched(tmp_path):
    roots = tmp_path / "roots"
    roots.mkdir()
    async with Changes([], roots=[roots]) as changes:
        await settle(changes)
        (roots / "top.sls").write_text("one")
        assert await told(changes, ROOTS) == {ROOTS}


async def test_the_watch_survives_its_repository(remote):
    remote.commit({"top.sls": "one"})
    away = remote.bare.with_name("away")
    async with Changes([remote.settings(update_interval=3600)]) as changes:
        await settle(changes)
        remote.bare.rename(away)
        await told(changes, "states")
        await settle(changes)
        away.rename(remote.bare)
        await told(changes, "states")
        await asyncio.sleep(0)
        shutil.copytree(remote.bare, away)
        shutil.rmtree(remote.bare)
        away.rename(remote.bare)
        await told(changes, "states")
        await settle(changes)
        await settle(changes)
        await asyncio.to_thread(remote.commit, {"top.sls": "two"})
        await told(changes, "states")


async def test_polls(far):
    quick = RemoteSettings(name="quick", url="https://git.example.com/quick.git", update_interval=0.05)
    async with Changes([far, quick]) as changes:
        await told(changes, "quick", "far")
        assert await told(changes, "quick") == {"quick"}
        assert await told(changes, "quick") == {"quick"}


async def test_a_failed_remote_is_tried_again_before_its_interval(far):
    async with Changes([far]) as changes:
        await told(changes, "far")
        changes.failed("far")
        await told(changes, "far")
        changes.fetched("far")
        changes.failed("unknown")
        changes.fetched("unknown")


def test_retries_become_rare():
    assert [retry_after(count, 60) for count in (1, 2, 3, 8, 9, 20, 10_000)] == [1, 2, 4, 128, 256, 300, 300]
    assert retry_after(20, 3600) == 3600


@pytest.mark.parametrize("hint", ["far", "https://git.example.com/infra/far", "git@git.example.com:infra/far.git"])
async def test_hints_by_name_or_url(far, hint):
    async with Changes([far]) as changes:
        await told(changes, "far")
        assert changes.pushed(hint) == {"far"}
        assert await told(changes, "far") == {"far"}
        assert changes.pushed("https://git.example.com/infra/other") == frozenset()


async def test_one_notice_is_pending_and_none_is_lost(far):
    async with Changes([far]) as changes:
        await told(changes, "far")
        for _ in range(100):
            changes.pushed("far")
        assert await anext(changes) == {"far"}
        changes.pushed("far")  # during the fetch that the notice above began
        async with asyncio.timeout(DEADLINE):
            assert await anext(changes) == {"far"}
        waiting = asyncio.create_task(anext(changes))
        await asyncio.sleep(0)
        assert not waiting.done()
        waiting.cancel()


async def test_the_iteration_ends_with_the_context(far):
    async def collect():
        return [names async for names in changes]

    async with Changes([far]) as changes:
        collecting = asyncio.create_task(collect())
        await asyncio.sleep(0)
    async with asyncio.timeout(DEADLINE):
        assert await collecting == [{"far"}]
