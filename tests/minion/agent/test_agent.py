"""The agent as a process, against a real wire server."""

from __future__ import annotations

import contextlib
import stat

import msgspec
import pytest

from wire.keys import fingerprint, load_or_create
from wire.messages import Bye, Heartbeat, Hello, KeepAlive, KeyRequest


def test_asks_for_its_key_then_says_hello(controller, agents):
    controller.accepts = False
    agent = agents().start()
    controller.next(KeyRequest, id="web1")
    controller.wait(lambda: "event=key_pending" in agent.logged())
    assert "fingerprint=" in agent.logged()
    assert not controller.all(Hello)

    controller.accepts = True
    hello = controller.next(Hello, id="web1")

    assert hello.held == ""
    assert hello.session
    assert agent.stop() == 0


def test_a_new_epoch_is_greeted(controller, agents):
    agents().start()
    first = controller.next(Hello)
    controller.next(KeepAlive)
    controller.epoch = "e2"
    serial = iter(range(1, 1000))

    def greeted():
        controller.server.publish(Heartbeat(epoch="e2", serial=next(serial), time=0.0))
        return len(controller.all(Hello)) > 1

    controller.wait(greeted)
    assert controller.all(Hello)[1].session == first.session


def test_a_controller_that_was_away_is_greeted_again(controller, agents):
    agents().start()
    controller.next(Hello)
    controller.server.stop()
    controller.start()
    controller.wait(lambda: len(controller.all(Hello)) == 2)


def test_a_wrong_controller_key_is_told(controller, agents, tmp_path):
    other = load_or_create(tmp_path / "other" / "key").public
    agent = agents(controller_key=other).start()
    controller.wait(lambda: "event=controller_unreachable" in agent.logged())
    [line] = [line for line in agent.logged().splitlines() if "event=controller_unreachable" in line]
    assert f"has another key than `controller_key` here, whose fingerprint is {fingerprint(other)}" in line
    assert "compare with `saltern key controller --fingerprint`" in line
    assert not controller.all(KeyRequest)


def test_a_controller_that_is_not_there_is_told_once_and_when_it_is_back(controller, agents):
    controller.server.stop()
    agent = agents().start()
    controller.wait(lambda: "event=controller_unreachable" in agent.logged())
    assert "nothing listens on 127.0.0.1:" in agent.logged()
    controller.start()
    controller.next(Hello)
    controller.wait(lambda: "event=controller_reached" in agent.logged())
    assert agent.logged().count("event=controller_unreachable") == 1


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ({"controller_key": ""}, "controller_key"),
        ({"controller_key": "nonsense"}, "controller_key"),
        ({"master_port": "many"}, "must be a port number"),
    ],
)
def test_a_bad_configuration_is_told(agents, options, said):
    agent = agents(**options).start()
    assert agent.process.wait(30) == 64
    assert said in agent.logged()
    assert "Traceback" not in agent.logged()


def test_terminates_with_a_bye(controller, agents):
    agent = agents().start()
    controller.next(Hello)
    assert agent.stop() == 0
    controller.next(Bye)
    assert "Traceback" not in agent.logged()


def test_its_files_are_its_own(controller, agents, desired_state):
    agent = agents().start()
    controller.next(Hello)
    controller.desire(desired_state(("test", "nop", "a")))
    controller.run("r1")
    controller.result("r1")
    modes = {}
    for path in (agent.config_dir / "root").rglob("*"):
        with contextlib.suppress(FileNotFoundError):  # of a run that ends meanwhile
            modes[str(path)] = stat.S_IMODE(path.lstat().st_mode) & 0o077
    assert len(modes) > 5
    assert {path for path, mode in modes.items() if mode} == set()


class Future(msgspec.Struct, frozen=True, tag_field="t", tag="run-tomorrow", kw_only=True):
    """A message that a controller of tomorrow sends."""

    run_id: str
    how: str = "quickly"


class FutureNews(msgspec.Struct, frozen=True, tag_field="t", tag="news", kw_only=True):
    """Another one, which asks for nothing."""

    text: str = "hello"


def test_a_message_of_a_newer_controller_is_refused_by_name(controller, agents, desired_state):
    agent = agents().start()
    controller.next(Hello)
    for _ in range(3):
        controller.send(FutureNews())
    controller.send(Future(run_id="r1"))
    refused = controller.result("r1")
    assert (refused.outcome, refused.kind) == ("error", "call")
    assert "does not know the message 'run-tomorrow': update this minion" in refused.error
    assert agent.logged().count("event=message_not_understood minion=web1 name='news'") == 1
    assert 'do="update this minion"' in agent.logged()
    controller.desire(desired_state(("test", "nop", "a")))
    controller.run("r2")
    assert controller.result("r2").outcome == "ok"


def test_the_hello_names_the_grains_of_the_start(controller, agents):
    agents(start_event_grains=["os", "id"]).start()
    hello = controller.next(Hello)
    assert (hello.start_grains, hello.starts) == (("os", "id"), True)
