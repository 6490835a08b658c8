"""What counts as success: held against salt-run 3008.3."""

import pytest

from controller.runners.outcome import outcome_of


@pytest.mark.parametrize(
    ("value", "success"),
    [
        (None, True),
        (False, True),
        ({}, True),
        ("text", True),
        ({"Error": "no"}, False),
        ({"retcode": 0}, True),
        ({"retcode": 2}, False),
        ({"data": {"retcode": 1}, "outputter": "highstate"}, False),
        ({"data": {"web1": {}}, "outputter": "highstate"}, True),
        ({"data": [1]}, True),
    ],
)
def test_what_counts_as_success(value, success):
    assert outcome_of(value) == (value, success)
