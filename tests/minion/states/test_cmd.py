import os
import subprocess
import time
from pathlib import Path
from typing import Any

import pytest

from highstate.files import MemoryFiles
from highstate.run.runner import run
from highstate.types import Chunk, StateResult
from minion.engine.engine import StateEngine
from minion.machine.machine import LocalMachine
from minion.machine.process import OUTPUT_LIMIT
from minion.machine.process import run as run_process

SCRIPTS = {
    "hello.sh": b"#!/bin/sh\necho hello $# $1; pwd; ls -A\n",
    "plain": b"echo plain\n",
    "asked.j2": b"#!/bin/sh\necho {{ who }}\n",
}


def do(fun: str, name: Any, *, test: bool = False, **arguments: Any) -> StateResult:
    chunk = Chunk(state="cmd", fun=fun, id="x", name=name, sls="s", arguments=arguments)
    engine = StateEngine(LocalMachine(sources_port=MemoryFiles({"base": SCRIPTS})), test=test)
    return run({"k": chunk}, engine, test=test, clock=time.time)["k"]


def test_a_command_runs_each_time_and_never_under_test(tmp_path: Path) -> None:
    command = f"echo ran >> {tmp_path}/ran"
    pending = do("run", command, test=True)
    assert (pending.result, pending.comment) == (None, f'Command "{command}" would have been executed')
    assert not (tmp_path / "ran").exists()
    for _ in range(2):
        result = do("run", command)
        assert (result.result, result.comment) == (True, f'Command "{command}" run')
    assert (tmp_path / "ran").read_text() == "ran\nran\n"


def test_what_a_command_leaves() -> None:
    result = do("run", "echo out; echo err >&2; exit 3")
    assert result.result is False
    assert {key: result.changes[key] for key in ("retcode", "stdout", "stderr")} == {
        "retcode": 3,
        "stdout": "out",
        "stderr": "err",
    }
    assert result.changes["pid"] > 0
    assert do("run", "exit 3", success_retcodes=[3]).result is True
    assert do("run", "echo secret", hide_output=True).changes["stdout"] == ""


def test_where_and_with_what_it_runs(tmp_path: Path) -> None:
    result = do("run", "pwd; echo $A $B; cat", cwd=str(tmp_path), env=[{"A": 1}, {"B": "x y"}], stdin="in")
    assert result.changes["stdout"] == f"{os.path.realpath(tmp_path)}\n1 x y\nin"
    assert do("run", "echo ${BASH_VERSION:+yes}", shell="/bin/bash").changes["stdout"] == "yes"


@pytest.mark.parametrize(
    ("arguments", "comment"),
    [
        ({"cwd": "/no/such"}, 'Desired working directory "/no/such" is not available'),
        ({"runas": "no-such-user"}, "User 'no-such-user' is not available"),
        ({"env": "A=1"}, "env must be a mapping, or a list of mappings, of names to values"),
        ({"timeout": "soon"}, "Error: timeout soon must be a number"),
    ],
)
def test_what_is_refused(arguments: Any, comment: str) -> None:
    result = do("run", "true", **arguments)
    assert (result.result, result.comment) == (False, comment)


def test_a_command_over_its_time_is_ended_with_its_children(tmp_path: Path) -> None:
    result = do("run", f"sleep 300 & echo $! > {tmp_path}/pid; wait", timeout=0.5)
    assert result.result is False
    assert "Timed out after 0.5 seconds" in result.changes["stdout"]
    pid = (tmp_path / "pid").read_text().strip()
    deadline = time.monotonic() + 20
    while time.monotonic() < deadline:
        state = Path(f"/proc/{pid}/stat")
        if not state.exists() or state.read_text().split(") ")[1][0] == "Z":
            return
        time.sleep(0.01)
    pytest.fail("the child outlived its command")


def test_a_daemon_left_behind_holds_nobody_up(tmp_path: Path) -> None:
    started = time.monotonic()
    result = do("run", f"sleep 60 & echo $! > {tmp_path}/pid; echo done")
    subprocess.run(["kill", (tmp_path / "pid").read_text().strip()], check=True)
    assert result.changes["stdout"] == "done"
    assert time.monotonic() - started < 50


def test_output_is_kept_to_a_limit() -> None:
    done = run_process(f"head -c {OUTPUT_LIMIT + 10} /dev/zero | tr '\\0' x")
    assert done.stdout.endswith("[10 more bytes are not kept]")
    assert len(done.stdout) < OUTPUT_LIMIT + 100


def test_programs_that_are_not_there() -> None:
    assert run_process(["/no/such/program"]).returncode == 127
    assert run_process(["/etc"]).returncode == 126
    assert run_process("/no/such/program").returncode == 127


@pytest.mark.skipif(os.geteuid() != 0, reason="runs a command as somebody else, which takes root")
def test_runas() -> None:
    assert do("run", "id -un; echo $HOME; id -G", runas="nobody").changes["stdout"].split()[0] == "nobody"


def test_wait_does_nothing_of_its_own() -> None:
    result = do("wait", "exit 1")
    assert (result.result, result.comment, result.changes) == (True, "", {})


@pytest.mark.parametrize(
    ("output", "changes", "comment"),
    [
        (
            """echo working; echo; echo "changed=yes comment='it did' x=1\"""",
            {"stdout": "working\n", "x": "1"},
            "it did",
        ),
        ("echo changed=no comment=idle", {}, "idle"),
        ("""echo '{"changed": true, "comment": "json", "n": 1}'""", {"stdout": "", "n": 1}, "json"),
        ("echo oops >&2", {}, "oops"),
        ("true", {}, ""),
    ],
)
def test_a_stateful_command_says_itself_what_it_changed(output: str, changes: dict[str, Any], comment: str) -> None:
    result = do("run", output, stateful=True)
    assert (result.result, result.comment) == (True, comment)
    assert {key: result.changes.get(key) for key in changes} == changes
    assert bool(result.changes) is bool(changes)


@pytest.mark.parametrize(
    ("output", "said"),
    [
        ("echo not a pair", "Failed parsing script output!"),
        ("echo '[1]'", "script JSON output must be a JSON object"),
        ("echo changed=perhaps", "Failed parsing boolean value: perhaps"),
        ("echo changed=yes comment=bad; exit 1", "bad"),
    ],
)
def test_a_stateful_command_that_fails(output: str, said: str) -> None:
    result = do("run", output, stateful=[{"test_name": "false"}])
    assert result.result is False
    assert said in result.comment


def test_what_counts_as_success() -> None:
    assert do("run", "echo fine; exit 3", success_stdout=["fine"]).changes["retcode"] == 0
    assert do("run", "echo fine >&2; exit 3", success_stderr="fine").result is True
    assert do("run", "exit 3", success_stdout=["fine"]).result is False
    assert do("run", "sleep 60", timeout=0.2, ignore_timeout=True).result is True


def test_a_script_of_the_tree(tmp_path: Path) -> None:
    pending = do("script", "salt://hello.sh", test=True)
    assert (pending.result, pending.comment) == (None, "Command 'salt://hello.sh' would have been executed")
    result = do("script", "salt://hello.sh 'one two' three", cwd=str(tmp_path))
    assert (result.result, result.comment) == (True, "Command 'salt://hello.sh 'one two' three' run")
    lines = result.changes["stdout"].splitlines()
    assert lines[:2] == ["hello 2 one two", str(tmp_path.resolve())]
    assert list(tmp_path.iterdir()) == []
    assert do("script", "x", source="salt://plain", args=["a b"]).changes["stdout"] == "plain"
    rendered = do("script", "salt://asked.j2", template="jinja", context={"who": "world"})
    assert rendered.changes["stdout"] == "world"


@pytest.mark.parametrize(
    ("name", "arguments", "said"),
    [
        ("salt://none", {}, "Unable to cache script salt://none from saltenv 'base'"),
        ("relative", {}, "must be salt://"),
        ("salt://plain", {"context": "x"}, "Invalidly-formatted 'context' parameter"),
        ("salt://plain", {"template": "genshi"}, "renders with jinja"),
        ("salt://plain", {"cwd": "/no/such"}, 'Desired working directory "/no/such" is not available'),
    ],
)
def test_scripts_that_cannot_run(name: str, arguments: Any, said: str) -> None:
    result = do("script", name, **arguments)
    assert result.result is False
    assert said in result.comment


def test_wait_script_and_call() -> None:
    assert do("wait_script", "salt://plain").changes == {}
    assert "use module.run" in do("call", "x", func="f").comment


@pytest.mark.parametrize("name", ["", "  "])
@pytest.mark.parametrize("test", [False, True])
def test_a_script_without_a_name_is_refused(name: str, test: bool) -> None:
    result = do("script", name, test=test)
    assert (result.result, result.comment) == (False, "cmd.script needs the path of a script in name")
