"""Questions of people that cost much: nothing else waits for them, and they end."""

import threading
import time

import pytest
from sqlalchemy import insert, text

from controller.store import database
from controller.store.errors import QuestionGivenUp
from controller.store.schema import runs

COUNT_ON = text("WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n) SELECT max(i) FROM n")
"""Never ends."""


def test_what_is_looked_for_does_not_raise_the_cost(store):
    """A viewer's question took seven minutes: 200 letters, looked for at each place of texts of the same letter."""
    row = {
        "minion": "web1", "kind": "call", "created": 1.0, "generation": 1, "revision": "", "digest": "", "test": False,
        "state": "finished", "outcome": "ok", "seconds": 1.0, "changes": 0, "failed": 0, "summary": "", "cause": "",
        "fun": "cmd.run", "args": "x" * 10_000,
    }  # fmt: skip
    with store._database.write() as connection:
        connection.execute(insert(runs), [{**row, "run_id": f"run{number}"} for number in range(2_000)])
    began = time.monotonic()
    assert store.search.runs("x" * 199 + "y", 10) == []
    assert time.monotonic() - began < 2
    assert len(store.search.runs("X" * 199, 10)) == 10


def test_nothing_waits_for_who_looks_through_the_store(store):
    """The loop asks for tokens and runs all the time."""
    begun, over = threading.Event(), threading.Event()

    def look():
        with store._database.read_aside() as connection:
            connection.scalar(text("SELECT 1"))
            begun.set()
            over.wait(20)

    thread = threading.Thread(target=look)
    thread.start()
    try:
        assert begun.wait(10)
        began = time.monotonic()
        assert store.runs.newest() == []
        assert store.access_tokens.all(time.time()) == []
        assert time.monotonic() - began < 1
    finally:
        over.set()
        thread.join()


def test_a_question_that_takes_too_long_is_given_up(store, monkeypatch):
    monkeypatch.setattr(database, "ASIDE_SECONDS", 0.3)
    with pytest.raises(QuestionGivenUp), store._database.read_aside() as connection:
        connection.scalar(COUNT_ON)
    monkeypatch.setattr(database, "ASIDE_SECONDS", 5.0)
    with store._database.read_aside() as connection:
        assert connection.scalar(text("SELECT 1")) == 1
