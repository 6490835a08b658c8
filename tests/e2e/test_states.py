"""Each state function on this very machine: what is planned is done, once, and a test run writes nothing.

The cases are those of docs/states.md, which `ops/states_table.py` writes.
"""

import os
import shutil

import pytest
from state_cases import CASES
from states_table import installed, judge

pytestmark = [
    pytest.mark.e2e,
    pytest.mark.timeout(300),
    pytest.mark.skipif(os.geteuid() != 0 or shutil.which("apt-get") is None, reason="needs root and apt"),
]


@pytest.fixture(scope="module", autouse=True)
def packages():
    with installed(sorted({one for case in CASES for one in case.needs})):
        yield


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.fun)
def test_a_state_does_what_it_says_and_once(case):
    row = judge(case)
    assert row.holds, row.said
    assert not row.said
