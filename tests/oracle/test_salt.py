"""The same trees through real Salt and through us. Skipped where there is no Salt; the goldens run everywhere."""

import os
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tools.oracle.client import difference, ours
from tools.oracle.formulas import compare, formulas
from tools.oracle.goldens import GOLDEN, KINDS, archive, can_answer, job_of, random_case

CASES = archive.read_cases(GOLDEN)


def both(salt, case):
    """What differs between Salt's answer and ours."""
    job = job_of(case)
    asked = salt.ask(job)
    mine = list(ours(job))
    return [difference(one, other) for one, other in zip(mine, asked, strict=True)]


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_golden_is_what_salt_says(salt, case):
    job = job_of(case)
    [answer] = salt.ask(job)
    if case.differs:
        return
    assert bool(answer.errors) == (case.lowstate is None), answer
    if case.lowstate is not None:
        assert tuple(case.lowstate) == answer.low


@pytest.mark.timeout(600)
@pytest.mark.parametrize("kind", KINDS)
@settings(max_examples=60, deadline=None, derandomize=True, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(seed=st.integers(0, 10**6))
def test_random_trees_compile_as_in_salt(salt, kind, seed):
    case = random_case(kind, seed)
    if not can_answer(salt, case):
        return
    assert both(salt, case) == [""], "".join(f"-- {name} --\n{text}" for name, text in case.sections.items())


@pytest.mark.timeout(3600)
def test_formulas_compile_as_in_salt(salt):
    folder = os.environ.get("FORMULAS")
    if not folder:
        pytest.skip("FORMULAS names no folder with checked-out formulas")
    outcomes = [compare(path, salt) for path in formulas(Path(folder))]
    assert [one for outcome in outcomes for one in outcome.different] == []
    assert sum(outcome.equal for outcome in outcomes) > 0
