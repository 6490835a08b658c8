"""Which grains the event of a start has, and how long the controller waits for them."""

import pytest

from gateway.minions.starts import FIRST_START_SECONDS, StockStart
from wire.messages import MOST_START_GRAINS


def test_the_first_start_is_waited_for_and_its_names_are_kept(tmp_path):
    start = StockStart(tmp_path)
    assert not start.known
    assert start.said({"os": "Debian", "roles": ["web"]}), "whoever waits is told"
    assert (start.known, start.grains) == (True, ("os", "roles"))
    again = StockStart(tmp_path)
    assert (again.known, again.grains) == (True, ("os", "roles"))
    assert not again.said({"os": "Debian"}), "the controller has told that start"
    assert StockStart(tmp_path).grains == ("os",)


def test_a_start_between_two_looks_is_told_and_no_other_is(tmp_path):
    start = StockStart(tmp_path)
    start.let_in()
    assert start.said({})
    start.told()
    assert not start.said({}), "its other tag"
    start.let_in()  # for the controller it has never been away
    assert start.said({})
    assert not start.said({}), "its other tag"
    start.let_in()
    start.told()  # it has been away
    assert not start.said({})


@pytest.mark.parametrize("grains", [None, {}, [], "x", 3])
def test_one_without_the_option_is_known_too(tmp_path, grains):
    assert StockStart(tmp_path).said(grains)
    kept = StockStart(tmp_path)
    assert (kept.known, kept.grains) == (True, ())


def test_one_that_says_no_start_is_not_waited_for_for_ever(tmp_path):
    start = StockStart(tmp_path)
    assert not start.is_overdue(1000.0), "nobody waits"
    start.waits(10.0)
    start.waits(20.0)
    assert not start.is_overdue(9.9 + FIRST_START_SECONDS)
    assert start.is_overdue(10.0 + FIRST_START_SECONDS)
    assert start.known
    assert not start.is_overdue(1000.0), "it is said once"
    assert not StockStart(tmp_path).known, "its next start may say more"


def test_names_are_bounded(tmp_path):
    start = StockStart(tmp_path)
    start.said({"x" * 1000: 1, **{f"g{number}": 1 for number in range(1000)}})
    assert len(start.grains) == MOST_START_GRAINS
    assert start.grains[0] == "x" * 256
    (tmp_path / "start_grains.json").write_text("{")
    assert not StockStart(tmp_path).known
