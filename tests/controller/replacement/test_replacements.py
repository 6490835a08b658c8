"""What is told of replacements that go on: which agent is not there, and what to do."""

from types import SimpleNamespace

import pytest

from controller.config.limits import ReplacementLimits
from controller.replacement.replacements import AgentReplacements
from controller.sessions.sessions import Session, Sessions
from controller.store import Store
from controller.store.jobs.agent_replacements import ReplacementRecord
from controller.store.minions import GreetedMinion
from reactors.bus import Bus


@pytest.fixture
def replacements(tmp_path):
    with Store(f"sqlite:///{tmp_path}/store.db") as store:
        store.minions.greeted({"web1": GreetedMinion(now=1.0, grains={}, session="s", held="")}, [])
        limits = ReplacementLimits(come_seconds=7.0)
        ports = SimpleNamespace(store=store, sessions=Sessions(), limits=limits)
        yield AgentReplacements(ports=ports, bus=Bus(lambda: 1.0), on_refusal=lambda _: None)


def told(replacements, step, to="saltern"):
    record = ReplacementRecord(minion="web1", to=to, step=step, old_key="old", new_key="new")
    replacements.ports.store.replacements.put(record)
    [view] = replacements.views()
    assert bool(view.why) is bool(view.hint)
    assert not view.hint or ("start the service" in view.hint and "waited for 7 s" in view.hint)
    return view.why


@pytest.mark.parametrize(
    ("step", "to", "key", "why"),
    [
        ("installing", "saltern", "old", "salt-minion is not connected"),
        ("installing", "salt", "old", "saltern-minion is not connected"),
        ("starting", "saltern", "new", "saltern-minion is not connected yet"),
        ("handed over", "salt", "new", "salt-minion is not connected yet"),
        ("retiring", "saltern", "new", "saltern-minion is not connected"),
        ("going back", "saltern", "old", "salt-minion is not connected"),
    ],
)
def test_the_agent_that_has_to_act_is_told_while_it_is_not_there(replacements, step, to, key, why):
    assert told(replacements, step, to) == why
    other = "old" if key == "new" else "new"
    for there, said in ((other, why), (key, "")):
        session = Session(minion="web1", key=there, session="s", grains={}, seen=1.0)
        replacements.ports.sessions.connect(session)
        assert told(replacements, step, to) == said


@pytest.mark.parametrize("step", ["done", "failed"])
def test_of_one_that_has_ended_nobody_is_missed(replacements, step):
    assert not told(replacements, step)
