"""Events that states and functions send while their run goes on: an agent process against a real wire server."""

from __future__ import annotations

import time

from wire.messages import Call, Hello, RunEvents, RunResult

WAITS = 50
"""Seconds that a command waits for the test at most."""


def waiting(path):
    """A command that ends when there is this file."""
    return f"for i in $(seq {WAITS * 10}); do test -e {path} && exit 0; sleep 0.1; done; exit 1"


def told(controller, run_id):
    return [tag for tag, _ in controller.events.get(run_id, ())]


def test_events_come_before_the_run_ends_and_once(controller, agents, desired_state, tmp_path):
    agents().start()
    controller.next(Hello)
    controller.desire(
        desired_state(
            ("event", "send", "my/first", {"data": {"x": 1}}),
            ("test", "succeed_without_changes", "quiet", {"fire_event": "end"}),
            ("cmd", "run", waiting(tmp_path / "go")),
            ("event", "send", "my/last"),
        )
    )
    controller.run("r1")
    early = ["my/first", "salt/state_result/r1/web1/end"]
    controller.wait(lambda: told(controller, "r1") == early)
    assert not controller.all(RunResult)
    (tmp_path / "go").touch()
    assert controller.result("r1").outcome == "changed"
    assert told(controller, "r1") == [*early, "my/last"]
    assert len(controller.told) == 3
    kinds = [type(message) for message in controller.seen if isinstance(message, RunEvents | RunResult)]
    assert kinds[-1] is RunResult, "the result comes after the events"


def test_a_check_tells_nothing_of_its_states(controller, agents, desired_state):
    """What reacts to `fire_event` would take each check for another run of the state."""
    agents(state_events=True).start()
    controller.next(Hello)
    controller.desire(desired_state(("test", "succeed_with_changes", "acts", {"fire_event": "end"})))
    controller.run("d1", kind="drift", test=True)
    assert controller.result("d1").outcome == "ok"
    controller.run("t1", test=True)
    assert controller.result("t1").outcome == "pending"
    controller.run("r1")
    assert controller.result("r1").outcome == "changed"
    assert told(controller, "d1") == []
    assert told(controller, "t1") == ["salt/state_result/t1/web1/end"], "a test that somebody asks for is as Salt's"
    assert told(controller, "r1") == ["salt/state_result/r1/web1/end"]


def test_a_killed_agent_loses_and_repeats_nothing(controller, agents, desired_state, tmp_path):
    """The run goes on without the agent, and the next agent sends what it sent meanwhile."""
    agent = agents().start()
    controller.next(Hello)
    controller.desire(
        desired_state(
            ("event", "send", "my/first"),
            ("cmd", "run", waiting(tmp_path / "go")),
            ("event", "send", "my/second"),
            ("cmd", "run", waiting(tmp_path / "end")),
        )
    )
    controller.run("r1")
    controller.wait(lambda: told(controller, "r1") == ["my/first"])
    agent.kill()
    (tmp_path / "go").touch()
    events = agent.cachedir / "runs/r1/events"
    controller.wait(lambda: b"my/second" in events.read_bytes())
    agent.start()
    controller.wait(lambda: told(controller, "r1") == ["my/first", "my/second"])
    (tmp_path / "end").touch()
    assert controller.result("r1").outcome == "changed"
    assert told(controller, "r1") == ["my/first", "my/second"]


def test_a_run_that_was_cut_off_sends_each_event_once(controller, agents, desired_state, tmp_path):
    """Agent and worker are killed: the next worker does the unfinished state again, and what was sent stays sent."""
    agent = agents().start()
    controller.next(Hello)
    controller.desire(
        desired_state(
            ("event", "send", "my/first", {"fire_event": True}),
            ("cmd", "run", waiting(tmp_path / "go")),
            ("event", "send", "my/second"),
        )
    )
    controller.run("r1")
    early = ["my/first", "salt/state_result/r1/web1/my/first"]
    controller.wait(lambda: told(controller, "r1") == early)
    agent.end()
    (tmp_path / "go").touch()
    agent.start()
    assert controller.result("r1").outcome == "changed"
    assert told(controller, "r1") == [*early, "my/second"]


def test_events_that_were_not_acknowledged_come_again(controller, agents):
    agents().start()
    controller.next(Hello)
    controller.acknowledges = False
    for number in range(3):
        controller.send(Call(run_id=f"c{number}", fun="event.send", args=(f"my/{number}",)))
    controller.wait(lambda: controller.told)
    controller.acknowledges = True
    controller.server.stop()
    controller.start()
    for number in range(3):
        controller.result(f"c{number}")
    assert all(told(controller, f"c{number}") == [f"my/{number}"] for number in range(3))


def test_a_flood_is_refused_in_the_result(controller, agents, desired_state):
    agents().start()
    controller.next(Hello)
    controller.desire(desired_state(*(("event", "send", f"my/{number}") for number in range(502))))
    controller.run("r1")
    result = controller.result("r1")
    assert result.outcome == "failed"
    failed = [state["comment"] for state in result.states.values() if state["result"] is False]
    assert failed == [
        f"event my/{number} not sent: a run may send 500 events, and this one has sent as many" for number in (500, 501)
    ]
    assert told(controller, "r1") == [f"my/{number}" for number in range(500)]


def test_a_scheduled_job_that_reports_nothing_sends_its_events(controller, agents):
    job = {"function": "event.send", "args": ["my/job"], "seconds": 3600, "return_job": False}
    agent = agents(schedule={"job": job}).start()
    controller.wait(lambda: any(told(controller, run_id) == ["my/job"] for run_id in controller.events))
    deadline = time.monotonic() + 60
    while any((agent.cachedir / "runs").iterdir()) and time.monotonic() < deadline:
        time.sleep(0.05)
    assert not any((agent.cachedir / "runs").iterdir()), "nothing of it is kept once the controller has its event"
    assert not controller.all(RunResult)
