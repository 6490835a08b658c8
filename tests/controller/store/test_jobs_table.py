"""Jobs as they were asked for, kept until nothing is left of them, and listed page by page."""

from dataclasses import replace

from sqlalchemy import text

from controller.jobs.job_outcomes import by_job, counted_view, job_view, never_asked, outcome_of
from controller.jobs.job_reports import ABOUT_JOBS
from controller.schema.jobs import JobMinion
from controller.store import RunRecord
from controller.store.jobs import table
from controller.store.jobs.listing import JobPlace
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


KINDS = ("apply", "call")


def run(run_id, job, minion="web1", **more):
    return RunRecord(**{"run_id": run_id, "minion": minion, "kind": "call", "created": 1.0, "job": job, **more})


def test_jobs_are_listed_by_job_however_many_minions_each_has(store):
    for number in range(3):
        store.jobs.create(job(str(number), created=float(number)))
        with store.transaction():
            for minion in range(7000):
                store.runs.create(run(f"{number}-{minion}", str(number), f"web{minion}", state="finished"))
    store.runs.create(run("alone", "", kind="apply", created=1.5))
    store.runs.create(run("check", "", kind="drift", created=9.0))
    store.jobs.create(job("kill", created=8.0, fun="saltutil.kill_job"))
    listed = store.job_listing.newest(KINDS, 10)
    assert [place.jid for place in listed] == ["kill", "2", "alone", "1", "0"]
    assert [place.jid for place in store.job_listing.newest(KINDS, 10, without=ABOUT_JOBS)] == ["2", "alone", "1", "0"]
    pages = []
    before = None
    while page := store.job_listing.newest(KINDS, 2, before=before):
        pages.append([place.jid for place in page])
        before = page[-1]
    assert pages == [["kill", "2"], ["alone", "1"], ["0"]]
    assert store.job_listing.place("alone") == JobPlace(1.5, "alone")
    assert store.job_listing.place("nothing") is None
    assert store.job_listing.places(["0", "alone", "nothing"]) == [JobPlace(1.5, "alone"), JobPlace(0.0, "0")]


def test_jobs_that_go_on_are_found_by_their_open_runs(store):
    store.jobs.create(job("1"))
    store.runs.create(run("1", "1"))
    store.runs.create(run("2", "1", "web2", state="finished"))
    store.runs.create(run("3", "", kind="apply"))
    store.runs.create(run("4", "", kind="drift"))
    store.runs.create(run("5", "", state="finished"))
    assert store.job_listing.open(KINDS) == {"1", "3"}


def test_counts_say_what_the_runs_one_by_one_say(store):
    """The line of a job in a list is that of the job alone, which is made of all its runs."""
    asked = job("1", created=1.0)
    asked = replace(asked, minions=("web1", "web2", "web3", "web4", "web5"))
    store.jobs.create(asked)
    store.runs.create(run("1", "1", state="finished", outcome="failed", ending="timed out", finished=5.0))
    store.runs.create(run("2", "1", "web2", state="finished", outcome="unreachable", finished=2.0))
    store.runs.create(run("3", "1", "web3"))
    store.runs.create(run("4", "1", "web4", state="started"))
    store.runs.create(run("5", "1", "web2", state="finished", outcome="changed", finished=7.0))  # asked again
    counts = store.job_listing.counts(["1"])["1"]
    own = by_job(store.runs.of_job("1"))["1"]
    for connected in (frozenset(), frozenset({"web3"}), frozenset({"web3", "web4", "web5"})):
        for driven in (False, True):
            minions = [JobMinion(minion=one.minion, outcome=_outcome(one, connected)) for one in own]
            minions.append(never_asked("web5", connected="web5" in connected, driven=driven))
            assert counted_view(asked, counts, connected, driven=driven) == job_view("1", own, minions, asked)


def _outcome(one, connected):
    return outcome_of(one, connected=one.minion in connected)


def test_the_listing_reads_indexes(store, store_url):
    if not store_url.startswith("sqlite"):
        return
    with store._database.read() as connection:
        alone = "SELECT created, run_id FROM runs WHERE kind <> 'drift' AND coalesce(job, '') = '' AND kind IN ('call')"
        for query, index in (
            (f"{alone} ORDER BY created DESC, run_id DESC LIMIT 20", "single_runs"),
            (f"{alone} AND (created, run_id) < (5, 'x') ORDER BY created DESC, run_id DESC LIMIT 20", "single_runs"),
            ("SELECT created, jid FROM jobs ORDER BY created DESC, jid DESC LIMIT 20", "ix_jobs_created_jid"),
        ):
            plan = " ".join(row.detail for row in connection.execute(text(f"EXPLAIN QUERY PLAN {query}")))
            assert index in plan, plan
            assert "TEMP B-TREE" not in plan, plan
