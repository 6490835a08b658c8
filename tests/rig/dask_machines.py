"""A Dask scheduler and workers as processes of this machine, for tests of compiles on several machines."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from collections.abc import Sequence
from pathlib import Path
from types import TracebackType

from rig import PATIENCE, Failed, free_ports

_ENVIRONMENT = {
    "DASK_DISTRIBUTED__WORKER__DAEMON": "False",
    "DASK_DISTRIBUTED__ADMIN__TICK__INTERVAL": "200ms",
}


class DaskMachines:
    """One scheduler, and workers without nannies, so that one that is killed stays dead.

    Args:
        directory: for logs and what workers spill.
        more: arguments of all of them: certificates.
        scheme: `dask`, or `tls`.
    """

    def __init__(self, directory: Path, more: Sequence[str] = (), scheme: str = "dask") -> None:
        self.directory = directory
        self.port = free_ports(1)[0]
        self._more = list(more)
        self._scheme = scheme
        self._processes: dict[str, subprocess.Popen[bytes]] = {}

    @property
    def address(self) -> str:
        """As `compile_executor` takes it."""
        return f"{self._scheme}://127.0.0.1:{self.port}"

    def __enter__(self) -> DaskMachines:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        for name in list(self._processes):
            self.kill(name)

    def start_scheduler(self) -> None:
        """Start the scheduler, at the same port each time."""
        arguments = ["--host", "127.0.0.1", "--port", str(self.port), "--no-dashboard", "--no-jupyter", *self._more]
        self._start("scheduler", "distributed.cli.dask_scheduler", arguments, {})

    def start_worker(self, name: str, *, threads: int = 1, environment: dict[str, str] | None = None) -> None:
        """Start a worker of so many threads."""
        scheduler = self.address.replace("dask://", "tcp://")
        arguments = [scheduler, "--name", name, "--nthreads", str(threads), "--no-nanny", "--no-dashboard"]
        arguments += ["--host", "127.0.0.1", "--memory-limit", "0", "--death-timeout", "60", *self._more]
        self._start(name, "distributed.cli.dask_worker", arguments, environment or {})

    def kill(self, name: str) -> None:
        """As if its machine had lost its power."""
        process = self._processes.pop(name)
        if process.poll() is None:
            process.kill()
        process.wait()

    def pid(self, name: str) -> int:
        """Process id of the scheduler or a worker."""
        return self._processes[name].pid

    def log(self, name: str) -> str:
        """What it has written."""
        return (self.directory / f"{name}.log").read_text()

    def freeze(self, name: str, *, on: bool = True) -> None:
        """Have it do nothing more, or go on."""
        os.kill(self.pid(name), signal.SIGSTOP if on else signal.SIGCONT)

    def wait_for_end(self, name: str) -> None:
        """Until it has ended by itself."""
        self._processes[name].wait(PATIENCE)
        del self._processes[name]

    def _start(self, name: str, module: str, arguments: Sequence[str], environment: dict[str, str]) -> None:
        self.directory.mkdir(parents=True, exist_ok=True)
        with (self.directory / f"{name}.log").open("ab") as log:
            self._processes[name] = subprocess.Popen(
                [sys.executable, "-m", module, *arguments],
                cwd=self.directory,
                stdout=log,
                stderr=log,
                env={**os.environ, **_ENVIRONMENT, **environment},
            )


def wait_until(condition, what: str) -> None:  # type: ignore[no-untyped-def]
    """Until a condition holds; Failed when it does not."""
    until = time.monotonic() + 2 * PATIENCE
    while not condition():
        if time.monotonic() > until:
            raise Failed(f"{what} did not happen")
        time.sleep(0.05)
