"""The agent as a process, against a real wire server."""

from __future__ import annotations

from wire.messages import Hello, KeyRequest


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
