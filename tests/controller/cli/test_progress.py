"""The line of progress: written over on a terminal, lines in a file or a pipe, nothing for who did not ask."""

from __future__ import annotations

import sys

import pytest

from controller.cli.progress import progress_line
from controller.schema.runs import CallProgress


def step(minion: str, text: str) -> CallProgress:
    return CallProgress(minion=minion, run_id="1", done=1, total=2, text=text, seconds=3.0)


def told(capsys, *, shown: bool | None = None) -> str:
    with progress_line(shown=shown) as line:
        line.update(step("web1", "1/2 a\nb (test.nop)"))
        line.update(step("web2", "2/2 c"))
        with line.aside("web2"):
            pass
    return capsys.readouterr().err


def test_a_pipe_has_a_line_for_each_step_and_no_control_codes(capsys):
    assert told(capsys, shown=True) == "web1: 1/2 a b (test.nop)  3 s\nweb2: 2/2 c  3 s\n"


def test_a_pipe_has_none_unless_it_is_asked_for(capsys):
    assert told(capsys) == ""


@pytest.mark.parametrize("shown", [None, True])
def test_a_terminal_has_one_line_that_is_written_over(capsys, monkeypatch, shown):
    monkeypatch.setattr(sys.stderr, "isatty", lambda: True)
    text = told(capsys, shown=shown)
    assert "\n" not in text
    assert text.split("\r\x1b[K") == [
        "",
        "web1: 1/2 a b (test.nop)  3 s",
        "web2: 2/2 c  3 s  (+1 more running)",
        "",
        "web1: 1/2 a b (test.nop)  3 s",
        "",
    ]
