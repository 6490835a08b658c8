"""Whose turn it is: between real processes, as `saltern call` starts them, and with Salt's words."""

import re
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from minion.spool.state_queue import Conflict, StateQueue


@contextmanager
def another(cachedir: Path, jid: str) -> Iterator[Callable[[], None]]:
    """Another process that has its turn until it is told to end; what ends it early, with kill -9."""
    code = "import pathlib, sys; from minion.spool.state_queue import StateQueue\n"
    code += "with StateQueue(pathlib.Path(sys.argv[1]), 'state.apply', sys.argv[2]).taken(): print(flush=True); input()"
    command = [sys.executable, "-c", code, str(cachedir), jid]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as process:
        assert process.stdout is not None
        process.stdout.readline()
        yield process.kill
        process.kill()


def test_a_run_is_refused_while_another_goes_on(tmp_path: Path) -> None:
    mine = StateQueue(tmp_path, "state.sls", "2")
    with another(tmp_path, "20261121154611083487"):
        with pytest.raises(Conflict) as refused, mine.taken(False):
            pass
        said = r'The function "state.apply" is running as PID \d+ and was started at '
        said += r"\d{4}, [A-Z][a-z][a-z] \d\d \d\d:\d\d:\d\d\.\d{6} with jid 20261121154611083487"
        assert re.fullmatch(said, str(refused.value))
        with mine.taken(False, concurrent=True):
            assert [one.jid for one in mine.others()] == ["20261121154611083487"]
        with pytest.raises(Conflict), mine.taken(1):
            pass
    with mine.taken(False):
        assert mine.others() == []


@pytest.mark.parametrize("queue", [True, 0, 2])
def test_a_run_that_may_wait_waits(tmp_path: Path, queue: object) -> None:
    mine, entered = StateQueue(tmp_path, "state.sls", "2"), threading.Event()

    def wait() -> None:
        with mine.taken(queue):
            entered.set()

    with another(tmp_path, "1"):
        thread = threading.Thread(target=wait)
        thread.start()
        assert not entered.wait(0.2)
    thread.join(60)
    assert entered.is_set()


def test_a_process_that_was_killed_has_no_turn(tmp_path: Path) -> None:
    mine = StateQueue(tmp_path, "state.sls", "2")
    with another(tmp_path, "1") as kill:
        kill()
        with mine.taken(True):
            assert mine.others() == []
    assert list((tmp_path / "turns").iterdir()) == []


def test_a_run_within_a_run_has_its_turn(tmp_path: Path) -> None:
    mine = StateQueue(tmp_path, "state.sls", "2")
    with mine.taken(False), mine.taken(False):
        pass
    with mine.taken(False):
        pass


def test_who_cannot_write_there_takes_no_turn(tmp_path: Path) -> None:
    with StateQueue(tmp_path / "none", "state.sls").taken(False):
        pass
    assert list(tmp_path.iterdir()) == []
