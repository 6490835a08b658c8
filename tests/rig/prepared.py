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
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import IO, NoReturn

import saltern

_MOST_BYTES = 1 << 20
"""Of one request: words and environment."""
_MODULES = {"minion": "minion.agent.agent"}
"""What the process of a verb has imported; of all others the controller."""
_CONTROLLER = "controller.app"
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
        if self.poll() is None:
            os.kill(self.pid, signal.SIGTERM)


def start(words: Sequence[str], environment: Mapping[str, str], out: IO[bytes], errors: IO[bytes]) -> PreparedProcess:
    """Run `saltern WORDS...` in a session of its own, without input."""
    ours, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
    asked = json.dumps({"words": words, "environment": dict(environment), "folder": str(Path.cwd())}).encode()
    with theirs:
        server = _server(_MODULES.get(words[0], _CONTROLLER))
        socket.send_fds(server, [asked], [out.fileno(), errors.fileno(), theirs.fileno()])
    return PreparedProcess(int(ours.recv(64)), ours)


def run(words: Sequence[str], environment: Mapping[str, str]) -> subprocess.CompletedProcess[str]:
    """Run `saltern WORDS...` to its end."""
    with tempfile.TemporaryFile() as out, tempfile.TemporaryFile() as errors:
        code = start(words, environment, out, errors).wait()
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


def _serve(module: str, control: socket.socket) -> None:
    """Fork for each request; comes back in the forks alone, as `saltern` is to go on."""
    for each in (module, *_COMMANDS):
        importlib.import_module(each)
    gc.freeze()
    signal.signal(signal.SIGCHLD, signal.SIG_IGN)  # nobody waits for those that watch the forks
    while True:
        asked, descriptors, _, _ = socket.recv_fds(control, _MOST_BYTES, 3)
        if not asked:
            os._exit(0)
        out, errors, told = descriptors
        if os.fork() == 0:
            control.close()
            signal.signal(signal.SIGCHLD, signal.SIG_DFL)
            child = os.fork()
            if child == 0:
                _become(json.loads(asked), out, errors, told)
                return
            for descriptor in (out, errors):
                os.close(descriptor)
            _, status = os.waitpid(child, 0)
            with contextlib.suppress(OSError):
                os.write(told, str(os.waitstatus_to_exitcode(status)).encode())
            os._exit(0)
        for descriptor in descriptors:
            os.close(descriptor)


def _become(asked: Mapping[str, object], out: int, errors: int, told: int) -> None:
    """Take over words, environment, folder and descriptors; then say that the process is there."""
    os.setsid()
    os.dup2(out, 1)
    os.dup2(errors, 2)
    environment, words = asked["environment"], asked["words"]
    assert isinstance(environment, dict)
    assert isinstance(words, list)
    os.environ.clear()
    os.environ.update(environment)
    os.chdir(str(asked["folder"]))
    sys.argv = ["saltern", *words]
    os.write(told, str(os.getpid()).encode())
    for descriptor in (out, errors, told):
        os.close(descriptor)


def _run_to_its_end() -> NoReturn:
    """Run `saltern`, and end as Python does, but leave the modules as they are.

    To take apart what was imported costs a fork 0.1 s of processor time, since it writes to all of that memory first.
    """
    try:
        saltern.main()
        code: object = 0
    except SystemExit as ended:
        code = ended.code
    except BaseException:
        sys.excepthook(*sys.exc_info())  # type: ignore[arg-type]  # inside of `except` there is one
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
    _serve(sys.argv[1], socket.socket(fileno=int(sys.argv[2])))
    _run_to_its_end()
