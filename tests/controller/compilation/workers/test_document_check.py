"""What is taken for a document: its outline, its texts and its depth."""

from __future__ import annotations

from typing import Any

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from controller.compilation.workers.document_check import MOST_LEVELS, DocumentCheck
from highstate.data_limits import is_shallow

pack = msgspec.msgpack.encode


def document(chunk: Any = "", **pillar: Any) -> dict[str, Any]:
    whole = {"state": "test", "fun": "nop", "name": chunk}
    return {"chunks": {"a": whole}, "pillar": pillar, "files": {}, "contents": {}, "drift": {}}


def nested(levels: int) -> Any:
    value: Any = "x"
    for level in range(levels):
        value = [value] if level % 2 else {"k": value}
    return value


def test_what_was_looked_at_is_known():
    check = DocumentCheck()
    for _ in range(2):
        check.check(pack(document("one", own=[1, 2])))
    with pytest.raises(msgspec.ValidationError):
        check.check(pack({**document(), "chunks": {"a": {"state": 1, "fun": "nop", "name": ""}}}))
    with pytest.raises(msgspec.ValidationError):  # a value of the pillar is no chunk
        check.check(pack({**document(), "chunks": {"a": [1, 2]}}))


@pytest.mark.parametrize("key", [8080, -1, 1.5, True, None])
def test_keys_of_the_pillar_are_those_of_yaml(key: Any):
    DocumentCheck().check(pack({**document(), "pillar": {key: ["x"]}}))


@pytest.mark.parametrize("place", ["chunk", "pillar"])
def test_text_that_is_no_utf8_is_refused(place: str):
    good = pack(document("text") if place == "chunk" else document(own="text"))
    with pytest.raises(UnicodeDecodeError):
        DocumentCheck().check(good.replace(b"text", b"t\xff\xfet"))


@pytest.mark.parametrize("place", ["chunk", "pillar"])
@pytest.mark.parametrize(("levels", "taken"), [(MOST_LEVELS - 2, True), (MOST_LEVELS + 2, False)])
def test_the_depth_is_bounded(place: str, levels: int, taken: bool):
    deep = pack(document(nested(levels)) if place == "chunk" else document(own=nested(levels)))
    if taken:
        DocumentCheck().check(deep)
        return
    with pytest.raises(ValueError, match="nested more than"):
        DocumentCheck().check(deep)


@given(
    st.recursive(
        st.one_of(st.integers(-(2**60), 2**60), st.text(), st.binary(), st.floats(allow_nan=False)),
        lambda inner: st.one_of(st.lists(inner), st.dictionaries(st.text(), inner)),
        max_leaves=300,
    )
)
def test_the_depth_is_that_of_the_value(value: Any):
    assert is_shallow(value, MOST_LEVELS)
    DocumentCheck().check(pack(document(own=value)))
