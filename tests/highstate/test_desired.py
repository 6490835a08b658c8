"""The document that a minion holds says the same as the compile, and can be read back."""

from hypothesis import given
from hypothesis import strategies as st

from highstate.desired import Desired, desired_of
from highstate.types import Chunk, Compiled, Content

names = st.text("abc/._-", min_size=1, max_size=8)
values = st.recursive(
    st.none() | st.booleans() | st.integers(-5, 5) | names,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(names, inner, max_size=3),
    max_leaves=6,
)
chunks = st.builds(
    Chunk,
    state=names,
    fun=names,
    id=names,
    name=names,
    sls=names,
    saltenv=st.sampled_from(["base", "qa"]),
    order=st.integers(0, 20) | st.sampled_from([1.5, 10000.0001]),
    arguments=st.dictionaries(names, values, max_size=3),
)


@given(st.lists(chunks, max_size=6), st.dictionaries(names, values, max_size=3))
def test_a_document_reads_back(lowstate, pillar):
    contents = {chunk.tag: Content(digest=chunk.id, files={("base", chunk.name): "oid"}) for chunk in lowstate[::2]}
    compiled = Compiled(minion_id="m", lowstate=tuple(lowstate), pillar=pillar, contents=contents)
    desired = desired_of(compiled, drift={"interval": 60})
    assert Desired.from_document(desired.as_document()) == desired
    assert list(desired.chunks.values()) == lowstate


def test_a_chunk_that_stands_twice_gets_two_keys():
    chunk = Chunk(state="cmd", fun="run", id="x", name="x", sls="a")
    desired = desired_of(Compiled(minion_id="m", lowstate=(chunk, chunk)))
    assert list(desired.chunks) == ["cmd_|-x_|-x_|-run", "cmd_|-x_|-x_|-run#2"]


def test_no_revision_is_in_it():
    one = desired_of(Compiled(minion_id="m", seconds=1.0))
    assert one == desired_of(Compiled(minion_id="m", seconds=2.0))
