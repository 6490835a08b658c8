from __future__ import annotations

from wire.server.peers import Peers

A, B = b"a" * 16, b"b" * 16


def test_a_binding_is_made_once() -> None:
    peers = Peers()
    first = peers.meet(key="k", routing=A, number=5, turn=1)
    again = peers.meet(key="k", routing=A, number=5, turn=2)
    assert (first.new, again.new) == (True, False)
    assert again.connection is first.connection is peers.get("k")


def test_a_new_connection_of_a_key_takes_over_from_the_old() -> None:
    peers = Peers()
    old = peers.meet(key="k", routing=A, number=5, turn=1).connection
    meeting = peers.meet(key="k", routing=B, number=6, turn=2)
    assert meeting.superseded is old
    assert old.ended
    assert peers.get("k") is meeting.connection
    assert not peers.forget(old)
    assert peers.get("k") is meeting.connection


def test_a_stolen_routing_id_reaches_neither_owner_nor_thief() -> None:
    peers = Peers()
    peers.meet(key="owner", routing=A, number=5, turn=1)
    meeting = peers.meet(key="thief", routing=A, number=6, turn=2)
    assert (meeting.hostile, meeting.gone) == (True, ["owner"])
    assert peers.get("owner") is None
    assert peers.get("thief") is None


def test_a_thief_on_the_number_of_the_owner_is_a_thief() -> None:
    peers = Peers()
    peers.meet(key="owner", routing=A, number=5, turn=1)
    meeting = peers.meet(key="thief", routing=A, number=5, turn=1)
    assert (meeting.hostile, meeting.gone) == (True, ["owner"])


def test_a_number_in_other_hands_means_that_the_first_has_gone() -> None:
    peers = Peers()
    peers.meet(key="first", routing=A, number=5, turn=1)
    meeting = peers.meet(key="second", routing=B, number=5, turn=2)
    assert (meeting.hostile, meeting.gone) == (False, ["first"])
    assert peers.get("second") is meeting.connection


def test_the_end_of_a_number_is_not_the_end_of_who_has_it_now() -> None:
    peers = Peers()
    connection = peers.meet(key="k", routing=A, number=5, turn=7).connection
    assert peers.closed(5, turn=7, reopened=True) is None
    assert peers.closed(5, turn=7, reopened=False) is connection
    assert peers.closed(5, turn=8, reopened=True) is connection
    assert peers.closed(6, turn=8, reopened=False) is None
