"""When drift checks are due: by the schedule of the document, across restarts, and with a clock that was set."""

from __future__ import annotations

import os
from datetime import datetime
from zoneinfo import ZoneInfo

import pytest

from controller.policy.policy import IgnoredDifference, MinionPolicy
from minion.agent.drift import DriftTimer
from minion.spool.desired_state import DesiredState

NOW = 1_000_000.0
EVERY_MINUTE = {"interval": 60}


@pytest.fixture
def timer(tmp_path):
    return DriftTimer(tmp_path, "web1")


def test_without_a_schedule_nothing_is_due(timer):
    assert timer.due_at == float("inf")
    timer.follow({}, NOW)
    assert timer.due_at == float("inf")


def test_a_check_is_due_an_interval_after_the_last(timer, tmp_path):
    timer.follow(EVERY_MINUTE, NOW)
    assert NOW < timer.due_at <= NOW + 60
    run = timer.run_now(DesiredState(tmp_path), NOW + 60)
    assert (run.kind, run.test, run.keys) == ("drift", True, None)
    assert run.run_id.startswith("drift-web1-")
    assert NOW + 60 < timer.due_at <= NOW + 120


def test_minions_that_begin_together_are_not_checked_together(tmp_path):
    due = []
    for number in range(200):
        (tmp_path / str(number)).mkdir()
        timer = DriftTimer(tmp_path / str(number), f"web{number}")
        timer.follow({"interval": 1800, "splay": 0}, NOW)
        due.append(timer.due_at - NOW)
    assert all(0 <= each <= 1800 for each in due)
    in_a_minute = max(sum(start <= each < start + 60 for each in due) for start in range(0, 1800, 60))
    assert in_a_minute < 40, "of 200; all came within the splay, which is none here"


def test_run_ids_differ(timer, tmp_path):
    assert timer.run_now(DesiredState(tmp_path), NOW).run_id != timer.run_now(DesiredState(tmp_path), NOW).run_id


def test_an_agent_that_restarts_more_often_than_the_interval_still_checks(timer, tmp_path):
    timer.run_now(DesiredState(tmp_path), NOW)
    again = DriftTimer(tmp_path, "web1")
    again.follow(EVERY_MINUTE, NOW + 50)
    assert again.due_at <= NOW + 60


def test_a_check_in_the_future_counts_as_one_of_now(timer, tmp_path):
    timer.run_now(DesiredState(tmp_path), NOW)
    os.utime(tmp_path / "drift.stamp", (NOW + 9e6, NOW + 9e6))
    timer.follow(EVERY_MINUTE, NOW)
    assert timer.due_at <= NOW + 60


def test_the_same_schedule_again_keeps_the_time(timer):
    timer.follow(EVERY_MINUTE, NOW)
    due = timer.due_at
    timer.follow(dict(EVERY_MINUTE), NOW + 30)
    assert timer.due_at == due
    timer.follow({}, NOW + 30)
    assert timer.due_at == float("inf")


def test_a_schedule_that_cannot_be_read_is_logged_and_checks_nothing(timer, caplog):
    timer.follow({"interval": "soon"}, NOW)
    assert timer.due_at == float("inf")
    assert "event=drift_schedule_refused" in caplog.text


def test_cron_follows_the_clocks_of_a_zone(timer):
    noon = datetime(2026, 11, 24, 12, tzinfo=ZoneInfo("Asia/Tokyo")).timestamp()
    timer.follow({"cron": "0 12 * * *", "timezone": "Asia/Tokyo"}, noon - 3600)
    assert timer.due_at == noon


def test_a_schedule_that_cannot_be_followed_is_a_problem_until_there_is_another(timer):
    timer.follow({"cron": "0 12 * * *", "timezone": "Mars/Olympus"}, NOW)
    assert timer.due_at == float("inf")
    assert "drift is not checked: timezone: there is no 'Mars/Olympus'" in timer.problems[0]
    timer.follow(EVERY_MINUTE, NOW)
    assert timer.problems == ()


def test_checks_are_made_whatever_else_a_document_says_about_drift(timer):
    """Of a fleet in shadow, too: what differs there is shown, and nothing is applied."""
    rule = IgnoredDifference(id="motd", field="mode")
    policy = MinionPolicy(shadow=True, prune="on", prune_limit=5, ignore_differences=(rule,))
    timer.follow(policy.drift_document() | EVERY_MINUTE | {"splay": 0}, NOW)
    assert timer.problems == ()
    assert NOW < timer.due_at <= NOW + 60
