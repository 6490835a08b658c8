"""Runs of states as Salt runs them: by what is recorded of it everywhere, and by Salt itself where there is one."""

import os
import re
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tools.oracle.runs.cases import all_cases, drawn
from tools.oracle.runs.goldens import DEVIATIONS, RECORDED, lines, read, unexplained
from tools.oracle.runs.runs import SaltRuns, ours

CASES = {case.name: case for case in all_cases()}


@pytest.fixture(scope="module")
def salt_runs():
    venv = os.environ.get("SALT_VENV")
    if not venv:
        pytest.skip("SALT_VENV names no virtualenv with Salt")
    with SaltRuns(Path(venv)) as running:
        yield running


def test_each_case_is_recorded():
    assert {path.stem for path in RECORDED.glob("*.txt")} == set(CASES)


@pytest.mark.parametrize("name", CASES)
def test_a_run_is_what_salt_makes_of_it(name):
    mine, salts = read(name)
    assert lines(ours(CASES[name])) == mine
    assert unexplained(CASES[name], mine, salts) == []


@pytest.mark.parametrize("name", CASES)
def test_what_is_recorded_is_what_salt_says(salt_runs, name):
    assert lines(salt_runs.run(CASES[name])) == read(name)[1]


@pytest.mark.timeout(600)
@settings(max_examples=60, deadline=None, derandomize=True, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(seed=st.integers(0, 10**6))
def test_random_graphs_run_as_in_salt(salt_runs, seed):
    case = drawn(seed)
    assert unexplained(case, lines(ours(case)), lines(salt_runs.run(case))) == [], case.text


@settings(max_examples=40, deadline=None, derandomize=True)
@given(seed=st.integers(0, 10**6))
def test_a_graph_runs_each_state_once_and_after_what_it_requires(seed):
    case = drawn(seed)
    found = ours(case)
    if "errors" in found:
        return
    ran = found["log"]["lines"]
    listening = {key.split("_|-")[1].removeprefix("listener_") for key in found if "_|-listener_" in key}
    assert all(ran.count(own_id) <= 1 + (own_id in listening) for own_id in ran)
    assert not case.test or not ran


@pytest.mark.parametrize("deviation", DEVIATIONS, ids=lambda deviation: deviation.why)
def test_each_deviation_is_there(deviation):
    assert any(re.fullmatch(deviation.case, name) for name in CASES)
