"""Events of states of a stock minion: of which run they are, and that each is said until the controller has it."""

import pytest

from gateway.minions.run_events import StockRunEvents
from minion.spool.minion_events import MOST_EVENT_BYTES
from minion.spool.run_events import MOST_RUN_BYTES, SEND_AGAIN_AFTER
from wire.messages import RunEventsAck

JID = "20261128123000123456"
CALLED = "20261128123000999999"


class Controller:
    """What is sent to it; it takes what is numbered rightly, as `RunEventHandler` does."""

    def __init__(self):
        self.there = True
        self.sent, self.events, self.taken = [], [], {}
        self.minion = StockRunEvents("web1", self.send, {JID: "push-1", "20261128123000000001": "drift-web1-1"}.get)

    def send(self, message):
        if self.there:
            self.sent.append(message)
        return self.there

    def answer(self, now=0.0):
        message = self.sent[-1]
        taken = self.taken.get(message.run_id, 0)
        if message.first <= taken < message.end:
            self.events.extend(message.events[taken - message.first :])
            self.taken[message.run_id] = taken = message.end
        self.minion.acknowledge(RunEventsAck(run_id=message.run_id, taken=taken), now)


@pytest.fixture
def controller():
    return Controller()


@pytest.mark.parametrize(
    ("tag", "told"),
    [
        (f"salt/job/{JID}/prog/web1/0", "salt/job/push-1/prog/web1/0"),
        (f"salt/state_result/{JID}/web1/a/b", "salt/state_result/push-1/web1/a/b"),
        (f"salt/job/{CALLED}/prog/web1/0", f"salt/job/called-web1-{CALLED}/prog/web1/0"),
    ],
)
def test_each_is_of_the_run_that_its_job_is(controller, tag, told):
    assert controller.minion.take(tag, {"ret": 1}, 0.0)
    assert controller.sent[-1].events == ((told, {"ret": 1}),)
    assert controller.sent[-1].run_id == told.split("/")[2]


def test_of_states_without_a_job_the_gateway_makes_one_up(controller):
    assert controller.minion.take("salt/job/None/prog/web1/0", {}, 0.0)
    assert controller.sent[-1].run_id.startswith("called-web1-")
    assert Controller().minion.take("salt/job/None/prog/web1/0", {}, 0.0)


def state(number, start_time="13:00:00.000001", **more):
    return {"__run_num__": number, "name": "x", "start_time": start_time, "duration": 1.5, "result": True, **more}


def test_a_return_without_a_job_is_known_by_its_states(controller):
    """As `salt-call` returns: the id of the job that its states named stands nowhere in it."""
    run = f"called-web1-{CALLED}"
    for number in range(12):
        controller.minion.take(f"salt/job/{CALLED}/prog/web1/{number}", {"ret": state(number)}, 0.0)
    controller.minion.take(f"salt/job/{JID}/prog/web1/0", {"ret": state(0, "12:00:00.000001")}, 0.0)
    returned = {f"tag{number}": state(number, changes={"a": 1}) for number in range(20)}
    assert controller.minion.run_of_return(returned) == run
    assert controller.minion.run_of_return(returned) == run, "one that comes again since its answer was lost"
    assert controller.minion.run_of_return({"tag": state(0, "12:00:00.000001")}) == "", "a job that was asked for"
    for other in ({"tag": state(0, "13:00:00.000002")}, {"tag": state(0, duration=2)}, {"tag": 3}, {}, [], None, "x"):
        assert controller.minion.run_of_return(other) == ""


@pytest.mark.parametrize("told", [{}, {"ret": None}, {"ret": state(0, "")}, {"ret": {"name": "x"}}])
def test_what_says_not_when_it_began_is_known_by_nothing(controller, told):
    controller.minion.take(f"salt/job/{CALLED}/prog/web1/0", told, 0.0)
    assert controller.minion.run_of_return({"tag": told.get("ret")}) == ""


def test_states_without_a_job_of_several_runs_are_told_apart_by_nobody(controller):
    """Their events share a run; a return each would be one return."""
    controller.minion.take("salt/job/None/prog/web1/0", {"ret": state(0)}, 0.0)
    assert controller.minion.run_of_return({"tag": state(0)}) == ""


@pytest.mark.parametrize(
    "tag",
    [
        f"salt/job/{JID}/prog/db1/0",
        f"salt/job/{JID}/ret/web1",
        f"salt/state_result/{JID}/db1/x",
        "my/tag",
        "salt/job/1",
    ],
)
def test_others_are_not_taken(controller, tag):
    assert not controller.minion.take(tag, {}, 0.0)
    assert not controller.sent


def test_what_checks_say_is_told_to_nobody(controller):
    assert controller.minion.take("salt/job/20261128123000000001/prog/web1/0", {}, 0.0)
    assert not controller.sent


def test_events_come_in_their_order_once_and_again_where_no_answer_came(controller):
    for number in range(4):
        controller.minion.take(f"salt/job/{JID}/prog/web1/{number}", {"n": number}, 0.0)
    assert len(controller.sent) == 1, "one message at a time"
    controller.minion.tick(SEND_AGAIN_AFTER - 1)
    assert len(controller.sent) == 1
    controller.minion.tick(SEND_AGAIN_AFTER)
    assert len(controller.sent) == 2
    controller.answer(SEND_AGAIN_AFTER)
    controller.answer(SEND_AGAIN_AFTER)
    assert [data["n"] for _, data in controller.events] == [0, 1, 2, 3]
    controller.minion.tick(1e6)
    assert len(controller.sent) == 2, "nothing waits"


def test_where_the_controller_is_away_they_wait_for_it(controller):
    controller.there = False
    controller.minion.take(f"salt/job/{JID}/prog/web1/0", {"n": 0}, 0.0)
    controller.there = True
    controller.minion.reconnected(1.0)
    controller.answer(1.0)
    assert [data["n"] for _, data in controller.events] == [0]


def test_another_gateway_has_told_some_before(controller):
    controller.taken["push-1"] = 7
    controller.minion.take(f"salt/job/{JID}/prog/web1/8", {"n": 8}, 0.0)
    controller.answer()
    assert not controller.events
    controller.answer()
    assert [data["n"] for _, data in controller.events] == [8]


def test_a_minion_has_room_for_so_many_bytes_and_then_again(controller):
    data = {"text": "x" * (MOST_EVENT_BYTES - 200)}
    for number in range(2 * MOST_RUN_BYTES // MOST_EVENT_BYTES):
        controller.minion.take(f"salt/job/{JID}/prog/web1/{number}", data, 0.0)
    answered = 0
    while len(controller.sent) > answered:
        answered = len(controller.sent)
        controller.answer()
    assert len(controller.events) == MOST_RUN_BYTES // MOST_EVENT_BYTES
    controller.minion.take(f"salt/job/{JID}/prog/web1/99", {"n": 99}, 0.0)
    controller.answer()
    assert controller.events[-1][1] == {"n": 99}


def test_one_that_is_too_large_is_left_out(controller):
    assert controller.minion.take(f"salt/job/{JID}/prog/web1/0", {"text": "x" * MOST_EVENT_BYTES}, 0.0)
    assert not controller.sent
