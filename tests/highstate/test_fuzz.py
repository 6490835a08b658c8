"""Anybody's bytes: a compile gives low chunks or errors with a place. `make fuzz` does more of it."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from highstate.types import Pos, Problem
from tools.fuzz.targets import TARGETS, Broken, _look_at, mutated, seeds

BOUNDED = settings(max_examples=40, deadline=None, derandomize=True, database=None)


@pytest.mark.parametrize("target", TARGETS)
@BOUNDED
@given(data=st.binary(max_size=300) | st.text(max_size=200).map(lambda text: text.encode("utf-8", "surrogatepass")))
def test_any_bytes(target, data):
    TARGETS[target](data)


@pytest.mark.parametrize("target", TARGETS)
def test_texts_of_real_trees_with_changes(target):
    texts = seeds(target)
    for seed in range(60):
        TARGETS[target](mutated(target, seed, texts))


def test_a_seed_gives_the_same_text():
    texts = seeds("yaml")
    assert len(texts) > 150
    assert mutated("yaml", 3, texts) == mutated("yaml", 3, texts) != mutated("yaml", 4, texts)


@pytest.mark.parametrize(
    "problem",
    [
        Problem(message="", pos=Pos(file="a.sls")),
        Problem(message="Traceback (most recent call last)", pos=Pos(file="a.sls")),
        Problem(message="what", pos=Pos(file="")),
        Problem(message="x" * 200_000, pos=Pos(file="a.sls")),
    ],
)
def test_errors_that_are_of_no_use_are_found(problem):
    with pytest.raises(Broken):
        _look_at(problem)
