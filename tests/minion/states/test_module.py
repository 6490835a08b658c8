import time
from pathlib import Path
from typing import Any

import pytest

from highstate.files import MemoryFiles
from highstate.run.runner import run
from highstate.types import Chunk, StateResult
from minion.execution import Context
from minion.execution.state_engine import engine_of


def do(*chunks: Chunk, test: bool = False, **fields: Any) -> StateResult:
    context = Context(minion_id="m", make_files=lambda: MemoryFiles({"base": {}}), **fields)
    engine = engine_of(context, context.machine, test=test)
    return list(run({one.tag: one for one in chunks}, engine, test=test, clock=time.time).values())[-1]


def low(fun: str, name: str = "x", state: str = "module", **arguments: Any) -> Chunk:
    return Chunk(state=state, fun=fun, id=name, name=name, sls="s", arguments=arguments)


def test_the_old_syntax() -> None:
    chunk = low("run", "test.echo", text="hi")
    pending = do(chunk, test=True)
    assert (pending.result, pending.comment) == (None, "Module function test.echo is set to execute")
    done = do(chunk)
    assert (done.result, done.comment, done.changes) == (True, "Module function test.echo executed", {"ret": "hi"})
    named = do(low("run", "test.arg", args=[1, 2], kwargs={"k": 3}))
    assert named.changes["ret"] == {"args": [1, 2], "kwargs": {"k": 3}}


def test_names_that_the_state_has_taken() -> None:
    result = do(low("run", "group.info", m_name="root"))
    assert result.changes["ret"]["gid"] == 0


def test_the_new_syntax(tmp_path: Path) -> None:
    chunk = low("run", **{"test.echo": ["hi"], "cmd.run": [{"cmd": f"touch {tmp_path}/x"}]})
    pending = do(chunk, test=True)
    assert (pending.result, pending.comment) == (None, "Functions test.echo, cmd.run to be executed.")
    assert not (tmp_path / "x").exists()
    done = do(chunk)
    assert (done.result, done.comment) == (True, "test.echo: hi, cmd.run: ")
    assert done.changes == {"test.echo": "hi", "cmd.run": ""}
    assert (tmp_path / "x").exists()


def test_one_function_several_times() -> None:
    done = do(low("run", **{"test.echo:a": ["1"], "test.echo:b": ["2"]}))
    assert done.changes == {"test.echo:a": "1", "test.echo:b": "2"}


@pytest.mark.parametrize("test", [True, False])
@pytest.mark.parametrize(
    ("chunk", "said"),
    [
        (low("run", "no.such"), "Module function no.such is not available"),
        (low("run", **{"no.such": None}), "Unavailable function: no.such."),
        (low("run", "test.echo"), "The following arguments are missing: text"),
        (low("run", "test.arg", args="x"), "'args' must be a list."),
    ],
)
def test_what_cannot_be_called(chunk: Chunk, said: str, test: bool) -> None:
    result = do(chunk, test=test)
    assert (result.result, result.comment) == (False, said)


@pytest.mark.parametrize(
    ("chunk", "said"),
    [
        (low("run", **{"cmd.run_all": ["exit 3"]}), "'cmd.run_all' failed"),
        (low("run", **{"cmd.run": ["true", {"cwd": "/no/such"}]}), "'cmd.run' failed"),
        (low("run", "cmd.run_all", cmd="exit 3"), "Module function cmd.run_all executed"),
    ],
)
def test_what_fails_when_it_is_called(chunk: Chunk, said: str) -> None:
    result = do(chunk)
    assert result.result is False
    assert said in result.comment


def test_wait_acts_on_a_change_alone(tmp_path: Path) -> None:
    chunk = low("wait", "cmd.run", cmd=f"touch {tmp_path}/x", watch=["c"])
    do(low("nop", "c", "test"), chunk)
    assert not (tmp_path / "x").exists()
    assert do(low("succeed_with_changes", "c", "test"), chunk).result is True
    assert (tmp_path / "x").exists()


def test_events_are_sent() -> None:
    sent: list[Any] = []

    def fire(tag: str, data: Any) -> str:
        sent.append((tag, data))
        return ""

    chunk = low("send", "my/tag", "event", data={"a": 1})
    pending = do(chunk, test=True, fire=fire)
    assert (pending.result, sent) == (None, [])
    done = do(chunk, fire=fire)
    assert (done.result, done.comment, done.changes) == (True, "Event fired", {"tag": "my/tag", "data": {"a": 1}})
    assert sent == [("my/tag", {"a": 1})]
    assert do(low("send", "my/tag", "event", show_changed=False), fire=fire).changes == {}
    assert do(chunk).result is False


def test_saltutil_brings_modules_up_to_date(tmp_path: Path) -> None:
    tree = {"_modules/mine.py": b"def x():\n    return 'mine'\n"}
    made = Context(minion_id="m", cachedir=str(tmp_path), make_files=lambda: MemoryFiles({"base": tree}))
    chunks = [low("sync_all", "all", "saltutil"), low("run", **{"mine.x": None})]
    engine = engine_of(made, made.machine, test=False)
    results = list(run({one.tag: one for one in chunks}, engine, test=False, clock=time.time).values())
    assert results[0].changes == {"modules": ["modules.mine"]}
    assert results[1].changes == {"mine.x": "mine"}
    again = do(low("sync_modules", "again", "saltutil"), cachedir=str(tmp_path))
    assert again.changes == {"modules": ["modules.mine"]}  # the tree of this call has none


def test_a_umask_is_for_new_files_and_commands(tmp_path: Path) -> None:
    do(low("managed", str(tmp_path / "a"), "file", contents="x", umask="077"))
    assert (tmp_path / "a").stat().st_mode & 0o777 == 0o600
    do(low("run", f"touch {tmp_path}/b", "cmd", umask="027"))
    assert (tmp_path / "b").stat().st_mode & 0o777 == 0o640
    do(low("directory", str(tmp_path / "c"), "file", umask="0077", mode="0755"))
    assert (tmp_path / "c").stat().st_mode & 0o777 == 0o755
    assert do(low("run", "true", "cmd", umask="9")).comment == "Invalid umask: 9"


def test_check_cmd_has_the_last_word() -> None:
    assert do(low("nop", "x", "test", check_cmd="false")).result is False
    assert do(low("run", "exit 3", "cmd", check_cmd=["true"])).result is True
    assert do(low("run", "exit 0", "cmd", check_cmd=["true", "false"])).result is False
