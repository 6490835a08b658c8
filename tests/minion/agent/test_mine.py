"""The mine of a minion: when it is collected, and which versions of its file are sent."""

from __future__ import annotations

import json
import select

import pytest

from minion.agent.mine import FILE, MOST_BYTES, MineKeeper
from minion.processes import fork
from wire.messages import Mine, MineEntry


class Agent:
    """The loop of an agent, as far as the mine goes."""

    def __init__(self, cachedir, minutes=1.0):
        self.path, self.sent, self.full = cachedir / FILE, [], False
        self.mine = MineKeeper(cachedir, self.send, lambda work: fork(work, umask=0o077), self.update, minutes=minutes)

    def send(self, message):
        self.sent += [] if self.full else [message]
        return not self.full

    def update(self):
        with (self.path.parent / "collections").open("a") as file:
            file.write("x")
        self.write({"a": {"value": 1}})

    def write(self, value):
        new = self.path.with_suffix(".new")
        new.write_text(json.dumps(value))
        new.replace(self.path)

    def collections(self):
        while self.mine.readers():
            select.select(self.mine.readers(), [], [], 20)
            self.mine.receive()
        path = self.path.parent / "collections"
        return len(path.read_text()) if path.exists() else 0


@pytest.fixture
def agent(tmp_path):
    return Agent(tmp_path)


def test_new_functions_are_collected_at_once_and_then_at_intervals(agent):
    agent.mine.tick(0.0, online=False)
    assert agent.collections() == 0
    agent.mine.follow(({"a": []}, None), 10.0)
    agent.mine.tick(10.0, online=False)
    assert agent.collections() == 1
    agent.mine.follow(({"a": []}, None), 20.0)
    agent.mine.tick(69.0, online=False)
    assert agent.collections() == 1
    agent.mine.tick(70.0, online=False)
    assert agent.collections() == 2


def test_without_functions_or_interval_nothing_is_collected(tmp_path):
    agent = Agent(tmp_path, minutes=0.0)
    agent.mine.follow(({"a": []}, None), 0.0)
    assert agent.mine.due_at == float("inf")
    agent = Agent(tmp_path)
    agent.mine.follow((None, None), 0.0)
    assert agent.mine.due_at == float("inf")


def test_a_collection_that_is_due_while_one_runs_follows_it(agent):
    agent.mine.follow(({"a": []}, None), 0.0)
    agent.mine.tick(0.0, online=False)
    agent.mine.follow(({"b": []}, None), 0.0)
    agent.mine.tick(0.0, online=False)
    assert agent.collections() == 2


def test_each_version_of_the_file_is_sent_once_and_again_in_a_new_session(agent):
    agent.write({"a": {"value": 1}})
    agent.mine.tick(0.0, online=False)
    assert agent.sent == []
    for _ in range(2):
        agent.mine.tick(1.0, online=True)
    assert agent.sent == [Mine(entries={"a": MineEntry(value=1)})]
    agent.write({"a": {"value": 2}})
    agent.mine.tick(2.0, online=True)
    agent.mine.connected()
    agent.mine.tick(3.0, online=True)
    assert [one.entries["a"].value for one in agent.sent] == [1, 2, 2]


def test_a_file_that_was_not_taken_is_sent_again(agent):
    agent.write({"a": {"value": 1}})
    agent.full = True
    agent.mine.tick(0.0, online=True)
    agent.full = False
    agent.mine.tick(1.0, online=True)
    assert len(agent.sent) == 1


@pytest.mark.parametrize(("text", "event"), [("{", "mine_unreadable"), ("x" * (MOST_BYTES + 1), "mine_too_large")])
def test_a_file_that_cannot_be_sent_is_logged_once(agent, caplog, text, event):
    agent.path.write_text(text)
    for _ in range(2):
        agent.mine.tick(0.0, online=True)
    assert agent.sent == []
    assert caplog.text.count(event) == 1
