"""States of documents that are equal become the same objects, within bounds of count and bytes."""

import msgspec
import pytest

from controller.reconcile import documents as of_documents
from controller.reconcile.documents import ChunkPool, Documents
from controller.reconcile.links import LinkFinder
from controller.reconcile.plan import plan
from controller.store import Store
from highstate.desired import Desired
from highstate.types import Chunk
from wire.codec import decode_to_minion, encode
from wire.patch import apply, digest


def chunk(number, text="same", **arguments):
    return Chunk(
        state="file",
        fun="managed",
        id=f"one{number}",
        name=f"/etc/{number}",
        sls="app",
        saltenv="base",
        order=number,
        arguments={"contents": text, **arguments},
    )


def packed(number, text="same"):
    return msgspec.msgpack.encode(chunk(number, text).as_salt())


def document_of(minion, text):
    """Nineteen states as all have them, and one with the minion's own value, which is watched."""
    chunks = [chunk(number) for number in range(19)]
    chunks += [chunk(19, f"{minion} {text}"), chunk(20, watch=[{"file": "one19"}])]
    return Desired(
        chunks={each.tag: each for each in chunks}, pillar={"own": minion, "list": [1, {"a": 2}]}
    ).as_document()


@pytest.fixture
def store(tmp_path):
    opened = Store(f"sqlite:///{tmp_path}/store.sqlite")
    yield opened
    opened.close()


def put(store, document):
    raw = msgspec.msgpack.encode(document)
    with store.transaction():
        store.documents.put({digest(document): raw})
    return digest(document)


def test_equal_bytes_are_one_object():
    pool = ChunkPool()
    one = pool.take(packed(1))
    assert pool.take(packed(1)) is one
    assert pool.take(packed(2)) is not one
    assert one.chunk == chunk(1)
    assert one.low == chunk(1).as_salt()


def test_what_was_not_asked_for_lately_is_forgotten(monkeypatch):
    monkeypatch.setattr(of_documents, "MOST", 10)
    pool = ChunkPool()
    one, two = pool.take(packed(1)), pool.take(packed(2))
    for number in range(3, 20):
        pool.take(packed(number))
        assert pool.take(packed(1)) is one
    for number in range(20, 31):
        pool.take(packed(number))
    assert pool.take(packed(2)) is not two


@pytest.mark.parametrize(("limit", "value"), [("LARGEST", 50), ("MOST_BYTES", 50)])
def test_large_ones_are_not_held(monkeypatch, limit, value):
    monkeypatch.setattr(of_documents, limit, value)
    pool = ChunkPool()
    one = pool.take(packed(1))
    pool.take(packed(2))
    pool.take(packed(3))
    assert pool.take(packed(1)) is not one
    assert pool.take(packed(1)) == one


def test_documents_share_states_and_say_the_same_as_alone(store):
    documents = Documents(store)
    made = {text: [document_of(name, text) for name in ("web1", "web2")] for text in ("old", "new")}
    digests = {text: [put(store, each) for each in some] for text, some in made.items()}
    finder = LinkFinder()
    for at in (0, 1):
        old, new = digests["old"][at], digests["new"][at]
        assert documents.document(new) == made["new"][at]
        assert list(documents.document(new)["chunks"]) == list(made["new"][at]["chunks"])
        assert documents.desired(new) == Desired.from_document(made["new"][at])
        message = documents.desire(7, new, old)
        assert apply(made["old"][at], message.patch) == made["new"][at]
        assert len(msgspec.msgpack.encode(message.patch)) < 300
        alone = plan(Desired.from_document(made["old"][at]), Desired.from_document(made["new"][at]))
        assert plan(documents.desired(old), documents.desired(new), finder.links_of) == alone
        assert [each.chunk.id for each in alone.changes] == ["one19", "one20"]
    one, two = (documents.desired(each).chunks for each in digests["new"])
    assert sum(one[key] is two[key] for key in one) == 20


def test_a_whole_document_is_sent_as_it_is_kept(store):
    documents, made = Documents(store), document_of("web1", "new")
    for held in ("", "f" * 64):
        message = decode_to_minion(encode(documents.desire(7, put(store, made), held)))
        assert (message.generation, message.base, message.digest) == (7, "", digest(made))
        assert apply(None, message.patch) == made
        assert digest(apply(None, message.patch)) == message.digest
    with pytest.raises(LookupError):
        documents.desire(7, "f" * 64, "")


def test_documents_are_kept_within_a_bound_of_bytes(store, monkeypatch):
    monkeypatch.setattr(of_documents, "MOST_DOCUMENTS", 2)
    monkeypatch.setattr(of_documents, "DOCUMENT_BYTES", 4_000)
    documents = Documents(store)
    small = [put(store, document_of(name, "text")) for name in ("web1", "web2")]
    kept = [documents.document(each) for each in small]
    assert all(documents.document(each) is one for each, one in zip(small, kept, strict=True))
    huge = put(store, document_of("web3", "x" * 10_000))
    assert documents.document(huge)["pillar"]["own"] == "web3"
    assert documents.document(huge) is not documents.document(huge)
    assert all(documents.document(each) is one for each, one in zip(small, kept, strict=True))
    documents.document(put(store, document_of("web4", "text")))
    assert documents.document(small[0]) is not kept[0]
