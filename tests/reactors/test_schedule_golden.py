"""Jobs run when Salt's run (tools/oracle/schedules.py records that), but where a case says why they do not."""

import json
from datetime import datetime
from pathlib import Path

import pytest

from reactors import schedule_forecast
from reactors.scheduled_jobs import jobs_of

GOLDEN = json.loads((Path(__file__).parents[1] / "golden/schedules.json").read_text())


@pytest.mark.parametrize("name", GOLDEN["cases"])
def test_jobs_run_when_those_of_salt_do(name, monkeypatch):
    # Where no run comes any more, all steps are made: a minute of them. Salt was watched for less than these.
    monkeypatch.setattr(schedule_forecast, "_MOST_STEPS", 1000)
    case = GOLDEN["cases"][name]
    begin = datetime.fromisoformat(GOLDEN["begin"]).timestamp()
    expected = case.get("here", case["salt"])
    found = [
        f"{datetime.fromtimestamp(run.at):%H:%M:%S} {run.job}"
        for run in schedule_forecast.next_runs(jobs_of(case["schedule"])[0], begin, 100)
        if run.at < begin + GOLDEN["seconds"]
    ]
    assert found == expected
    assert ("here" in case) == ("deviates" in case) == (found != case["salt"])
