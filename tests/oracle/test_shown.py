"""Runs as text, to the letter what Salt's outputter `highstate` writes."""

import os
from pathlib import Path

import pytest

from tools.oracle.runs.goldens import SHOWN, our_text
from tools.oracle.runs.runs import SaltRuns
from tools.oracle.runs.shown_cases import shown_cases

CASES = {name: rest for name, *rest in shown_cases()}


def recorded(name):
    return (SHOWN / f"{name}.txt").read_text()


def test_each_case_is_recorded():
    assert {path.stem for path in SHOWN.glob("*.txt")} == set(CASES)


@pytest.mark.parametrize("name", CASES)
def test_a_run_is_shown_as_salt_shows_it(name):
    assert our_text(name) == recorded(name)


def test_what_is_recorded_is_what_salt_writes():
    venv = os.environ.get("SALT_VENV")
    if not venv:
        pytest.skip("SALT_VENV names no virtualenv with Salt")
    with SaltRuns(Path(venv)) as salt:
        for name, (running, opts, color) in CASES.items():
            assert salt.show(running, opts, color) + "\n" == recorded(name)
