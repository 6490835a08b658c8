"""The spool of notifications on both databases: order, room, dead letters, all or nothing."""

import pytest

from controller.store.notifications.table import SpoolCount, SpoolEntry, SpoolRoom

ROOM = SpoolRoom(entries=3, size=1000, dead=2)


def entry(number, receiver="chat", size=10):
    return SpoolEntry(id=f"m{number}", receiver=receiver, created=float(number), body=b"x" * size)


def waiting(table, receiver="chat"):
    return [one.id for one in reversed(table.newest(100)) if one.receiver == receiver and one.state == "waiting"]


def test_messages_are_sent_in_their_order_and_once_by_id(store):
    table = store.notifications
    table.keep({}, (), {}, [entry(1), entry(2), entry(1)], ROOM)
    table.put(entry(2), ROOM)
    assert waiting(table) == ["m1", "m2"]
    assert table.next_of("chat").id == "m1"
    table.begin("m1")
    table.failed("m1", "no", 99.0)
    first = table.next_of("chat")
    assert (first.id, first.attempts, first.error, first.next_at) == ("m1", 1, "no", 99.0)
    table.sent("m1")
    assert table.next_of("chat").id == "m2"
    assert table.receivers() == ["chat"]


def test_the_oldest_of_a_receiver_make_room_and_no_other_receivers(store):
    table = store.notifications
    table.put(entry(0, "mail"), ROOM)
    assert table.keep({}, (), {}, [entry(number) for number in range(1, 6)], ROOM) == {"chat": 2}
    assert waiting(table) == ["m3", "m4", "m5"]
    assert table.put(entry(6, size=990), ROOM) == 2
    assert waiting(table) == ["m5", "m6"]
    assert waiting(table, "mail") == ["m0"]


def test_what_is_given_up_is_shown_while_there_is_room_and_can_wait_again(store):
    table = store.notifications
    for number in (1, 2, 3):
        table.put(entry(number), ROOM)
        table.give_up(f"m{number}", "never", ROOM)
    assert table.next_of("chat") is None
    assert [(one.id, one.state, one.error) for one in table.newest(10)] == [
        ("m3", "dead", "never"),
        ("m2", "dead", "never"),
    ]
    assert table.counts() == [SpoolCount(receiver="chat", dead=2)]
    assert (table.retry("m3"), table.retry("m1")) == (True, False)
    assert table.next_of("chat").id == "m3"
    assert table.counts() == [SpoolCount(receiver="chat", waiting=1, size=10, oldest=3.0, dead=1)]


def test_groups_marks_and_messages_are_kept_together(store):
    table = store.notifications
    table.keep({"g1": b"1", "g2": b"2"}, (), {"revision": "a"}, [], ROOM)
    table.keep({"g1": b"3"}, ["g2"], {"revision": "b"}, [entry(1)], ROOM)
    assert (table.groups(), table.marks()) == ({"g1": b"3"}, {"revision": "b"})
    with pytest.raises(TypeError):
        table.keep({"g1": b"4"}, (), {}, [entry(2), SpoolEntry(id="m3", receiver="chat", created=0.0, body=None)], ROOM)
    assert table.groups() == {"g1": b"3"}
    assert waiting(table) == ["m1"]
