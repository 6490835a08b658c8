"""Jobs of a schedule as their settings say them; when one is due on a minion is in tests/minion/modules."""

import pytest

from reactors.schedule import BadSchedule
from reactors.scheduled_jobs import job_of


def test_once_names_a_day() -> None:
    assert job_of("x", {"function": "test.ping", "once": "2026-11-21T18:00:00"}, {}).due(
        previous=0.0, now=0.0, chance=0.0
    )


@pytest.mark.parametrize("text", ["5:00pm", "Monday 9:00am"])
def test_once_is_no_time_that_comes_again(text: str) -> None:
    with pytest.raises(BadSchedule, match="comes again"):
        job_of("x", {"function": "test.ping", "once": text}, {})
