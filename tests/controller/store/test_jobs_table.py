"""Jobs as they were asked for, kept until nothing is left of them."""

from controller.store import RunRecord
from controller.store.jobs import table
from controller.store.jobs.table import JobRecord


def job(jid, **more):
    values = {"fun": "test.ping", "args": "", "tgt": "web*", "tgt_type": "glob", "user": "alice", "created": 1.0}
    return JobRecord(jid=jid, minions=("web1", "web2"), **{**values, **more})


def test_a_job_is_kept_as_it_was_asked(store):
    first = job("1", args="x=1", metadata={"a": [1]})
    assert store.jobs.create(first)
    assert not store.jobs.create(job("1", tgt="other"))
    assert store.jobs.get("1") == first
    assert store.jobs.get("2") is None
    assert store.jobs.create(job("2"))
    assert store.jobs.many(["1", "2", "3"]).keys() == {"1", "2"}
    assert store.jobs.metadata("1") == {"a": [1]}
    assert store.jobs.metadata("2") == {}
    assert store.jobs.metadata("3") == {}


def test_jobs_of_which_no_run_is_kept_are_forgotten_but_the_newest(store, monkeypatch):
    monkeypatch.setattr(table, "_WITHOUT_RUNS", 1)
    assert store.jobs.prune() == 0
    for jid in ("1", "2", "3"):
        store.jobs.create(job(jid))
    store.runs.create(RunRecord(run_id="1", minion="web1", kind="call", created=1.0, job="1"))
    store.prune(0)
    assert store.jobs.many(["1", "2", "3"]).keys() == {"1", "3"}
