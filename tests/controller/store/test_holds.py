"""What minions hold of pull requests: in the place of their desired documents, until it is forgotten."""

from __future__ import annotations

import math

import pytest

from controller.reconcile.holds import is_superseded
from controller.store import AppliedRecord, DesiredRecord, HoldRecord, RevisionRecord, Store
from controller.store.holds import DocumentGone


@pytest.fixture
def store(store_url):
    with Store(store_url) as opened:
        for minion in ("web1", "web2"):
            opened.minions.seen(minion, 1.0, grains={})
        opened.revisions.add(RevisionRecord(digest="main", label="main", first_seen=1.0))
        opened.desired.put([desired("web1"), desired("web2")])
        opened.documents.put({"head": b"document"})
        yield opened


def desired(minion):
    return DesiredRecord(
        minion=minion, generation=1, revision="main", compiled_revision="main", digest="base", document=b"base"
    )


def hold(minion="web1", **more):
    return HoldRecord(
        **{
            "minion": minion, "digest": "head", "revision": "pull", "forge": "hub", "project": "org/states",
            "number": 7,
            "head": "a" * 40, "base": "b" * 40, "user": "max", "at": 2.0, "until": 9.0, **more,
        }
    )  # fmt: skip


def test_what_is_held_takes_the_place_of_what_is_desired(store):
    store.revisions.add(RevisionRecord(digest="pull", label="#7@aaaaaaaa", first_seen=2.0, pull="hub:org/states#7"))
    assert store.holds.put([hold(), hold("gone")]) == ["web1"], "that minion was forgotten"
    one, other = store.minions.status()
    assert (one.desired.digest, one.desired.compiled_revision, one.attempted_label) == ("head", "pull", "#7@aaaaaaaa")
    assert one.hold == hold()
    assert (other.desired.digest, other.attempted_label, other.hold) == ("base", "main", None)
    assert store.desired.get("web1").digest == "base", "compiles go on"
    assert store.holds.of_pull("hub", "org/states", 7) == store.holds.all() == [hold()]
    assert store.holds.of_pull("hub", "org/states", 8) == []
    store.holds.delete(["web1"])
    assert store.minions.status(["web1"])[0].desired.digest == "base"


def test_a_newer_hold_takes_the_place_of_an_older_one(store):
    store.holds.put([hold()])
    store.holds.put([hold(number=8, until=20.0)])
    assert [(each.number, each.until) for each in store.holds.all()] == [(8, 20.0)]


def test_a_document_that_is_gone_is_not_held(store):
    with pytest.raises(DocumentGone):
        store.holds.put([hold(digest="nowhere")])
    assert store.holds.all() == []


def test_documents_and_revisions_that_are_held_are_kept(store):
    store.revisions.add(RevisionRecord(digest="pull", label="#7@aaaaaaaa", first_seen=2.0, pull="hub:org/states#7"))
    store.holds.put([hold()])
    store.applied.put(AppliedRecord(minion="web2", generation=1, digest="base", revision="main", at=1.0, outcome="ok"))
    store.prune(keep=0)
    assert store.documents.get("head") == b"document"
    assert store.revisions.get("pull").label == "#7@aaaaaaaa"
    store.minions.delete("web1")
    assert store.holds.all() == []
    store.prune(keep=0)
    assert store.documents.get("head") is None


def test_a_revision_of_a_pull_request_was_never_live(store):
    store.revisions.add(RevisionRecord(digest="pull", label="#7@aaaaaaaa", first_seen=2.0, pull="hub:org/states#7"))
    assert store.revisions.newest().digest == "main"
    assert [each.digest for each in store.revisions.newest_of(9)] == ["main"]


def test_a_minion_that_was_taken_back_holds_an_earlier_revision_without_an_end(store):
    record = HoldRecord(
        minion="web1", digest="head", revision="main", user="max", at=2.0, rollback="r1", taken="bad", why="it hangs",
        newest=store.revisions.newest_position(),
    )  # fmt: skip
    store.holds.put([record, hold("web2")])
    assert store.holds.of_rollbacks() == [record]
    assert record.until == math.inf
    row = store.minions.status(["web1"])[0]
    assert (row.hold, row.desired.digest, row.compiled_for) == (record, "head", "main")
    store.revisions.add(RevisionRecord(digest="new", label="new", first_seen=0.5))
    assert store.revisions.position("new") == store.revisions.newest_position() > record.newest
    assert store.revisions.position("nowhere") == 0


@pytest.mark.parametrize(
    ("live", "ended"),
    [
        pytest.param(0, False, id="nothing is live yet"),
        pytest.param(2, True, id="older than what is held"),
        pytest.param(3, True, id="what is held"),
        pytest.param(4, False, id="taken back, too"),
        pytest.param(5, False, id="what was live then"),
        pytest.param(6, True, id="newer"),
    ],
)
def test_what_ends_a_hold_of_an_earlier_revision(live, ended):
    record = HoldRecord(minion="web1", digest="d", revision="r", user="", at=2.0, rollback="r1", newest=5)
    assert is_superseded(record, held=3, live=live) is ended
