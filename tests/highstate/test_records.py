"""What is frozen to the type checker alone is, besides, what a frozen dataclass is."""

import pickle
from dataclasses import dataclass as usual
from dataclasses import fields, replace

import pytest

from highstate.records import dataclass
from highstate.types import Chunk, Pos, StateResult


@dataclass(frozen=True, slots=True, kw_only=True)
class Quick:
    name: str
    count: int = 0


@usual(frozen=True, slots=True, kw_only=True)
class Frozen:
    name: str
    count: int = 0


def test_as_a_frozen_dataclass():
    one, other = Quick(name="a"), Quick(name="a", count=1)
    assert one != other
    assert replace(one, count=1) == other
    assert hash(other) == hash(Quick(name="a", count=1)) == hash(Frozen(name="a", count=1))
    assert repr(other) == repr(Frozen(name="a", count=1)).replace("Frozen", "Quick")
    assert pickle.loads(pickle.dumps(other)) == other
    with pytest.raises(TypeError):
        Quick("a")
    with pytest.raises(AttributeError):
        one.more = 1  # slots


@dataclass(slots=True)
class Open:
    name: str


def test_one_that_is_not_frozen_has_no_hash():
    with pytest.raises(TypeError):
        hash(Open("a"))


@pytest.mark.parametrize("kind", [Chunk, Pos, StateResult])
def test_those_that_are_made_by_the_thousand_have_no_dict(kind):
    assert "__dict__" not in dir(kind)
    assert all(one.kw_only for one in fields(kind))
