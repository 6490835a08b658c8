"""cmd.*: the shell, what counts as success, scripts and code."""

import os
from pathlib import Path
from typing import Any

import pytest

from highstate.files import MemoryFiles
from minion.execution import Context, Modules

SCRIPT = b'#!/bin/sh\necho "$@ in $(pwd)"\n'


def call(fun: str, *args: Any, **kwargs: Any) -> Any:
    context = Context(minion_id="web1", make_files=lambda: MemoryFiles({"base": {"s.sh": SCRIPT, "a b.sh": SCRIPT}}))
    return Modules(context).call(fun, args, kwargs)


def test_output_that_makes_a_success_of_any_exit_code() -> None:
    failing = "echo all went well; echo no such file >&2; exit 3"
    assert call("cmd.run_all", failing)["retcode"] == 3
    assert call("cmd.run_all", failing, success_stdout=["went"])["retcode"] == 0
    assert call("cmd.run_all", failing, success_stderr=["such file"])["retcode"] == 0
    assert call("cmd.run_all", failing, success_stderr=["went"])["retcode"] == 3


def test_cmd_shell_without_a_shell_when_that_is_asked_for() -> None:
    assert call("cmd.shell", "echo a | tr a b") == "b"
    assert call("cmd.shell", "echo a | tr a b", python_shell=False) == "a | tr a b"


def test_a_script_in_a_folder_with_a_blank(tmp_path: Path) -> None:
    folder = tmp_path / "two words"
    folder.mkdir()
    assert call("cmd.script", "salt://s.sh", "x y", cwd=str(folder))["stdout"] == f"x y in {folder}"
    assert call("cmd.script", "salt://a b.sh", ["x", "y z"], cwd=str(folder))["stdout"] == f"x y z in {folder}"
    assert call("cmd.script", "salt://s.sh x") == {
        "pid": 0, "retcode": 1, "stdout": "", "stderr": "", "cache_error": True,
    }  # fmt: skip


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can be another user")
def test_code_is_run_by_another_user() -> None:
    done = call("cmd.exec_code_all", "sh", "id -un", runas="nobody")
    assert (done["stdout"], done["retcode"]) == ("nobody", 0)


def test_the_shell_is_that_of_the_environment(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    own = tmp_path / "own"
    own.write_text('#!/bin/sh\necho "own $2"\n')
    own.chmod(0o755)
    monkeypatch.setenv("SHELL", str(own))
    assert call("cmd.run", "echo hello") == "own echo hello"
    assert call("cmd.run", "echo hello", shell="/bin/sh") == "hello"
    monkeypatch.delenv("SHELL")
    assert call("cmd.run", "echo hello") == "hello"
