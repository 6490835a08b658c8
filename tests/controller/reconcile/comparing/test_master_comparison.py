"""What a Salt master compiles for a minion beside the document of the minion; secrets are compared, and not shown."""

import pytest

from controller.reconcile.comparing.master_comparison import (
    MOST_DIFFERENCES,
    compared_with_master,
    pillar_differences,
)
from controller.schema.fleet.comparisons import SaltsSide
from highstate.desired import Desired, chunk_keys
from highstate.redaction import Redaction
from highstate.types import Chunk

SECRET = "correct-horse"
REDACTION = Redaction({SECRET: "a1b2"})


def low(name="a", order=1, **more):
    return {
        "state": "file",
        "name": f"/{name}",
        "__sls__": "web",
        "__env__": "base",
        "__id__": name,
        "order": order,
        "fun": "managed",
        **more,
    }


def document(*chunks, **pillar):
    return Desired(chunks=chunk_keys([Chunk.from_salt(each) for each in chunks]), pillar=pillar)


def compare(theirs, mine, *, errors=(), version="3008.1"):
    return compared_with_master(theirs, mine, errors, REDACTION, version)


def side(*chunks, **more):
    return SaltsSide(minion="web1", low=chunks, **more)


def test_the_same():
    found = compare(side(low(contents=SECRET), pillar={"a": {"b": [1]}}), document(low(contents=SECRET), a={"b": (1,)}))
    assert (found.verdict, found.chunks, found.differences, found.pillar) == ("same", 1, (), ())


def test_what_differs_is_shown_without_secrets():
    found = compare(
        side(low(contents=f"key {SECRET}", mode="0600"), pillar={"key": SECRET, "salt": 1, "deep": {"x": 1, "y": 2}}),
        document(low(contents="key other", mode="0600"), key="other", ours=1, deep={"x": 1, "y": 3}),
    )
    assert found.verdict == "different"
    [difference] = found.differences
    assert (difference.kind, difference.chunk) == ("arguments", "a: file.managed")
    assert difference.arguments == {"contents": ('"key <secret a1b2>"', '"key other"')}
    assert [(each.kind, each.key) for each in found.pillar] == [
        ("value", "deep:y"),
        ("value", "key"),
        ("only Saltern", "ours"),
        ("only Salt", "salt"),
    ]
    assert SECRET not in str(found)


def test_an_argument_whose_name_says_that_it_is_secret_is_not_shown():
    found = compare(side(low(password="one-of-salt")), document(low(password="one-of-ours")))
    assert found.verdict == "different"
    assert "one-of" not in str(found)


def test_a_secret_in_the_name_of_a_state_is_not_shown():
    found = compare(side(low(f"x-{SECRET}")), document())
    assert found.differences[0].kind == "only Salt"
    assert SECRET not in str(found)


@pytest.mark.parametrize(("version", "kinds"), [("3008.1", ["order"]), ("3006.27", []), ("", [])])
def test_the_order_is_compared_where_salt_has_one(version, kinds):
    theirs, mine = side(low("a", 1), low("b", 2)), document(low("b", 1), low("a", 2))
    assert [each.kind for each in compare(theirs, mine, version=version).differences] == kinds


def test_a_chunk_that_is_predicted_and_run_counts_once():
    twice = [low("a", 1, __prereq__=True), low("b", 2), low("a", 3, __prereq__=True)]
    assert compare(side(*twice), document(*twice)).verdict == "same"


@pytest.mark.parametrize(
    ("theirs", "mine", "errors", "verdict", "why"),
    [
        (side(low()), None, (), "not compared", "Saltern has compiled nothing yet"),
        (side(low()), document(low()), ("web.sls:1: no",), "different", "Saltern does not compile it, and Salt does"),
        (SaltsSide(minion="web1", errors=("bad top",)), document(low()), (), "different", "Salt does not compile it"),
        (SaltsSide(minion="web1", errors=(SECRET,)), document(low()), ("no",), "not compared", "neither compiles it"),
    ],
)
def test_who_does_not_compile_it(theirs, mine, errors, verdict, why):
    found = compare(theirs, mine, errors=errors)
    assert found.verdict == verdict
    assert found.why.startswith(why)
    assert SECRET not in found.why


def test_differences_are_bounded():
    many = [low(f"x{number}", number) for number in range(MOST_DIFFERENCES + 5)]
    found = compare(side(*many, pillar={}), document(**{f"k{number}": 1 for number in range(MOST_DIFFERENCES + 7)}))
    assert (len(found.differences), len(found.pillar), found.left_out) == (MOST_DIFFERENCES, MOST_DIFFERENCES, 12)


def test_pillars_are_compared_as_json_has_them():
    assert not list(pillar_differences({"1": {"a": None}}, {"1": {"a": None}}))
    assert [each.key for each in pillar_differences({"a": {"b": 1}}, {"a": 1})] == ["a"]
