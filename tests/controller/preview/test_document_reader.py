"""Documents that are read together."""

from __future__ import annotations

import msgspec
from hypothesis import given
from hypothesis import strategies as st

from controller.preview.document_reader import DocumentReader
from highstate.desired import Desired
from highstate.types import Chunk

text = st.text(max_size=3)
chunk = st.builds(
    Chunk,
    state=text,
    fun=text,
    id=text,
    name=text,
    sls=text,
    order=st.integers(0, 9),
    arguments=st.dictionaries(st.sampled_from(["a", "b", "require"]), st.one_of(text, st.lists(text, max_size=2))),
)
documents = st.builds(
    Desired,
    chunks=st.dictionaries(text, chunk, max_size=4),
    pillar=st.dictionaries(text, text, max_size=2),
    files=st.dictionaries(text, st.dictionaries(text, text, max_size=2), max_size=2),
    modes=st.dictionaries(text, st.dictionaries(text, st.integers(0, 0o777), max_size=2), max_size=1),
    modules=st.dictionaries(text, text, max_size=2),
    contents=st.dictionaries(text, text, max_size=2),
)


@given(st.lists(documents, max_size=4))
def test_each_is_read_as_it_is_alone(many: list[Desired]) -> None:
    reader = DocumentReader()
    packed = [msgspec.msgpack.encode(each.as_document()) for each in many]
    alone = [Desired.from_document(msgspec.msgpack.decode(each)) for each in packed]
    assert [reader.read(each) for each in packed] == alone


def test_equal_chunks_are_one_object() -> None:
    same = Chunk(state="pkg", fun="installed", id="x", name="x", sls="one")
    reader = DocumentReader()
    packed = [
        msgspec.msgpack.encode(Desired(chunks={"k": same}, pillar={"id": minion}).as_document()) for minion in "ab"
    ]
    first, second = map(reader.read, packed)
    assert first.chunks["k"] is second.chunks["k"]
    assert first.pillar != second.pillar
