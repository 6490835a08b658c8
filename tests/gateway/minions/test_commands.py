"""What a stock minion asks, answered."""

import pytest

from gateway.minions.commands import CommandPorts, Commands
from gateway.minions.files import KeptContents, StockFiles
from gateway.minions.mine import MinionMine
from gateway.minions.questions import OpenQuestions

PILLAR = {"app": {"name": "a", "ports": [1]}, "kept": 1, 8080: "number"}


@pytest.fixture
def said():
    """Events and starts, as they were said."""
    return []


@pytest.fixture
def commands(tmp_path, said):
    async def pillar(_grains):
        return PILLAR

    questions = OpenQuestions(lambda _: False)
    ports = CommandPorts(
        files=StockFiles(questions=questions, contents=KeptContents(), in_shadow=lambda: False),
        mine=MinionMine(tmp_path / "mine", questions, lambda _: None),
        questions=questions,
        pillar=pillar,
        returned=lambda _: None,
        event=lambda tag, data: said.append((tag, data)),
        started=lambda grains: said.append(("started", grains)),
        top_sls=dict,
        nonce=lambda: "nonce",
    )
    return Commands("web1", ports)


@pytest.mark.parametrize(
    ("given", "expected"),
    [
        ({}, PILLAR),
        (None, PILLAR),
        (["no mapping"], PILLAR),
        (
            {"app": {"name": "b", "more": 1}, "new": 2},
            {"app": {"name": "b", "ports": [1], "more": 1}, "kept": 1, 8080: "number", "new": 2},
        ),
        ({"app": "text"}, {"app": "text", "kept": 1, 8080: "number"}),
    ],
)
async def test_pillar_that_is_given_is_merged_over_the_minions(commands, given, expected):
    assert await commands.answer("_pillar", {"pillar_override": given}) == expected
    assert PILLAR["app"] == {"name": "a", "ports": [1]}


async def test_its_start_is_no_event_and_what_else_it_says_is(commands, said):
    def event(tag, **more):
        return {"tag": tag, "data": {"a": 1}, **more}

    await commands.answer("_minion_event", event("minion_start"))
    await commands.answer("_minion_event", event("salt/minion/web1/start", grains={"os": "Debian"}))
    await commands.answer(
        "_minion_event", {"events": [event("salt/minion/web1/other"), event("salt/minion/db1/start")]}
    )
    assert said == [
        ("started", None),
        ("started", {"os": "Debian"}),
        ("salt/minion/web1/other", {"a": 1}),
        ("salt/minion/db1/start", {"a": 1}),
    ]
    assert commands.tells_start("_minion_event", event("minion_start"))
    assert not commands.tells_start("_minion_event", event("other"))
    assert not commands.tells_start("_return", event("minion_start"))
