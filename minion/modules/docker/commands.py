"""Functions of `docker` that run a command in a container that runs."""

from __future__ import annotations

import shlex
from typing import Annotated, Any, NamedTuple

from minion.arguments.types import AnyValue, Ignored, Unsupported
from minion.execution.context import Context
from minion.modules.docker.engines import engine_of

BY_THE_ENGINE = Ignored("commands are run by the engine, in the environment of the container")
_NO_LOG = Ignored("output is not logged")


class InContainer(NamedTuple):
    """How a command is run in a container."""

    exec_driver: Annotated[AnyValue, BY_THE_ENGINE] = None
    stdin: Annotated[AnyValue, Unsupported("pipe it within the command")] = None
    python_shell: bool = True
    output_loglevel: Annotated[AnyValue, _NO_LOG] = None
    use_vt: Annotated[AnyValue, Ignored("the output is given when the command has ended")] = None
    ignore_retcode: bool = False
    keep_env: Annotated[AnyValue, BY_THE_ENGINE] = None


def run_all(context: Context, name: str, cmd: str, how: InContainer) -> dict[str, Any]:
    """Run a command in a container; its output, exit code and process."""
    engine = engine_of(context)
    argv = ["sh", "-c", cmd] if how.python_shell else shlex.split(cmd)
    made = engine.call("exec_create", name, argv)["Id"]
    stdout, stderr = engine.call("exec_start", made, demux=True)
    seen = engine.call("exec_inspect", made)
    code = int(seen.get("ExitCode") or 0)
    context.retcode = 0 if how.ignore_retcode else code
    return {"pid": seen.get("Pid") or 0, "retcode": code, "stdout": _text(stdout), "stderr": _text(stderr)}


def _text(output: bytes | None) -> str:
    return (output or b"").decode(errors="replace").rstrip("\n")


def run(context: Context, name: str, cmd: str, how: InContainer) -> str:
    """Run a command in a container; its output, stderr after stdout."""
    done = run_all(context, name, cmd, how)
    return "\n".join(filter(None, (done["stdout"], done["stderr"])))


def run_stdout(context: Context, name: str, cmd: str, how: InContainer) -> str:
    """Run a command in a container; what it wrote to stdout."""
    return str(run_all(context, name, cmd, how)["stdout"])


def run_stderr(context: Context, name: str, cmd: str, how: InContainer) -> str:
    """Run a command in a container; what it wrote to stderr."""
    return str(run_all(context, name, cmd, how)["stderr"])


def retcode(context: Context, name: str, cmd: str, how: InContainer) -> int:
    """Run a command in a container; its exit code."""
    return int(run_all(context, name, cmd, how)["retcode"])
