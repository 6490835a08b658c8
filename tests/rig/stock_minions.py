"""Real salt-minions of a test, each with folders of its own, and the gateway that they have as their master.

Salt is that of virtualenvs, which SALT_MINION_VENVS lists with colons between; nothing of it is imported.
"""

from __future__ import annotations

import contextlib
import json
import os
import signal
import subprocess
import time
from collections.abc import Callable, Mapping
from pathlib import Path
from types import TracebackType
from typing import Any

import psutil
from rig import SALTERN, Rig, free_ports


def salt_venvs() -> dict[str, Path]:
    """Version -> virtualenv with that salt-minion."""
    named = os.environ.get("SALT_MINION_VENVS", "").split(os.pathsep)
    found = {}
    for venv in (Path(name) for name in named if name):
        program = venv / "bin/salt-minion"
        if program.exists():
            said = subprocess.run([program, "--version"], capture_output=True, text=True, check=True).stdout
            found[said.split()[1]] = venv
    return found


class StockMinions:
    """A gateway to the controller of a rig, and salt-minions at it.

    Args:
        rig: with a controller that runs.
        folder: of all files; made.
        more: options of the gateway.
        log_level: of all of them.
    """

    def __init__(
        self, rig: Rig, folder: Path, more: Mapping[str, Any] | None = None, *, log_level: str = "debug"
    ) -> None:
        self._rig = rig
        self._log_level = log_level
        self.folder = folder
        ret_port, publish_port = free_ports(2)
        self._processes: dict[str, subprocess.Popen[bytes]] = {}
        folder.mkdir(parents=True)
        publish, request = rig.wire_ports
        settings = {
            "controller": "127.0.0.1",
            "controller_key": rig.controller_key,
            "controller_port": request,
            "controller_publish_port": publish,
            "interface": "127.0.0.1",
            "ret_port": ret_port,
            "publish_port": publish_port,
            "pki_dir": str(folder / "pki"),
            "cachedir": str(folder / "cache"),
            **(more or {}),
        }
        self.ret_port, self.publish_port = int(settings["ret_port"]), int(settings["publish_port"])
        (folder / "gateway").write_text(json.dumps(settings))

    def __enter__(self) -> StockMinions:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        for name in list(self._processes):
            self.stop(name)

    def start_gateway(self, patience: float = 60.0) -> None:
        """Start the gateway, and wait until it listens."""
        self._start("gateway", [*SALTERN, "gateway", "-c", str(self.folder), "-l", self._log_level])
        self.wait("the gateway listens", lambda: "event=started" in self.log("gateway"), patience)

    def start_minion(self, venv: Path, minion: str, more: Mapping[str, Any] | None = None) -> None:
        """Start a salt-minion of this virtualenv."""
        root = self.root(minion)
        (root / "etc").mkdir(parents=True, exist_ok=True)
        settings = {
            "id": minion,
            "master": "127.0.0.1",
            "master_port": self.ret_port,
            "publish_port": self.publish_port,
            "root_dir": str(root),
            "pki_dir": str(root / "pki"),
            "acceptance_wait_time": 1,
            "random_reauth_delay": 1,
            "recon_default": 200,
            "recon_max": 1000,
            "user": "root" if os.geteuid() == 0 else os.environ.get("USER", ""),
            **(more or {}),
        }
        (root / "etc/minion").write_text(json.dumps(settings))
        self._start(minion, [str(venv / "bin/salt-minion"), "-c", str(root / "etc"), "-l", self._log_level])

    def start_proxy(self, venv: Path, minion: str) -> None:
        """Start a salt-proxy of this virtualenv, which has its `proxy` from the pillar."""
        root = self.root(minion)
        (root / "etc").mkdir(parents=True, exist_ok=True)
        settings = {
            "master": "127.0.0.1",
            "master_port": self.ret_port,
            "root_dir": str(root),
            "pki_dir": str(root / "pki"),
            "acceptance_wait_time": 1,
            "user": "root" if os.geteuid() == 0 else os.environ.get("USER", ""),
        }
        (root / "etc/proxy").write_text(json.dumps(settings))
        options = ["-c", str(root / "etc"), "-l", "debug", "--proxyid", minion]
        self._start(minion, [str(venv / "bin/salt-proxy"), *options])

    def call(self, venv: Path, minion: str, *words: str, code: int | None = 0) -> str:
        """What `salt-call` of a minion says, which has to end with this code; None: with any."""
        options = ["-c", str(self.root(minion) / "etc"), "-l", "error", "--out", "json"]
        done = subprocess.run(
            [venv / "bin/salt-call", *options, *words], capture_output=True, text=True, check=False, timeout=120
        )
        assert code is None or done.returncode == code, done.stdout + done.stderr
        return done.stdout

    def root(self, minion: str) -> Path:
        """The root folder of a minion."""
        return self.folder / minion

    def stop(self, name: str, number: int = signal.SIGTERM) -> None:
        """End the gateway or a minion, with what it has started."""
        salt_processes_end(self._processes.pop(name), number)

    def pid(self, name: str) -> int:
        """Process id."""
        return self._processes[name].pid

    def running(self) -> frozenset[str]:
        """Names of what was started and not stopped."""
        return frozenset(self._processes)

    def log(self, name: str) -> str:
        """What it has said."""
        return (self.folder / f"{name}.log").read_text(errors="replace")

    def wait(self, what: str, condition: Callable[[], Any], patience: float = 180.0) -> Any:
        """Wait until a condition holds; what it gave."""
        deadline = time.monotonic() + patience
        while not (found := condition()):
            assert time.monotonic() < deadline, f"{what}\n" + "\n".join(
                f"== {name}\n{self.log(name)[-3000:]}" for name in self._processes
            )
            time.sleep(0.05)
        return found

    def _start(self, name: str, command: list[str]) -> None:
        with (self.folder / f"{name}.log").open("ab") as log:
            self._processes[name] = subprocess.Popen(
                [Path(command[0]).absolute(), *command[1:]],
                stdout=log,
                stderr=log,
                stdin=subprocess.DEVNULL,
                start_new_session=True,
                cwd=self.folder,  # Salt leaves files of a failed `check_cmd` there
            )


def salt_processes_end(process: subprocess.Popen[bytes], number: int = signal.SIGTERM) -> None:
    """End a process, with what it has started."""
    started = psutil.Process(process.pid).children(recursive=True) if process.poll() is None else []
    process.send_signal(number)
    with contextlib.suppress(subprocess.TimeoutExpired):
        process.wait(0 if number == signal.SIGKILL else 10)
    for each in started:  # a salt-minion that finds one of its children takes that for another minion
        with contextlib.suppress(psutil.NoSuchProcess):
            each.kill()
    psutil.wait_procs(started, 10)
    process.kill()
    process.wait()
