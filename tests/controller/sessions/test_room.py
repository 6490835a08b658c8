"""Who waits with a whole document, and who is let in."""

from types import SimpleNamespace

from controller.sessions.room import BUSY_SECONDS, Room


def scene():
    """(the state of the controller, the room)"""
    state = SimpleNamespace(room=True, behind=False, now=100.0)
    return state, Room(lambda: state.room, lambda: state.behind, lambda: state.now)


def test_where_there_is_room_nobody_waits():
    _, room = scene()
    assert all(room.enter(f"web{number}") for number in range(1000))
    assert (len(room), room.first(), room.next(10)) == (0, None, [])


def test_who_came_first_is_let_in_first():
    state, room = scene()
    state.room = False
    assert [room.enter(name) for name in "cabc"] == [False] * 4
    assert (room.first(), room.next(2)) == ("c", [])
    state.room = True
    assert (room.next(2), room.next(2), room.next(2)) == (["c", "a"], ["b"], [])


def test_while_messages_wait_one_after_the_other_is_let_in():
    state, room = scene()
    state.behind = True
    assert (room.enter("a"), room.enter("b"), room.enter("c")) == (True, False, False)
    assert room.next(64) == []
    state.now += BUSY_SECONDS
    assert room.next(64) == ["b"]
    assert room.enter("b")
    assert room.next(64) == []
    state.now += BUSY_SECONDS
    state.room = False
    assert room.next(64) == [], "never where too much is unread"
    state.room, state.behind = True, False
    assert room.next(64) == ["c"]


def test_who_is_looked_at_waits_no_more():
    state, room = scene()
    state.room = False
    room.enter("a")
    room.leave("a")
    room.leave("b")
    assert len(room) == 0
