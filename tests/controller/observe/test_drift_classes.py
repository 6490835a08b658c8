"""Classes of drift, as transcripts: what runs said of one state, and what its difference counts as."""

import itertools

import pytest
from hypothesis import given
from hypothesis import strategies as st

from controller.observe.drift_classes import (
    FLAP_WINDOW,
    FORGET,
    MOST_SEEN,
    MOST_STATES,
    acts_each_time,
    counted,
    drift_class,
    noted,
)
from controller.store import SeenState

KEY = "file_|-conf_|-/etc/conf_|-managed"
ENTRIES = {
    "check ok": ({"result": True}, True, False),
    "check drifted": ({"result": None, "changes": {"diff": "x"}}, True, False),
    "check after push drifted": ({"result": None, "changes": {"diff": "x"}}, True, True),
    "check ignored": ({"result": True, "ignored": {"mode": {}}}, True, False),
    "put right": ({"result": True, "changes": {"diff": "x"}}, False, False),
    "put right, and again": ({"result": True, "changes": {"diff": "x"}, "not_convergent": True}, False, False),
    "failed": ({"result": False}, False, False),
    "not run": ({"result": True, "__state_ran__": False}, False, False),
}


def told(transcript, past=None, start=1000.0, step=60.0):
    past = dict(past or {})
    for number, line in enumerate(transcript):
        entry, test, after_push = ENTRIES[line]
        past = noted(past, {KEY: entry}, start + number * step, test=test, after_push=after_push)
    return past, drift_class(past.get(KEY, ()), start + len(transcript) * step)


@pytest.mark.parametrize(
    ("transcript", "wanted"),
    [
        (["check ok"], None),
        (["check drifted"], "corrective"),
        (["check drifted", "check drifted"], "corrective"),
        (["check drifted", "put right"], None),
        (["check drifted", "failed"], "corrective"),
        (["check drifted", "not run"], "corrective"),
        (["check after push drifted"], "intended"),
        (["check drifted", "check after push drifted"], "corrective"),
        (["check after push drifted", "put right", "check drifted"], "corrective"),
        (["put right, and again", "check drifted"], "not-convergent"),
        (["put right, and again", "check drifted", "check drifted"], "not-convergent"),
        (["put right, and again", "check after push drifted"], "not-convergent"),
        (["put right, and again", "put right", "check drifted"], "corrective"),
        (["put right, and again", "check ok", "check drifted"], "corrective"),
        (["check drifted", "put right"] * 3 + ["check drifted"], "flapping"),
        (["check drifted", "put right"] * 2 + ["check drifted"], "corrective"),
        (["check ignored"], None),
    ],
)
def test_transcripts(transcript, wanted):
    assert told(transcript)[1] == wanted


def test_somebody_who_edits_between_all_checks_is_never_taken_for_a_state_that_acts():
    past, found = told(["check drifted", "put right"] * 50 + ["check drifted"])
    assert found == "flapping"
    assert acts_each_time(past) == frozenset()


def test_flapping_ends_with_its_window():
    past, _ = told(["check drifted", "put right"] * 4)
    assert told(["check drifted"], past, start=1000.0 + FLAP_WINDOW + 600)[1] == "corrective"


def test_what_is_counted():
    past, _ = told(["put right, and again", "check drifted"])
    states = {KEY: {"result": None}, "other": {"result": None}, "third": {"result": True, "ignored": {"mode": {}}}}
    past = noted(past, states, 2000.0, test=True, after_push=False)
    assert counted(past, states, 2000.0) == {"not-convergent": 1, "corrective": 1, "ignored": 1}


def test_what_is_in_order_for_long_is_forgotten():
    past, _ = told(["check drifted", "put right"])
    assert noted(past, {}, 1000.0 + 2 * FORGET, test=True, after_push=False) == {}


@given(st.lists(st.tuples(st.sampled_from(sorted(ENTRIES)), st.integers(0, 400)), max_size=60))
def test_the_past_is_bounded_and_tells_changes_alone(lines):
    past = {}
    for at, (line, number) in enumerate(lines):
        entry, test, after_push = ENTRIES[line]
        states = {f"{KEY}{number + more}": entry for more in range(10)}
        past = noted(past, states, float(at), test=test, after_push=after_push)
    assert len(past) <= MOST_STATES
    for seen in past.values():
        assert len(seen) <= MOST_SEEN
        assert all(one.what != two.what for one, two in itertools.pairwise(seen))
    assert all(isinstance(one, SeenState) for seen in past.values() for one in seen)
