"""Every state of a run is exactly one outcome of its job, or goes on."""

from dataclasses import replace
from typing import get_args

import pytest

from controller.jobs.job_outcomes import by_job, job_view, outcome_of
from controller.schema.jobs import JobMinion, JobOutcome
from controller.store import RunRecord
from wire.messages import Ending


def run(minion="web1", run_id="1", **given):
    return RunRecord(run_id=run_id, minion=minion, kind="call", created=1.0, **given)


@pytest.mark.parametrize(
    ("given", "ending", "connected", "outcome"),
    [
        ({}, "", True, None),
        ({"state": "started"}, "", True, None),
        ({}, "", False, "unreachable"),
        ({"state": "started"}, "", False, "unreachable"),
        ({"state": "finished", "finished": 2.0, "outcome": "superseded"}, "", True, "cancelled"),
        ({"state": "finished", "finished": 2.0, "outcome": "lost"}, "", True, "timed out"),
        ({"state": "finished", "finished": 2.0, "outcome": "ok"}, "", False, "ok"),
        ({"state": "finished", "finished": 2.0, "outcome": "pending"}, "", True, "ok"),
        ({"state": "finished", "finished": 2.0, "outcome": "changed"}, "", True, "changed"),
        ({"state": "finished", "finished": 2.0, "outcome": "failed"}, "", True, "failed"),
        ({"state": "finished", "finished": 2.0, "outcome": "error"}, "", True, "failed"),
        ({"state": "finished", "finished": 2.0, "outcome": "unreachable"}, "", True, "unreachable"),
        ({"state": "finished", "finished": 2.0, "outcome": "error"}, "nonsense of a minion", True, "failed"),
    ],
)
def test_a_run_has_one_outcome(given, ending, connected, outcome):
    assert outcome_of(run(**given, ending=ending), connected=connected) == outcome


@pytest.mark.parametrize("ending", [each for each in get_args(Ending) if each])
def test_what_ended_it_is_its_outcome(ending):
    ended = run(state="finished", finished=2.0, outcome="error", ending=ending)
    assert ending in get_args(JobOutcome)
    assert outcome_of(ended, connected=True) == ending
    assert outcome_of(replace(ended, outcome="ok"), connected=True) == "ok"


def test_a_minion_that_was_asked_again_counts_once():
    runs = [run(outcome="unreachable"), run("web2", "2", job="1"), run(run_id="3", job="1")]
    assert [(one.minion, one.run_id) for one in by_job(runs)["1"]] == [("web1", "3"), ("web2", "2")]


def test_a_job_goes_on_until_its_last_minion_has_returned():
    runs = [run(finished=4.0, state="finished", outcome="ok"), run("web2", "2", job="1")]
    gone = JobMinion(minion="web2", run_id="2", outcome="unreachable", state="started")
    view = job_view("1", runs, [JobMinion(minion="web1", run_id="1", outcome="ok", finished=4.0), gone])
    assert (view.finished, view.running, view.outcomes) == (None, 0, {"ok": 1, "unreachable": 1})
