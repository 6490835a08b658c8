import os
import signal
import subprocess
import sys
import time
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from highstate.files import MemoryFiles
from highstate.run.ports import MemoryJournal
from highstate.run.runner import run
from highstate.types import Chunk, Pos, StateResult
from minion.engine import registry
from minion.engine.engine import StateEngine
from minion.machine.failure import StateFailed
from minion.machine.machine import LocalMachine
from minion.machine.plan import Change, Plan


def machine(**fields: Any) -> LocalMachine:
    return LocalMachine(sources_port=MemoryFiles({"base": {}}), **fields)


def chunk(state: str, fun: str, name: str, **arguments: Any) -> Chunk:
    return Chunk(state=state, fun=fun, id=name, name=name, sls="web", arguments=arguments)


def apply(*chunks: Chunk, test: bool = False, on: LocalMachine | None = None, **more: Any) -> dict[str, StateResult]:
    engine = StateEngine(on or machine(), test=test)
    return run({one.tag: one for one in chunks}, engine, test=test, clock=time.time, **more)


def one(*chunks: Chunk, **more: Any) -> StateResult:
    return list(apply(*chunks, **more).values())[-1]


@pytest.mark.parametrize(
    ("state", "fun", "said"),
    [
        ("file", "manged", "Did you mean file.managed?"),
        ("flie", "managed", "Did you mean file.managed"),
        ("xyzzy", "plugh", "There are: "),
        ("file", "xyzzy", "file has: absent"),
    ],
)
def test_an_unknown_state_is_a_failed_result_with_near_names(state: str, fun: str, said: str) -> None:
    result = one(chunk(state, fun, "/x"))
    assert result.result is False
    assert f"State '{state}.{fun}' was not found in SLS 'web'" in result.comment
    assert said in result.comment


def test_a_missing_argument_is_named() -> None:
    result = one(chunk("file", "symlink", "/x"))
    assert (result.result, result.comment) == (False, "Missing parameter target for state file.symlink")


def test_an_unknown_argument_is_a_warning_and_global_ones_are_not(tmp_path: Path) -> None:
    given = {"contents": "a", "moed": "0600", "order": 1, "require_in": [], "__x__": 1, "failhard": True}
    result = one(chunk("file", "managed", str(tmp_path / "a"), **given))
    assert result.result is True
    assert len(result.warnings) == 1
    assert "'moed' is an invalid keyword argument" in result.warnings[0]
    assert "did you mean 'mode'?" in result.warnings[0]


@pytest.mark.parametrize(
    ("arguments", "comment"),
    [
        ({"onlyif": "false"}, "onlyif condition is false"),
        ({"onlyif": ["true", "false"]}, "onlyif condition is false"),
        ({"unless": "true"}, "unless condition is true"),
        ({"unless": ["true", "true"]}, "unless condition is true"),
        ({"creates": "/"}, "/ exists"),
        ({"creates": ["/", "/etc"]}, "All files in creates exist"),
    ],
)
@pytest.mark.parametrize("test", [True, False])
def test_a_condition_keeps_a_state_from_running(arguments: Any, comment: str, test: bool) -> None:
    result = one(chunk("test", "succeed_with_changes", "x", **arguments), test=test)
    assert (result.result, result.comment, result.changes, result.skip_watch) == (True, comment, {}, True)


@pytest.mark.parametrize("arguments", [{"onlyif": "true"}, {"unless": ["true", "false"]}, {"creates": ["/", "/nope"]}])
def test_a_condition_that_does_not_hold_lets_it_run(arguments: Any) -> None:
    assert one(chunk("test", "succeed_with_changes", "x", **arguments)).changes


def test_a_condition_may_name_an_execution_function() -> None:
    class Asked:
        def call(self, fun: str, args: Any, kwargs: Any) -> Any:
            return {"a": {"b": fun == "x.y" and list(args) == [1] and kwargs == {"k": 2}}}

        def call_with_retcode(self, fun: str, args: Any, kwargs: Any) -> tuple[Any, int]:
            return self.call(fun, args, kwargs), 0

    entry = {"fun": "x.y", "args": [1], "k": 2, "get_return": "a:b"}
    low = chunk("test", "nop", "x", unless=[entry])
    engine = StateEngine(machine(), Asked())
    result = run({"k": low}, engine, test=False, clock=time.time)["k"]
    assert result.comment == "unless condition is true"
    assert "no execution functions" in one(low).comment


def test_check_cmd_decides() -> None:
    assert one(chunk("cmd", "run", "true", check_cmd="true")).comment == "check_cmd determined the state succeeded"
    failed = one(chunk("cmd", "run", "true", check_cmd=["true", "false"]))
    assert (failed.result, failed.comment) == (False, "check_cmd determined the state failed")
    assert failed.changes["retcode"] == 0


def test_under_test_nothing_is_written(tmp_path: Path) -> None:
    path = tmp_path / "new"
    result = one(chunk("file", "managed", str(path), contents="x"), test=True)
    assert result.result is None
    assert result.changes == {"diff": "New file"}
    assert not path.exists()


def test_a_state_that_does_not_converge_is_reported(monkeypatch: pytest.MonkeyPatch) -> None:
    def never(machine: Any, name: str) -> Plan:
        return Plan(changes=(Change(key="x", old=1, new=2, act=lambda m: None),), done="Done")

    monkeypatch.setattr(registry, "find", None)
    monkeypatch.setattr("minion.engine.engine.find", lambda *_: registry._function(never))
    result = one(chunk("test", "never", "x"))
    assert result.result is False
    assert "did not converge" in result.comment
    assert "x: {'old': 1, 'new': 2}" in result.comment


def test_what_is_raised_becomes_a_result_with_what_was_done(monkeypatch: pytest.MonkeyPatch) -> None:
    def act(machine: Any) -> None:
        raise StateFailed("no", {"more": 1})

    def half(machine: Any, name: str, broken: Any = None) -> Plan:
        if broken:
            raise broken
        return Plan(changes=(Change(key="a", new=1, act=lambda m: None), Change(key="b", act=act)))

    function = registry._function(half)
    monkeypatch.setattr("minion.engine.engine.find", lambda *_: function)
    result = one(chunk("test", "half", "x"))
    assert (result.result, result.comment) == (False, "no")
    assert result.changes == {"a": {"old": None, "new": 1}, "more": 1}
    assert "ZeroDivisionError" in one(chunk("test", "half", "x", broken=ZeroDivisionError())).comment
    error = PermissionError(13, "Permission denied", "/etc/x")
    for uid, hint in ((1000, " (the minion does not run as root)"), (0, "")):
        monkeypatch.setattr("os.geteuid", lambda uid=uid: uid)
        assert one(chunk("test", "half", "x", broken=error)).comment == f"Permission denied: /etc/x{hint}"


def watched_pair(tmp_path: Path) -> tuple[Chunk, Chunk]:
    config = chunk("file", "managed", str(tmp_path / "config"), contents="new")
    ran = f"echo ran >> {tmp_path / 'restarts'}"
    restart = chunk("cmd", "wait", ran, watch=[{"file": config.name}])
    return config, restart


def test_a_watched_change_calls_mod_watch_once(tmp_path: Path) -> None:
    pair = watched_pair(tmp_path)
    pending = one(*pair, test=True)
    assert pending.result is None
    assert one(*pair).changes["retcode"] == 0
    assert one(*pair).changes == {}
    assert (tmp_path / "restarts").read_text() == "ran\n"


def test_a_state_without_mod_watch_takes_watch_as_require(tmp_path: Path) -> None:
    config, _ = watched_pair(tmp_path)
    follower = chunk("file", "managed", str(tmp_path / "b"), contents="b", watch=[{"file": config.name}])
    assert one(config, follower).changes == {"diff": "New file"}


KILLED = """
import os, signal, sys, time
from pathlib import Path
from minion.engine.engine import StateEngine
from minion.machine.machine import LocalMachine
from highstate.files import MemoryFiles
from highstate.run.ports import MemoryJournal
from highstate.run.runner import run
from highstate.types import Chunk

class Killed(MemoryJournal):
    def intent(self, key, changes):
        Path(sys.argv[2]).write_text(key)
    def done(self, key, result):
        os.kill(os.getpid(), signal.SIGKILL)

low = Chunk(state="file", fun="managed", id=sys.argv[1], name=sys.argv[1], sls="web", arguments={"contents": "new"})
machine = LocalMachine(sources_port=MemoryFiles({"base": {}}))
run({low.tag: low}, StateEngine(machine), test=False, clock=time.time, journal=Killed())
"""


def test_a_run_killed_after_its_write_still_restarts_what_watches(tmp_path: Path) -> None:
    config, restart = watched_pair(tmp_path)
    intents = tmp_path / "intents"
    killed = subprocess.run([sys.executable, "-c", KILLED, config.name, str(intents)], env=os.environ, check=False)
    assert killed.returncode == -signal.SIGKILL
    assert Path(config.name).read_text() == "new\n"
    journal = MemoryJournal(intended={intents.read_text(): {"diff": "New file"}})
    results = apply(config, restart, journal=journal)
    assert results[config.tag].changes == {"diff": "New file"}
    assert results[config.tag].result is True
    assert (tmp_path / "restarts").read_text() == "ran\n"
    apply(config, restart, journal=journal)
    assert (tmp_path / "restarts").read_text() == "ran\n"


def test_results_keep_the_system_clock_and_numbers() -> None:
    results = apply(chunk("test", "nop", "a"), chunk("test", "nop", "b"))
    assert [result.run_num for result in results.values()] == [0, 1]
    assert all(result.start_time.count(":") == 2 and result.duration >= 0 for result in results.values())


def test_a_bad_value_fails_the_state_and_is_named_with_its_place(tmp_path: Path) -> None:
    bad = chunk("file", "directory", str(tmp_path / "a"), force=["x"], follow_symlinks={})
    result = one(replace(bad, pos=Pos(file="web.sls", line=3)))
    assert result.result is False
    assert result.comment == (
        "force must be true or false, not a list\nfollow_symlinks must be true or false, not a mapping (web.sls:3)"
    )


@pytest.mark.parametrize("test", [True, False])
def test_a_plan_that_writes_fails_and_writes_nothing(
    test: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def writes(machine: Any, name: str) -> Plan:
        machine.write(name, b"text")
        return Plan()

    monkeypatch.setattr("minion.engine.engine.find", lambda *_: registry._function(writes))
    result = one(chunk("test", "writes", str(tmp_path / "file")), test=test)
    assert result.result is False
    assert "may not call write" in result.comment
    assert not (tmp_path / "file").exists()
