"""The execution module `cmd`: commands on the machine. Salt's names and defaults; a string goes through the shell."""

from __future__ import annotations

import shutil
from collections.abc import Mapping
from typing import Any

from minion.modules.context import Context
from minion.modules.errors import CallFailed
from minion.states.plan import Completed, StateFailed


def run(context: Context, cmd: str, **options: Any) -> str:
    """Output of a command, stderr after stdout. Options: cwd, env, runas, timeout, stdin, shell, python_shell."""
    done = _run(cmd, **options)
    return "\n".join(text for text in (done.stdout.rstrip("\n"), done.stderr.rstrip("\n")) if text)


def run_stdout(context: Context, cmd: str, **options: Any) -> str:
    """Standard output of a command."""
    return _run(cmd, **options).stdout.rstrip("\n")


def run_stderr(context: Context, cmd: str, **options: Any) -> str:
    """Standard error of a command."""
    return _run(cmd, **options).stderr.rstrip("\n")


def run_all(context: Context, cmd: str, **options: Any) -> dict[str, Any]:
    """Process id, exit code, stdout and stderr of a command."""
    done = _run(cmd, **options)
    return {
        "pid": done.pid,
        "retcode": done.returncode,
        "stdout": done.stdout.rstrip("\n"),
        "stderr": done.stderr.rstrip("\n"),
    }


def retcode(context: Context, cmd: str, **options: Any) -> int:
    """Exit code of a command."""
    return _run(cmd, **options).returncode


def which(context: Context, cmd: str) -> str | None:
    """Path of a program, null when it is not there."""
    return shutil.which(cmd)


def has_exec(context: Context, cmd: str) -> bool:
    """Whether a program is there."""
    return shutil.which(cmd) is not None


def _run(
    cmd: Any,
    *,
    cwd: Any = None,
    env: Any = None,
    runas: Any = None,
    timeout: Any = None,
    stdin: Any = None,
    shell: Any = None,
    python_shell: bool = True,
    ignore_retcode: bool = False,
) -> Completed:
    from minion.states.cmd import environment
    from minion.states.process import run as run_process

    command: Any = [str(one) for one in cmd] if isinstance(cmd, list | tuple) else str(cmd)
    if isinstance(command, str) and not python_shell:
        import shlex

        command = shlex.split(command)
    try:
        return run_process(
            command,
            cwd=None if cwd is None else str(cwd),
            env=environment(env),
            runas=None if runas is None else str(runas),
            timeout=None if timeout is None else float(timeout),
            stdin=None if stdin is None else str(stdin),
            shell=str(shell or "/bin/sh"),
        )
    except StateFailed as error:
        raise CallFailed(str(error)) from error


FUNCTIONS: Mapping[str, Any] = {
    "has_exec": has_exec,
    "retcode": retcode,
    "run": run,
    "run_all": run_all,
    "run_stderr": run_stderr,
    "run_stdout": run_stdout,
    "shell": run,
    "which": which,
}
