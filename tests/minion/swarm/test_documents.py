"""Documents that are held in pieces are the documents that were sent."""

from __future__ import annotations

import pytest
from effort import examples
from hypothesis import given, settings
from hypothesis import strategies as st

from minion.swarm import documents
from minion.swarm.documents import HeldDocuments
from wire import patch
from wire.errors import PatchMismatch

KEYS = st.sampled_from(["a", "b", "c", "d"])
LEAVES = st.one_of(st.integers(-3, 3), st.booleans(), st.none(), st.sampled_from(["", "x", "y" * 40]), st.lists(KEYS))
VALUES = st.recursive(LEAVES, lambda inner: st.dictionaries(KEYS, inner, max_size=3), max_leaves=8)
DOCUMENTS = st.dictionaries(KEYS, st.one_of(LEAVES, st.dictionaries(KEYS, VALUES, max_size=4)), max_size=4)


def plain(held):
    """A held document with all that is in it."""
    return {key: plain(value) if isinstance(value, documents._Document) else value for key, value in held.items()}


@given(chain=st.lists(DOCUMENTS, min_size=1, max_size=5))
@settings(deadline=None, max_examples=examples(200))
def test_what_patches_give_is_what_was_sent(chain):
    held, before = HeldDocuments(), None
    for document in chain:
        base = "" if before is None else patch.digest(before)
        change = ["v", document] if before is None else patch.diff(before, document)
        held.take(base, patch.digest(document), change)
        if before is not None:
            held.leave(base)
        found = plain(held.get(patch.digest(document)))
        assert patch.digest(found) == patch.digest(document)
        before = document
    assert len(held) == 1


def test_equal_pieces_are_kept_once_and_forgotten_after_their_documents(monkeypatch):
    monkeypatch.setattr(documents, "_FEWEST", 30)
    held = HeldDocuments()
    made = [{"chunks": {f"c{at}": {"name": at} for at in range(20)}, "pillar": {"own": own}} for own in range(400)]
    for each in made[:10]:
        held.take("", patch.digest(each), ["v", each])
    assert (len(held), held.pieces) == (10, 20 + 10)
    for old, new in zip(made, made[10:], strict=False):
        held.take("", patch.digest(new), ["v", new])
        held.leave(patch.digest(old))
        assert held.pieces <= 2 * (20 + 10 + 2)
    assert len(held) == 10
    assert plain(held.get(patch.digest(made[-1]))) == made[-1]


@pytest.mark.parametrize("change", [["v", [1]], ["v", {"a": 2}], ["m", [["z", ["m", [], [], None]]], [], None], "x"])
def test_what_does_not_give_the_digest_is_refused(change):
    held, document = HeldDocuments(), {"a": {"b": 1}}
    digest = patch.digest(document)
    held.take("", digest, ["v", document])
    with pytest.raises(PatchMismatch):
        held.take(digest, "0" * 64, change)
    assert plain(held.get(digest)) == document
