"""Events as `saltern why` prints them."""

from types import SimpleNamespace

import pytest

from controller.cli import step_output
from controller.cli.step_output import show_step
from controller.schema.events import WhyStep

LONG = "    - contents: {{ pillar['hello']['word'] }} and more than what an old terminal has room for"
FRAME = (f"> 5 | {LONG}", f"    | {' ' * 60}^")
TAG = "saltern/remote//srv/a/long/way/to/a/repository/of/states/and/pillar/fetched"


def shown(capsys, *details, text="does not compile"):
    show_step(WhyStep(id="1", tag="x", time=0.0, step="compile", text=text, revision="", details=details))
    return capsys.readouterr().out.splitlines()


def test_what_is_not_printed_on_a_terminal_is_not_wrapped(capsys):
    lines = shown(capsys, "word " * 40, text="word " * 40)
    assert len(lines) == 2


@pytest.fixture
def terminal(monkeypatch):
    monkeypatch.setattr(step_output, "sys", SimpleNamespace(stdout=SimpleNamespace(isatty=lambda: True)))
    monkeypatch.setenv("COLUMNS", "80")


def test_the_source_of_an_error_keeps_its_caret(capsys, terminal):
    lines = shown(capsys, "hello.sls:5: no key 'word' " * 4, *FRAME)
    assert [line.strip() for line in lines[-2:]] == [FRAME[0].strip(), FRAME[1].strip()]
    assert lines[-2].index("|") == lines[-1].index("|")
    assert len(lines) > 4, "the error itself is wrapped"


def test_a_tag_is_not_broken(capsys, terminal):
    assert any(TAG in line for line in shown(capsys, text=TAG))
