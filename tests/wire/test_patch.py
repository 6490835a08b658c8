from __future__ import annotations

import contextlib
import copy
from typing import Any

import msgspec
import pytest
from effort import examples
from hypothesis import given, settings
from hypothesis import strategies as st

from wire.errors import PatchMismatch
from wire.patch import apply, diff, digest

_keys = st.text("abc", max_size=2) | st.integers(0, 2) | st.booleans() | st.sampled_from([0.0, 1.0, -0.0])
_leaves = st.none() | st.booleans() | st.integers(-2, 2) | st.sampled_from([0.0, 1.0, -0.0, 2.5]) | st.text(max_size=3)
documents = st.recursive(
    _leaves,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(_keys, inner, max_size=5),
    max_leaves=25,
)


@settings(max_examples=examples(400), deadline=None)
@given(documents, documents)
def test_applying_a_difference_gives_the_new_document_and_its_order(old: Any, new: Any) -> None:
    before = digest(old)
    assert digest(apply(old, diff(old, new))) == digest(new)
    assert digest(old) == before


@settings(max_examples=examples(200), deadline=None)
@given(documents, documents)
def test_the_law_holds_for_what_went_over_the_wire(old: Any, new: Any) -> None:
    def through(document: Any) -> Any:
        return msgspec.msgpack.decode(msgspec.msgpack.encode(document))

    assert digest(apply(through(old), through(diff(old, new)))) == digest(new)


@given(documents)
def test_a_document_does_not_differ_from_itself(document: Any) -> None:
    assert diff(document, copy.deepcopy(document)) == ["="]


def test_a_small_change_in_a_large_document_is_a_small_patch() -> None:
    old = {f"chunk{number}": {"name": f"/etc/{number}", "mode": "0644"} for number in range(1000)}
    new = copy.deepcopy(old)
    new["chunk500"]["mode"] = "0600"
    assert diff(old, new) == ["m", [["chunk500", ["m", [["mode", ["v", "0600"]]], [], None]]], [], None]


_patches = st.recursive(
    documents,
    lambda inner: st.one_of(
        st.just(["="]),
        st.tuples(st.just("v"), inner).map(list),
        st.tuples(
            st.just("m"),
            st.lists(st.tuples(_keys, inner).map(list), max_size=3) | inner,
            st.lists(_keys, max_size=2) | inner,
            st.none() | st.lists(_keys, max_size=3) | inner,
        ).map(list),
    ),
    max_leaves=12,
)


@settings(max_examples=examples(500), deadline=None)
@given(documents, _patches)
def test_a_hostile_patch_is_a_mismatch_and_nothing_else(old: Any, patch: Any) -> None:
    before = digest(old)
    with contextlib.suppress(PatchMismatch):
        apply(old, patch)
    assert digest(old) == before


@pytest.mark.parametrize(
    "patch",
    [
        None,
        7,
        "m",
        b"=",
        [],
        {},
        ["="] * 2,
        ["v"],
        ["m"],
        [["m"], [], [], None],
        ["m", [], ["absent"], None],
        ["m", [["a"]], [], None],
        ["m", [[["unhashable"], ["v", 1]]], [], None],
        ["m", [["absent", ["="]]], [], None],
        ["m", [["absent", ["m", [], [], None]]], [], None],
        ["m", [["absent", 5]], [], None],
        ["m", [], [], []],
        ["m", [], [], ["a", "a"]],
        ["m", [], [], ["a", "c"]],
        ["m", [], [], "ab"],
        ["m", [["a", ["m", [], [], None]]], [], None],
    ],
)
def test_a_patch_that_does_not_fit(patch: Any) -> None:
    with pytest.raises(PatchMismatch):
        apply({"a": 1, "b": 2}, patch)


def test_a_deeply_nested_patch_is_a_mismatch() -> None:
    document: Any = {}
    patch: Any = ["="]
    for _ in range(5000):
        document = {"a": document}
        patch = ["m", [["a", patch]], [], None]
    with pytest.raises(PatchMismatch, match="deep"):
        apply(document, patch)
