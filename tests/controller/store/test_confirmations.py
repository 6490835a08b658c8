"""What is confirmed on minions: it is found in their rows, and its document is kept."""

from __future__ import annotations

import pytest

from controller.store import AppliedRecord, ConfirmationRecord, RevisionRecord, Store


@pytest.fixture
def store(store_url):
    with Store(store_url) as opened:
        opened.minions.seen("web1", 1.0, grains={})
        for name in ("old", "new"):
            opened.revisions.add(RevisionRecord(digest=name, label=name, first_seen=1.0))
        opened.documents.put({"base": b"base", "head": b"head"})
        yield opened


def test_what_is_confirmed_is_kept_with_its_document_until_it_is_forgotten(store):
    confirmed = ConfirmationRecord(minion="web1", digest="base", revision="old")
    store.confirmations.put(confirmed)
    waits = ConfirmationRecord(minion="web1", digest="base", revision="old", waiting="head", since=5.0)
    store.confirmations.put(waits)
    store.applied.put(AppliedRecord(minion="web1", generation=2, digest="head", revision="new", at=4.0, outcome="ok"))
    assert store.minions.status()[0].confirmation == waits
    assert store.documents.prune() == 0
    store.revisions.prune(0)
    assert store.revisions.get("old") is not None
    store.confirmations.settle(["web1", "nobody"])
    assert store.minions.status()[0].confirmation == confirmed
    store.confirmations.delete("web1")
    assert store.minions.status()[0].confirmation is None
    assert store.documents.prune() == 1
    assert store.documents.get("base") is None


def test_it_is_forgotten_with_its_minion(store):
    store.confirmations.put(ConfirmationRecord(minion="web1", digest="base", revision="old"))
    store.minions.delete("web1")
    assert store.documents.prune() == 2
