"""Processes of `saltern` that are forks of one which has imported the program already.

Each scene starts a controller, minions and commands, and importing is a third of their processor time. What runs is
the same: only the interpreter's start and the imports are shared. `make demo`, the benchmarks, and the tests of the
installation start the program as its users do.
"""

from __future__ import annotations

import atexit
import contextlib
import functools
import gc
import importlib
import json
import os
import signal
import socket
import subprocess
import sys
import tempfile
import threading
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import IO, NoReturn

_MOST_BYTES = 1 << 20
"""Of one request: words and environment."""
_MINION = "minion.agent.agent"
_CONTROLLER = "controller.app"
_OF_WORKERS = (
    *("minion.config.rules", "minion.execution.lowstate_sources", "minion.execution.tree_modules"),
    *("minion.grains.minion_grains", "minion.machine.templates", "minion.modules.state.apply"),
    *("minion.modules.state.module", "minion.states.cmd.script", "minion.states.file.managed"),
    *("highstate.memo.tracked", "highstate.render.context", "highstate.render.pipeline", "jinja2.sandbox", "tomllib"),
)
"""What an agent leaves to its children, which import it for each run."""
_COMMANDS = ("controller.cli.main", "controller.cli.verbs.controller", "controller.cli.verbs.run", "httpcore")


class PreparedProcess:
    """A process that was forked, with the methods of `subprocess.Popen` that the rig uses."""

    def __init__(self, pid: int, told: socket.socket) -> None:
        self.pid = pid
        self._told = told
        self._code: int | None = None

    def wait(self, timeout: float | None = None) -> int:
        """The exit code; subprocess.TimeoutExpired when the process has not ended by then."""
        if self._code is None:
            self._told.settimeout(timeout)
            try:
                self._code = int(self._told.recv(64) or b"-9")
            except (TimeoutError, BlockingIOError):
                raise subprocess.TimeoutExpired("saltern", timeout or 0) from None
            self._told.close()
        return self._code

    def poll(self) -> int | None:
        """The exit code, if the process has ended."""
        with contextlib.suppress(subprocess.TimeoutExpired):
            return self.wait(0)
        return None

    def terminate(self) -> None:
        """SIGTERM, if the process has not ended."""
        self.send_signal(signal.SIGTERM)

    def kill(self) -> None:
        """SIGKILL, if the process has not ended."""
        self.send_signal(signal.SIGKILL)

    def send_signal(self, number: int) -> None:
        """A signal, if the process has not ended."""
        if self.poll() is None:
            os.kill(self.pid, number)


def start(
    words: Sequence[str],
    environment: Mapping[str, str],
    out: IO[bytes],
    errors: IO[bytes],
    *,
    given: IO[bytes] | None = None,
    program: str = "saltern",
    folder: Path | None = None,
) -> PreparedProcess:
    """Run `saltern WORDS...` in a session of its own.

    Args:
        words: what is typed after the program's name.
        environment: all that it has.
        out: its output.
        errors: its standard error.
        given: its input; None: it has none.
        program: the module whose `main` is run.
        folder: where it is started; None: here.
    """
    ours, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
    asked = {"program": program, "words": words, "environment": dict(environment), "folder": str(folder or Path.cwd())}
    with theirs:
        server = _server(_MINION if [*words[:1]] == ["minion"] else _CONTROLLER)
        streams = [out, errors, *([] if given is None else [given])]
        socket.send_fds(server, [json.dumps(asked).encode()], [theirs.fileno(), *(each.fileno() for each in streams)])
    return PreparedProcess(int(ours.recv(64)), ours)


def run(
    words: Sequence[str],
    environment: Mapping[str, str],
    *,
    given: str = "",
    program: str = "saltern",
    folder: Path | None = None,
) -> subprocess.CompletedProcess[str]:
    """Run `saltern WORDS...` to its end; see `start`."""
    with tempfile.TemporaryFile() as out, tempfile.TemporaryFile() as errors, tempfile.TemporaryFile() as typed:
        typed.write(given.encode())
        typed.seek(0)
        code = start(words, environment, out, errors, given=typed, program=program, folder=folder).wait()
        for file in (out, errors):
            file.seek(0)
        return subprocess.CompletedProcess(words, code, out.read().decode(), errors.read().decode())


@functools.cache
def _server(module: str) -> socket.socket:
    """The process that forks. It ends with this one, whose end of the connection closes then."""
    ours, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
    for end in (ours, theirs):
        end.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, _MOST_BYTES)
    with theirs:
        process = subprocess.Popen(
            [sys.executable, __file__, module, str(theirs.fileno())],
            pass_fds=[theirs.fileno()],
            stdin=subprocess.DEVNULL,
            start_new_session=True,
        )
    atexit.register(_end, process, ours)
    return ours


def _end(process: subprocess.Popen[bytes], connection: socket.socket) -> None:
    connection.close()
    process.wait()


def _serve(module: str, control: socket.socket) -> str:
    """Fork for each request; comes back in the forks alone, with the module of the program that is to go on."""
    for each in (module, *(_OF_WORKERS if module == _MINION else ()), *_COMMANDS):
        importlib.import_module(each)
    gc.freeze()
    signal.signal(signal.SIGCHLD, signal.SIG_IGN)  # nobody waits for those that watch the forks
    while True:
        asked, descriptors, _, _ = socket.recv_fds(control, _MOST_BYTES, 4)
        if not asked:
            os._exit(0)
        told, *streams = descriptors
        if os.fork() == 0:
            control.close()
            signal.signal(signal.SIGCHLD, signal.SIG_DFL)
            child = os.fork()
            if child == 0:
                return _become(json.loads(asked), streams, told)
            for descriptor in streams:
                os.close(descriptor)
            _, status = os.waitpid(child, 0)
            with contextlib.suppress(OSError):
                os.write(told, str(os.waitstatus_to_exitcode(status)).encode())
            os._exit(0)
        for descriptor in descriptors:
            os.close(descriptor)


def _become(asked: Mapping[str, object], streams: Sequence[int], told: int) -> str:
    """Take over words, environment, folder and descriptors; then say that the process is there."""
    os.setsid()
    for stream, number in zip(streams, (1, 2, 0), strict=False):
        os.dup2(stream, number)
    environment, words = asked["environment"], asked["words"]
    assert isinstance(environment, dict)
    assert isinstance(words, list)
    os.environ.clear()
    os.environ.update(environment)
    os.chdir(str(asked["folder"]))
    program = str(asked["program"])
    sys.argv = [program.rpartition(".")[2].replace("_", "-"), *words]
    os.write(told, str(os.getpid()).encode())
    for descriptor in (*streams, told):
        os.close(descriptor)
    return program


def _run_to_its_end(main: Callable[[], None]) -> NoReturn:
    """Run a program, and end as Python does, but leave the modules as they are.

    To take apart what was imported costs a fork 0.1 s of processor time, since it writes to all of that memory first.
    """
    try:
        main()
        code: object = 0
    except SystemExit as ended:
        code = ended.code
    except BaseException:
        sys.excepthook(*sys.exc_info())
        code = 1
    threading._shutdown()  # type: ignore[attr-defined]  # waits for threads, after it has told pools to end theirs
    atexit._run_exitfuncs()
    if code is not None and not isinstance(code, int):
        sys.stderr.write(f"{code}\n")
    for stream in (sys.stdout, sys.stderr):
        with contextlib.suppress(OSError):
            stream.flush()
    os._exit(0 if code is None else code if isinstance(code, int) else 1)


if __name__ == "__main__":
    asked_for = _serve(sys.argv[1], socket.socket(fileno=int(sys.argv[2])))
    _run_to_its_end(importlib.import_module(asked_for).main)
