"""A worker that meets what nobody expected costs its remote one try, and no other remote anything."""

from __future__ import annotations

import logging
import re
from concurrent.futures import Future

import pytest

from gitfs.errors import FetchFailed
from gitfs.fetching.worker_pool import WorkerPool
from gitfs.source import Source

TRACE = "Traceback (most recent call last):\nRuntimeError: a fault of ours at https://user:secret@git.example.org/x"


@pytest.mark.parametrize(
    ("sent", "told"),
    [
        (b'{"type": "broken", "trace": %s}', r"RuntimeError: a fault of ours at https://git\.example\.org/x"),
        (b'{"type": "answered", "refs": 3}', "ended a fetch with _Answered"),
        (b'{"type": "what"}', "no result"),
        (b"[" * 100_000, "no result"),
    ],
    ids=["a traceback", "another answer", "no answer", "an answer without end"],
)
def test_an_error_that_nobody_expected_is_the_remotes_own(make_remote, tmp_path, monkeypatch, caplog, sent, told):
    broken, whole = make_remote("broken"), make_remote("whole")
    for each in (broken, whole):
        each.commit({"top.sls": "one"})
    submit = WorkerPool.submit

    def submitted(pool, job, key, *arguments, **options):
        if "broken" not in key:
            return submit(pool, job, key, *arguments, **options)
        future: Future[bytes] = Future()
        future.set_result(sent.replace(b"%s", b'"' + TRACE.replace("\n", "\\n").encode() + b'"'))
        return future

    monkeypatch.setattr(WorkerPool, "submit", submitted)
    settings = [broken.settings(name="broken"), whole.settings(name="whole")]
    with Source(settings, (), tmp_path / "cache") as source, caplog.at_level(logging.ERROR):
        outcomes = {each.remote: each for each in source.fetch(patience=60)}
    failed = outcomes["broken"]
    assert isinstance(failed, FetchFailed)
    assert failed.retryable
    assert "its worker met an error that nobody expected" in failed.reason
    assert not isinstance(outcomes["whole"], FetchFailed)
    assert "an error that nobody expected; it is tried again" in caplog.text
    assert "secret" not in caplog.text + failed.reason
    assert re.search(told, failed.reason)
