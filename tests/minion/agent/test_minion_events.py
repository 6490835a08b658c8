"""Events of no run: from another process through the agent to a real wire server, once each."""

from __future__ import annotations

import subprocess
import sys

from wire.messages import Hello

MAIN = "import sys; from controller.cli import main; sys.exit(main())"


def call(agent, *words):
    command = [sys.executable, "-c", MAIN, "call", "-c", str(agent.config_dir), *words]
    return subprocess.run(command, capture_output=True, text=True, timeout=60)


def test_an_event_of_a_call_reaches_the_controller(controller, agents):
    agent = agents().start()
    controller.next(Hello)
    done = call(agent, "event.send", "my/tag", "{a: 1}", "b=2")
    assert (done.returncode, done.stderr) == (0, "")
    controller.wait(lambda: controller.own_events)
    assert controller.own_events == [("my/tag", {"a": 1, "b": 2})]


def test_events_wait_for_the_controller_and_come_once(controller, agents):
    agent = agents().start()
    controller.next(Hello)
    controller.acknowledges = False
    for number in range(3):
        assert call(agent, "event.send", f"my/{number}").returncode == 0
    controller.wait(lambda: controller.own_events)
    agent.kill()
    controller.acknowledges = True
    agent.start()
    controller.wait(lambda: len(controller.own_events) == 3)
    assert call(agent, "event.send", "my/3").returncode == 0
    controller.wait(lambda: len(controller.own_events) == 4)
    assert [tag for tag, _ in controller.own_events] == [f"my/{number}" for number in range(4)]
