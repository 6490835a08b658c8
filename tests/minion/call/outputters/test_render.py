"""Every outputter takes every value: what a function returns is not known before."""

import pytest

from minion.call.outputters.render import render


@pytest.mark.parametrize("value", [True, None, 3, "text", ["a", 1], {}, {"a": 1}, {"a": {"b": 1}}, [], [[1]], b"x"])
@pytest.mark.parametrize("outputter", ["highstate", "nested", "table", "txt", "raw", "pprint", "yaml", "quiet"])
def test_no_value_is_too_much_for_an_outputter(outputter, value):
    assert isinstance(render(value, outputter, minion_id="web1"), str)


def test_errors_of_a_compile_are_shown_as_salt_shows_them():
    text = render(["No matching sls found for 'x'", "two\nlines"], "highstate", minion_id="web1")
    lines = ["web1:", "    Data failed to compile:", "----------", "    No matching sls found for 'x'", "----------"]
    assert text.splitlines() == [*lines, "    two", "    lines"]


def test_what_is_no_run_of_states_is_shown_as_it_is():
    assert render({"a": {"b": 1}}, "highstate", minion_id="web1") == render({"a": {"b": 1}}, "nested", minion_id="web1")
