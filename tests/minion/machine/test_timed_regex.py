"""Patterns on a minion: the answers of `re`, and an end for those that would take for ever."""

import re
import signal
import threading
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from highstate.files import MemoryFiles
from highstate.run.runner import run
from highstate.types import Chunk, StateResult
from minion.engine.engine import StateEngine
from minion.execution.errors import CallFailed
from minion.machine import timed_regex
from minion.machine.failure import StateFailed
from minion.machine.machine import LocalMachine
from minion.machine.timed_regex import TimedRegex
from minion.modules.file import find, look

SLOW = r"(a|aa)+$"
TEXT = "a" * 100 + "b"


@pytest.fixture(autouse=True)
def _short(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(timed_regex, "SECONDS", 0.2)


def once(fun: str, name: object, **arguments: Any) -> StateResult:
    one = Chunk(state="file", fun=fun, id="x", name=str(name), sls="s", arguments=arguments)
    machine = LocalMachine(sources_port=MemoryFiles({"base": {}}))
    return run({"k": one}, StateEngine(machine, test=False), test=False, clock=lambda: 0.0)["k"]


@pytest.mark.parametrize(
    ("fun", "arguments"),
    [
        ("replace", {"pattern": SLOW, "repl": "x"}),
        ("replace", {"pattern": rf"(?=x?){SLOW}\1", "repl": "x"}),
        ("comment", {"regex": SLOW}),
        ("uncomment", {"regex": SLOW}),
        ("line", {"mode": "replace", "match": SLOW, "content": "x"}),
        ("line", {"mode": "insert", "after": SLOW, "content": "x"}),
        ("blockreplace", {"content": "x", "insert_before_match": SLOW}),
        ("blockreplace", {"content": "x", "insert_after_match": SLOW}),
    ],
)
def test_a_state_whose_pattern_takes_too_long_fails_with_the_pattern(tmp_path: Path, fun: str, arguments: Any) -> None:
    path = tmp_path / "f"
    path.write_text(TEXT)
    result = once(fun, path, **arguments)
    assert result.result is False
    assert SLOW[:-1] in result.comment
    assert "s of processor time, last for 101 characters: parts of it match the same text" in result.comment
    assert path.read_text() == TEXT


@pytest.mark.parametrize(
    "call",
    [
        lambda path: look.contains_regex(None, path, SLOW),  # type: ignore[arg-type]
        lambda path: look.search(None, path, SLOW),  # type: ignore[arg-type]
        lambda path: find.find(None, str(Path(path).parent), grep=SLOW),  # type: ignore[arg-type]
        lambda path: find.find(None, str(Path(path).parent), regex=r"(a|aa)+$"),  # type: ignore[arg-type]
    ],
)
def test_a_function_whose_pattern_takes_too_long_fails(tmp_path: Path, call: Any) -> None:
    path = tmp_path / TEXT
    path.write_text(TEXT)
    with pytest.raises((StateFailed, CallFailed), match="s of processor time"):
        call(str(path))


def test_in_the_thread_of_a_parallel_state_another_engine_has_the_limit() -> None:
    found: list[Any] = []

    def work() -> None:
        found.append(TimedRegex("(?s).*b.*(c)").search("b" * 5000 + "c") is not None)
        found.append(TimedRegex(rb"(b)+?$", re.ASCII).subn(rb"<\1>", b"abb" * 500))
        for pattern in (r"(a|aa)+c$", r"{(a|aa)+c$"):
            try:
                found.append(TimedRegex(pattern).search("a" * 5000))
            except StateFailed as error:
                found.append(str(error))

    thread = threading.Thread(target=work)
    thread.start()
    thread.join()
    assert found == [True, (b"abb" * 499 + b"a<b>", 1), *found[2:]]
    assert "takes more than 2 s: its repetitions overlap" in found[2]
    assert "cannot be run with a time limit: write a simpler one" in found[3]


def test_many_searches_with_one_pattern_share_their_time() -> None:
    regex = TimedRegex(r"(.*)*\1x")
    with pytest.raises(StateFailed):
        for _ in range(10_000):
            regex.search("a" * 17)


def test_the_timer_is_gone_afterwards() -> None:
    before = signal.getsignal(signal.SIGVTALRM)
    with pytest.raises(StateFailed):
        TimedRegex(SLOW).search(TEXT)
    assert TimedRegex("(?s).*b(.*c)").search("ab" * 1000 + "c")
    assert signal.getitimer(signal.ITIMER_VIRTUAL) == (0.0, 0.0)
    assert signal.getsignal(signal.SIGVTALRM) == before


_PIECES = st.sampled_from(
    ["a", "b", ".", "*", "+", "?", "{2}", "|", "(", ")", "(?=", "(?<!a)", r"\1", "[ab]", "^", "$", r"\b", "é", "(?i)"]
)


@settings(max_examples=300, deadline=None)
@given(
    st.lists(_PIECES, max_size=7).map("".join), st.text("abé\n", max_size=12), st.sampled_from([0, re.M, re.S | re.I])
)
def test_answers_are_those_of_re(pattern: str, text: str, flags: int) -> None:
    try:
        own = re.compile(pattern, flags)
    except re.error as error:
        with pytest.raises(re.error, match=re.escape(str(error))):
            TimedRegex(pattern, flags)
        return
    timed = TimedRegex(pattern, flags)
    assert str(timed.search(text)) == str(own.search(text))
    assert str(timed.match(text)) == str(own.match(text))
    assert str(timed.fullmatch(text)) == str(own.fullmatch(text))
    assert timed.subn(r"<\g<0>>", text) == own.subn(r"<\g<0>>", text)
    raw = TimedRegex(pattern.encode(), flags).subn(b"-", text.encode(), 1)
    assert raw == re.compile(pattern.encode(), flags).subn(b"-", text.encode(), 1)
