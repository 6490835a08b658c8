"""Each example that `make example` starts does what its page says, with a real controller and minions."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from effort import steps

from controller.config.settings import load_file
from controller.forges.kind_names import KINDS
from tools.examples import __main__ as command
from tools.examples.followed import run_example, runnable
from tools.examples.forges import EXAMPLE, forge_options, run_previews

EXAMPLES = Path(__file__).parents[2] / "examples"


@pytest.mark.parametrize("name", steps(runnable(), 4))
def test_the_example_does_what_its_page_says(name):
    told = []
    assert run_example(name, told.append) > 4, "\n".join(told)


@pytest.mark.timeout(300)
def test_previews_on_each_forge():
    told = []
    run_previews(told.append)
    for kind in forge_options():
        assert any(line.startswith(f"  {'github-app' if kind == 'github' else kind}: ") for line in told)


def test_each_forge_has_a_configuration_that_can_be_used():
    assert {*forge_options()} == {*KINDS}
    for kind in forge_options():
        settings = load_file(EXAMPLE / f"{kind}.conf")
        assert [each.kind for each in settings.forges] == [kind]
        assert settings.notes == ()


def test_the_table_names_every_folder_and_what_can_be_started(capsys):
    page = (EXAMPLES / "README.md").read_text()
    assert {*re.findall(r"^\| \[([a-z-]+)\]", page, re.MULTILINE)} == {
        path.parent.name for path in EXAMPLES.glob("*/README.md")
    }
    started = {*re.findall(r"`NAME=([a-z-]+)`", page)}
    assert started == {*runnable(), "previews", "quickstart"}
    assert command.main(["nothing"]) == 64
    assert {*capsys.readouterr().err.partition(": ")[2].strip().split(", ")} == started
