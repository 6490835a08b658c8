"""Runs as text: short, whatever a minion says of its states."""

import pytest

from controller.observe.run_text import run_summary, short, typed_arguments, without_secrets


def test_a_summary_names_what_changed():
    states = {f"file_|-{name}_|-{name}_|-managed": {"result": True, "changes": {"a": 1}} for name in "abcd"}
    assert run_summary(states) == "a (file.managed), b (file.managed), c (file.managed) (+1 more)"


@pytest.mark.parametrize("result", [True, False])
def test_a_summary_is_short_however_long_the_names_of_states_are(result):
    states = {f"{at}{'x' * 100_000}_|-{'y' * 100_000}_|-z_|-managed": {"result": result, "changes": 1} for at in "abc"}
    assert len(run_summary(states)) < 2000
    assert len(short("x_|-" * 100_000)) < 1000


def test_a_summary_is_made_of_states_without_a_result_and_of_an_empty_error():
    assert run_summary({"a": {}}, error="\n ") == " (a.)"


def test_what_may_be_secret_is_no_text_of_an_event():
    given = {"prof": "web", "userdata": "hidden", "create": {"password": "hidden", "ex_userdata": "hidden"}}
    assert "hidden" not in str(without_secrets("cloud.profile", (), given))
    assert "hidden" not in str(typed_arguments("cloud.profile", (), given))
