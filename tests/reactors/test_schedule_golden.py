"""Jobs run when Salt's run (tools/oracle/schedules.py records that), but where a case says why they do not."""

import json
from datetime import datetime
from pathlib import Path

import pytest

from reactors.schedule_forecast import next_runs
from reactors.scheduled_jobs import jobs_of

GOLDEN = json.loads((Path(__file__).parents[1] / "golden/schedules.json").read_text())


@pytest.mark.parametrize("name", GOLDEN["cases"])
def test_jobs_run_when_those_of_salt_do(name):
    case = GOLDEN["cases"][name]
    begin = datetime.fromisoformat(GOLDEN["begin"]).timestamp()
    found = [
        f"{datetime.fromtimestamp(run.at):%H:%M:%S} {run.job}"
        for run in next_runs(jobs_of(case["schedule"])[0], begin, 100)
        if run.at < begin + GOLDEN["seconds"]
    ]
    assert found == case.get("here", case["salt"])
    assert ("here" in case) == ("deviates" in case) == (found != case["salt"])
