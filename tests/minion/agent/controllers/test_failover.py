"""The choice of a controller, where a minion talks to one at a time."""

from __future__ import annotations

from minion.agent.controllers.failover import ROUND_PAUSES, FailoverChoice, order_of

NAMES = ("a", "b", "c")


def order(**changed):
    given = {"kind": "failover", "minion_id": "web1", "shuffle": None, "failback": False, **changed}
    return order_of(NAMES, **given)


def test_the_list_stays_as_it_is_unless_it_is_shuffled():
    assert order() == NAMES
    assert order(shuffle=list.reverse) == ("c", "b", "a")


def test_the_first_stays_where_the_minion_goes_back_to_it():
    assert order(shuffle=list.reverse, failback=True) == ("a", "c", "b")


def test_distributed_begins_with_one_by_the_id():
    begun = {order(kind="distributed", minion_id=f"web{n}")[0] for n in range(50)}
    assert begun == set(NAMES)
    # Salt 3008 takes crc32(b"web1") % 3, which is 2.
    assert order(kind="distributed") == ("c", "a", "b")


def test_the_next_is_tried_at_once_and_a_round_is_followed_by_a_pause():
    choice = FailoverChoice(NAMES)
    tried = []
    for _ in range(9):
        tried.append((choice.current, choice.failed()))
    assert [name for name, _ in tried] == [*NAMES, *NAMES, *NAMES]
    assert [pause for _, pause in tried] == [0, 0, ROUND_PAUSES[0], 0, 0, ROUND_PAUSES[1], 0, 0, ROUND_PAUSES[2]]
    assert choice.rounds == 3
    assert not choice.given_up


def test_tries_are_rounds_in_a_row():
    choice = FailoverChoice(NAMES, tries=2)
    for _ in range(5):
        choice.failed()
    assert not choice.given_up
    choice.reached("b")
    assert choice.current == "b"
    for _ in range(5):
        choice.failed()
    assert not choice.given_up
    choice.failed()
    assert choice.given_up
