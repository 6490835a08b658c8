import os
import threading
from pathlib import Path

import pytest

from highstate.types import StateResult
from minion.config.group_rules import options_of
from minion.config.groups import StateOptions
from minion.spool.triggers import TriggerFile
from minion.worker.run_hooks import ThreadTask, run_hooks

NONE = frozenset[str]()


def test_triggers_outlive_the_process(tmp_path: Path) -> None:
    TriggerFile(tmp_path).settle(frozenset({"a", "b"}), NONE)
    assert TriggerFile(tmp_path).pending_triggers() == {"a", "b"}
    TriggerFile(tmp_path, whole={"b"}).settle(frozenset({"a", "b"}), NONE)
    assert TriggerFile(tmp_path).pending_triggers() == {"b"}
    TriggerFile(tmp_path).settle(NONE, frozenset({"b"}))
    assert TriggerFile(tmp_path).pending_triggers() == NONE


def test_runs_beside_each_other_keep_what_the_others_remember(tmp_path: Path) -> None:
    """Each of these processes remembers thirty, one after the other, and forgets all but the last."""
    children = []
    for name in "abcd":
        pid = os.fork()
        if not pid:
            try:
                for number in range(30):
                    TriggerFile(tmp_path).settle(frozenset({f"{name}{number}"}), frozenset({f"{name}{number - 1}"}))
            finally:
                os._exit(0)
        children.append(pid)
    assert [os.waitpid(pid, 0)[1] for pid in children] == [0, 0, 0, 0]
    assert TriggerFile(tmp_path).pending_triggers() == {"a29", "b29", "c29", "d29"}


@pytest.mark.parametrize("content", [b"", b"{", b'{"a": 1}', b"\xff"])
def test_a_damaged_file_counts_as_empty(tmp_path: Path, content: bytes) -> None:
    (tmp_path / "triggers").write_bytes(content)
    assert TriggerFile(tmp_path).pending_triggers() == frozenset()


def test_nothing_owed_writes_nothing(tmp_path: Path) -> None:
    TriggerFile(tmp_path).settle(NONE, frozenset({"a"}))
    assert list(tmp_path.iterdir()) == []


def test_a_folder_that_is_not_there_costs_no_run(tmp_path: Path) -> None:
    TriggerFile(tmp_path / "none").settle(frozenset({"a"}), NONE)


def test_tasks_run_beside_the_others() -> None:
    go = threading.Event()
    result = StateResult(name="x", result=True)

    def task() -> tuple[StateResult, float]:
        assert go.wait(60)
        return result, 1.0

    begun = ThreadTask(task)
    assert not begun.ready()
    go.set()
    assert begun.wait() == (result, 1.0)
    assert begun.ready()


def test_what_a_task_raises_reaches_who_waits() -> None:
    def task() -> tuple[StateResult, float]:
        raise SystemExit(3)

    with pytest.raises(SystemExit):
        ThreadTask(task).wait()


def test_state_aggregate() -> None:
    assert run_hooks(options_of({"state_aggregate": True}).state).aggregate
    assert run_hooks(options_of({"state_aggregate": ["pkg"]}).state).aggregate
    assert not run_hooks(options_of({"state_aggregate": ["file"]}).state).aggregate
    assert not run_hooks(StateOptions()).aggregate
