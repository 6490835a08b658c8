"""The limits of sizes and dependencies that CONTRIBUTING names hold."""

import statistics

import pytest

from tools import structure


@pytest.fixture(scope="module")
def functions():
    return list(structure.functions())


def test_no_folder_is_crowded():
    assert structure.crowded_folders() == {}


def test_functions_are_short(functions):
    assert [each for each in functions if each.lines > structure.LONGEST_FUNCTION] == []
    assert statistics.median(each.lines for each in functions) <= structure.MEDIAN_FUNCTION


def test_few_functions_are_complex(functions):
    found = [each for each in functions if each.complexity > structure.MOST_COMPLEX]
    assert len(found) <= structure.COMPLEX_FUNCTIONS, found


def test_no_modules_import_each_other():
    assert structure.cycles() == []


def test_no_folders_import_each_other():
    assert structure.folder_cycles() == []


def test_one_name_is_one_type():
    assert structure.repeated_names() == {}


def test_no_code_is_dead():
    assert structure.dead_code() == []
