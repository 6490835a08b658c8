"""A controller that puts hostile text into each place of each message: no path is made of it, the agent goes on."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
from message_shapes import HOSTILE_NAMES, MARK, TO_MINION, attacks

from wire.codec import decode_to_minion
from wire.errors import MalformedMessage
from wire.messages import Call, KeyState, RotateKey, RunResult

NAMES = tuple(name for name in HOSTILE_NAMES if MARK in name)


def marked(folder):
    """All paths with the mark, below a folder and beside it."""
    below = [Path(at, name) for at, folders, files in os.walk(folder) for name in (*folders, *files)]
    return [path for path in (*below, *Path("/tmp").iterdir()) if MARK in path.name]


def messages(kind):
    for name in NAMES:
        for frame in attacks(kind, name, {"state": "accepted"}):
            try:
                yield decode_to_minion(frame)
            except MalformedMessage:
                continue


@pytest.mark.timeout(120)
def test_no_place_of_a_message_becomes_a_path(agents, controller, tmp_path):
    agent = agents().start()
    controller.wait(lambda: controller.states, "the agent")
    for number, kind in enumerate(TO_MINION):
        if kind in (KeyState, RotateKey):  # they begin a key or a connection, and hold no name
            continue
        for message in messages(kind):
            controller.send(message)
        controller.send(Call(run_id=f"after-{number}", fun="test.ping"))
        assert controller.next(RunResult, run_id=f"after-{number}").value is True, kind.__name__
    assert agent.process.poll() is None
    assert "refused_by_controller" not in agent.logged()  # nothing that it was sent makes its own messages unreadable
    outside = [path for path in marked(tmp_path) if "/var/cache/saltern/minion/" not in str(path)]
    assert outside == []
    assert not [path for path in marked(tmp_path) if path.parent.name not in ("runs", "kept")]
