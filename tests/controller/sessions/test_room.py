"""Who waits with a whole document, and who is let in."""

from types import SimpleNamespace

from controller.sessions.room import BURST, FASTEST, FIRST, PAUSE, SLOWEST, Room


def scene():
    """(the state of the controller, the room)"""
    state = SimpleNamespace(room=True, behind=False, now=100.0)
    return state, Room(lambda: state.room, lambda: state.behind, lambda: state.now)


def entered(room, count, name="web"):
    """How many of so many minions are let in."""
    return sum(room.enter(f"{name}{number}") for number in range(count))


def drained(state, room, seconds):
    """How many of those who wait are let in within so many seconds."""
    found = 0
    for _ in range(int(seconds * 20)):
        state.now += 0.05
        for minion in room.next(64):
            found += room.enter(minion)
    return found


def test_some_hundred_are_let_in_at_once():
    _, room = scene()
    assert entered(room, BURST) == BURST
    assert (len(room), room.first(), room.next(10)) == (0, None, [])


def test_who_came_first_is_let_in_first():
    state, room = scene()
    state.room = False
    assert [room.enter(name) for name in "cabc"] == [False] * 4
    assert (room.first(), room.next(2)) == ("c", [])
    state.room = True
    assert (room.next(2), room.next(2), room.next(2)) == (["c", "a"], ["b"], [])


def test_the_pace_grows_while_nothing_waits():
    state, room = scene()
    assert entered(room, 20_000) == BURST
    first, second = drained(state, room, 1), drained(state, room, 1)
    assert FIRST / 2 < first < second < 2 * FIRST
    drained(state, room, 15)
    assert abs(drained(state, room, 1) - FASTEST) < FASTEST / 10


def test_while_messages_wait_it_falls_and_never_ends():
    state, room = scene()
    entered(room, 20_000)
    drained(state, room, 10)
    state.behind = True
    drained(state, room, 10)
    assert drained(state, room, 20) in range(int(20 * SLOWEST) - 2, int(20 * SLOWEST) + 3)
    state.room = False
    assert drained(state, room, 20) == 0, "never where too much is unread"
    state.room, state.behind = True, False
    assert 0 < drained(state, room, 2) < FIRST, "it does not begin where it was before"


def test_after_a_pause_it_begins_anew():
    state, room = scene()
    entered(room, 20_000)
    state.behind = True
    drained(state, room, 10)
    while room.next(64):
        state.now += 1
    state.behind = False
    state.now += PAUSE
    assert entered(room, 20_000, "db") == BURST


def test_who_is_looked_at_waits_no_more():
    state, room = scene()
    state.room = False
    room.enter("a")
    room.leave("a")
    room.leave("b")
    assert len(room) == 0
