"""What a stock minion asks, answered."""

import pytest

from gateway.minions.commands import CommandPorts, Commands
from gateway.minions.files import KeptContents, StockFiles
from gateway.minions.mine import MinionMine
from gateway.minions.questions import OpenQuestions

PILLAR = {"app": {"name": "a", "ports": [1]}, "kept": 1, 8080: "number"}


@pytest.fixture
def commands(tmp_path):
    async def pillar(_grains):
        return PILLAR

    questions = OpenQuestions(lambda _: False)
    ports = CommandPorts(
        files=StockFiles(questions=questions, contents=KeptContents(), in_shadow=lambda: False),
        mine=MinionMine(tmp_path / "mine", questions, lambda _: None),
        questions=questions,
        pillar=pillar,
        returned=lambda _: None,
        event=lambda _tag, _data: None,
        started=lambda: None,
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
