"""`saltern schedule next`: needs no controller."""

import json

import pytest

from controller.cli.main import run as run_verb


@pytest.fixture
def run(tmp_path, capsys):
    def call(text, *arguments):
        (tmp_path / "minion").write_text(text)
        code = run_verb(["schedule", "next", "--config", str(tmp_path / "minion"), *arguments])
        captured = capsys.readouterr()
        return code, captured.out, captured.err

    return call


def test_the_next_runs_are_printed_as_json(run):
    text = "id: web1\nschedule:\n  a: {function: test.ping, cron: '0 3 * * *'}\n"
    code, out, err = run(text, "--now", "2026-11-22T09:00:00", "--count", "2", "--out", "json")
    assert (code, err) == (0, "")
    assert json.loads(out) == [
        {"schema_version": 1, "job": "a", "at": "2026-11-23T03:00:00"},
        {"schema_version": 1, "job": "a", "at": "2026-11-24T03:00:00"},
    ]


def test_times_have_the_zone_of_now(run):
    text = "schedule:\n  a: {function: test.ping, hours: 1}\n"
    code, out, _ = run(text, "--now", "2026-11-22T09:00:00+02:00", "-n", "2", "--out", "json")
    assert code == 0
    assert [each["at"] for each in json.loads(out)] == ["2026-11-22T09:00:00+02:00", "2026-11-22T10:00:00+02:00"]


def test_a_job_that_cannot_be_followed_is_told_and_the_others_are_shown(run):
    text = "schedule:\n  a: {function: test.ping, hours: 1}\n  b: {function: test.ping}\n"
    code, out, err = run(text, "-n", "1", "--out", "json")
    assert code == 1
    assert [each["job"] for each in json.loads(out)] == ["a"]
    assert "b: it says no time" in err


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("id: web1", "has no `schedule`"),
        ("schedule: 5", "minion:1: schedule must be a mapping"),
        ("schedule: [", "is no YAML"),
    ],
)
def test_a_file_that_cannot_be_used_is_refused(run, text, said):
    code, _, err = run(text)
    assert code == 64
    assert said in err


def test_a_time_that_is_none_is_refused(run):
    code, _, err = run("schedule: {}", "--now", "soon")
    assert code == 64
    assert "write a time like" in err
