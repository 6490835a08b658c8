"""An agent with two controllers: one at a time, or both at once."""

from __future__ import annotations

import time

import pytest

from wire.keys import load_or_create
from wire.messages import (
    Bye,
    Call,
    Hello,
    KeyRequest,
    NewKey,
    ResyncRequired,
    RotateKey,
    RunResult,
    RunStarted,
)


@pytest.fixture
def agent_of_both(agents, controller, second):
    """Starts an agent that knows both; the first of its list is `controller`."""

    def start(**options):
        keys = {"127.0.0.1": controller.keys.public, "127.0.0.2": second.keys.public}
        given = {"master": list(keys), "controller_key": keys, "master_type": "failover", **options}
        return agents(**given).start()

    return start


def warned(agent, event):
    """How often."""
    return sum(f"event={event} " in line and "level=warning" in line for line in agent.logged().splitlines())


def greets(controller, count=1):
    controller.wait(lambda: len(controller.all(Hello)) >= count, f"{count} Hello")


def test_one_is_used_and_the_next_when_it_is_gone(agent_of_both, controller, second):
    agent = agent_of_both()
    greets(controller)
    assert not second.all(KeyRequest), "one at a time"
    controller.server.stop()
    greets(second)
    controller.start()
    second.send(Call(run_id="c1", fun="test.ping"))
    assert second.next(RunResult, run_id="c1").value is True
    assert not controller.all(RunResult)
    second.server.stop()
    greets(controller, 2)
    controller.wait(lambda: warned(agent, "controller_changed") == 2)
    assert warned(agent, "controller_failed") == 2
    assert 'controller=127.0.0.1 cause="no connection came about" next=127.0.0.2' in agent.logged()
    assert agent.stop() == 0


def test_the_first_is_away_at_the_start(agent_of_both, controller, second):
    controller.server.stop()
    agent = agent_of_both()
    greets(second)
    assert "event=no_controller_reached" not in agent.logged()


def test_a_controller_that_does_not_take_the_key_is_passed_over(agent_of_both, controller, second):
    controller.accepts, controller.rejects = False, True
    agent = agent_of_both()
    greets(second)
    assert "the key of this minion is rejected" in agent.logged()


def test_a_controller_with_another_key_is_passed_over(agent_of_both, controller, second, tmp_path):
    wrong = load_or_create(tmp_path / "wrong").public
    agent = agent_of_both(controller_key={"127.0.0.1": wrong, "127.0.0.2": second.keys.public})
    greets(second)
    assert not controller.all(KeyRequest)
    [line] = [line for line in agent.logged().splitlines() if "event=controller_failed" in line]
    assert "check `controller_key`" in line or "has another key" in line


def test_all_are_away_is_said_once(agent_of_both, controller, second):
    controller.server.stop()
    second.server.stop()
    agent = agent_of_both()
    controller.wait(lambda: "event=no_controller_reached" in agent.logged())
    assert "tried=127.0.0.1,127.0.0.2" in agent.logged()
    second.start()
    greets(second)
    assert warned(agent, "no_controller_reached") == 1
    assert warned(agent, "controller_failed") == 2


def test_master_tries_ends_the_agent(agent_of_both, controller, second):
    controller.server.stop()
    second.server.stop()
    agent = agent_of_both(master_tries=2)
    controller.wait(lambda: agent.process.poll() is not None)
    assert agent.process.poll() == 1
    assert "event=gave_up" in agent.logged()
    assert "no controller in 2 rounds (master_tries)" in agent.logged()


def test_it_goes_back_to_the_first(agent_of_both, controller, second):
    controller.server.stop()
    agent = agent_of_both(master_failback=True, master_failback_interval=0.5)
    greets(second)
    controller.start()
    greets(controller)
    second.next(Bye)
    controller.wait(
        lambda: "event=controller_changed minion=web1 controller=127.0.0.1 before=127.0.0.2" in agent.logged()
    )


def test_it_stays_where_it_is_without_failback(agent_of_both, controller, second):
    controller.server.stop()
    agent_of_both(master_alive_interval=0.2)
    greets(second)
    controller.start()
    for number in range(5):
        second.send(Call(run_id=f"c{number}", fun="test.ping"))
        second.next(RunResult, run_id=f"c{number}")
    assert not controller.all(KeyRequest)


def test_a_result_goes_to_who_asked_and_nothing_runs_twice(agent_of_both, controller, second, tmp_path):
    counted, gate = tmp_path / "count", tmp_path / "gate"
    agent = agent_of_both()
    greets(controller)
    script = f"echo ran >> {counted}; while [ ! -e {gate} ]; do sleep 0.05; done"
    controller.send(Call(run_id="c1", fun="cmd.run", args=(script,)))
    controller.wait(counted.exists)
    controller.server.stop()
    greets(second)
    gate.touch()
    results = tmp_path / "web1/root/var/cache/saltern/minion/runs/c1/result"
    second.wait(results.exists)
    second.send(Call(run_id="c2", fun="test.ping"))
    second.next(RunResult, run_id="c2")
    assert not second.all(RunResult, run_id="c1")
    agent.kill()
    agent.start()  # the owner of a result is on disk
    greets(second, 2)
    controller.start()
    second.server.stop()
    assert controller.next(RunResult, run_id="c1").outcome == "ok"
    controller.send(Call(run_id="c1", fun="cmd.run", args=(script,)))
    controller.wait(lambda: len(controller.all(RunResult, run_id="c1")) >= 2)
    assert counted.read_text() == "ran\n"


def test_both_at_once_follow_the_first(agent_of_both, controller, second, desired_state, tmp_path):
    agent_of_both(master_type="str")
    greets(controller)
    greets(second)
    controller.wait(lambda: controller.all(Hello)[-1].follows and not second.all(Hello)[-1].follows)
    for one in (controller, second):
        one.send(Call(run_id=f"c-{one.host}", fun="test.ping"))
        assert one.next(RunResult, run_id=f"c-{one.host}").value is True
    first = desired_state(("file", "managed", str(tmp_path / "of"), {"contents": "first"}))
    other = desired_state(("file", "managed", str(tmp_path / "of"), {"contents": "second"}))
    digest = controller.desire(first)
    controller.run("r1")
    assert controller.result("r1").outcome == "changed"
    second.desire(other)
    second.run("r2")
    refused = second.result("r2")
    assert (refused.outcome, refused.ending) == ("error", "refused")
    assert refused.error == "this minion follows the controller 127.0.0.1"
    assert (tmp_path / "of").read_text() == "first\n"
    assert not second.all(ResyncRequired)

    controller.server.stop()
    second.wait(lambda: second.all(Hello)[-1].follows)
    assert second.all(Hello)[-1].applied == digest
    second.desire(other, whole=True)
    second.run("r3")
    assert second.result("r3").outcome == "changed"
    assert (tmp_path / "of").read_text() == "second\n"

    controller.start()
    second.wait(lambda: not second.all(Hello)[-1].follows)
    assert controller.all(Hello)[-1].follows


def test_both_at_once_get_what_is_theirs(agent_of_both, controller, second, tmp_path):
    agent_of_both(master_type="str")
    greets(controller)
    greets(second)
    gate = tmp_path / "gate"
    wait = f"while [ ! -e {gate} ]; do sleep 0.05; done"
    second.send(Call(run_id="c1", fun="cmd.run", args=(wait,)))
    second.next(RunStarted, run_id="c1")
    controller.server.stop()
    gate.touch()
    assert second.next(RunResult, run_id="c1").outcome == "ok"
    assert not controller.all(RunStarted)


def test_without_a_controller_the_schedule_goes_on(agents, tmp_path):
    target = tmp_path / "told"
    job = {"function": "cmd.run", "args": [f"echo ran >> {target}"], "seconds": 1, "run_on_start": True}
    agent = agents(master_type="disable", master=None, controller_key="", schedule={"j": job}).start()
    deadline = time.monotonic() + 60
    while not target.exists():
        assert time.monotonic() < deadline, agent.logged()
        time.sleep(0.05)
    assert "event=started minion=web1 master=none" in agent.logged()
    assert "unreachable" not in agent.logged()
    assert agent.stop() == 0


def test_a_rotated_key_is_that_of_its_controller_alone(agent_of_both, controller, second, tmp_path):
    agent_of_both(master_type="str")
    greets(controller)
    greets(second)
    second.send(RotateKey())
    new = second.next(NewKey).public
    pki = tmp_path / "web1/root/etc/saltern/pki/minion"
    assert load_or_create(pki / "controllers/127.0.0.2/minion.key.next").public == new
    assert not (pki / "minion.key.next").exists()
    assert load_or_create(pki / "minion.key").public != new
