"""Workers that end, as the thread of the pool hears of it."""

from __future__ import annotations

import time

import pytest

from gitfs.fetching.worker_pool import WorkerDied, WorkerPool


@pytest.fixture
def pool():
    opened = WorkerPool()
    yield opened
    opened.close()


def test_the_end_of_a_worker_may_be_heard_from_the_fork_server_first(pool, monkeypatch):
    """Its socket is then in the same round of the selector, and belongs to no worker any more."""
    select = pool._selector.select
    rounds = []

    def fork_server_first(timeout):
        select(timeout)
        time.sleep(0.1)  # until the end of the socket and the word of the fork server are both there
        ready = sorted(select(0), key=lambda event: event[0].data is not None)
        started = [event for event in ready if event[0].data is None or event[0].data.pid]
        rounds.append([event[0].data is not None for event in started])
        return started

    monkeypatch.setattr(pool._selector, "select", fork_server_first)
    for _ in range(3):
        future = pool.submit(b"{}", "home", lambda question: b"")  # no job: the worker ends
        assert isinstance(future.exception(timeout=60), WorkerDied)
    time.sleep(0.2)  # the round that gave the last outcome is over
    assert [False, True] in rounds
    assert pool._thread.is_alive()
