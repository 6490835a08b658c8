from typing import Any

from highstate.types import Chunk, StateResult
from minion.worker.results import fitting
from minion.worker.run_hooks import MOST_EVENTS, SentEvents
from wire.messages import RunResult


def low(**arguments: Any) -> Chunk:
    return Chunk(state="test", fun="nop", id="i", name="n", sls="s", arguments=arguments)


def test_fire_event_of_a_chunk() -> None:
    events, result = SentEvents("web1", "run1"), StateResult(name="n", result=True)
    events.on_result("k", low(), result)
    events.on_result("k", low(fire_event=True), result)
    events.on_result("k", low(fire_event="my/end"), result)
    assert [tag for tag, _ in events.sent()] == ["salt/state_result/run1/web1/n", "salt/state_result/run1/web1/my/end"]
    assert events.sent()[0][1]["ret"]["__id__"] == "i"


def test_a_run_sends_a_bounded_number() -> None:
    events = SentEvents("web1", "run1")
    assert [events.fire("t", {}) for _ in range(MOST_EVENTS + 1)][-2:] == [True, False]
    assert len(events.sent()) == MOST_EVENTS


def test_events_travel_as_plain_values() -> None:
    sent = (("t", {"path": {1, 2}}),)
    result = RunResult(run_id="r", kind="call", generation=0, digest="", outcome="ok", events=sent)
    assert fitting(result).events == (("t", {"path": [1, 2]}),)
    large = (("t", {"text": "x" * 1000_000}),)
    result = RunResult(run_id="r", kind="call", generation=0, digest="", outcome="ok", events=large)
    assert len(fitting(result, limit=300_000).events[0][1]["text"]) < 300_000
